"""The first bound of an exact search over rows of many features: it is often the last one.

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
from partita.lower_bounds.improvement import MAX_FEATURES_OF_DUAL, MAX_ROWS_OF_DUAL, improve_bounds
from partita.lower_bounds.problem import BoundProblem
from partita.lower_bounds.record import LowerBound

TIME_SHARE = 0.8  # of the time: the tree seldom helps where this bound does not


def first_bound(
    root: ClusterProblem,
    labels: Ints,
    target: float,
    deadline: float,
    report: Callable[[float], bool],
) -> LowerBound | None:
    """Return the best bound of J before `target` is reached; None where branch and bound is fast.

    `report` hears of every higher bound, and ends the search by returning True.
    """
    n, d = root.points.shape
    if n <= MAX_ROWS_OF_DUAL and d <= MAX_FEATURES_OF_DUAL:
        return None
    best: LowerBound | None = None

    def hear(bound: LowerBound) -> bool:
        nonlocal best
        if bound.level is not None:  # from samples: it proves nothing
            return False
        best = bound
        return report(bound.value) or bound.value >= target

    now = time.monotonic()
    end = None if math.isinf(deadline) else now + TIME_SHARE * (deadline - now)
    problem = BoundProblem(root.k, root.weight, labels, rows=root.points)
    improve_bounds(problem, hear, deadline=end, rng=np.random.default_rng(0))
    return best
