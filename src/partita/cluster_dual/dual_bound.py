"""Raise the lower bound of a cluster problem towards a target, by cutting planes of its dual."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats
from partita.cluster_dual.cluster_problem import ClusterProblem
from partita.cluster_dual.column_pool import ColumnPool, DualPoint, FractionalCover
from partita.cluster_dual.pricing import BoxSearch, climb

PROOF_TOLERANCE = 1e-9  # relative to J: a bound closer than that proves the optimum
TARGET_SHARE = 0.2  # of the tolerance, that targets lie below J
PRICING_SHARE = 0.1  # of the tolerance, left to the search for the best cluster
ROUNDS_PER_BOUND = 10  # of new clusters, after which the bound at the current prices is taken
COARSE_SHARE = 1e-3  # of the target, left to the search for the best cluster in such a bound
STEP_TO_COVER = 0.8  # of the way from the bound to the value of a cover, as the next target
MIN_PROGRESS = 0.05  # of the gap, worth another target before branching
MAX_STARTS = 600  # of climbs to new clusters, at a time


class SearchStopped(Exception):
    """The deadline has passed, or the callback asked to stop."""


@dataclass(frozen=True)
class Watch:
    """The deadline (`time.monotonic`), and what hears of every rigorous bound of a problem."""

    deadline: float
    report: Callable[[ClusterProblem, float], None]

    def check(self) -> None:
        """Raise SearchStopped after the deadline."""
        if time.monotonic() > self.deadline:
            raise SearchStopped


def raise_bound(
    pool: ColumnPool, low: float, target: float, watch: Watch
) -> tuple[float, FractionalCover | None]:
    """Raise the bound `low` until it reaches the target, which lies just below the best J.

    Returns the bound, and the cover that keeps the linear programme below the target, if one does.
    """
    value, cover = target, None
    while low < target:
        before = low, math.inf if cover is None else cover.value
        low = max(low, _reach(pool, value, target, watch))
        if low >= target:
            break
        cover = pool.cover()
        if cover is None:
            break
        step = STEP_TO_COVER * (cover.value - low)
        is_stuck = before == (low, cover.value) or step < MIN_PROGRESS * (target - low)
        is_better = cover.value < target and cover.partition() is not None
        if is_better or is_stuck:
            return low, cover
        value = min(target, low + step)
    return low, None


def _reach(pool: ColumnPool, value: float, target: float, watch: Watch) -> float:
    """Return a bound of about `value`; a lower one if the linear programme does not reach it."""
    low, rounds = 0.0, 0
    tolerance = PRICING_SHARE * PROOF_TOLERANCE * target / pool.problem.k
    while True:
        watch.check()
        point = pool.center(value)
        if point is None:
            return low
        pool.tidy(point)
        found, best = _violated(pool, point, tolerance)
        rounds += 1
        if len(found) and pool.add(found):
            if rounds % ROUNDS_PER_BOUND == 0:
                coarse = COARSE_SHARE * target / pool.problem.k
                low = max(low, _rigorous(pool.problem, point, (best, coarse), watch)[0])
            continue
        bound, clusters = _rigorous(pool.problem, point, (point.fee, tolerance), watch)
        low = max(low, bound)
        if not len(clusters) or not pool.add(clusters):
            return low


def _violated(pool: ColumnPool, point: DualPoint, tolerance: float) -> tuple[Floats, float]:
    """Return clusters worth more than their fee, and what the best is worth.

    They are found by climbing from all points and from the clusters with the least slack.
    """
    problem = pool.problem
    slack = pool.cost / pool.scale - (pool.members @ point.price - point.fee)
    tight = pool.members[np.argsort(slack)[: len(problem.points)]]
    shares = tight * problem.weight
    means = shares @ problem.points / shares.sum(axis=1)[:, None]
    starts = np.vstack([problem.points, means])
    starts = starts[:: -(-len(starts) // MAX_STARTS)]
    clusters = climb(problem, point.price, starts)
    worth = clusters @ point.price - problem.cost(clusters)
    return clusters[worth > point.fee + tolerance], float(worth.max(initial=point.fee))


def _rigorous(
    problem: ClusterProblem, point: DualPoint, threshold: tuple[float, float], watch: Watch
) -> tuple[float, Floats]:
    """Return the bound Σ price − k·max worth, rounded down, and clusters above the threshold.

    Any prices give a valid bound: every one of at most k clusters is worth at most the maximum.
    The threshold is a worth and a tolerance.
    """
    best, tolerance = threshold
    search = BoxSearch(problem, point.price, max(best, 0.0), tolerance)
    pricing = search.run(watch.deadline)
    worth = pricing.bound + problem.roundings * float(point.price.sum())
    bound = problem.constant + math.fsum(point.price.tolist()) - problem.k * worth
    bound = math.nextafter(bound * (1 - 4 * np.finfo(np.float64).eps), -math.inf)
    watch.report(problem, bound)
    if not pricing.is_complete:
        raise SearchStopped
    return bound, pricing.clusters
