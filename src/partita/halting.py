"""Halting criteria. A criterion is a pure function of the trace; it returns a reason or None.

>>> from partita.halting import Deadline, MaxIter, RelDecrease, SamePartition
>>> MaxIter(300) | SamePartition() | (RelDecrease(1e-4) & Deadline(60))
MaxIter(300) | SamePartition() | (RelDecrease(0.0001) & Deadline(60))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Self

from partita._common.parameters import (
    CALLABLE,
    Got,
    Rule,
    check,
    describe_value,
    integer,
    must_be,
    number,
)
from partita._common.text import plural
from partita.trace import Progress

# kinds of reasons that end a run before it has converged
LIMIT_KINDS = frozenset({"max_iter", "max_rows", "deadline", "callback", "interrupt"})


class StopReason(str):
    """A sentence with a `kind`; no program depends on the wording.

    >>> reason = StopReason("no point changed its cluster", "same_partition")
    >>> reason.kind, reason.is_limit, reason.upper()[:8]
    ('same_partition', False, 'NO POINT')
    """

    kinds: tuple[str, ...]

    def __new__(cls, text: str, *kinds: str) -> Self:
        """Make a reason of `text`; a combined reason has several kinds."""
        reason = super().__new__(cls, text)
        reason.kinds = kinds
        return reason

    @classmethod
    def of(cls, answer: str, kind: str) -> StopReason:
        """Give plain text, such as a user's callable returns, a kind."""
        return answer if isinstance(answer, StopReason) else cls(answer, kind)

    @classmethod
    def all_of(cls, reasons: Iterable[str]) -> StopReason:
        """Combine reasons that hold at the same iteration."""
        parts = [cls.of(reason, "when") for reason in reasons]
        return cls(" and ".join(parts), *(kind for part in parts for kind in part.kinds))

    @property
    def kind(self) -> str:
        """The kinds in one word, joined by "&"."""
        return "&".join(self.kinds)

    @property
    def is_limit(self) -> bool:
        """True if a limit or a callback ended the run, not convergence."""
        return not LIMIT_KINDS.isdisjoint(self.kinds)


