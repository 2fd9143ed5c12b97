"""Starts of k-medoids: the initial candidates."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.engine.medoids.swap import MedoidProblem


def random(problem: MedoidProblem, k: int, rng: np.random.Generator) -> Ints:
    """Draw candidates in proportion to their weight."""
    if problem.weight is None:
        return rng.choice(problem.table.candidates, k, replace=False)
    weight = problem.weight[problem.places]
    positive = np.flatnonzero(weight > 0)
    if len(positive) < k:  # rows of weight zero make up the number
        return np.concatenate([positive, np.flatnonzero(weight == 0)[: k - len(positive)]])
    return rng.choice(len(weight), k, replace=False, p=weight / weight.sum())


def build(problem: MedoidProblem, k: int, rng: np.random.Generator) -> Ints:
    """PAM's BUILD: add the candidate that lowers the loss most, k times.

    No randomness; the lower candidate on ties. Reads all dissimilarities k times.
    """
    medoids = [int(problem.all_gains().argmin())]
    closest = _closest(problem, medoids)
    while len(medoids) < k:
        gain = problem.all_gains(closest)
        gain[medoids] = -1.0
        medoids.append(int(gain.argmax()))
        closest = _closest(problem, medoids, closest)
    return np.array(medoids)


def lab(problem: MedoidProblem, k: int, rng: np.random.Generator) -> Ints:
    """LAB: BUILD on a fresh sample of 10 + √n candidates for every medoid, as points too."""
    n = problem.table.candidates
    size = min(n, 10 + math.isqrt(n - 1) + 1)
    medoids: list[int] = []
    closest: Floats | None = None
    while len(medoids) < k:
        free = np.delete(np.arange(n), medoids)
        sample = rng.choice(free, min(size, len(free)), replace=False)
        subproblem = problem.restrict(sample, problem.places[sample])
        near = None if closest is None else closest[problem.places[sample]]
        gain = subproblem.all_gains(near)
        medoids.append(int(sample[gain.argmin() if closest is None else gain.argmax()]))
        closest = _closest(problem, medoids, closest)
    return np.array(medoids)


def plusplus(problem: MedoidProblem, k: int, rng: np.random.Generator) -> Ints:
    """Draw in proportion to weight times dissimilarity to the nearest chosen candidate."""
    places = problem.places
    weight = 1.0 if problem.weight is None else problem.weight[places]
    medoids = random(problem, 1, rng).tolist()
    closest = _closest(problem, medoids)
    while len(medoids) < k:
        chance = weight * closest[places].astype(np.float64)
        chance[medoids] = 0.0
        if not chance.sum() > 0:  # the others are duplicates of chosen candidates
            chance = np.ones(len(places))
            chance[medoids] = 0.0
        medoids.append(int(rng.choice(len(chance), p=chance / chance.sum())))
        closest = _closest(problem, medoids, closest)
    return np.array(medoids)


def _closest(problem: MedoidProblem, medoids: list[int], before: Floats | None = None) -> Floats:
    column = problem.table.columns(np.array(medoids[-1:]))[0]
    return column if before is None else np.asarray(np.minimum(before, column))


MEDOID_STARTS: dict[str, Callable[[MedoidProblem, int, np.random.Generator], Ints]] = {
    "random": random,
    "lab": lab,
    "build": build,
    "k-medoids++": plusplus,
}
