"""Weighted points to be partitioned into at most k clusters, with pairs that belong apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Array, Floats, Ints

ROUNDINGS_PER_TERM = 4.0  # of the sums over points that bound the worth of a cluster


@dataclass(frozen=True)
class ClusterProblem:
    """Points (n, d), groups of the root's points merged into one by `merged`, and pairs apart.

    J ≥ constant + Σ w‖x − mean‖²: a group costs the same in every partition. Both sides are equal
    but for what `merged` may have rounded, which is taken off the constant.
    """

    points: Floats  # (n, d)
    weight: Floats  # (n,) > 0
    k: int
    constant: float
    group: Ints  # (root points,) the point 0…n−1 that each belongs to
    apart: Ints  # (pairs, 2)

    @classmethod
    def of(cls, points: Floats, weight: Floats, k: int) -> ClusterProblem:
        """Return the problem at the root: no groups and no pairs."""
        none = np.zeros((0, 2), np.int64)
        return cls(points, weight, k, 0.0, np.arange(len(points)), none)

    @np.errstate(divide="ignore", invalid="ignore")  # by weights beyond all proportion
    def cost(self, members: Floats) -> Floats:
        """Return the sse (m,) of clusters given by their members (m, n), of 0 and 1."""
        shares = members * self.weight
        means = shares @ self.points / shares.sum(axis=1)[:, None]
        return np.asarray((shares * self.squared_distances(means)).sum(axis=1))

    def squared_distances(self, places: Floats) -> Floats:
        """Return ‖x_i − y‖² (m, n) from places (m, d)."""
        total = np.zeros((len(places), len(self.points)))
        for t in range(self.points.shape[1]):
            gap = places[:, t, None] - self.points[None, :, t]
            total += gap * gap
        return total

    @property
    def roundings(self) -> float:
        """Relative error of a sum over points and features, in any order."""
        n, d = self.points.shape
        return float(ROUNDINGS_PER_TERM * (n + d + 8) * np.finfo(np.float64).eps)

    def merged(self, i: int, j: int) -> ClusterProblem:
        """Return the problem in which points i and j are in the same cluster."""
        i, j = min(i, j), max(i, j)
        weight = np.delete(self.weight, j)
        weight[i] = self.weight[i] + self.weight[j]
        gap = self.points[j] - self.points[i]
        points = np.delete(self.points, j, axis=0)
        points[i] = self.points[i] + self.weight[j] / weight[i] * gap
        price = float(self.weight[i] * self.weight[j] / weight[i] * (gap @ gap))
        price -= self._rounding_of_merge(i, j, points[i], price)
        place = np.arange(len(self.points))
        place[j] = i
        place[j + 1 :] -= 1
        apart = np.unique(np.sort(place[self.apart], axis=1), axis=0)
        return ClusterProblem(
            points, weight, self.k, self.constant + price, place[self.group], apart
        )

    def _rounding_of_merge(self, i: int, j: int, place: Floats, price: float) -> float:
        """Return how much lower J may be, in any partition, than the rounded merge says."""
        eps, w = np.finfo(np.float64).eps, self.weight[i] + self.weight[j]
        reach = 2.0 * float(np.sqrt(np.einsum("nd,nd->n", self.points, self.points).max()))
        gap = float(np.linalg.norm(self.points[j] - self.points[i]))
        moved = eps * (float(np.linalg.norm(place)) + 4.0 * gap)
        is_whole = w - self.weight[i] == self.weight[j] and w - self.weight[j] == self.weight[i]
        heavier = 0.0 if is_whole else eps * w
        relative = (len(place) + 8) * eps
        return float(1.01 * (relative * price + 2.0 * w * reach * moved + heavier * reach * reach))

    def separated(self, i: int, j: int) -> ClusterProblem:
        """Return the problem in which points i and j are in different clusters."""
        return replace(self, apart=np.vstack([self.apart, [[min(i, j), max(i, j)]]]))

    def is_contradictory(self) -> bool:
        """Return whether a point must be apart from itself."""
        return bool((self.apart[:, 0] == self.apart[:, 1]).any())

    def respects_pairs(self, members: Floats) -> Array:
        """Return which clusters (m, n) hold no pair that belongs apart."""
        first, second = self.apart.T
        both = (members[:, first] > 0) & (members[:, second] > 0)
        return np.asarray(~both.any(axis=1))
