"""A run of k-medoids: the loop over a swap search, and runs on samples of large data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Ints
from partita._common.logarithm import logarithm
from partita.engine.lloyd import stop_reason_after
from partita.engine.medoids.alternate import AlternateSearch
from partita.engine.medoids.swap import (
    FasterPam,
    MedoidProblem,
    MedoidSearch,
    OneMedoid,
    Pam,
)
from partita.halting import Halt, StopReason, When
from partita.observers import is_requested
from partita.run_record import RunRecord, SearchRecord
from partita.source.dissimilarities import materialize
from partita.trace import Callback, Progress, Trace

Start = Callable[[MedoidProblem, int, np.random.Generator], Ints]
_NEVER_STOP = When(lambda trace: None)


@dataclass(frozen=True, slots=True)
class MedoidRun:
    """The result of a run: the medoids, their loss, and why it stopped."""

    medoids: Ints  # (k,) candidate numbers
    loss: float  # of all points, in the problem's units
    swaps: int
    trace: Trace
    stopped_by: StopReason
    paths: tuple[str, ...] = ()
    start: Ints | None = None  # (k,) initial candidates; None if it ran on a sample
    search: tuple[SearchRecord, ...] = ()  # beyond one run


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """The size of a search beyond one run."""

    members: int  # local optima that are kept
    patience: int  # descents in a row that find nothing lower, after which the search ends
    enumerates: bool  # try every set of medoids if these are few


@dataclass(frozen=True, slots=True)
class MedoidOptions:
    """Options of a search."""

    method: str
    start: Start
    halt: Halt
    callbacks: Sequence[Callback] = ()
    on_run_end: Callable[[RunRecord], None] | None = None
    batch: int | None = None  # rows of a sample
    memory: float = math.inf  # bytes for a table of dissimilarities
    begin: float = 0.0
    effort: SearchEffort | None = None  # of a search beyond one run


def descend(search: MedoidSearch, problem: MedoidProblem, options: MedoidOptions) -> MedoidRun:
    """Improve the medoids until they cannot be improved, or `halt` gives a reason to stop."""
    trace: list[Progress] = []
    loss, before, labels = search.loss, search.medoids.copy(), search.labels.copy()
    while True:
        compared = search.improve()
        progress = Progress(
            iteration=len(trace) + 1,
            cost=problem.in_user_units(loss),
            cost_after=problem.in_user_units(search.loss),
            shift=float((search.medoids != before).sum()),
            moved_points=int((search.labels != labels).sum()),
            empty=len(before) - len(np.unique(search.labels)),
            seconds=time.perf_counter() - options.begin,
            path=search.path,
            compared=compared,
        )
        so_far = [*trace, progress]
        # a paused iteration does not show convergence, but the time may be up
        ask_halt = not search.is_paused or options.halt.is_over(so_far)
        reason = stop_reason_after(
            so_far, options.halt if ask_halt else _NEVER_STOP, options.callbacks
        )
        is_stuck = not search.is_paused and not search.loss < loss
        if is_stuck and not (reason and is_requested(reason)):
            reason = search.converged
        if reason:
            done = Trace(tuple(so_far))
            return MedoidRun(search.medoids, search.loss, search.swaps_made, done, reason)
        if not search.is_paused:
            trace, loss = so_far, search.loss
            before, labels = search.medoids.copy(), search.labels.copy()


def run_once(
    problem: MedoidProblem, k: int, rng: np.random.Generator, options: MedoidOptions
) -> MedoidRun:
    """Run once from one start; the medoids of a sample are costed on all points."""
    if options.method in ("clara", "onebatch"):
        return _run_on_sample(problem, k, rng, options)
    return run_from(options.start(problem, k, rng), problem, rng, options)


def run_from(
    first: Ints, problem: MedoidProblem, rng: np.random.Generator, options: MedoidOptions
) -> MedoidRun:
    """Run once from these candidates."""
    result = descend(_search(problem, first.copy(), rng, options.method), problem, options)
    location = "computed as needed" if problem.table.matrix is None else "in memory"
    paths = (f"{result.trace[-1].path}: columns {location}",)
    return replace(result, paths=paths, start=first)


def _search(
    problem: MedoidProblem, medoids: Ints, rng: np.random.Generator, method: str
) -> MedoidSearch:
    if len(medoids) == 1:
        return OneMedoid(problem, medoids)
    if method == "alternate":
        return AlternateSearch(problem, medoids)
    candidates = np.arange(problem.table.candidates)
    if method == "pam":
        return Pam(problem, medoids, candidates)
    return FasterPam(problem, medoids, rng.permutation(candidates))


def _run_on_sample(
    problem: MedoidProblem, k: int, rng: np.random.Generator, options: MedoidOptions
) -> MedoidRun:
    """CLARA: a swap search on a sample. OneBatchPAM: of all candidates, valued on a sample."""
    n, clara = problem.table.n, options.method == "clara"
    places = problem.places
    default = 80 + 4 * k if clara else math.ceil(100 * logarithm(n * k + 1))
    size = min(n, max(k, options.batch or default))
    sample = np.sort(rng.choice(n, size, replace=False))
    if clara and np.isin(sample, places).sum() < k:
        sample = np.union1d(sample, rng.choice(places, k, replace=False))
    first = None if clara else options.start(problem, k, rng)
    candidates = np.flatnonzero(np.isin(places, sample)) if clara else np.arange(len(places))
    subproblem = problem.restrict(candidates, sample)
    subproblem.table = materialize(subproblem.table, options.memory)  # it is read many times
    first = options.start(subproblem, k, rng) if first is None else first
    result = descend(_search(subproblem, first, rng, "fasterpam"), subproblem, options)
    medoids = candidates[result.medoids]
    closest = problem.table.columns(medoids).min(axis=0)
    loss = float(problem.gains(closest[None], None)[0])
    return replace(result, medoids=medoids, loss=loss, paths=(f"{options.method}: {size} rows",))
