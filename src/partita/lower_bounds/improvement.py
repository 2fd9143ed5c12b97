"""Lower bounds in the order of their cost, each better than those before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

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

MAX_ROWS_OF_ONE_BLOCK = 400  # for which the blocks would only take time from the whole
MAX_ROWS_OF_WHOLE = 1500  # of distinct rows: a step takes a third of a second
MAX_ROWS_OF_DUAL = 250  # of distinct rows, in few features: then it is exact within seconds
MAX_FEATURES_OF_DUAL = 4
DUAL_SHARE = 1 / 3  # of the time
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
    best: float = -math.inf
    is_content: bool = False

    def hear(self, bound: LowerBound | None) -> bool:
        """Report a bound if it is higher than those before; return whether the search ends."""
        if bound is not None and bound.value > self.best:
            self.best = bound.value
            self.is_content = self.report(bound)
        return self.is_content or time.monotonic() >= self.deadline

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
    yield LowerBound(spectral, "spectral", is_exact=problem.k == 1)
    if problem.k == 1:
        return
    is_line = standard.rows is not None and standard.rows.shape[1] == 1
    method = "dynamic programming" if is_line else "principal axes"
    for value in principal_axes_bound(standard):
        yield None if value is None else LowerBound(convert(value), method, is_exact=is_line)
    if is_line:
        return
    if standard.rows is not None and standard.n <= MAX_ROWS_OF_DUAL:
        yield from _dual(standard, conversion, listener)
    if standard.n >= MIN_ROWS_TO_SAMPLE:
        for value in sampled_bounds(standard, level, rng):
            yield None if value is None else LowerBound(convert(value), "sampled blocks", level)
    if standard.n > MAX_ROWS_OF_ONE_BLOCK:
        for value in block_bounds(standard):
            yield None if value is None else LowerBound(convert(value), "blocks")
    if standard.n <= MAX_ROWS_OF_WHOLE:
        yield from _semidefinite(standard, conversion)


def _dual(standard: StandardProblem, conversion: Conversion, listener: _Listener) -> Bounds:
    """Report bounds of the Lagrangian dual; yield None at its end."""
    assert standard.rows is not None
    if standard.rows.shape[1] > MAX_FEATURES_OF_DUAL:
        return
    root = standard.root
    moved = gamma(4) * norm(standard.rows)  # by rounding, as a norm of √weights times rows

    def report(value: float) -> bool:
        distance = max(math.sqrt(max(value, 0.0)) * (1 - gamma(4)) - moved, 0.0)
        bound = conversion.lower_bound(distance * distance * (1 - gamma(4)))
        return listener.hear(LowerBound(bound, "Lagrangian dual"))

    points, end = standard.rows / root[:, None], listener.share_of_time(DUAL_SHARE)
    report_dual_bounds(points, root * root, standard.labels, standard.k, report, end)
    yield None


def _semidefinite(standard: StandardProblem, conversion: Conversion) -> Bounds:
    for bound in semidefinite_rounds(standard, FULL):
        if bound is None:
            yield None
        else:
            method = "semidefinite" + " with inequalities" * bound.has_inequalities
            yield LowerBound(conversion.lower_bound(bound.value), method)
