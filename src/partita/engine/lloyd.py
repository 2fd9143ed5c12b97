"""The loop: assign every point, update every center, until there is a reason to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from partita.centers import Centers
from partita.empty_clusters import EmptyPolicy
from partita.engine.fit_state import (
    FitState,
    LoopState,
    RecordedRepair,
    Recorder,
    RecordingAssignment,
)
from partita.engine.lloyd_step import Step
from partita.engine.paths.path import PathCache
from partita.geometry import EUCLIDEAN, Geometry
from partita.halting import Halt, StopReason
from partita.observers import is_interrupt, is_requested, requested_stop
from partita.run_record import Fit
from partita.trace import Callback, Progress, Trace

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LloydOptions:
    """Options of the loop and its restarts."""

    k: int
    halt: Halt
    empty: EmptyPolicy
    callbacks: Sequence[Callback] = ()
    on_run_end: Callable[[Fit], None] | None = None  # called with every run
    algorithm: str = "auto"  # or a path, see paths/choice.py
    memory: float = math.inf  # bytes beyond the data that the path may take
    geometry: Geometry = EUCLIDEAN
    path_cache: PathCache = field(default_factory=PathCache)  # of runs on the same rows
    recorder: Recorder | None = None  # of states from which the fit could go on
    resumed: FitState | None = None  # the state that the fit goes on from


@np.errstate(over="ignore")  # a cost beyond the largest double is infinite
def lloyd(
    step: Step,
    centers: Centers,
    options: LloydOptions,
    begin: float,
    before: Sequence[Progress] = (),
) -> Fit:
    """Alternate assignment and update from `centers` until there is a reason to stop.

    `begin` is the time (`time.perf_counter`) from which the trace counts, `before` the trace of
    the run that this one continues.
    """
    trace = list(before)
    while True:
        assigned, repair = centers, None
        moved_points = step.assign(centers)
        stats, gap = step.stats_about(centers)
        cost = step.cost(stats, gap)
        n_empty = len(stats.weight) - int(np.count_nonzero(stats.weight))
        if n_empty:
            recording, empty = RecordingAssignment(step), np.flatnonzero(stats.weight == 0)
            centers, moved = options.empty(recording, centers, empty)
            stats, gap = step.stats_about(centers)
            moved_points += moved
            repair = recording.repair
        updated, cost_after, shift = step.update(stats, gap, centers)
        progress = Progress(
            iteration=len(trace) + 1,
            cost=cost,
            cost_after=cost_after,
            shift=shift,
            moved_points=moved_points,
            empty=n_empty,
            seconds=time.perf_counter() - begin,
            path=step.last.path,
            compared=step.last.compared,
            candidates=step.last.candidates,
        )
        trace.append(progress)
        reason = stop_reason_after(trace, options.halt, options.callbacks)
        if options.recorder is not None and _would_go_on(reason, trace, options.halt):
            notes = tuple(step.notes)
            repair = repair or RecordedRepair.none()
            state = LoopState(updated, trace, len(trace), assigned, repair, notes)
            options.recorder.note(state)
            if reason:
                options.recorder.save()
        if reason:
            return Fit(updated, stats, Trace(tuple(trace)), reason, tuple(step.notes))
        centers = updated


def _would_go_on(reason: StopReason | None, trace: Sequence[Progress], halt: Halt) -> bool:
    """Return whether only a request, if anything, ends the run here: it can be resumed."""
    return reason is None or (is_requested(reason) and not halt.reason(trace))


def best_run(
    starts: Iterable[S],
    run: Callable[[S], tuple[float, Fit, T]],
    halt: Halt,
    on_run_end: Callable[[Fit], None] | None,
    best: tuple[float, Fit, T] | None = None,
    record: Callable[[Fit, bool], None] | None = None,
) -> tuple[Fit, T]:
    """Call run(start) -> (cost, fit, step) for every start; return the first of lowest cost.

    `on_run_end` is called with every fit. A callback that stops a run, or a deadline, ends the
    restarts too; after an interrupt, the best run says so, whichever it is. `best` is that of
    earlier starts; `record` receives the best after every run that no callback stopped, and
    whether restarts are over.
    """
    for start in starts:
        cost, fit, step = run(start)
        if best is None or cost < best[0]:
            best = cost, fit, step
        if on_run_end is not None:
            on_run_end(fit)
        is_stopped, is_over = is_requested(fit.stopped_by), halt.is_over(fit.trace)
        if record is not None and not is_stopped:
            record(best[1], is_over)
        if is_stopped or is_over:
            if is_interrupt(fit.stopped_by):
                best = best[0], replace(best[1], stopped_by=fit.stopped_by), best[2]
            break
    assert best is not None
    return best[1:]


def stop_reason_after(
    trace: Sequence[Progress], halt: Halt, callbacks: Sequence[Callback]
) -> StopReason | None:
    """Call the callbacks on the last iteration of `trace`; return why to stop there, if at all."""
    text = halt.reason(trace)
    reason = StopReason.of(text, "when") if text else None
    for callback in callbacks:
        reason = requested_stop(callback(trace[-1])) or reason
    return reason
