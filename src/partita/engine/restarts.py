"""Several runs from different starts; the best is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.threads import one_blas_thread
from partita._common.weighting import weighted
from partita.centers import Centers
from partita.empty_clusters import EmptyPolicy
from partita.engine.lloyd import best_run, lloyd
from partita.engine.lloyd_step import LloydStep
from partita.engine.paths.choice import plan_and_spare
from partita.engine.paths.path import PathCache
from partita.engine.paths.scheduler import PassScheduler
from partita.geometry import EUCLIDEAN, Geometry
from partita.halting import Halt
from partita.run_record import Fit
from partita.source.protocol import Source
from partita.stats import ClusterStats
from partita.trace import Callback


@dataclass(frozen=True, slots=True)
class LloydOptions:
    """Options of the loop and its restarts.

    `algorithm` is "auto" or a path (see paths/choice.py), `memory` the number of bytes beyond the
    data that it may take, and `path_cache` is shared by calls on the same rows. `on_run_end` is
    called with every run.
    """

    k: int
    halt: Halt
    empty: EmptyPolicy
    callbacks: Sequence[Callback] = ()
    on_run_end: Callable[[Fit], None] | None = None
    algorithm: str = "auto"
    memory: float = math.inf
    geometry: Geometry = EUCLIDEAN
    path_cache: PathCache = field(default_factory=PathCache)


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
    """Run the loop from every start, and label the rows by the best run (see `best_run`)."""
    return finish(*best_fit(source, starts, options))


def best_fit(
    source: Source, starts: Sequence[Callable[[], Floats]], options: LloydOptions
) -> tuple[Fit, LloydStep]:
    """Return the best run as the loop left it, and the step that made it, to go on from."""
    begin, k = time.perf_counter(), options.k
    plan, spare = plan_and_spare(source, k, options.algorithm, options.memory)
    grid = source.survey().grid

    def run(start: Callable[[], Floats]) -> tuple[float, Fit, LloydStep]:
        passes = PassScheduler(source, plan, options.path_cache, spare)
        step = LloydStep(source, grid, k, options.geometry, passes)
        fit = _run(step, np.ascontiguousarray(start(), dtype=np.float64), options, begin)
        return fit.trace[-1].cost_after, fit, step

    with one_blas_thread() if plan.path == "prefix" else nullcontext():
        return best_run(starts, run, options.halt, options.on_run_end)


def rerun_merged(step: LloydStep, i: int, j: int, centers: Floats, options: LloydOptions) -> Fit:
    """Merge clusters i < j and run on from `centers`; the sums of the other clusters stay."""
    step.merge_clusters(i, j)
    return _run(step, centers, options, time.perf_counter())


def _run(step: LloydStep, first: Floats, options: LloydOptions, begin: float) -> Fit:
    centers = Centers(options.geometry.start(first), np.zeros(step.source.d))
    fit = lloyd(
        step,
        centers,
        halt=options.halt,
        empty=options.empty,
        callbacks=options.callbacks,
        begin=begin,
    )
    return replace(fit, start=first)


def finish(fit: Fit, step: LloydStep) -> LabelledRun:
    """Round the centers to the dtype of the data, and assign once more to exactly these."""
    centers = fit.centers.plain.astype(step.source.dtype)
    return LabelledRun(centers, *label_and_summarise(centers, step), fit)


def label_and_summarise(centers: Floats, step: LloydStep) -> tuple[Ints, float, ClusterStats]:
    """Assign to centers as they are returned; return the labels, their cost and summaries."""
    source = step.source
    returned = Centers(centers.astype(np.float64), np.zeros(source.d))
    step.assign(returned)
    stats, _ = step.stats_about(returned)
    cost = source.own_distances(returned, step.labels)
    if not source.weights.all_equal:
        cost = weighted(cost, source.weights.as_floats(source.n))
    price = step.geometry.price * (source.weights.unit if source.weights.all_equal else 1.0)
    return step.labels, exact_total(cost) * price, stats.moved(step.origin)
