"""When to stop. A criterion is a pure function of the trace and returns a sentence, or None.

>>> from partita.halting import Deadline, MaxIter, RelDecrease, SamePartition
>>> MaxIter(300) | SamePartition() | (RelDecrease(1e-4) & Deadline(60))
MaxIter(300) | SamePartition() | (RelDecrease(0.0001) & Deadline(60))
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from partita.trace import Progress


class Halt(ABC):
    """A reason to stop; combine with `|` (whichever comes first) and `&` (all at once)."""

    __slots__ = ()

    @abstractmethod
    def reason(self, trace: Sequence[Progress]) -> str | None:
        """Why to stop after the last record of `trace`, or None to go on."""

    def is_over(self, trace: Sequence[Progress]) -> bool:
        """Whether to give up further restarts too, not only this run."""
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
        raise TypeError(f"a halting criterion combines with another one, not with {other!r}")
    return other


def _parts(halt: Halt, kind: type[AnyOf] | type[AllOf]) -> tuple[Halt, ...]:
    return halt.parts if isinstance(halt, kind) else (halt,)


@dataclass(frozen=True, repr=False, slots=True)
class AnyOf(Halt):
    """Stop as soon as one of the parts gives a reason."""

    parts: tuple[Halt, ...]

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """The reason of the first part that has one."""
        return next((why for part in self.parts if (why := part.reason(trace))), None)

    def is_over(self, trace: Sequence[Progress]) -> bool:
        """Whether one of the parts says so."""
        return any(part.is_over(trace) for part in self.parts)

    def __repr__(self) -> str:
        return " | ".join(f"({p})" if isinstance(p, AllOf) else repr(p) for p in self.parts)


@dataclass(frozen=True, repr=False, slots=True)
class AllOf(Halt):
    """Stop when all the parts give a reason at the same iteration."""

    parts: tuple[Halt, ...]

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """All the reasons, if there is one from every part."""
        reasons = [part.reason(trace) for part in self.parts]
        return None if None in reasons else " and ".join(str(why) for why in reasons)

    def is_over(self, trace: Sequence[Progress]) -> bool:
        """Whether all agree to stop and one of the parts says so."""
        return self.reason(trace) is not None and any(part.is_over(trace) for part in self.parts)

    def __repr__(self) -> str:
        return " & ".join(f"({p})" if isinstance(p, AnyOf) else repr(p) for p in self.parts)


def _not_negative(name: str, value: float) -> None:
    if not (isinstance(value, numbers.Real) and value >= 0):
        raise ValueError(f"{name}={value!r} was given; a number that is not negative is expected")


@dataclass(frozen=True, repr=False, slots=True)
class MaxIter(Halt):
    """Stop after `limit` iterations."""

    limit: int

    def __post_init__(self) -> None:
        if not (isinstance(self.limit, numbers.Integral) and self.limit >= 1):
            raise ValueError(f"MaxIter({self.limit!r}): a whole number of at least 1 is expected")

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """Fires at the last iteration allowed."""
        if len(trace) < self.limit:
            return None
        return f"the limit of {self.limit} iteration{'s' * (self.limit != 1)} was reached"


@dataclass(frozen=True, repr=False, slots=True)
class Shift(Halt):
    """Stop when all centers together moved by at most `tol` (Frobenius norm)."""

    tol: float

    def __post_init__(self) -> None:
        _not_negative("Shift: tol", self.tol)

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """Fires when ‖Θ(t) − Θ(t−1)‖ ≤ tol."""
        if trace[-1].shift > self.tol:
            return None
        return f"the centers moved by {trace[-1].shift:.3g}, not more than {self.tol:.3g}"


@dataclass(frozen=True, repr=False, slots=True)
class Decrease(Halt):
    """Stop when an iteration lowered the cost by at most `tol`."""

    tol: float

    def __post_init__(self) -> None:
        _not_negative("Decrease: tol", self.tol)

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """Fires when J(t−1) − J(t) ≤ tol."""
        if len(trace) < 2:
            return None
        fall = trace[-2].cost - trace[-1].cost
        return (
            f"the cost fell by {fall:.3g}, not more than {self.tol:.3g}"
            if fall <= self.tol
            else None
        )


@dataclass(frozen=True, repr=False, slots=True)
class RelDecrease(Halt):
    """Stop when an iteration lowered the cost by at most the share `tol` of itself."""

    tol: float

    def __post_init__(self) -> None:
        _not_negative("RelDecrease: tol", self.tol)

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """Fires when J(t−1) − J(t) ≤ tol·J(t−1), also at J = 0."""
        if len(trace) < 2:
            return None
        before, now = trace[-2].cost, trace[-1].cost
        if before - now > self.tol * before:
            return None
        return f"the cost fell by not more than {self.tol:.3g} of itself"


@dataclass(frozen=True, repr=False, slots=True)
class SamePartition(Halt):
    """Stop when no point changed its cluster: a fixed point."""

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """Fires when the partition equals the previous one."""
        return "no point changed its cluster" if trace[-1].moved_points == 0 else None


@dataclass(frozen=True, repr=False, slots=True)
class Target(Halt):
    """Stop when the cost is at most `limit`."""

    limit: float

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """Fires when J after the update is at most the limit."""
        if trace[-1].cost_after > self.limit:
            return None
        return f"the cost {trace[-1].cost_after:.6g} is not above the target {self.limit:.6g}"


@dataclass(frozen=True, repr=False, slots=True)
class Deadline(Halt):
    """Stop after the first iteration that ends `seconds` or more after the fit began.

    The budget is for the whole fit: restarts share it.
    """

    seconds: float

    def __post_init__(self) -> None:
        _not_negative("Deadline: seconds", self.seconds)

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """Fires once the time is up."""
        if trace[-1].seconds < self.seconds:
            return None
        return f"{trace[-1].seconds:.3g} s have passed, the budget was {self.seconds:.3g} s"

    def is_over(self, trace: Sequence[Progress]) -> bool:
        """Time that is up is up for later restarts too."""
        return self.reason(trace) is not None


@dataclass(frozen=True, repr=False, slots=True)
class When(Halt):
    """Stop when `test(trace)` is true; a string it returns becomes the reason."""

    test: Callable[[Sequence[Progress]], object]

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """Asks the callable."""
        answer = self.test(trace)
        if not answer:
            return None
        name = getattr(self.test, "__name__", type(self.test).__name__)
        return answer if isinstance(answer, str) else f"{name} asked to stop"
