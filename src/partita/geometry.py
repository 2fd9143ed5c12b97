"""Geometries: the best center of a cluster, and its cost."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Floats
from partita._common.exact_sum import exact_total
from partita._common.row_squares import row_squares
from partita.centers import Centers
from partita.stats import ClusterStats

UNIT_SQUARE_ERROR = 2.0**-48  # of squared distances between rounded unit vectors


class Update(NamedTuple):
    """The result of moving the centers to their clusters."""

    centers: Centers
    cost: float  # of the same assignment at the new centers
    shift: float  # ‖centers after − centers before‖, over all centers


class BestCenters(NamedTuple):
    """The best center b of every cluster, and the cost of others: `cost` + `pull`·‖c − b‖²."""

    centers: Centers
    cost: Floats  # (k,)
    pull: Floats  # (k,)
    gap: Floats  # (k,) distance of the present centers to the best


class Geometry(ABC):
    """The best center of a cluster, and the cost of a squared distance to it."""

    def __init__(self, price: float) -> None:
        self.price = price  # of a squared distance

    @abstractmethod
    def best(
        self, stats: ClusterStats, origin: Floats, gap: Floats, before: Centers
    ) -> BestCenters:
        """Return the best center of every cluster; a cluster without one keeps its center.

        The means of `stats` are relative to `origin`, and `gap` (k,) away from the centers before.
        Costs are those of squared distances, before the price.
        """

    def cost(self, best: BestCenters) -> float:
        """Return J at the present centers."""
        return self.price * exact_total(best.cost + best.pull * (best.gap * best.gap))

    def update(self, best: BestCenters) -> Update:
        """Move the centers to the best."""
        shift = math.hypot(*best.gap.tolist())
        return Update(best.centers, self.price * exact_total(best.cost), shift)

    def centers_of(self, stats: ClusterStats, otherwise: Floats) -> Floats:
        """Return the best centers (k, d); `otherwise` for clusters without one.

        Those are empty, or rows in opposite directions whose sum is zero: every center costs the
        same.
        """
        zero = np.zeros(stats.mean.shape[1])
        here = Centers(np.asarray(otherwise, dtype=np.float64), zero)
        return self.best(stats, zero, np.zeros(len(stats.weight)), here).centers.values

    @abstractmethod
    def cost_of(self, stats: ClusterStats) -> Floats:
        """Return the cost (k,) of every cluster about its best center."""

    @abstractmethod
    def sizes_and_positions(self, weight: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """Return sizes (k,) and positions (k, d), which determine the cost of merging clusters."""

    @abstractmethod
    def merge_increase(self, one: Floats, two: Floats, square: Floats) -> Floats:
        """Return the increase of the cost by a merge: of sizes at a squared distance.

        The positions are those of `sizes_and_positions`; any shapes that NumPy broadcasts.
        """

    @abstractmethod
    def start(self, centers: Floats) -> Floats:
        """Return valid centers (k, d) from any vectors."""


class Euclidean(Geometry):
    """K-means: the center is the mean, the cost is the squared distance."""

    def cost_of(self, stats: ClusterStats) -> Floats:
        return np.asarray(self.price * stats.sse)

    def sizes_and_positions(self, weight: Floats, mean: Floats) -> tuple[Floats, Floats]:
        return weight, mean

    def merge_increase(self, one: Floats, two: Floats, square: Floats) -> Floats:
        """w_i·w_j/(w_i + w_j)·‖mean_i − mean_j‖²."""
        return np.asarray(self.price * _share(one, one + two) * two * square)

    def start(self, centers: Floats) -> Floats:
        return centers

    def best(
        self, stats: ClusterStats, origin: Floats, gap: Floats, before: Centers
    ) -> BestCenters:
        values = stats.mean
        if np.count_nonzero(stats.weight) < len(stats.weight):
            values = np.where(stats.weight[:, None] > 0, values, before.about(origin))
        return BestCenters(Centers(values, origin), stats.sse, stats.weight, gap)


class Spherical(Geometry):
    """Spherical K-means: rows and centers have unit length, 1 − cos = ½‖x − c‖² is the cost.

    Among all unit vectors the direction u of the mean has the least cost, W(1 − ‖mean‖). For a
    tight cluster that cancels, so it is computed as ½(sse + W(1 − ‖mean‖)²), which is equal since
    sse = W(1 − ‖mean‖²). Another unit vector c costs ½W‖mean‖·‖c − u‖² more. Both terms are
    positive, so rounding cannot make an update look like a step back.
    """

    def cost_of(self, stats: ClusterStats) -> Floats:
        """½(sse + W(1 − ‖mean‖)²) of every cluster."""
        return np.asarray(self.price * _least_cost(stats, directions(stats.mean)[1]))

    def sizes_and_positions(self, weight: Floats, mean: Floats) -> tuple[Floats, Floats]:
        direction, length = directions(mean)
        return weight * length, direction

    def merge_increase(self, one: Floats, two: Floats, square: Floats) -> Floats:
        """‖s_i‖ + ‖s_j‖ − ‖s_i + s_j‖ with s the sum of a cluster's rows.

        For close directions u that cancels, so it is computed as ‖s_i‖·‖s_j‖·‖u_i − u_j‖² over the
        sum of the three lengths, which is equal.
        """
        both = one + two
        length = np.sqrt(np.maximum(both * both - one * two * square, 0.0))
        # Opposite directions, as far as unit vectors can tell: their sum cancels.
        length = np.where(4.0 - square < UNIT_SQUARE_ERROR, np.abs(one - two), length)
        return np.asarray(_share(one, both + length) * two * square)

    def start(self, centers: Floats) -> Floats:
        unit, length = directions(centers)
        if not length.all():
            raise ValueError(
                f"`init` must not have centers of zeros, got {int((length == 0).sum())}: they have "
                "no direction. Give other centers, or init='k-means++'."
            )
        return unit

    def best(
        self, stats: ClusterStats, origin: Floats, gap: Floats, before: Centers
    ) -> BestCenters:
        previous = before.plain
        unit, length = directions(stats.mean + origin)
        defined = (stats.weight > 0) & (length > 0)
        values = unit if defined.all() else np.where(defined[:, None], unit, previous)
        return BestCenters(
            Centers(values, np.zeros_like(origin)),
            _least_cost(stats, length),
            stats.weight * length,
            _lengths(values - previous),
        )


def _least_cost(stats: ClusterStats, length: Floats) -> Floats:
    """sse + W(1 − ‖mean‖)²: twice the cost of unit rows about the direction of their mean."""
    short = 1.0 - length
    return np.asarray(stats.sse + stats.weight * (short * short))


def directions(vectors: Floats) -> tuple[Floats, Floats]:
    """Return vectors (k, d) at unit length, and their lengths (k,); a zero vector stays zero."""
    peak = np.abs(vectors).max(axis=1, initial=0.0)
    size = np.where(peak > 0, peak, 1.0)[:, None]
    scaled = vectors / size  # so that no square overflows or underflows
    length = _lengths(scaled)
    return scaled / np.where(length > 0, length, 1.0)[:, None], length * peak


def _share(one: Floats, whole: Floats) -> Floats:
    """one / whole; 0 where whole is 0."""
    return np.divide(one, whole, out=np.zeros_like(whole), where=np.asarray(whole) > 0)


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(row_squares(vectors)))


EUCLIDEAN, SPHERICAL = Euclidean(1.0), Spherical(0.5)
