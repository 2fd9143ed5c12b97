"""Ever higher bounds of the J of rows, for one who has a partition and wants to know its gap."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.cluster_dual.cluster_problem import ClusterProblem
from partita.cluster_dual.column_pool import ColumnPool
from partita.cluster_dual.dual_bound import (
    PROOF_TOLERANCE,
    TARGET_SHARE,
    SearchStopped,
    Watch,
    raise_bound,
)
from partita.cluster_dual.principal_frame import PrincipalFrame


def report_dual_bounds(
    rows: Floats,
    weight: Floats,
    labels: Ints,
    k: int,
    report: Callable[[float], bool],
    deadline: float = math.inf,
) -> bool:
    """Report rigorous lower bounds of J for at most k clusters, each higher than those before.

    Returns True if the last of them is known to be the optimum, to a relative 1e-9.

    `labels` (n,) is the best partition known; no bound depends on its quality. It ends when
    `report` returns True, at the deadline (`time.monotonic`), when the partition is proven optimal
    to a relative 1e-9, or when the linear programme has no higher bound. Suits up to some hundred
    distinct rows whose scatter lies in few dimensions.

    >>> rows, heard = np.array([[0.0, 0.0], [2.0, 0.0], [9.0, 1.0]]), []
    >>> _ = report_dual_bounds(rows, np.ones(3), np.array([0, 0, 1]), 2, heard.append)
    >>> bool(2 * (1 - 1e-9) <= heard[-1] <= 2)
    True
    """
    points, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    mass: Floats = np.bincount(place.reshape(-1), weights=weight).astype(np.float64)
    if len(points) <= k:
        return False
    frame = PrincipalFrame.of(points, mass)
    problem = ClusterProblem.of(frame.points, frame.weight, k)
    highest = 0.0

    def hear(_: ClusterProblem, bound: float) -> None:
        nonlocal highest
        value = frame.bound_of_rows(bound)
        if value > highest:
            highest = value
            if report(value):
                raise SearchStopped

    with suppress(SearchStopped):
        return _raise_from(problem, labels[first], Watch(deadline, hear))
    return False


def _raise_from(problem: ClusterProblem, labels: Ints, watch: Watch) -> bool:
    """Raise the bound towards the J of a partition, or of better ones; tell if one is optimal."""
    cost = math.inf
    while True:
        home = np.unique(labels, return_inverse=True)[1].reshape(-1)  # some may be empty
        better = float(problem.cost(np.eye(int(home.max()) + 1)[:, home]).sum())
        if better >= cost or not better > 0:
            return False
        cost = better
        target = cost * (1 - TARGET_SHARE * PROOF_TOLERANCE)
        low, cover = raise_bound(ColumnPool(problem, home, cost), 0.0, target, watch)
        found = None if cover is None else cover.partition()
        if low >= target or found is None:
            return low >= target
        labels = found
