"""Several runs from different starts, of which the best is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.threads import one_blas_thread
from partita._common.weighting import weighted
from partita.centers import Centers
from partita.empty_clusters import EmptyPolicy
from partita.engine.lloyd import best_run, lloyd
from partita.engine.lloyd_step import LloydStep
from partita.engine.paths.choice import memory_of, plan_for
from partita.engine.paths.scheduler import PathCache, PrunedStep
from partita.geometry import EUCLIDEAN, Geometry
from partita.halting import Halt
from partita.run_record import Fit
from partita.source.blocks import DenseSource, Source
from partita.stats import ClusterStats
from partita.trace import Callback


@dataclass(frozen=True, slots=True)
class LloydOptions:
    """How to run the loop.

    `algorithm` is "auto" or a path (see plan.py), `memory` how many bytes beyond the data it may
    take, and `shared` what calls on the same rows leave for each other. `ended` hears of every run.
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
    """Run the loop from every start, and keep the best (see `best_run`)."""
    return finish(*best_fit(source, starts, options))


def best_fit(
    source: Source, starts: Sequence[Callable[[], Floats]], options: LloydOptions
) -> tuple[Fit, LloydStep]:
    """The best run as the loop left it, and the step that made it, to go on from."""
    begin, k, geometry = time.perf_counter(), options.k, options.geometry
    plan, grid = plan_for(source, k, options.algorithm, options.memory), source.survey().grid
    source.spare = options.memory - memory_of(plan.path, source, k)

    def run(start: Callable[[], Floats]) -> tuple[float, Fit, LloydStep]:
        step: LloydStep = LloydStep(source, grid, k, geometry)
        if plan.path != "plain":
            step = PrunedStep(
                cast("DenseSource", source), grid, k, plan, options.path_cache, geometry
            )
        step.notes = [f"{plan.path}: {plan.why}"]
        fit = _run(step, np.ascontiguousarray(start(), dtype=np.float64), options, begin)
        return fit.trace[-1].cost_after, fit, step

    with one_blas_thread() if plan.path == "prefix" else nullcontext():
        return best_run(starts, run, options.halt, options.on_run_end)


def rerun_merged(step: LloydStep, i: int, j: int, centers: Floats, options: LloydOptions) -> Fit:
    """Make clusters i < j one and go on from `centers`: all rows keep their place in the sums."""
    step.fuse(i, j)
    return _run(step, centers, options, time.perf_counter())


def _run(step: LloydStep, first: Floats, options: LloydOptions, begin: float) -> Fit:
    at = Centers(options.geometry.start(first), np.zeros(step.source.d))
    fit = lloyd(
        step, at, halt=options.halt, empty=options.empty, callbacks=options.callbacks, begin=begin
    )
    return replace(fit, start=first)


def finish(fit: Fit, step: LloydStep) -> LabelledRun:
    """Round the centers to the dtype of the data, and assign once more to exactly those."""
    centers = fit.centers.plain.astype(step.source.dtype)
    return LabelledRun(centers, *label_and_summarise(centers, step), fit)


def label_and_summarise(centers: Floats, step: LloydStep) -> tuple[Ints, float, ClusterStats]:
    """Labels by centers as they are returned, what that costs, and the summaries of it."""
    source = step.source
    returned = Centers(centers.astype(np.float64), np.zeros(source.d))
    step.assign(returned)
    stats, _ = step.stats_about(returned)
    cost = source.own_distances(returned, step.labels)
    if not source.weights.alike:
        cost = weighted(cost, source.weights.as_floats(source.n))
    price = step.geometry.price * (source.weights.unit if source.weights.alike else 1.0)
    return step.labels, exact_total(cost) * price, stats.moved(step.origin)
