"""K-medoids: searches from several starts, and the choice of K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita.engine.medoids.descent import MedoidOptions, MedoidRun, run_once
from partita.engine.medoids.medoid_population import reason_to_end, search_on
from partita.engine.medoids.swap import MedoidProblem, NearestMedoids
from partita.observers import RunStart, announce, is_interrupt


def search_once(
    problem: MedoidProblem, k: int, rng: np.random.Generator, options: MedoidOptions
) -> MedoidRun:
    """Run once, and search on from there if `options` ask for it."""
    first = run_once(problem, k, rng, options)
    return first if options.effort is None else search_on(problem, first, rng, options)


def best_medoids(
    problem: MedoidProblem, k: int, rngs: Sequence[np.random.Generator], options: MedoidOptions
) -> MedoidRun:
    """Search once with every generator; the lowest loss wins, the earlier on ties."""

    best: MedoidRun | None = None
    runs = len(rngs) if options.effort is None else None
    for number, rng in enumerate(rngs, 1):
        announce(options.callbacks, RunStart(number, runs, options.halt))
        run = search_once(problem, k, rng, options)
        if best is None or run.loss < best.loss:
            best = run
        if options.on_run_end is not None:
            options.on_run_end(run)
        if reason := reason_to_end(run, options.halt):
            if is_interrupt(reason):
                best = replace(best, stopped_by=reason)
            break
    assert best is not None
    return best


# --- the number of clusters -------------------------------------------------------------------


def silhouette(problem: MedoidProblem, state: NearestMedoids) -> float:
    """Return the medoid silhouette: the mean of 1 − closest / next."""
    near, far = state.closest.astype(np.float64), state.next.astype(np.float64)
    share: Floats = 1.0 - np.divide(near, far, out=np.ones_like(near), where=far > 0)
    weight = np.ones(len(share)) if problem.weight is None else problem.weight
    return exact_total(share, weight) / exact_total(weight)


def sweep_k(
    problem: MedoidProblem,
    ks: Sequence[int],
    rngs: Sequence[np.random.Generator],
    options: MedoidOptions,
) -> tuple[MedoidRun, dict[int, float]]:
    """Choose K of `ks` (ascending) by the medoid silhouette, from the largest down.

    After each run, the medoids whose removal costs least are removed one by one, and the swap
    search continues from the others. Returns the run with the largest silhouette (the smaller K on
    ties), and the silhouette by K.
    """
    *left, k = ks
    best = result = best_medoids(problem, k, rngs, options)
    scores: dict[int, float] = {}
    while True:
        state = NearestMedoids(problem, result.medoids)
        scores[k] = silhouette(problem, state)
        if scores[k] >= max(scores.values()):
            best = result
        reason = reason_to_end(result, options.halt)
        if not left or reason:
            if reason is not None and is_interrupt(reason):
                best = replace(best, stopped_by=reason)
            return best, scores
        k = left.pop()
        fewer = _most_needed(problem, state, k)
        from_fewer = replace(options, start=lambda *_, medoids=fewer: medoids)
        result = search_once(problem, k, rngs[0], from_fewer)


def _most_needed(problem: MedoidProblem, state: NearestMedoids, k: int) -> Ints:
    """Return the k medoids that are left if the one that is missed least goes, again and again."""
    while len(medoids := np.delete(state.medoids, int(state.removal.argmin()))) > k:
        state = NearestMedoids(problem, medoids)
    return medoids
