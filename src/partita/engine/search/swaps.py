"""Local search by swaps (Lattanzi and Sohler 2019): replace a center by a far row."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats
from partita.engine.search.breathing import MIN_DECREASE
from partita.engine.search.monitor import SearchMonitor
from partita.engine.search.search_problem import NearestTwo, SearchProblem, Solution

SWAPS_AT_ONCE = 4  # local searches side by side; a constant, so that threads change no result
IDLE_ROUNDS = 4  # in succession without a decrease: the search ends


def swap(
    problem: SearchProblem, best: Solution, monitor: SearchMonitor, rng: np.random.Generator
) -> Solution:
    """Replace centers by rows drawn by their squared distance, as long as that lowers the cost."""
    idle, near = 0, problem.nearest_two(best.centers)
    while idle < IDLE_ROUNDS and best.cost > 0:
        drawn = problem.draw_far(near.first, rng.random(SWAPS_AT_ONCE))
        found = problem.descend(
            np.stack([_replaced(problem, best.centers, near, problem.rows[i]) for i in drawn])
        )
        lowest = min(found, key=lambda solution: solution.cost)
        idle += 1
        if lowest.cost < best.cost * (1 - MIN_DECREASE):
            best, idle, near = lowest, 0, problem.nearest_two(lowest.centers)
        monitor.note("swaps", problem, found)
    return best


def _replaced(problem: SearchProblem, centers: Floats, near: NearestTwo, row: Floats) -> Floats:
    """Centers with the row in the place of the one that is then missed least."""
    square = problem.squares_to(row)
    missed = np.minimum(near.second, square) - np.minimum(near.first, square)
    loss = np.bincount(near.labels, problem.weight * missed, len(centers))
    centers = centers.copy()
    centers[int(loss.argmin())] = row
    return centers
