"""Agglomerative merging of clusters: the cheapest pair first, by one of three cost rules."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita.geometry import Geometry
from partita.stats import ClusterStats

_MAX_PRICE = np.finfo(np.float64).max  # of overflowing prices; inf marks slots that are gone


class Merging(ABC):
    """Clusters in slots 0…m−1, and the cost of merging them."""

    @abstractmethod
    def prices(self, i: int) -> Floats:
        """Increase of the objective (m,) if slot i is merged with each slot; entry i is ignored."""

    @abstractmethod
    def merge(self, i: int, j: int) -> None:
        """Merge slot j into slot i; slot j is not used any more."""

    @abstractmethod
    def keep(self, slots: Ints) -> None:
        """Keep only these slots, renumbered in their order."""


class MeansMerging(Merging):
    """Clusters with mean vectors, under the objective of a `Geometry`."""

    def __init__(self, stats: ClusterStats, geometry: Geometry) -> None:
        self._geometry = geometry
        self._weight, self._mean = stats.weight.astype(np.float64), stats.mean.astype(np.float64)
        size, place = geometry.sizes_and_positions(self._weight, self._mean)
        self._size, self._place = size.copy(), place.copy()

    def prices(self, i: int) -> Floats:
        square = _squares(self._place[i : i + 1], self._place)[0]
        return self._geometry.merge_increase(self._size[i], self._size, square)

    def merge(self, i: int, j: int) -> None:
        weight, mean, one = self._weight, self._mean, slice(i, i + 1)
        both = weight[i] + weight[j]
        share = weight[j] / both if both > 0 else 0.0
        mean[i] += share * (mean[j] - mean[i])
        weight[i] = both
        size, place = self._geometry.sizes_and_positions(weight[one], mean[one])
        self._size[one], self._place[one] = size, place

    def keep(self, slots: Ints) -> None:
        self._weight, self._mean = self._weight[slots], self._mean[slots]
        self._size, self._place = self._size[slots], self._place[slots]


class DistanceMerging(Merging):
    """Clusters whose means have no coordinates, but squared distances (K, K) between them."""

    def __init__(self, weight: Floats, squares: Floats) -> None:
        self._weight, self._squares = weight.copy(), squares.copy()

    def prices(self, i: int) -> Floats:
        # w_i·w_j/(w_i + w_j)·‖mean_i − mean_j‖²
        both = self._weight[i] + self._weight
        share = np.divide(self._weight, both, out=np.zeros_like(both), where=both > 0)
        return np.asarray(self._weight[i] * share * self._squares[i])

    def merge(self, i: int, j: int) -> None:
        # Stewart's theorem: squared distances of every mean to the weighted mean of both
        both = self._weight[i] + self._weight[j]
        share = self._weight[j] / both if both > 0 else 0.0
        squares = self._squares
        row = (1 - share) * squares[i] + share * squares[j] - share * (1 - share) * squares[i, j]
        squares[i] = squares[:, i] = np.maximum(row, 0.0)
        squares[i, i] = 0.0
        self._weight[i] = both

    def keep(self, slots: Ints) -> None:
        self._weight, self._squares = self._weight[slots], self._squares[np.ix_(slots, slots)]


class RepresentativeMerging(Merging):
    """Clusters about medoids or other centers: a merged pair keeps the better of the two.

    `costs` (K, K): entry (i, j) is the cost of the rows of cluster i about representative j.
    """

    def __init__(self, costs: Floats) -> None:
        self._costs, self._own = costs.copy(), np.arange(len(costs))

    def prices(self, i: int) -> Floats:
        costs, own = self._costs, self._own
        now = costs[np.arange(len(own)), own]
        about_i = costs[i, own[i]] + costs[:, own[i]]
        return np.asarray(np.minimum(about_i, costs[i, own] + now) - (costs[i, own[i]] + now))

    def merge(self, i: int, j: int) -> None:
        costs, own = self._costs, self._own
        costs[i] += costs[j]
        if costs[i, own[j]] < costs[i, own[i]]:
            own[i] = own[j]

    def keep(self, slots: Ints) -> None:
        self._costs, self._own = self._costs[slots], self._own[slots]


def cheapest_pair(stats: ClusterStats, geometry: Geometry) -> tuple[int, int]:
    """The two clusters that are cheapest to merge, the lower numbers on ties."""
    size, place = geometry.sizes_and_positions(stats.weight, stats.mean)
    with np.errstate(over="ignore", invalid="ignore"):
        square = _squares(place, place)
        price = np.fmin(geometry.merge_increase(size[:, None], size[None], square), _MAX_PRICE)
    price[np.tri(len(price), dtype=bool)] = np.inf
    i, j = np.unravel_index(int(price.argmin()), price.shape)
    return int(i), int(j)


def _squares(rows: Floats, others: Floats) -> Floats:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(rows, others, "sqeuclidean"))  # by differences: offsets cost no digits


def merge_all(merging: Merging, empty: Array) -> tuple[Ints, Floats]:
    """Merge the cheapest pair until one cluster is left, the lower numbers on ties.

    Return the pairs (K − 1, 2), where merge t makes cluster K + t, and their prices (K − 1,).
    `empty` (K,) clusters cost nothing to merge, so they are merged first. Every slot keeps its
    cheapest partner, and a merge updates only the slots that lost theirs: O(K²) memory, about
    O(K²·d) time.
    """
    k = len(empty)
    price: Floats = np.reshape([_row(merging, i, empty) for i in range(k)], (k, k))
    price = np.minimum(price, price.T)  # equal up to rounding
    np.fill_diagonal(price, np.inf)
    number, empty = np.arange(k), empty.copy()  # of the cluster in each slot
    pairs, prices = np.empty((max(k - 1, 0), 2), np.intp), np.empty(max(k - 1, 0))
    partner, best = price.argmin(axis=1), price.min(axis=1)
    for step in range(k - 1):
        cheapest = int(best.argmin())
        i, j = sorted((cheapest, int(partner[cheapest])))
        pairs[step] = sorted((number[i], number[j]))
        prices[step] = 0.0 if best[cheapest] == -_MAX_PRICE else best[cheapest]
        merging.merge(i, j)
        number[i], empty[i] = k + step, empty[i] and empty[j]
        alive = np.isfinite(best)
        alive[j] = False
        row = np.where(alive, _row(merging, i, empty), np.inf)
        row[i] = np.inf
        price[i] = price[:, i] = row
        price[j] = price[:, j] = np.inf
        _refresh(price, partner, best, i, j)
        if 2 * (k - 1 - step) <= len(best) and len(best) > 32:  # half of the slots are gone
            left = np.flatnonzero(np.isfinite(best))
            merging.keep(left)
            price, number, empty = price[np.ix_(left, left)], number[left], empty[left]
            partner, best = price.argmin(axis=1), price.min(axis=1)
    return pairs, prices


def merge_along(merging: Merging, pairs: Ints) -> Floats:
    """Merge these pairs (K − 1, 2), of which the t-th makes cluster K + t; return their prices."""
    k = len(pairs) + 1
    slot, prices = np.zeros(2 * k - 1, np.intp), np.empty(k - 1)
    slot[:k] = np.arange(k)
    for step, (i, j) in enumerate(slot[pair] for pair in pairs):
        prices[step] = min(float(merging.prices(i)[j]), _MAX_PRICE)
        merging.merge(i, j)
        slot[k + step] = i
    return prices


def _row(merging: Merging, i: int, empty: Array) -> Floats:
    """The prices of slot i; below all others if one of the two is empty."""
    with np.errstate(over="ignore", invalid="ignore"):
        row = np.fmin(merging.prices(i), _MAX_PRICE)
    row[empty | empty[i]] = -_MAX_PRICE
    return row


def _refresh(price: Floats, partner: Ints, best: Floats, i: int, j: int) -> None:
    """Update the cheapest partners after slot j was merged into slot i."""
    lost = ((partner == i) | (partner == j)) & np.isfinite(best)  # i and j are each other's
    row = price[i]
    nearer = ~lost & ((row < best) | ((row == best) & (i < partner)))
    best[nearer], partner[nearer] = row[nearer], i
    stale = price[lost]
    partner[lost], best[lost] = stale.argmin(axis=1), stale.min(axis=1)
