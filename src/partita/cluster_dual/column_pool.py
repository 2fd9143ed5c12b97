"""Clusters as columns of the linear programme of partitions, and central prices for them.

The programme: choose clusters S, at most k, that cover every point, of least Σ sse(S). Its dual has
a price of each point and one of a cluster: max Σ price − k·σ with Σ_S price − sse(S) ≤ σ. Optimal
prices are far from unique, and vertices of their set are bad ones to find new clusters at: `center`
takes those that are as far as possible from all constraints, at a given value of the dual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from partita._common.array_types import Array, Floats, Ints
from partita.cluster_dual.cluster_problem import ClusterProblem

UNIT_COST = 1e4  # to which the target is scaled: tolerances of the solver are absolute, 1e-7
MIN_DISTANCE = 0.1  # of a central point; constraints that keep it nearer are fixed where they are
FIXED_SHARE = 0.5  # of the distance that fixed constraints must keep
MIN_MULTIPLIER = 1e-3  # of a constraint that keeps the center where it is
MIN_SCALE = 1e-3  # of a point's range of prices, relative to its upper end
MAX_COLUMNS_PER_POINT = 40  # above it, half of them are dropped, those with the most slack


@dataclass(frozen=True, slots=True)
class DualPoint:
    """Prices of the points (n,), and the price of a cluster, `fee`."""

    price: Floats
    fee: float
    distance: float  # from the constraints, relative to their scales


@dataclass(frozen=True, slots=True)
class FractionalCover:
    """The solution of the linear programme over some clusters."""

    value: float
    clusters: Floats  # (m, n)
    share: Floats  # (m,) > 0 of each

    def partition(self) -> Ints | None:
        """Return the labels (n,) if every cluster is taken wholly or not at all."""
        if (np.abs(self.share - 1) > 1e-6).any():
            return None
        return np.asarray(self.clusters.argmax(axis=0))

    def divided_pair(self) -> tuple[int, int] | None:
        """Return the two points whose share together is closest to ½, or None: all are 0 or 1."""
        together = np.einsum("mn,ml,m->nl", self.clusters, self.clusters, self.share)
        doubt = np.triu(np.minimum(together, 1 - together), 1)
        i, j = np.unravel_index(int(doubt.argmax()), doubt.shape)
        return (int(i), int(j)) if doubt[i, j] > 1e-6 else None


class ColumnPool:
    """Distinct clusters of a problem, their costs, and the scales of their constraints."""

    def __init__(self, problem: ClusterProblem, labels: Ints, unit: float) -> None:
        """Begin with the clusters of `labels`, these with a point moved, and single points.

        `unit` is a typical cost, to which costs are scaled.
        """
        self.problem, self.scale = problem, UNIT_COST / unit
        n = len(problem.points)
        home = np.eye(problem.k)[:, labels]
        self._home: Floats = home[home.any(axis=1)]
        self._width, other = self._price_ranges(labels)
        self.members: Floats = np.zeros((0, n))
        self.cost: Floats = np.zeros(0)
        self.width: Floats = np.zeros(0)
        self.fixed: Floats = np.zeros(0)  # distance that a constraint must keep; nan: not fixed
        self._keys: set[bytes] = set()
        self._most = MAX_COLUMNS_PER_POINT * n
        own = np.unique(labels, return_inverse=True)[1].reshape(-1)
        without, within = self._home[own] - np.eye(n), np.maximum(self._home[other], np.eye(n))
        self.add(np.vstack([self._home, np.eye(n), without, within]))

    def _price_ranges(self, labels: Ints) -> tuple[Floats, Ints]:
        """Return the width of each point's range of prices, and the cluster that would take it.

        A point's price is at least what its cluster saves without it, and at most what any other
        cluster costs more with it.
        """
        problem, home = self.problem, self._home
        mass = home @ problem.weight
        means = (home * problem.weight) @ problem.points / mass[:, None]
        distance = problem.squared_distances(means)
        own = np.unique(labels, return_inverse=True)[1].reshape(-1), np.arange(len(labels))
        rest = np.maximum(mass[own[0]] - problem.weight, 0.0)
        alone = rest <= 0
        share = mass[own[0]] / np.where(alone, 1.0, rest)
        saved: Floats = np.where(alone, 0.0, problem.weight * distance[own] * share)
        price = problem.weight * distance * (mass[:, None] / (mass[:, None] + problem.weight))
        price[own] = np.inf
        other = price.min(axis=0) if len(home) > 1 else saved
        floor = MIN_SCALE * max(float(saved.max()), np.finfo(np.float64).tiny)
        width = np.maximum(other - saved, MIN_SCALE * other + floor) * self.scale
        # of clusters far apart: wider ranges would lie beyond the tolerance of the solver
        return np.minimum(width, UNIT_COST), price.argmin(axis=0)

    def add(self, clusters: Floats) -> int:
        """Add the clusters (m, n) that are new and hold no pair that belongs apart; count them."""
        packed = np.packbits(clusters > 0, axis=1)
        new = []
        allowed = clusters.any(axis=1) & self.problem.respects_pairs(clusters)
        for row in np.flatnonzero(allowed):
            key = packed[row].tobytes()
            if key not in self._keys:
                self._keys.add(key)
                new.append(row)
        if new:
            chosen = clusters[new]
            away = [np.abs(chosen - cluster) @ self._width for cluster in self._home]
            width = np.maximum(np.min(away, axis=0), self._width.min())
            self.members = np.vstack([self.members, chosen])
            self.cost = np.append(self.cost, self.problem.cost(chosen) * self.scale)
            self.width = np.append(self.width, width)
            self.fixed = np.append(self.fixed, np.full(len(new), np.nan))
        return len(new)

    def center(self, value: float) -> DualPoint | None:
        """Return central prices at which the dual has this value; None if there are none."""
        if not (np.isfinite(self.cost).all() and np.isfinite(self.width).all()):
            return None
        may_fix = True
        while True:
            point, keeps = self._farthest(value)
            if point is None or point.distance < 0:
                if not self._release():
                    return None
                may_fix = False  # what was let go would be fixed again, without end
            elif not may_fix or point.distance >= MIN_DISTANCE or not keeps.any():
                return point
            else:
                self.fixed[keeps] = FIXED_SHARE * point.distance

    def _release(self) -> bool:
        """Let fixed constraints be nearer; return False if none is fixed."""
        is_fixed = ~np.isnan(self.fixed)
        if not is_fixed.any():
            return False
        is_near = float(self.fixed[is_fixed].max()) <= 1e-9
        self.fixed[is_fixed] = np.nan if is_near else self.fixed[is_fixed] * 0.1
        return True

    def _farthest(self, value: float) -> tuple[DualPoint | None, Array]:
        """Maximise the distance from the constraints that are not fixed; tell which keep it."""
        n, m = len(self.problem.points), len(self.cost)
        is_fixed = ~np.isnan(self.fixed)
        free_width = np.where(is_fixed, 0.0, self.width)
        need = np.where(is_fixed, np.nan_to_num(self.fixed) * self.width, 0.0)
        goal = np.append(np.zeros(n + 1), -1.0)
        solution = linprog(
            goal,
            A_ub=csr_matrix(np.column_stack([self.members, np.full(m, -1.0), free_width])),
            b_ub=self.cost - need,
            A_eq=np.concatenate([np.ones(n), [-float(self.problem.k), 0.0]])[None],
            b_eq=[(value - self.problem.constant) * self.scale],
            bounds=[(0, None)] * (n + 1) + [(None, 1.0)],
            method="highs",
        )
        if solution.x is None:
            return None, np.zeros(m, bool)
        price = np.maximum(solution.x[:n], 0.0) / self.scale
        point = DualPoint(price, float(solution.x[n]) / self.scale, float(solution.x[n + 1]))
        keeps = (-solution.ineqlin.marginals * self.width > MIN_MULTIPLIER) & ~is_fixed
        return point, keeps

    def cover(self) -> FractionalCover | None:
        """Solve the linear programme over the clusters of the pool; None if the solver fails."""
        n, m = len(self.problem.points), len(self.cost)
        solution = linprog(
            np.append(-np.ones(n), float(self.problem.k)),
            A_ub=csr_matrix(np.column_stack([self.members, np.full(m, -1.0)])),
            b_ub=self.cost,
            bounds=[(0, None)] * (n + 1),
            method="highs",
        )
        if solution.x is None:
            return None
        share = -solution.ineqlin.marginals
        value = -float(solution.fun) / self.scale + self.problem.constant
        taken = share > 1e-9
        return FractionalCover(value, self.members[taken], share[taken])

    def tidy(self, point: DualPoint) -> None:
        """Drop the clusters with the most slack if there are many.

        More may stay each time, so that no cluster is dropped and found again without end.
        """
        n = len(self.problem.points)
        if len(self.cost) <= self._most:
            return
        self._most *= 2
        slack = (self.cost - (self.members @ point.price - point.fee) * self.scale) / self.width
        kept = np.sort(np.argsort(slack)[: len(self.cost) // 2])
        kept = np.union1d(kept, np.arange(len(self._home) + n))
        self.members, self.cost = self.members[kept], self.cost[kept]
        self.width, self.fixed = self.width[kept], self.fixed[kept]
        self._keys = {row.tobytes() for row in np.packbits(self.members > 0, axis=1)}
