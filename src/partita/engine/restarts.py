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
from partita._common.threads import one_blas_thread
from partita._common.weighting import weighted
from partita.centers import Centers
from partita.empty_clusters import EmptyPolicy
from partita.engine.lloyd import best_run, lloyd
from partita.engine.lloyd_step import LloydStep
from partita.engine.paths.choice import memory_of, plan_for
from partita.engine.paths.scheduler import PrunedStep, Shared
from partita.geometry import EUCLIDEAN, Geometry
from partita.halting import Halt
from partita.run_record import Fit
from partita.source.blocks import DenseSource, Source, exact_total
from partita.stats import ClusterStats
from partita.trace import Observer


@dataclass(frozen=True, slots=True)
class Ways:
    """How to run the loop.

    `algorithm` is "auto" or a path (see plan.py), `memory` how many bytes beyond the data it may
    take, and `shared` what calls on the same rows leave for each other. `ended` hears of every run.
    """

    k: int
    halt: Halt
    empty: EmptyPolicy
    observers: Sequence[Observer] = ()
    ended: Callable[[Fit], None] | None = None
    algorithm: str = "auto"
    memory: float = math.inf
    geometry: Geometry = EUCLIDEAN
    shared: Shared = field(default_factory=Shared)


@dataclass(frozen=True, slots=True)
class Result:
    """The best run, after one assignment to the centers as they are returned."""

    centers: Floats  # (k, d), in the data's coordinates and dtype
    labels: Ints  # (n,)
    inertia: float
    stats: ClusterStats  # of these labels, in the data's coordinates
    fit: Fit


def best_of(source: Source, starts: Sequence[Callable[[], Floats]], ways: Ways) -> Result:
    """Run the loop from every start, and keep the best (see `best_run`)."""
    return finish(*best_fit(source, starts, ways))


def best_fit(
    source: Source, starts: Sequence[Callable[[], Floats]], ways: Ways
) -> tuple[Fit, LloydStep]:
    """The best run as the loop left it, and the step that made it, to go on from."""
    begin, k, geometry = time.perf_counter(), ways.k, ways.geometry
    plan, grid = plan_for(source, k, ways.algorithm, ways.memory), source.survey().grid
    source.spare = ways.memory - memory_of(plan.path, source, k)

    def run(start: Callable[[], Floats]) -> tuple[float, Fit, LloydStep]:
        step: LloydStep = LloydStep(source, grid, k, geometry)
        if plan.path != "plain":
            step = PrunedStep(cast("DenseSource", source), grid, k, plan, ways.shared, geometry)
        step.notes = [f"{plan.path}: {plan.why}"]
        fit = _run(step, np.ascontiguousarray(start(), dtype=np.float64), ways, begin)
        return fit.trace[-1].cost_after, fit, step

    with one_blas_thread() if plan.path == "prefix" else nullcontext():
        return best_run(starts, run, ways.halt, ways.ended)


def fuse(step: LloydStep, i: int, j: int, centers: Floats, ways: Ways) -> Fit:
    """Make clusters i < j one and go on from `centers`: all rows keep their place in the sums."""
    step.fuse(i, j)
    return _run(step, centers, ways, time.perf_counter())


def _run(step: LloydStep, first: Floats, ways: Ways, begin: float) -> Fit:
    at = Centers(ways.geometry.start(first), np.zeros(step.source.d))
    fit = lloyd(step, at, halt=ways.halt, empty=ways.empty, observers=ways.observers, begin=begin)
    return replace(fit, start=first)


def finish(fit: Fit, step: LloydStep) -> Result:
    """Round the centers to the dtype of the data, and assign once more to exactly those."""
    centers = fit.centers.plain.astype(step.source.dtype)
    return Result(centers, *labelled(centers, step), fit)


def labelled(centers: Floats, step: LloydStep) -> tuple[Ints, float, ClusterStats]:
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
