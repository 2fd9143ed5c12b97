"""Breathing (Fritzke 2020): add centers where the error is, remove those of least use."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats
from partita._kernels import kernels
from partita.engine.search.monitor import SearchMonitor
from partita.engine.search.search_problem import SearchProblem, Solution

FIRST_BREATH = 5  # centers that the first breaths add
OFFSET_SHARE = 0.01  # of the spread of a cluster, between a center and the one added to it
MIN_DECREASE = 1e-9  # relative; less is no better solution


def breathe(
    problem: SearchProblem, best: Solution, monitor: SearchMonitor, rng: np.random.Generator
) -> Solution:
    """Add and remove m centers while that lowers the cost, for m = 5, 4, …, 1."""
    m = min(FIRST_BREATH, problem.k)
    while m > 0 and best.cost > 0:
        wide = problem.descend(_inhale(problem, best.centers, m, rng)[None])
        narrow = problem.descend(_exhale(problem, wide[0].centers, m)[None])
        monitor.evaluations += 1
        if narrow[0].cost < best.cost * (1 - MIN_DECREASE):
            best = narrow[0]
        else:
            m -= 1
        monitor.note("breathing", problem, narrow)
    return best


def _inhale(problem: SearchProblem, centers: Floats, m: int, rng: np.random.Generator) -> Floats:
    """Centers, and a new one next to each of the m whose clusters cost most."""
    near, k = problem.nearest_two(centers), len(centers)
    error = np.bincount(near.labels, problem.weight * near.first, k)
    mass = np.bincount(near.labels, problem.weight, k)
    worst = np.argsort(-error, kind="stable")[:m]
    size = np.sqrt(error[worst] / np.maximum(mass[worst], np.finfo(float).tiny))
    direction = rng.standard_normal((len(worst), centers.shape[1]))
    direction /= np.sqrt((direction**2).sum(axis=1))[:, None]
    return np.vstack([centers, centers[worst] + OFFSET_SHARE * size[:, None] * direction])


def _exhale(problem: SearchProblem, centers: Floats, m: int) -> Floats:
    """Centers without the m of least use; the nearest neighbour of a removed one stays."""
    utility, k = utilities(problem, centers), len(centers)
    gap = np.empty((k, k))
    kernels.distances(centers, centers, gap)
    np.fill_diagonal(gap, np.inf)
    neighbour = gap.argmin(axis=1)
    removed: list[int] = []
    frozen: set[int] = set()
    for j in np.argsort(utility, kind="stable").tolist():
        if len(removed) < m and j not in frozen:
            removed.append(j)
            if len(frozen) + m < k:
                frozen.add(int(neighbour[j]))
    for j in np.argsort(utility, kind="stable").tolist():  # if too many are frozen
        if len(removed) < m and j not in removed:
            removed.append(j)
    return np.delete(centers, removed, axis=0)


def utilities(problem: SearchProblem, centers: Floats) -> Floats:
    """Increase of the cost (k,) if a center is removed and its rows go to the next."""
    near = problem.nearest_two(centers)
    gap = problem.weight * (near.second - near.first)
    return np.asarray(np.bincount(near.labels, gap, len(centers)))
