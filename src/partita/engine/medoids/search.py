"""K-medoids: the loop over a search, its restarts, samples of large data, and the choice of K."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
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
from partita.halting import Halt, When
from partita.run_record import RunRecord
from partita.source.dissimilarities import materialize
from partita.stop_reason import StopReason
from partita.trace import Callback, Progress, Trace

Start = Callable[[MedoidProblem, int, np.random.Generator], Ints]
_NEVER = When(lambda trace: None)


@dataclass(frozen=True, slots=True)
class MedoidRun:
    """How a run ended: the medoids, what they cost, and why it stopped."""

    medoids: Ints  # (k,) candidates
    loss: float  # of all points, in the problem's units
    swaps: int
    trace: Trace
    stopped_by: StopReason
    paths: tuple[str, ...] = ()
    start: Ints | None = None  # (k,) candidates it began with; None on a sample


@dataclass(frozen=True, slots=True)
class MedoidOptions:
    """How to search, and who is to hear of it."""

    method: str
    halt: Halt
    callbacks: Sequence[Callback] = ()
    on_run_end: Callable[[RunRecord], None] | None = None
    batch: int | None = None  # rows of a sample
    memory: float = math.inf  # bytes it may take
    begin: float = 0.0


def descend(search: MedoidSearch, problem: MedoidProblem, plan: MedoidOptions) -> MedoidRun:
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
            seconds=time.perf_counter() - plan.begin,
            path=search.path,
            compared=compared,
        )
        so_far = [*trace, progress]
        # half an iteration says nothing about convergence, but time may be over
        asked = not search.is_paused or plan.halt.is_over(so_far)
        reason = stop_reason_after(so_far, plan.halt if asked else _NEVER, plan.callbacks)
        if (
            not search.is_paused
            and not search.loss < loss
            and not (reason and is_callback_stop(reason))
        ):
            reason = search.converged
        if reason:
            done = Trace(tuple(so_far))
            return MedoidRun(search.medoids, search.loss, search.swaps_made, done, reason)
        if not search.is_paused:
            trace, loss = so_far, search.loss
            before, labels = search.medoids.copy(), search.labels.copy()


def run_from(
    problem: MedoidProblem, k: int, start: Start, rng: np.random.Generator, plan: MedoidOptions
) -> MedoidRun:
    """One run from one start. A method that samples costs its medoids on all points."""
    if plan.method == "clara":
        return _on_a_sample(problem, k, start, rng, plan)
    if plan.method == "onebatch":
        return _on_a_batch(problem, k, start, rng, plan)
    first = start(problem, k, rng)
    found = descend(_search(problem, first.copy(), rng, plan.method), problem, plan)
    how = "made as they are needed" if problem.table.matrix is None else "in memory"
    paths = (f"{found.trace[-1].path}: columns {how}",)
    return replace(found, paths=paths, start=first)


def _search(
    problem: MedoidProblem, medoids: Ints, rng: np.random.Generator, method: str
) -> MedoidSearch:
    if len(medoids) == 1:
        return OneMedoid(problem, medoids)
    if method == "alternate":
        return AlternateSearch(problem, medoids)
    everyone = np.arange(problem.table.candidates)
    if method == "pam":
        return Pam(problem, medoids, everyone)
    return FasterPam(problem, medoids, rng.permutation(everyone))


def _on_a_sample(
    problem: MedoidProblem, k: int, start: Start, rng: np.random.Generator, plan: MedoidOptions
) -> MedoidRun:
    """CLARA: the swap search on a sample, its medoids judged by all points."""
    n = problem.table.n
    size = min(n, max(k, plan.batch or 80 + 4 * k))
    sample = np.sort(rng.choice(n, size, replace=False))
    part = problem.subset(sample)
    part.table = materialize(part.table, plan.memory)  # it is read many times
    found = descend(_search(part, start(part, k, rng), rng, "fasterpam"), part, plan)
    return _judged(problem, replace(found, medoids=sample[found.medoids]), f"clara: {size} rows")


def _on_a_batch(
    problem: MedoidProblem, k: int, start: Start, rng: np.random.Generator, plan: MedoidOptions
) -> MedoidRun:
    """OneBatchPAM: every row is a candidate, a batch of rows says what swaps are worth."""
    n = problem.table.n
    size = min(n, max(k, plan.batch or math.ceil(100 * math.log(n * k + 1))))
    batch = np.sort(rng.choice(n, size, replace=False))
    medoids = start(problem, k, rng)
    part = problem.restrict(np.arange(n), batch)
    part.table = materialize(part.table, plan.memory)
    found = descend(_search(part, medoids, rng, "fasterpam"), part, plan)
    return _judged(problem, found, f"onebatch: {size} rows")


def _judged(problem: MedoidProblem, found: MedoidRun, path: str) -> MedoidRun:
    closest = problem.table.columns(found.medoids).min(axis=0)
    loss = float(problem.gains(closest[None], None)[0])
    return replace(found, loss=loss, paths=(path,))


def best_medoids(
    problem: MedoidProblem,
    k: int,
    start: Start,
    seeds: Sequence[np.random.Generator],
    plan: MedoidOptions,
) -> MedoidRun:
    """A run for every seed; the lowest loss wins, the earlier run on ties."""

    def one(seed: np.random.Generator) -> tuple[float, MedoidRun, None]:
        found = run_from(problem, k, start, seed, plan)
        return found.loss, found, None

    return best_run(seeds, one, plan.halt, plan.on_run_end)[0]


# --- the number of clusters -------------------------------------------------------------------


def silhouette(problem: MedoidProblem, state: NearestMedoids) -> float:
    """The mean of 1 − closest / next: how much nearer points are to their own medoid."""
    near, far = state.closest.astype(np.float64), state.next.astype(np.float64)
    share: Floats = 1.0 - np.divide(near, far, out=np.ones_like(near), where=far > 0)
    return float(np.average(share, weights=problem.weight))


def sweep_k(
    problem: MedoidProblem,
    ks: tuple[int, int],
    start: Start,
    seeds: Sequence[np.random.Generator],
    plan: MedoidOptions,
) -> tuple[MedoidRun, dict[int, float]]:
    """Choose K by the medoid silhouette: from the largest K down, without starting anew.

    After each run the medoid that is missed least goes, and the swap search mends the rest. The
    run with the largest silhouette, the smaller K on ties, and the silhouette by K.
    """
    least, most = ks
    best = found = best_medoids(problem, most, start, seeds, plan)
    scores: dict[int, float] = {}
    while True:
        k, state = len(found.medoids), NearestMedoids(problem, found.medoids)
        scores[k] = silhouette(problem, state)
        if scores[k] >= max(scores.values()):
            best = found
        if k == least or is_callback_stop(found.stopped_by) or plan.halt.is_over(found.trace):
            return best, scores
        fewer = np.delete(state.medoids, int(state.removal.argmin()))
        found = run_from(problem, k - 1, lambda *_, m=fewer: m, seeds[0], plan)
