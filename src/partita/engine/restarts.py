"""Several runs from different starts; the best is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.threads import has_room_for_blas, one_blas_thread
from partita.centers import Centers
from partita.engine.fit_state import FitState, LoopState, restore
from partita.engine.lloyd import LloydOptions, best_run, lloyd
from partita.engine.lloyd_step import LloydStep, Step
from partita.engine.paths.choice import plan_for
from partita.engine.paths.path import PathPlan
from partita.engine.paths.scheduler import PassScheduler
from partita.engine.repeated_passes import merged_bytes, passes_for
from partita.observers import RunStart, announce
from partita.run_record import Fit
from partita.source.protocol import Source
from partita.stats import ClusterStats

S = TypeVar("S", bound=Step)


class PassStep(Step, Protocol):
    """A step whose passes are made by paths that may keep bounds."""

    def give_up_bounds(self) -> None:
        """Free the memory of the path; a later pass is a plain one."""


P = TypeVar("P", bound=PassStep)


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """The best run, after one assignment to the centers as they are returned."""

    centers: Floats  # (k, d), in the data's coordinates and dtype
    labels: Ints  # (n,)
    inertia: float
    stats: ClusterStats  # of these labels, in the data's coordinates
    fit: Fit
    # (k, d) weight of the values that are there, if rows have gaps
    observed_weight: Floats | None = None


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
    plan = plan_of(source, options, len(starts))
    shape = options.k, options.algorithm, options.memory, len(starts)

    def new_step(k: int) -> LloydStep:
        passes = passes_for(source, plan, shape, options.path_cache)
        return LloydStep(source, k, options.geometry, passes)

    return _run_by(plan, source, starts, options, new_step)


def best_fit_by(
    source: Source,
    starts: Sequence[Callable[[], Floats]],
    options: LloydOptions,
    of_lloyd: Callable[[LloydStep], P],
) -> tuple[Fit, P]:
    """`best_fit` by steps that are made of those of Lloyd, over all rows."""
    plan = plan_of(source, options, len(starts))

    def new_step(k: int) -> P:
        passes = PassScheduler(source, plan, options.path_cache)
        return of_lloyd(LloydStep(source, k, options.geometry, passes))

    return _run_by(plan, source, starts, options, new_step)


def _run_by(
    plan: PathPlan,
    source: Source,
    starts: Sequence[Callable[[], Floats]],
    options: LloydOptions,
    new_step: Callable[[int], P],
) -> tuple[Fit, P]:
    """`run_all` by steps that take the path of a plan."""

    def end(step: P) -> None:
        if plan.lean:
            step.give_up_bounds()

    # setting the threads of BLAS may start some, after a fork; without room the path avoids BLAS
    uses_blas = plan.path == "prefix" and has_room_for_blas(source.workers.n)
    with one_blas_thread() if uses_blas else nullcontext():
        return run_all(starts, options, new_step, end)


def plan_of(source: Source, options: LloydOptions, runs: int) -> PathPlan:
    """Return the path for these options; it is chosen once."""
    shape = options.k, options.algorithm, options.memory, runs
    return options.path_cache.once(("plan", shape), lambda: plan_for(source, *shape))


def spare_memory(source: Source, options: LloydOptions, runs: int) -> float:
    """Bytes that the runs leave for their starts."""
    shape = options.k, options.algorithm, options.memory, runs
    plan = plan_of(source, options, runs)
    return plan.spare - merged_bytes(source, plan, shape, options.path_cache)


def run_all(
    starts: Sequence[Callable[[], Floats]],
    options: LloydOptions,
    new_step: Callable[[int], S],
    end: Callable[[S], None],
) -> tuple[Fit, S]:
    """Run the loop from every start with a step new_step(k); return the best run and its step.

    The states of the fit are recorded, and those of an earlier process continued, as the options
    say. `end` is called with the step after every run.
    """
    recorder, resumed = options.recorder, options.resumed
    begin = time.perf_counter() - (0.0 if resumed is None else resumed.seconds)
    ended = 0 if resumed is None else resumed.ended

    def run(start: Callable[[], Floats]) -> tuple[float, Fit, S]:
        nonlocal resumed
        announce(options.callbacks, RunStart(ended + 1, len(starts), options.halt))
        if resumed is not None and resumed.loop is not None:
            step = new_step(_cluster_count(resumed.loop))
            fit, resumed = _go_on(step, resumed, options, begin), None
        else:
            step = new_step(options.k)
            fit = _run(step, np.ascontiguousarray(start(), dtype=np.float64), options, begin)
        end(step)
        return fit.trace[-1].cost_after, fit, step

    def record(best: Fit, is_over: bool) -> None:
        nonlocal ended
        ended = len(starts) if is_over else ended + 1
        if recorder is not None:
            recorder.end_run(ended, best)

    best = None
    if resumed is not None and resumed.best is not None:
        fit = resumed.best
        best = fit.trace[-1].cost_after, fit, new_step(len(fit.centers.values))
    if recorder is not None:
        recorder.begin_fit(begin, ended, None if best is None else best[1])
    return best_run(starts[ended:], run, options.halt, options.on_run_end, best, record)


def _cluster_count(loop: LoopState) -> int:
    """The number of clusters in the last pass; policies may have dropped some since."""
    return len((loop.assigned or loop.centers).values)


def _go_on(step: Step, state: FitState, options: LloydOptions, begin: float) -> Fit:
    """Bring back the labels and sums of a run, and go on with it."""
    loop = state.loop
    assert loop is not None
    assert state.start is not None
    if options.recorder is not None:
        options.recorder.begin_run(state.start, loop)
    if loop.assigned is not None:
        restore(step, loop.assigned, loop.repair)
    before = loop.trace[: loop.iterations]
    fit = lloyd(step, loop.centers, options, begin, before)
    notes = dict.fromkeys([*loop.notes, *fit.paths])  # those of both processes, each once
    return replace(fit, start=state.start, paths=tuple(notes))


def rerun_merged(step: LloydStep, i: int, j: int, centers: Floats, options: LloydOptions) -> Fit:
    """Merge clusters i < j and run on from `centers`; the sums of the other clusters stay."""
    step.merge_clusters(i, j)
    return _run(step, centers, options, time.perf_counter())


def _run(step: Step, first: Floats, options: LloydOptions, begin: float) -> Fit:
    centers = Centers(options.geometry.start(first), np.zeros(first.shape[1]))
    if options.recorder is not None:
        options.recorder.begin_run(first, LoopState(centers))
    return replace(lloyd(step, centers, options, begin), start=first)


class SourceStep(Step, Protocol):
    """A step over the rows of a source."""

    @property
    def source(self) -> Any:
        """The rows: a `Source`, or one of rows with gaps."""

    @property
    def labels(self) -> Ints:
        """The cluster of every row."""

    @property
    def origin(self) -> Floats:
        """Origin of the means of the summaries."""

    def own_cost(self, centers: Centers) -> float:
        """Σ w·‖x − c‖² over all rows, as of a `Source`."""


def label_and_summarise(centers: Floats, step: LloydStep) -> tuple[Ints, float, ClusterStats]:
    """Assign to centers as they are returned; return the labels, their cost and summaries."""
    step.expect_end()
    return summarise_at(centers, step, step.geometry.price)


def summarise_at(
    centers: Floats, step: SourceStep, price: float = 1.0
) -> tuple[Ints, float, ClusterStats]:
    """Do the same by any step; `price` is that of a squared distance."""
    source = step.source
    returned = Centers(centers.astype(np.float64), np.zeros(source.d))
    step.assign(returned)
    stats, _ = step.stats_about(returned)
    price *= source.weights.of_every_row
    return step.labels, step.own_cost(returned) * price, stats.moved(step.origin)