class Halt(ABC):
    """A halting criterion; combine with `|` (the first to fire) and `&` (all at once)."""

    __slots__ = ()

    @abstractmethod
    def reason(self, trace: Sequence[Progress]) -> str | None:
        """Return why to stop after the last record of `trace`, or None to go on.

        The criteria of this module return a `StopReason`; plain text gets the kind "when".
        """

    def is_over(self, trace: Sequence[Progress]) -> bool:
        """Return whether to skip further restarts too."""
        return False

    def __bool__(self) -> bool:
        raise TypeError("halting criteria combine with | and &, not with `or`, `and`, `not`")

    def __or__(self, other: Halt) -> Halt:
        return AnyOf((*_parts(self, AnyOf), *_parts(_checked(other), AnyOf)))

    def __and__(self, other: Halt) -> Halt:
        return AllOf((*_parts(self, AllOf), *_parts(_checked(other), AllOf)))

    def __repr__(self) -> str:
        values = ", ".join(f"{getattr(self, f.name)!r}" for f in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({values})"


def _checked(other: object) -> Halt:
    if not isinstance(other, Halt):
        text = f"a halting criterion must be combined with another one, got {describe_value(other)}"
        raise TypeError(f"{text}.")
    return other


_CRITERIA = Rule(
    ("a tuple of halting criteria",),
    lambda parts: isinstance(parts, tuple) and all(isinstance(part, Halt) for part in parts),
)


def _parts(halt: Halt, kind: type[AnyOf] | type[AllOf]) -> tuple[Halt, ...]:
    return halt.parts if isinstance(halt, kind) else (halt,)


@dataclass(frozen=True, repr=False, slots=True)
class AnyOf(Halt):
    """Stop as soon as one of the parts gives a reason."""

    parts: tuple[Halt, ...]

    def __post_init__(self) -> None:
        check("AnyOf.parts", self.parts, _CRITERIA)

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        for part in self.parts:  # after every iteration, so without a generator
            if why := part.reason(trace):
                return StopReason.of(why, "when")
        return None

    def is_over(self, trace: Sequence[Progress]) -> bool:
        return any(part.is_over(trace) for part in self.parts)

    def __repr__(self) -> str:
        return " | ".join(f"({p})" if isinstance(p, AllOf) else repr(p) for p in self.parts)


@dataclass(frozen=True, repr=False, slots=True)
class AllOf(Halt):
    """Stop when all the parts give a reason at the same iteration."""

    parts: tuple[Halt, ...]

    def __post_init__(self) -> None:
        check("AllOf.parts", self.parts, _CRITERIA)

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        reasons = [why for part in self.parts if (why := part.reason(trace)) is not None]
        return StopReason.all_of(reasons) if len(reasons) == len(self.parts) else None

    def is_over(self, trace: Sequence[Progress]) -> bool:
        return self.reason(trace) is not None and any(part.is_over(trace) for part in self.parts)

    def __repr__(self) -> str:
        return " & ".join(f"({p})" if isinstance(p, AnyOf) else repr(p) for p in self.parts)


class _OneValue(Halt):
    """A criterion with one value, which is checked when it is made."""

    __slots__ = ()
    _rule: Rule = number(0)

    def __post_init__(self) -> None:
        (name,) = self.__match_args__  # type: ignore[attr-defined]
        check(f"{type(self).__name__}.{name}", getattr(self, name), self._rule)


@dataclass(frozen=True, repr=False, slots=True)
class MaxIter(_OneValue):
    """Stop after `limit` iterations."""

    limit: int
    _rule = integer(1)

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        if len(trace) < self.limit:
            return None
        return StopReason(f"the limit of {plural(self.limit, 'iteration')} was reached", "max_iter")


@dataclass(frozen=True, repr=False, slots=True)
class Shift(_OneValue):
    """Stop when all centers together moved by at most `tol`: ‖Θ(t) − Θ(t−1)‖ ≤ tol."""

    tol: float

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        return self.reason_within(self.tol, trace)

    @staticmethod
    def reason_within(limit: float, trace: Sequence[Progress]) -> StopReason | None:
        """Return the reason to stop if the last shift is not more than a limit."""
        shift = trace[-1].shift
        if shift > limit:
            return None
        moved = f"the centers moved by {shift:.3g}, not more than {limit:.3g}"
        return StopReason(moved if shift > 0 else "no center moved", "shift")

    def largest_shift(self, trace: Sequence[Progress]) -> float:
        """Return the shift at which the criterion holds."""
        return self.tol


@dataclass(frozen=True, repr=False, slots=True)
class Decrease(_OneValue):
    """Stop when an iteration lowered the cost by at most `tol`: J(t−1) − J(t) ≤ tol."""

    tol: float

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        if len(trace) < 2 or (fall := trace[-2].cost - trace[-1].cost) > self.tol:
            return None
        return StopReason(f"the cost fell by {fall:.3g}, not more than {self.tol:.3g}", "decrease")


@dataclass(frozen=True, repr=False, slots=True)
class RelDecrease(_OneValue):
    """Stop when an iteration lowered the cost by at most the share `tol` of itself, or J = 0."""

    tol: float

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        if len(trace) < 2:
            return None
        before, now = trace[-2].cost, trace[-1].cost
        if before - now > self.tol * before:
            return None
        return StopReason(
            f"the cost fell by not more than {self.tol:.3g} of itself", "rel_decrease"
        )


@dataclass(frozen=True, repr=False, slots=True)
class SamePartition(Halt):
    """Stop when no point changed its cluster: a fixed point."""

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        if trace[-1].moved_points:
            return None
        return StopReason("no point changed its cluster", "same_partition")


@dataclass(frozen=True, repr=False, slots=True)
class Target(_OneValue):
    """Stop when the cost after the update is at most `limit`."""

    limit: float
    _rule = number()

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        cost = trace[-1].cost_after
        if cost > self.limit:
            return None
        return StopReason(f"the cost {cost:.6g} is not above the target {self.limit:.6g}", "target")


@dataclass(frozen=True, repr=False, slots=True)
class Deadline(_OneValue):
    """Stop after the first iteration that ends `seconds` or more after the fit began.

    The budget is for the whole fit: restarts share it.
    """

    seconds: float

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        spent = trace[-1].seconds
        if spent < self.seconds:
            return None
        text = f"{spent:.3g} s have passed, the budget was {self.seconds:.3g} s"
        return StopReason(text, "deadline")

    def is_over(self, trace: Sequence[Progress]) -> bool:
        return self.reason(trace) is not None


@dataclass(frozen=True, repr=False, slots=True)
class When(_OneValue):
    """Stop when `test(trace)` is true; a string it returns becomes the reason."""

    test: Callable[[Sequence[Progress]], object]
    _rule = CALLABLE

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        answer = self.test(trace)
        try:
            if not answer:
                return None
        except (TypeError, ValueError) as error:  # an array has no truth value
            wanted = "a callable that returns a text or a truth value"
            got = Got(f"one that returned {describe_value(answer)}")
            raise must_be("When.test", wanted, got) from error
        name = getattr(self.test, "__name__", type(self.test).__name__)
        return StopReason.of(
            answer if isinstance(answer, str) else f"{name} requested a stop", "when"
        )
