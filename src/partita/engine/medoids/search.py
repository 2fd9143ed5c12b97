"""K-medoids: the loop over a search, its restarts, samples of large data, and the choice of K."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.logarithm import logarithm
from partita.engine.lloyd import best_run, is_callback_stop, stop_reason_after
from partita.engine.medoids.alternate import AlternateSearch
from partita.engine.medoids.swap import (
    FasterPam,
    MedoidProblem,
    MedoidSearch,
    NearestMedoids,
    OneMedoid,
    Pam,
)
from partita.halting import Halt, StopReason, When
from partita.run_record import RunRecord
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
        if is_stuck and not (reason and is_callback_stop(reason)):
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
    first = options.start(problem, k, rng)
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
    default = 80 + 4 * k if clara else math.ceil(100 * logarithm(n * k + 1))
    size = min(n, max(k, options.batch or default))
    sample = np.sort(rng.choice(n, size, replace=False))
    first = None if clara else options.start(problem, k, rng)
    subproblem = problem.restrict(sample if clara else np.arange(n), sample)
    subproblem.table = materialize(subproblem.table, options.memory)  # it is read many times
    first = options.start(subproblem, k, rng) if first is None else first
    result = descend(_search(subproblem, first, rng, "fasterpam"), subproblem, options)
    medoids = sample[result.medoids] if clara else result.medoids
    closest = problem.table.columns(medoids).min(axis=0)
    loss = float(problem.gains(closest[None], None)[0])
    return replace(result, medoids=medoids, loss=loss, paths=(f"{options.method}: {size} rows",))


def best_medoids(
    problem: MedoidProblem, k: int, rngs: Sequence[np.random.Generator], options: MedoidOptions
) -> MedoidRun:
    """Run once for every generator; the lowest loss wins, the earlier run on ties."""

    def one(rng: np.random.Generator) -> tuple[float, MedoidRun, None]:
        result = run_once(problem, k, rng, options)
        return result.loss, result, None

    return best_run(rngs, one, options.halt, options.on_run_end)[0]


# --- the number of clusters -------------------------------------------------------------------


def silhouette(problem: MedoidProblem, state: NearestMedoids) -> float:
    """Return the medoid silhouette: the mean of 1 − closest / next."""
    near, far = state.closest.astype(np.float64), state.next.astype(np.float64)
    share: Floats = 1.0 - np.divide(near, far, out=np.ones_like(near), where=far > 0)
    weight = np.ones(len(share)) if problem.weight is None else problem.weight
    return exact_total(share, weight) / exact_total(weight)


def sweep_k(
    problem: MedoidProblem,
    ks: tuple[int, int],
    rngs: Sequence[np.random.Generator],
    options: MedoidOptions,
) -> tuple[MedoidRun, dict[int, float]]:
    """Choose K by the medoid silhouette, from the largest K down with warm starts.

    After each run, the medoid whose removal costs least is removed, and the swap search continues
    from the others. Returns the run with the largest silhouette (the smaller K on ties), and the
    silhouette by K.
    """
    min_k, max_k = ks
    best = result = best_medoids(problem, max_k, rngs, options)
    scores: dict[int, float] = {}
    while True:
        k, state = len(result.medoids), NearestMedoids(problem, result.medoids)
        scores[k] = silhouette(problem, state)
        if scores[k] >= max(scores.values()):
            best = result
        if k == min_k or is_callback_stop(result.stopped_by) or options.halt.is_over(result.trace):
            return best, scores
        fewer = np.delete(state.medoids, int(state.removal.argmin()))
        from_fewer = replace(options, start=lambda *_, medoids=fewer: medoids)
        result = run_once(problem, k - 1, rngs[0], from_fewer)
