"""Cluster summaries: (weight, mean, sse), and the exact sums behind them.

Summaries of disjoint data merge exactly, so `ClusterStats` is a commutative monoid, and the whole
family of methods is a use of it. Inside a fit the sums are kept as integers on a fixed grid
(`Moments`), of which `ClusterStats` is the float64 view.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.power_of_two import power_of_two
from partita._kernels import kernels
from partita.weights import Weights


@dataclass(frozen=True, slots=True)
class ClusterStats:
    """Weight, mean and within-cluster sse of k clusters; a monoid under `merge`.

    >>> left, right = ClusterStats.of_block([[0.0], [2.0]]), ClusterStats.of_block([[4.0]])
    >>> both = left.merge(right)
    >>> both.weight, both.mean, both.sse
    (array([3.]), array([[2.]]), array([8.]))
    """

    weight: Floats  # (k,)
    mean: Floats  # (k, d)
    sse: Floats  # (k,)

    @classmethod
    def zero(cls, k: int, d: int) -> ClusterStats:
        """The summary of no data at all: the neutral element of `merge`."""
        return cls(np.zeros(k), np.zeros((k, d)), np.zeros(k))

    @classmethod
    def of_block(
        cls, rows: Array, labels: Array | None = None, *, k: int = 1, weight: Array | None = None
    ) -> ClusterStats:
        """Summarise rows (n, d): as one cluster, or by `labels` in 0…k−1."""
        x = np.asarray(rows, dtype=np.float64)
        label = np.zeros(len(x), dtype=np.intp) if labels is None else np.asarray(labels)
        w = np.ones(len(x)) if weight is None else np.asarray(weight, dtype=np.float64)
        if len(x) == 0:
            return cls.zero(k, x.shape[1])
        anchor = x[0]  # sums of differences: an offset of the data costs no digits
        total = np.asarray(np.bincount(label, weights=w, minlength=k), dtype=np.float64)
        mean = np.zeros((k, x.shape[1]))
        np.add.at(mean, label, w[:, None] * (x - anchor))
        mean = np.divide(mean, total[:, None], out=mean, where=total[:, None] > 0)
        gap = (x - anchor) - mean[label]
        sse = np.bincount(label, weights=w * np.einsum("nd,nd->n", gap, gap), minlength=k)
        mean = np.where(total[:, None] > 0, mean + anchor, 0.0)
        return cls(total, mean, np.asarray(sse, dtype=np.float64))

    def merge(self, other: ClusterStats) -> ClusterStats:
        """The summary of both together, cluster by cluster."""
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        gap = other.mean - self.mean
        return ClusterStats(
            weight=weight,
            mean=self.mean + share[:, None] * gap,
            sse=self.sse + other.sse + self.weight * share * np.einsum("kd,kd->k", gap, gap),
        )

    def scaled(self, factor: float) -> ClusterStats:
        """The summary with every weight times `factor`: how a mini-batch forgets."""
        return ClusterStats(self.weight * factor, self.mean, self.sse * factor)

    def moved(self, offset: Floats) -> ClusterStats:
        """The summary of the data moved by `offset`."""
        return ClusterStats(self.weight, self.mean + offset, self.sse)

    def cost_at(self, centers: Floats) -> Floats:
        """Cost (k,) of each cluster about any centers: sse + weight·‖mean − center‖² (Huygens)."""
        gap = self.mean - centers
        return np.asarray(self.sse + self.weight * np.einsum("kd,kd->k", gap, gap))

    def merge_price(self, i: Array | int, j: Array | int) -> Floats:
        """What fusing clusters i and j adds to the sse: w_i·w_j/(w_i + w_j)·‖mean_i − mean_j‖²."""
        total = self.weight[i] + self.weight[j]
        both = self.weight[i] * self.weight[j]
        share = np.divide(both, total, out=np.zeros_like(total), where=total > 0)
        gap = self.mean[i] - self.mean[j]
        return np.asarray(share * np.einsum("...d,...d->...", gap, gap))


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the terms of exact sums are rounded to: an origin and a power-of-two step per feature.

    A row becomes y = (x − origin)·scale; the terms w·y, w and w·‖y‖² are rounded once to multiples
    of 1 / (up·limb) and added as two integers each. The step depends only on the extent of the
    data and on its total weight: the same rows in another order, in other blocks, or repeated
    instead of weighted, meet the same grid.
    """

    origin: Floats  # (d,)
    scale: float
    up: Floats  # (d + 2,)
    limb: float
    unit: float  # of weight

    @classmethod
    def of_extent(cls, low: Floats, high: Floats, origin: Floats, weights: Weights) -> Grid:
        """The finest grid whose sums cannot overflow."""
        reach = np.maximum(high - origin, origin - low)
        bits = bits_for(weights.count)
        scale = power_of_two(float(reach.max()))
        reach = reach * scale
        up = np.empty(len(origin) + 2)
        up[:-2] = np.ldexp(2.0**bits, np.minimum(900, -np.frexp(reach)[1]))
        up[-2] = 1.0 if weights.values is None else 2.0**bits
        up[-1] = 2.0**bits * power_of_two(exact_total(reach * reach), 900)
        # A row's squares are d terms of one column, so their low limbs need room for d times more.
        return cls(origin, scale, up, 2.0 ** bits_for(weights.count * len(origin)), weights.unit)


def bits_for(count: float) -> int:
    """Bits of a term such that `count` of them add up below 2^62, and that a double can round."""
    return min(50, 61 - math.ceil(math.log2(max(2, count))))


class Moments:
    """Exact sums of k clusters on a grid: integers, so any order of adding gives the same bits."""

    __slots__ = ("grid", "hi", "lo", "sums")

    def __init__(self, grid: Grid, hi: Ints, lo: Ints) -> None:
        self.grid = grid
        self.hi = hi  # (k, d + 2)
        self.lo = lo  # (k, d + 2)
        # the same arrays as the kernels take them
        self.sums: Any = kernels.Sums(hi, lo, grid.origin, grid.up, grid.scale, grid.limb)

    @classmethod
    def zero(cls, k: int, grid: Grid) -> Moments:
        """Sums of nothing."""
        shape = k, len(grid.origin) + 2
        return cls(grid, np.zeros(shape, np.int64), np.zeros(shape, np.int64))

    def add(self, other: Moments) -> None:
        """Add the sums of disjoint data on the same grid, in place."""
        np.add(self.hi, other.hi, out=self.hi)
        np.add(self.lo, other.lo, out=self.lo)

    def without(self, clusters: Ints) -> Moments:
        """The sums less some clusters."""
        return Moments(
            self.grid, np.delete(self.hi, clusters, axis=0), np.delete(self.lo, clusters, axis=0)
        )

    def fused(self, i: int, j: int) -> Moments:
        """The sums with cluster j < k in cluster i."""
        self.hi[i] += self.hi[j]
        self.lo[i] += self.lo[j]
        return self.without(np.array([j]))

    def stats(self) -> ClusterStats:
        """The float64 view, means relative to the grid's origin."""
        return self.stats_about(np.zeros((len(self.hi), len(self.grid.origin))))[0]

    def stats_about(self, centers: Floats, crew: Any = None) -> tuple[ClusterStats, Floats]:
        """The same, and the distance (k,) of each mean to a center; 0 if the cluster is empty."""
        weight, sse, gap = np.empty((3, len(self.hi)))
        mean = np.empty(centers.shape)
        kernels.summarise(self.sums, self.grid.unit, centers, weight, mean, sse, gap, crew)
        return ClusterStats(weight, mean, sse), gap
