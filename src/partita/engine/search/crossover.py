"""Crossover by matching (Gribel and Vidal 2019): one of each pair of centers of two parents."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from partita._common.array_types import Floats
from partita._kernels import kernels
from partita.engine.search.search_problem import SearchProblem


def crossed(one: Floats, two: Floats, rng: np.random.Generator) -> Floats:
    """Pair the centers of two parents at the lowest total distance; take one of each pair."""
    gap = np.empty((len(one), len(two)))
    kernels.distances(one, two, gap)
    pairs = linear_sum_assignment(gap)[1]
    return np.where(rng.random(len(one))[:, None] < 0.5, one, two[pairs])


def mutated(problem: SearchProblem, centers: Floats, rng: np.random.Generator) -> Floats:
    """Replace a center, chosen at random, by a row drawn by its squared distance to the others."""
    place, uniform = int(rng.integers(len(centers))), rng.random(1)
    kept = np.delete(centers, place, axis=0)
    centers = centers.copy()
    square = problem.nearest_two(kept).first if len(kept) else np.ones(len(problem.rows))
    centers[place] = problem.rows[problem.draw_far(square, uniform)[0]]
    return centers
