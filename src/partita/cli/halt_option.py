"""`--halt`: criteria in words, parsed by a small grammar; nothing is evaluated.

either = both ("|" both)*
both   = one ("&" one)*
one    = Name "(" [number] ")"  |  "(" either ")"
"""

from __future__ import annotations

import re
from typing import Any

# the criteria of partita.halting that take a number, or nothing
CRITERIA = ("MaxIter", "Shift", "Decrease", "RelDecrease", "SamePartition", "Target", "Deadline")
_WORD = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]+)|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<mark>[|&()]))"
)
_DEEPEST = 50


class HaltError(ValueError):
    """The text is not a criterion; says where and what was expected."""


def parse_halt(text: str) -> Any:
    """A criterion of `partita.halting` from text.

    >>> parse_halt("RelDecrease(1e-4) | (Deadline(60) & MaxIter(5))")
    RelDecrease(0.0001) | (Deadline(60) & MaxIter(5))
    """
    reader = _Reader(text)
    found = reader.either()
    reader.expect_end()
    return found


class _Reader:
    """Reads words from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.kind, self.word = "", ""
        self.step()

    def step(self) -> None:
        """Go to the next word."""
        found = _WORD.match(self.text, self.at)
        if found is None:
            rest = self.text[self.at :].strip()
            if rest:
                raise self.fault(f"{rest[:20]!r} is not part of a criterion")
            self.kind, self.word = "end", "the end"
            return
        self.at = found.end()
        self.kind, self.word = found.lastgroup or "", found[0].strip()

    def fault(self, what: str) -> HaltError:
        known = ", ".join(CRITERIA)
        return HaltError(
            f"{what}; criteria like 'RelDecrease(1e-4) | Deadline(60)' are expected, of {known}, "
            "combined by | (whichever comes first) and & (all at once)"
        )

    def take(self, mark: str) -> None:
        if self.word != mark:
            raise self.fault(f"{mark!r} was expected where {self.word!r} is")
        self.step()

    def expect_end(self) -> None:
        if self.kind != "end":
            raise self.fault(f"{self.word!r} was not expected")

    def either(self) -> Any:
        found = self.both()
        while self.word == "|":
            self.step()
            found = found | self.both()
        return found

    def both(self) -> Any:
        found = self.one()
        while self.word == "&":
            self.step()
            found = found & self.one()
        return found

    def one(self) -> Any:
        if self.word == "(":
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self.fault("there are too many parentheses")
            self.step()
            found = self.either()
            self.take(")")
            self.depth -= 1
            return found
        return self.criterion()

    def criterion(self) -> Any:
        from partita import halting

        if self.kind != "name":
            raise self.fault(f"the name of a criterion was expected where {self.word!r} is")
        name = self.word
        if name not in CRITERIA:
            raise self.fault(f"{name!r} is not a criterion")
        self.step()
        self.take("(")
        numbers = []
        if self.kind == "number":
            numbers.append(_number(self.word))
            self.step()
        self.take(")")
        try:
            return getattr(halting, name)(*numbers)
        except TypeError:
            wants = "takes no number" if numbers else "needs a number"
            raise self.fault(f"{name} {wants}") from None
        except ValueError as error:
            raise self.fault(str(error)) from None


def _number(word: str) -> int | float:
    return int(word) if re.fullmatch(r"[+-]?\d+", word) and len(word) < 19 else float(word)
