"""Several runs from different starts; the best is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.threads import has_room_for_blas, one_blas_thread
from partita.centers import Centers
from partita.engine.lloyd import LloydOptions, best_run, lloyd
from partita.engine.lloyd_step import LloydStep
from partita.engine.paths.choice import plan_for
from partita.engine.paths.scheduler import PassScheduler
from partita.run_record import Fit
from partita.source.protocol import Source
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """The best run, after one assignment to the centers as they are returned."""

    centers: Floats  # (k, d), in the data's coordinates and dtype
    labels: Ints  # (n,)
    inertia: float
    stats: ClusterStats  # of these labels, in the data's coordinates
    fit: Fit


def best_of(
    source: Source, starts: Sequence[Callable[[], Floats]], options: LloydOptions
) -> LabelledRun:
    """Run the loop from every start, and label the rows by the best run (see `best_run`).

    Centers are rounded to the dtype of the data, and the rows assigned once more to exactly these.
    """
    fit, step = best_fit(source, starts, options)
    centers = fit.centers.plain.astype(source.dtype)
    return LabelledRun(centers, *label_and_summarise(centers, step), fit)


def best_fit(
    source: Source, starts: Sequence[Callable[[], Floats]], options: LloydOptions
) -> tuple[Fit, LloydStep]:
    """Return the best run as the loop left it, and the step that made it, to go on from."""
    begin = time.perf_counter()
    runs = len(starts)
    plan = plan_for(source, options.k, options.algorithm, options.memory, runs)

    def run(start: Callable[[], Floats]) -> tuple[float, Fit, LloydStep]:
        passes = PassScheduler(source, plan, options.path_cache)
        step = LloydStep(source, options.k, options.geometry, passes)
        fit = _run(step, np.ascontiguousarray(start(), dtype=np.float64), options, begin)
        if plan.lean:
            passes.give_up_bounds()
        return fit.trace[-1].cost_after, fit, step

    # setting the threads of BLAS may start some, after a fork; without room the path avoids BLAS
    uses_blas = plan.path == "prefix" and has_room_for_blas(source.workers.n)
    with one_blas_thread() if uses_blas else nullcontext():
        return best_run(starts, run, options.halt, options.on_run_end)


def rerun_merged(step: LloydStep, i: int, j: int, centers: Floats, options: LloydOptions) -> Fit:
    """Merge clusters i < j and run on from `centers`; the sums of the other clusters stay."""
    step.merge_clusters(i, j)
    return _run(step, centers, options, time.perf_counter())


def _run(step: LloydStep, first: Floats, options: LloydOptions, begin: float) -> Fit:
    centers = Centers(options.geometry.start(first), np.zeros(step.source.d))
    return replace(lloyd(step, centers, options, begin), start=first)


def label_and_summarise(centers: Floats, step: LloydStep) -> tuple[Ints, float, ClusterStats]:
    """Assign to centers as they are returned; return the labels, their cost and summaries."""
    source = step.source
    returned = Centers(centers.astype(np.float64), np.zeros(source.d))
    step.assign(returned)
    stats, _ = step.stats_about(returned)
    weight = source.weights.unless_equal()
    cost = exact_total(source.own_distances(returned, step.labels), weight)
    price = step.geometry.price * (source.weights.unit if weight is None else 1.0)
    return step.labels, cost * price, stats.moved(step.origin)
