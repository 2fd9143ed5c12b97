"""Text from outside, made safe to look at: short, on one line, without characters that hide."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from partita.plots import style

_MISSING = "(no name)"


def shown(text: Any, most: int = 48) -> str:
    """One line of at most so many letters; what cannot be printed becomes a space.

    Control characters, marks that turn the direction of writing, and halves of characters are
    among these. The middle of a long text gives way to an ellipsis.

    >>> shown("a" * 100, 9), shown("one\\n two\\u202e\\x00three")
    ('aaaaa…aaa', 'one two three')
    """
    whole = text if isinstance(text, str) else str(text)
    if len(whole) > 8 * most:  # a cell of a megabyte is not looked at letter by letter
        whole = f"{whole[: 4 * most]}{whole[-4 * most :]}"
    line = " ".join("".join(c if c.isprintable() else " " for c in whole).split())
    if len(line) > most:
        line = f"{line[: most - most // 3 - 1].rstrip()}…{line[-(most // 3) :].lstrip()}"
    return line or _MISSING


def number(value: float | None) -> str:
    """A number with as many digits as a reader needs; a true minus sign."""
    if value is None or math.isnan(value):
        return "–"
    if 1e3 <= abs(value) < 1e9:
        return _grouped(f"{value:,.0f}")
    return _grouped(style.number(value))


def ticks(values: Sequence[float]) -> list[str]:
    """The numbers along an axis, with as many digits as tell them apart."""
    for digits in range(4, 17):
        exact = [float(f"{found:.{digits}g}") for found in values]
        texts = [number(found) if digits == 4 else _grouped(f"{found:,}") for found in exact]
        if len(set(texts)) == len(values):
            break
    return texts


def value(found: float) -> str:
    """A value of the data, with the digits that it has, up to six."""
    if not math.isfinite(found):
        return "missing" if math.isnan(found) else _grouped(str(found))
    return _grouped(f"{found:,.6g}" if abs(found) < 1e6 else f"{found:.6g}")


def _grouped(text: str) -> str:
    """With a true minus sign, and narrow spaces between thousands."""
    return text.replace("-", "−").replace(",", "\u202f").replace(" ", "\u202f")


def signed(value: float) -> str:
    """A deviation with its sign: +1.1, −0.3, 0.0."""
    if not math.isfinite(value) or abs(value) < 0.05:
        return "0.0"
    return f"{value:+.1f}".replace("-", "−")


def percent(share: float) -> str:
    """A share: 45 %, 0.3 %."""
    if not math.isfinite(share):
        return "–"
    scaled = 100 * share
    digits = 1 if 0 < abs(scaled) < 9.95 or 99 < scaled < 100 else 0
    return f"{scaled:.{digits}f}\u202f%".replace("-", "−")


def plural(count: int, what: str) -> str:
    """1 row, 2 rows."""
    return f"{number(count)} {what}{'s' * (count != 1)}"


def in_script(data: Any) -> str:
    """JSON that can stand inside a script element: nothing in it ends the element or a line."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
