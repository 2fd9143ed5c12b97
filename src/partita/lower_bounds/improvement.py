"""Lower bounds in the order of their cost, each better than those before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from partita._common.threads import one_blas_thread
from partita.lower_bounds.axis_sums import principal_axes_bound
from partita.lower_bounds.block_sums import block_bounds
from partita.lower_bounds.problem import BoundProblem
from partita.lower_bounds.record import LowerBound
from partita.lower_bounds.sampled_blocks import sampled_bounds
from partita.lower_bounds.semidefinite_rounds import FULL, semidefinite_rounds
from partita.lower_bounds.spectral import spectral_bound
from partita.lower_bounds.standard_form import Conversion, StandardProblem, standard_form

MAX_ROWS_OF_ONE_BLOCK = 400  # for which the blocks would only take time from the whole
MAX_ROWS_OF_WHOLE = 1500  # of distinct rows: a step takes a third of a second
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
    best = -math.inf
    with one_blas_thread():
        for bound in _bounds(problem, level, rng):
            if bound is not None and bound.value > best:
                best = bound.value
                if report(bound):
                    return
            if deadline is not None and time.monotonic() >= deadline:
                return


def _bounds(problem: BoundProblem, level: float, rng: np.random.Generator) -> Bounds:
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
    if standard.n >= MIN_ROWS_TO_SAMPLE:
        for value in sampled_bounds(standard, level, rng):
            yield None if value is None else LowerBound(convert(value), "sampled blocks", level)
    if standard.n > MAX_ROWS_OF_ONE_BLOCK:
        for value in block_bounds(standard):
            yield None if value is None else LowerBound(convert(value), "blocks")
    if standard.n <= MAX_ROWS_OF_WHOLE:
        yield from _semidefinite(standard, conversion)


def _semidefinite(standard: StandardProblem, conversion: Conversion) -> Bounds:
    for bound in semidefinite_rounds(standard, FULL):
        if bound is None:
            yield None
        else:
            method = "semidefinite" + " with inequalities" * bound.has_inequalities
            yield LowerBound(conversion.lower_bound(bound.value), method)
