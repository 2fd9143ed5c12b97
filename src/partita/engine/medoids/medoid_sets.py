"""Random changes of sets of medoids, and their enumeration, on a table in memory."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from partita._common.array_types import Floats, Ints
from partita.engine.medoids.swap import MedoidProblem

MAX_VALUES_OF_ENUMERATION = 4_000_000  # dissimilarities in all sets: some hundredths of a second
SETS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Candidates:
    """A problem whose table is in memory, and the points that its candidates are."""

    problem: MedoidProblem
    points: Ints  # (m,)

    @property
    def columns(self) -> Floats:
        """The dissimilarities (m, n) of all points to every candidate."""
        matrix = self.problem.table.matrix
        assert matrix is not None
        return matrix

    def chances(self, medoids: Ints) -> Floats:
        """Return weight × dissimilarity to the nearest medoid of every candidate."""
        if len(medoids):
            values: Floats = (
                self.columns[np.ix_(medoids, self.points)].min(axis=0).astype(np.float64)
            )
            values[medoids] = 0.0
        else:
            values = np.ones(len(self.points))
        if self.problem.weight is not None:
            values = values * self.problem.weight[self.points]
        return values


def exchange(candidates: Candidates, medoids: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Replace some medoids by others, drawn in proportion to their share of the cost."""
    kept = rng.permutation(medoids)[count:]
    chance = candidates.chances(kept)
    total = float(chance.sum())
    likely = np.flatnonzero(chance) if 0 < total < math.inf else np.empty(0, np.int64)
    if len(likely) >= count:
        drawn = rng.choice(len(chance), count, replace=False, p=chance / total)
    else:  # the others are duplicates of medoids
        rest = np.setdiff1d(np.arange(len(chance)), kept)
        drawn = rng.choice(rest, count, replace=False)
    return np.sort(np.concatenate([kept, drawn]))


def cross(candidates: Candidates, first: Ints, second: Ints, rng: np.random.Generator) -> Ints:
    """Match the medoids of two sets by their dissimilarities; keep one of each pair at random.

    Medoids that both sets have stay (Gribel and Vidal, 2019, for centers of K-means).
    """
    shared = np.intersect1d(first, second)
    one, other = np.setdiff1d(first, shared), np.setdiff1d(second, shared)
    a, b = linear_sum_assignment(candidates.columns[np.ix_(one, candidates.points[other])])
    chosen = np.where(rng.random(len(one)) < 0.5, one[a], other[b])
    return np.sort(np.concatenate([shared, chosen]))


def can_enumerate(problem: MedoidProblem, k: int) -> bool:
    """Return whether there are few sets of k medoids."""
    m, n = problem.table.candidates, problem.table.n
    few = min(k, m - k) <= MAX_VALUES_OF_ENUMERATION.bit_length() or m <= 1
    return few and math.comb(m, k) * k * n <= MAX_VALUES_OF_ENUMERATION


def best_set(problem: MedoidProblem, k: int) -> Ints:
    """Return the k medoids of the lowest loss, the first in order on ties, by trying all sets."""
    columns = problem.table.columns(np.arange(problem.table.candidates))
    sets = itertools.combinations(range(len(columns)), k)
    best, lowest = np.arange(k), math.inf
    while chunk := list(itertools.islice(sets, SETS_AT_ONCE)):
        tried = np.array(chunk)
        losses = problem.gains(np.ascontiguousarray(columns[tried].min(axis=1)), None)
        if losses.min() < lowest:
            best, lowest = tried[losses.argmin()], float(losses.min())
    return best
