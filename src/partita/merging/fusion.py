"""Fusing clusters pair by pair, the cheapest first: which pairs, and at what price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita.geometry import Geometry
from partita.stats import ClusterStats

_MOST = np.finfo(np.float64).max  # a price beyond all doubles; inf is for pairs that are no more


class Fused(NamedTuple):
    """The K − 1 steps from K clusters to one."""

    pairs: Ints  # (K − 1, 2): what is fused; K + t is what step t made
    prices: Floats  # (K − 1,)


class Fusion(ABC):
    """Clusters in slots 0…m−1 that can be fused, and what that costs."""

    @abstractmethod
    def __len__(self) -> int:
        """How many slots there are."""

    @abstractmethod
    def prices(self, i: int) -> Floats:
        """What fusing slot i with every slot (m,) adds to the objective; its own does not count."""

    @abstractmethod
    def fuse(self, i: int, j: int) -> None:
        """Slot i takes what is in slot j, which is not looked at any more."""

    @abstractmethod
    def keep(self, slots: Ints) -> None:
        """Forget all other slots; these move together."""


class MeansFusion(Fusion):
    """Clusters that have means: what any objective of a `Geometry` needs."""

    def __init__(self, stats: ClusterStats, geometry: Geometry) -> None:
        from scipy.spatial.distance import cdist

        self._between = cdist  # plain differences: an offset costs no digits
        self._geometry = geometry
        self._weight, self._mean = stats.weight.astype(np.float64), stats.mean.astype(np.float64)
        size, place = geometry.sizes_and_positions(self._weight, self._mean)
        self._size, self._place = size.copy(), place.copy()

    def __len__(self) -> int:
        return len(self._weight)

    def prices(self, i: int) -> Floats:
        """By the bipartition lemma, or its like on the sphere."""
        square = self._between(self._place[i : i + 1], self._place, "sqeuclidean")[0]
        return self._geometry.merge_increase(self._size[i], self._size, square)

    def fuse(self, i: int, j: int) -> None:
        """The weighted mean of both."""
        weight, mean, one = self._weight, self._mean, slice(i, i + 1)
        both = weight[i] + weight[j]
        share = weight[j] / both if both > 0 else 0.0
        mean[i] += share * (mean[j] - mean[i])
        weight[i] = both
        self._size[one], self._place[one] = self._geometry.sizes_and_positions(
            weight[one], mean[one]
        )

    def keep(self, slots: Ints) -> None:
        """The same for fewer slots."""
        self._weight, self._mean = self._weight[slots], self._mean[slots]
        self._size, self._place = self._size[slots], self._place[slots]


class DistanceFusion(Fusion):
    """Clusters whose means have no coordinates, but squared distances (K, K) to each other."""

    def __init__(self, weight: Floats, squares: Floats) -> None:
        self._weight, self._squares = weight.copy(), squares.copy()

    def __len__(self) -> int:
        return len(self._weight)

    def prices(self, i: int) -> Floats:
        """w_i·w_j/(w_i + w_j)·‖mean_i − mean_j‖²."""
        both = self._weight[i] + self._weight
        share = np.divide(self._weight, both, out=np.zeros_like(both), where=both > 0)
        return np.asarray(self._weight[i] * share * self._squares[i])

    def fuse(self, i: int, j: int) -> None:
        """Where the weighted mean of both is, seen from every other mean (Stewart's theorem)."""
        both = self._weight[i] + self._weight[j]
        share = self._weight[j] / both if both > 0 else 0.0
        far = self._squares
        to = (1 - share) * far[i] + share * far[j] - share * (1 - share) * far[i, j]
        far[i] = far[:, i] = np.maximum(to, 0.0)
        far[i, i] = 0.0
        self._weight[i] = both

    def keep(self, slots: Ints) -> None:
        """The same for fewer slots."""
        self._weight, self._squares = self._weight[slots], self._squares[np.ix_(slots, slots)]


class MedoidFusion(Fusion):
    """Clusters about medoids: a fused pair keeps the better of its two.

    `far` (K, K) is what the rows of one cluster cost about the medoid of another.
    """

    def __init__(self, far: Floats) -> None:
        self._far, self._medoid = far.copy(), np.arange(len(far))

    def __len__(self) -> int:
        return len(self._far)

    def prices(self, i: int) -> Floats:
        """What both cost about the better medoid, less what they cost now."""
        far, at = self._far, self._medoid
        mine = far[i, at[i]] + far[:, at[i]]
        theirs = far[i, at] + far[np.arange(len(at)), at]
        now = far[i, at[i]] + far[np.arange(len(at)), at]
        return np.asarray(np.minimum(mine, theirs) - now)

    def fuse(self, i: int, j: int) -> None:
        """Their costs add up, about any medoid."""
        far, at = self._far, self._medoid
        far[i] += far[j]
        if far[i, at[j]] < far[i, at[i]]:
            at[i] = at[j]

    def keep(self, slots: Ints) -> None:
        """Fewer slots, all medoids."""
        self._far, self._medoid = self._far[slots], self._medoid[slots]


def cheapest_pair(stats: ClusterStats, geometry: Geometry) -> tuple[int, int]:
    """The two clusters whose fusion costs least, the lower numbers on ties."""
    from scipy.spatial.distance import cdist

    size, place = geometry.sizes_and_positions(stats.weight, stats.mean)
    with np.errstate(over="ignore", invalid="ignore"):
        square = cdist(place, place, "sqeuclidean")
        price = np.fmin(geometry.merge_increase(size[:, None], size[None], square), _MOST)
    price[np.tri(len(price), dtype=bool)] = np.inf
    i, j = np.unravel_index(int(price.argmin()), price.shape)
    return int(i), int(j)


def fuse_all(fusion: Fusion, empty: Array) -> Fused:
    """Fuse the cheapest pair until one cluster is left; ties go to the lower numbers.

    Clusters that are `empty` (K,) are no news to any other, so they go first. Every slot knows its
    cheapest partner: a step looks again only at those that have lost theirs. K² numbers of memory,
    and about K² time for each feature.
    """
    k = len(fusion)
    price = _all_prices(fusion, empty)
    number, empty = np.arange(k), empty.copy()  # what is in a slot
    pairs, prices = np.empty((max(k - 1, 0), 2), np.intp), np.empty(max(k - 1, 0))
    partner, best = price.argmin(axis=1), price.min(axis=1)
    for step in range(k - 1):
        at = int(best.argmin())
        i, j = sorted((at, int(partner[at])))
        pairs[step] = sorted((number[i], number[j]))
        prices[step] = 0.0 if best[at] == -_MOST else best[at]
        fusion.fuse(i, j)
        number[i], empty[i] = k + step, empty[i] and empty[j]
        alive = np.isfinite(best)
        alive[j] = False
        row = np.where(alive, _row(fusion, i, empty), np.inf)
        row[i] = np.inf
        price[i], price[:, i] = row, row
        price[j], price[:, j] = np.inf, np.inf
        _refresh(price, partner, best, i, j)
        if 2 * (k - 1 - step) <= len(best) and len(best) > 32:  # half of the slots are vacant
            left = np.flatnonzero(np.isfinite(best))
            fusion.keep(left)
            price, number, empty = price[np.ix_(left, left)], number[left], empty[left]
            partner, best = price.argmin(axis=1), price.min(axis=1)
    return Fused(pairs, prices)


def _all_prices(fusion: Fusion, empty: Array) -> Floats:
    price = np.empty((len(fusion), len(fusion)))
    for i in range(len(price)):
        price[i] = _row(fusion, i, empty)
    price = np.minimum(price, price.T)  # the same but for rounding
    np.fill_diagonal(price, np.inf)
    return price


def _row(fusion: Fusion, i: int, empty: Array) -> Floats:
    """The prices of slot i; below all others where one of the two is empty."""
    with np.errstate(over="ignore", invalid="ignore"):
        row = np.fmin(fusion.prices(i), _MOST)
    row[empty | empty[i]] = -_MOST
    return row


def _refresh(price: Floats, partner: Ints, best: Floats, i: int, j: int) -> None:
    """Bring the cheapest partners up to date after slot i took slot j."""
    lost = ((partner == i) | (partner == j)) & np.isfinite(best)  # i and j are each other's
    row = price[i]
    nearer = ~lost & ((row < best) | ((row == best) & (i < partner)))
    best[nearer], partner[nearer] = row[nearer], i
    again = np.flatnonzero(lost)
    some = price[again]
    partner[again] = some.argmin(axis=1)
    best[again] = some[np.arange(len(again)), partner[again]]
