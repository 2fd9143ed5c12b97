"""Exact sums of clusters: integers on a fixed grid, so blocks and threads change no bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import ceil_log2
from partita._kernels import kernels
from partita.exact_weights import Weights, WeightScale
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid of exact sums: an origin, and a power-of-two step per feature.

    A row becomes y = (x − origin)·scale; the terms w·y, w and w·‖y‖² are rounded once to multiples
    of 1 / (up·limb) and added as two integers each. The step depends only on the extent and the
    total weight of the data, so the grid is the same for rows in another order, in other blocks, or
    repeated instead of weighted.
    """

    origin: Floats  # (d,)
    scale: float
    up: Floats  # (d + 2,)
    limb: float
    unit: float  # of weight

    @classmethod
    def of_extent(
        cls, low: Floats, high: Floats, origin: Floats, weights: Weights | WeightScale
    ) -> Grid:
        """Return the finest grid whose sums cannot overflow."""
        largest, up = 2.0 ** bits_for(weights.count), np.empty(len(origin) + 2)
        scale = kernels.grid_steps(low, high, origin, largest, weights.whole, up)
        # A row adds d squares to one column, so the low limbs need room for d times as many terms.
        return cls(origin, scale, up, 2.0 ** bits_for(weights.count * len(origin)), weights.unit)


def bits_for(count: float) -> int:
    """Bits per term such that `count` terms sum to less than 2^62 and a double can hold each."""
    return min(50, 61 - ceil_log2(max(2, count)))


class Moments:
    """Sums of k clusters as integers on a grid: any order of addition gives the same bits."""

    __slots__ = ("grid", "hi", "lo", "sums")

    def __init__(self, grid: Grid, hi: Ints, lo: Ints) -> None:
        self.grid = grid
        self.hi = hi  # (k, d + 2)
        self.lo = lo  # (k, d + 2)
        # the same arrays, as the kernels expect them
        self.sums: Any = kernels.Sums(hi, lo, grid.origin, grid.up, grid.scale, grid.limb)

    @classmethod
    def zero(cls, k: int, grid: Grid) -> Moments:
        """Return the sums of no data."""
        shape = k, len(grid.origin) + 2
        return cls(grid, np.zeros(shape, np.int64), np.zeros(shape, np.int64))

    def add(self, other: Moments) -> None:
        """Add the sums of disjoint data on the same grid, in place."""
        np.add(self.hi, other.hi, out=self.hi)
        np.add(self.lo, other.lo, out=self.lo)

    def without(self, clusters: Ints) -> Moments:
        """Return the sums without some clusters."""
        hi, lo = (np.delete(limb, clusters, axis=0) for limb in (self.hi, self.lo))
        return Moments(self.grid, hi, lo)

    def fused(self, i: int, j: int) -> Moments:
        """Add cluster j to cluster i in place, and return the sums without cluster j."""
        self.hi[i] += self.hi[j]
        self.lo[i] += self.lo[j]
        return self.without(np.array([j]))

    def stats(self) -> ClusterStats:
        """Return the float64 view; means are relative to the grid's origin."""
        return self.stats_about(np.zeros((len(self.hi), len(self.grid.origin))))[0]

    def stats_about(self, centers: Floats, crew: Any = None) -> tuple[ClusterStats, Floats]:
        """`stats`, and the distance (k,) of each mean to its center; 0 if the cluster is empty."""
        k = len(self.hi)
        weight, mean, sse, gap = np.empty(k), np.empty(centers.shape), np.empty(k), np.empty(k)
        kernels.summarise(self.sums, self.grid.unit, centers, weight, mean, sse, gap, crew)
        return ClusterStats(weight, mean, sse), gap
