"""Lower bounds in the order of their cost, each better than those before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from partita._common.array_types import Floats
from partita._common.threads import one_blas_thread
from partita.cluster_dual.bounds_of_rows import report_dual_bounds
from partita.lower_bounds.axis_sums import principal_axes_bound
from partita.lower_bounds.block_sums import block_bounds
from partita.lower_bounds.problem import BoundProblem
from partita.lower_bounds.record import LowerBound
from partita.lower_bounds.rounding import gamma, norm
from partita.lower_bounds.sampled_blocks import sampled_bounds
from partita.lower_bounds.semidefinite_rounds import FULL, semidefinite_rounds
from partita.lower_bounds.spectral import spectral_bound
from partita.lower_bounds.standard_form import Conversion, StandardProblem, standard_form
from partita.one_dimension import MAX_ROUNDING, optimal_partition

MAX_ROWS_OF_ONE_BLOCK = 400  # for which the blocks would only take time from the whole
MAX_ROWS_OF_WHOLE = 1500  # of distinct rows: a step takes a third of a second
MAX_ROWS_OF_DUAL = 250  # of distinct rows, in few features: then it is often exact
MAX_FEATURES_OF_DUAL = 4
SEMIDEFINITE_SHARE = 0.4  # of the time, before the dual begins
DUAL_SHARE = 0.7  # of what is left then
MIN_ROWS_TO_SAMPLE = 100_000  # of which bounds of all blocks take minutes

Bounds = Iterator[LowerBound | None]


def improve_bounds(
    problem: BoundProblem,
    report: Callable[[LowerBound], bool],
    *,
    deadline: float | None,
    level: float = 0.95,
    rng: np.random.Generator,
) -> None:
    """Compute lower bounds, cheapest first; report each that is higher than those before.

    Ends when `report` returns True, at the `deadline` (of `time.monotonic()`), or when nothing is
    left. The bounds do not depend on the time; how many there are does.
    """
    listener = _Listener(report, math.inf if deadline is None else deadline)
    with one_blas_thread():
        for bound in _bounds(problem, level, rng, listener):
            if listener.hear(bound):
                return


@dataclass
class _Listener:
    """The one who is told of higher bounds, and who may end the search."""

    report: Callable[[LowerBound], bool]
    deadline: float
    highest: dict[float | None, float] = field(default_factory=dict)  # by level of confidence
    is_content: bool = False

    def hear(self, bound: LowerBound | None) -> bool:
        """Report a bound if it is higher than those before; return whether the search ends."""
        if bound is not None and self._is_higher(bound):
            self.is_content = self.report(bound)
        return self.is_content or time.monotonic() >= self.deadline

    def _is_higher(self, bound: LowerBound) -> bool:
        """Keep the highest bound of each kind: one from samples hides no rigorous one."""
        highest = self.highest.get(bound.level, -math.inf)
        self.highest[bound.level] = max(highest, bound.value)
        return bound.value > highest or (bound.is_exact and bound.value == highest)

    def share_of_time(self, share: float) -> float:
        """Return the end of a share of the time that is left."""
        now = time.monotonic()
        return now + share * (self.deadline - now)


def _bounds(
    problem: BoundProblem, level: float, rng: np.random.Generator, listener: _Listener
) -> Bounds:
    """Yield bounds, and None wherever the time may be looked at."""
    standard, conversion = standard_form(problem)
    yield LowerBound(0.0, "no cost is negative", is_exact=standard.n <= problem.k)
    if standard.n <= problem.k:
        return
    convert = conversion.lower_bound
    spectral = convert(spectral_bound(standard))
    yield LowerBound(spectral, "spectral")
    if problem.k == 1:
        return
    if problem.rows is not None and problem.rows.shape[1] == 1:
        yield _on_a_line(problem.rows[:, 0], problem.weight, problem.k)
        return
    for value in principal_axes_bound(standard):
        yield None if value is None else LowerBound(convert(value), "principal axes")
    semidefinite = _semidefinite(standard, conversion)
    if standard.rows is not None and suits_dual(*standard.rows.shape):
        end = listener.share_of_time(SEMIDEFINITE_SHARE)
        for bound in semidefinite:
            yield bound
            if time.monotonic() >= end:
                break
        is_solved = yield from _dual(standard, conversion, listener)
        if is_solved:
            return
    if standard.n >= MIN_ROWS_TO_SAMPLE:
        for value in sampled_bounds(standard, level, rng):
            yield None if value is None else LowerBound(convert(value), "sampled blocks", level)
    if standard.n > MAX_ROWS_OF_ONE_BLOCK:
        for value in block_bounds(standard):
            yield None if value is None else LowerBound(convert(value), "blocks")
    if standard.n <= MAX_ROWS_OF_WHOLE:
        yield from semidefinite


def _on_a_line(x: Floats, weight: Floats, k: int) -> LowerBound:
    """Return the optimum of one feature, rounded down; exact unless rounding took much of it."""
    found = optimal_partition(np.ascontiguousarray(x), weight, k)
    return LowerBound(found.lower_bound, "dynamic programming", is_exact=found.is_proven)


def suits_dual(n: int, d: int) -> bool:
    """Return whether prices of n points of d features are found in seconds."""
    return n <= MAX_ROWS_OF_DUAL and d <= MAX_FEATURES_OF_DUAL


def _dual(
    standard: StandardProblem, conversion: Conversion, listener: _Listener
) -> Generator[LowerBound | None, None, bool]:
    """Report bounds of the Lagrangian dual; return whether the last one is the optimum."""
    assert standard.rows is not None
    root = standard.root
    moved = gamma(4) * norm(standard.rows)  # by rounding, as a norm of √weights times rows
    bound, is_whole = LowerBound(0.0, "Lagrangian dual"), False

    def report(value: float) -> bool:
        nonlocal bound, is_whole
        distance = max(math.sqrt(max(value, 0.0)) * (1 - gamma(4)) - moved, 0.0)
        low = conversion.lower_bound(distance * distance * (1 - gamma(4)))
        is_whole = math.ldexp(low, conversion.exponent) >= (1 - MAX_ROUNDING) * value
        bound = replace(bound, value=low)
        return listener.hear(bound)

    points, end = standard.rows / root[:, None], listener.share_of_time(DUAL_SHARE)
    is_solved = report_dual_bounds(points, root * root, standard.labels, standard.k, report, end)
    is_exact = is_solved and is_whole
    yield replace(bound, is_exact=True) if is_exact else None
    return is_exact


def _semidefinite(standard: StandardProblem, conversion: Conversion) -> Bounds:
    for bound in semidefinite_rounds(standard, FULL):
        if bound is None:
            yield None
        else:
            method = "semidefinite" + " with inequalities" * bound.has_inequalities
            yield LowerBound(conversion.lower_bound(bound.value), method)
