"""The time left of a run, as far as its trace tells.

Iterations of K-means decay: the shift, the number of labels that change and the decrease of J fall
by about the same factor in every iteration. The factor is fitted to the last iterations, and
extended to where a criterion holds. Nothing is claimed before that factor is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from partita.halting import (
    AllOf,
    AnyOf,
    Deadline,
    Decrease,
    Halt,
    MaxIter,
    RelDecrease,
    SamePartition,
)
from partita.trace import Progress

MIN_RECORDS = 4  # of a run, before anything is claimed
USED_RECORDS = 8  # the last ones
MAX_FACTOR = 0.99  # a slower decay tells nothing


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Seconds until the end: an estimate, or a limit that the work may end before."""

    seconds: float
    is_limit: bool = False
    scope: str = "left"

    def __str__(self) -> str:
        about = "at most" if self.is_limit else "about"
        return f"{about} {duration_text(self.seconds)} {self.scope}"


def duration_text(seconds: float) -> str:
    """Return a duration with as many digits as an estimate is worth.

    >>> [duration_text(seconds) for seconds in (0.2, 12.4, 75, 610, 9000)]
    ['1 s', '12 s', '1.2 min', '10 min', '2.5 h']
    """
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    value, unit = (seconds / 60, "min") if seconds < 3570 else (seconds / 3600, "h")
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"


def seconds_left(halt: Halt, trace: Sequence[Progress]) -> float:
    """Estimate the seconds from the last of some successive iterations to the end of their run.

    Infinity if nobody knows.
    """
    iterations = iterations_left(halt, trace)
    if iterations is None or len(trace) < 2:
        return math.inf
    return iterations * (trace[-1].seconds - trace[0].seconds) / (len(trace) - 1)


def iterations_left(halt: Halt, trace: Sequence[Progress]) -> float | None:
    """Return how many more iterations a criterion lets a run make; None if nobody knows.

    `trace` has successive iterations of a run, the last of which did not end it. Infinity: the
    criterion will not end it.
    """
    match halt:
        case AnyOf():
            return _first_of(halt.parts, trace)
        case AllOf():
            every = [iterations_left(part, trace) for part in halt.parts]
            return None if None in every else max(value for value in every if value is not None)
        case MaxIter():
            return max(0, halt.limit - trace[-1].iteration)
        case Deadline():  # the clock tells: see `deadline`
            return math.inf
    found = _decaying(halt, trace) if len(trace) >= MIN_RECORDS else None
    if found is None:
        return None
    value, limit = found
    return steps_until([value(record) for record in trace[-USED_RECORDS:]], limit)


def _first_of(parts: Sequence[Halt], trace: Sequence[Progress]) -> float | None:
    """Return the iterations until the first of some criteria holds.

    A number of iterations alone is no estimate if the run may converge before, nobody knows when.
    """
    counted = [iterations_left(part, trace) for part in parts if isinstance(part, MaxIter)]
    others = [iterations_left(part, trace) for part in parts if not isinstance(part, MaxIter)]
    known = [value for value in (*counted, *others) if value is not None]
    is_estimated = any(value is not None and value < math.inf for value in others)
    return min(known) if is_estimated or None not in others else None


def _decaying(
    halt: Halt, trace: Sequence[Progress]
) -> tuple[Callable[[Progress], float], float] | None:
    """Return what decays until a criterion holds, and the value at which it does."""
    cost = trace[-1].cost
    match halt:
        case SamePartition():
            return lambda record: record.moved_points, 0.5
        case Decrease():
            return _decrease, halt.tol
        case RelDecrease():
            return _decrease, halt.tol * cost
    largest_shift = getattr(halt, "largest_shift", None)  # other criteria may have it
    if largest_shift is None:
        return None
    return lambda record: record.shift, float(largest_shift(trace))


def _decrease(record: Progress) -> float:
    return record.cost - record.cost_after


def steps_until(values: Sequence[float], limit: float) -> float | None:
    """Return how many steps a decaying sequence takes to a limit, by a line through its logarithms.

    None if it does not decay; infinity if the limit is 0, which nothing decays to.

    >>> round(steps_until([64.0, 32.0, 16.0, 8.0], 1.0), 9)
    3.0
    """
    if not values or values[-1] <= limit:
        return 0.0
    if not limit > 0:
        return math.inf
    if not all(0 < value < math.inf for value in values):
        return None
    logarithms, middle = [math.log(value) for value in values], (len(values) - 1) / 2
    spread = sum((i - middle) ** 2 for i in range(len(values)))
    slope = sum((i - middle) * y for i, y in enumerate(logarithms)) / spread if spread else 0.0
    if slope > math.log(MAX_FACTOR):
        return None
    end = sum(logarithms) / len(logarithms) + slope * middle  # of the line
    return max(1.0, (math.log(limit) - end) / slope)


def deadline(halt: Halt) -> float:
    """Return the seconds of a fit after which a criterion ends it; infinity without a deadline."""
    match halt:
        case Deadline():
            return halt.seconds
        case AnyOf():
            return min(map(deadline, halt.parts))
        case AllOf():
            return max(map(deadline, halt.parts))
    return math.inf
