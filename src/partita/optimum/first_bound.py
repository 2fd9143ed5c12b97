"""The first bound of an exact search, as certificates have it: it is often the last one.

Prices of points, on which branch and bound rests, suit few features. The semidefinite bound with
inequalities does not depend on their number, and often proves a good partition without a tree.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from partita._common.array_types import Ints
from partita.cluster_dual.cluster_problem import ClusterProblem
from partita.lower_bounds.improvement import improve_bounds, suits_dual
from partita.lower_bounds.problem import BoundProblem
from partita.lower_bounds.record import LowerBound

TIME_SHARE = 0.8  # of the time: the tree seldom helps where this bound does not
FEW_ROWS_SECONDS = 5.0  # at most, where prices of points are fast, too


def first_bound(
    root: ClusterProblem,
    labels: Ints,
    target: float,
    deadline: float,
    report: Callable[[float], None],
) -> LowerBound | None:
    """Return the best rigorous bound of J that is found before `target` is reached.

    `report` hears of every higher bound.
    """
    best: LowerBound | None = None

    def hear(bound: LowerBound) -> bool:
        nonlocal best
        if bound.level is not None:  # from samples: it proves nothing
            return False
        best = bound
        report(bound.value)
        return bound.value >= target

    now = time.monotonic()
    seconds = TIME_SHARE * (deadline - now)
    if suits_dual(*root.points.shape):
        seconds = min(seconds, FEW_ROWS_SECONDS)
    end = None if math.isinf(seconds) else now + seconds
    problem = BoundProblem(root.k, root.weight, labels, rows=root.points)
    improve_bounds(problem, hear, deadline=end, rng=np.random.default_rng(0))
    return best
