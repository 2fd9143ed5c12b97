"""What a center is: the mean of its cluster, or the direction of that mean."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.exact_sum import exact_total
from partita.centers import Centers
from partita.stats import ClusterStats


class Update(NamedTuple):
    """What moving the centers to their clusters did."""

    centers: Centers
    cost: float  # of the same assignment, at these centers
    shift: float  # ‖centers after − centers before‖, all of them together


class Geometry(ABC):
    """Where the best center of a cluster is, and what a squared distance to it costs."""

    def __init__(self, price: float) -> None:
        self.price = price  # of a squared distance

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        """J at centers that are `gap` (k,) away from the means (Huygens)."""
        return self.price * exact_total(stats.sse + stats.weight * (gap * gap))

    @abstractmethod
    def cost_of(self, stats: ClusterStats) -> Floats:
        """What every cluster (k,) costs about its best center."""

    @abstractmethod
    def places(self, weight: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """Sizes (k,) and places (k, d) of clusters, from which follows what fusing them costs."""

    @abstractmethod
    def price_of_fusing(self, one: Floats, two: Floats, square: Floats) -> Floats:
        """What fusing clusters of two sizes adds to the cost, from their places' squared distance.

        Any shapes that NumPy broadcasts.
        """

    def merge_price(self, stats: ClusterStats, i: Array | int, j: Array | int) -> Floats:
        """What fusing clusters i and j adds to the cost."""
        size, place = self.places(stats.weight, stats.mean)
        gap = place[i] - place[j]
        return self.price_of_fusing(size[i], size[j], np.einsum("...d,...d->...", gap, gap))

    @abstractmethod
    def start(self, centers: Floats) -> Floats:
        """Centers (k, d) to begin with, from vectors that may be none yet."""

    @abstractmethod
    def update(self, stats: ClusterStats, origin: Floats, gap: Floats, before: Centers) -> Update:
        """The best center of every cluster; one that has none keeps its center `before`.

        The means of `stats` are relative to `origin`, and `gap` (k,) away from the centers before.
        """


class Euclidean(Geometry):
    """K-means: the center is the mean, the cost a squared distance."""

    def cost_of(self, stats: ClusterStats) -> Floats:
        """The sse of every cluster."""
        return np.asarray(self.price * stats.sse)

    def places(self, weight: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """Weights and means."""
        return weight, mean

    def price_of_fusing(self, one: Floats, two: Floats, square: Floats) -> Floats:
        """w_i·w_j/(w_i + w_j)·‖mean_i − mean_j‖²."""
        return np.asarray(self.price * _part(one, one + two) * two * square)

    def start(self, centers: Floats) -> Floats:
        """Any vector may be a center."""
        return centers

    def update(self, stats: ClusterStats, origin: Floats, gap: Floats, before: Centers) -> Update:
        """The mean of every cluster; one without weight keeps its center."""
        values = stats.mean
        if np.count_nonzero(stats.weight) < len(stats.weight):
            some = stats.weight[:, None] > 0
            values = np.where(some, values, before.about(origin))
        cost = self.price * exact_total(stats.sse)
        return Update(Centers(values, origin), cost, math.hypot(*gap.tolist()))


class Spherical(Geometry):
    """Spherical K-means: rows and centers have unit length, 1 − cos = ½‖x − c‖² is the cost.

    Among all unit vectors the direction of the mean costs least, W(1 − ‖mean‖). In that form a
    tight cluster would cancel to nothing, so it is ½(sse + W(1 − ‖mean‖)²): the same number, as
    sse = W(1 − ‖mean‖²), by terms that are small where it is.
    """

    def cost_of(self, stats: ClusterStats) -> Floats:
        """½(sse + W(1 − ‖mean‖)²) of every cluster."""
        short = 1.0 - _lengths(stats.mean)
        return np.asarray(self.price * (stats.sse + stats.weight * (short * short)))

    def places(self, weight: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """Lengths and directions of the sums of rows."""
        direction, length = directions(mean)
        return weight * length, direction

    def price_of_fusing(self, one: Floats, two: Floats, square: Floats) -> Floats:
        """‖s_i‖ + ‖s_j‖ − ‖s_i + s_j‖ with s the sum of a cluster's rows.

        For near directions u that cancels, so it is ‖s_i‖·‖s_j‖·‖u_i − u_j‖² over the sum of the
        three lengths: the same number.
        """
        both = one + two
        length = np.sqrt(np.maximum(both * both - one * two * square, 0.0))
        return np.asarray(_part(one, both + length) * two * square)

    def start(self, centers: Floats) -> Floats:
        """The directions of the vectors."""
        found, length = directions(centers)
        if not length.all():
            raise ValueError(
                f"init has {int((length == 0).sum())} centers of zeros, which have no direction; "
                "give other centers, or init='k-means++'"
            )
        return found

    def update(self, stats: ClusterStats, origin: Floats, gap: Floats, before: Centers) -> Update:
        """The direction of every mean; a cluster whose mean is 0 keeps its center."""
        previous, mean = before.plain, stats.mean + origin
        found, length = directions(mean)
        some = (stats.weight > 0) & (length > 0)
        values = found if some.all() else np.where(some[:, None], found, previous)
        away = _lengths(mean - values)
        shift = math.hypot(*_lengths(values - previous).tolist())
        return Update(Centers(values, np.zeros_like(origin)), self.cost(stats, away), shift)


def directions(vectors: Floats) -> tuple[Floats, Floats]:
    """The vectors (k, d) at unit length, and their lengths (k,); one of length 0 stays as it is."""
    peak = np.abs(vectors).max(axis=1, initial=0.0)
    size = np.where(peak > 0, peak, 1.0)[:, None]
    scaled = vectors / size  # no square leaves the range of doubles
    length = _lengths(scaled)
    return scaled / np.where(length > 0, length, 1.0)[:, None], length * peak


def _part(one: Floats, whole: Floats) -> Floats:
    """one / whole, 0 where there is nothing."""
    return np.divide(one, whole, out=np.zeros_like(whole), where=np.asarray(whole) > 0)


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("kd,kd->k", vectors, vectors)))


EUCLIDEAN, SPHERICAL = Euclidean(1.0), Spherical(0.5)
