"""Exact sums of rows with gaps: every feature of a cluster has a weight of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats
from partita._common.exact_sum import exact_total
from partita._common.power_of_two import power_of_two
from partita._common.row_squares import row_squares
from partita._kernels.exact_sums import Sums, twofold_values
from partita._kernels.twofold import Twofold, add, divide, multiply, quiet
from partita.exact_weights import Weights
from partita.moments import Grid, Moments
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True)
class PartialGrid:
    """The grid of rows with gaps: a row of d values is summed as 2d, the values and their marks.

    A value that is missing is replaced by the origin and so adds nothing; a mark says that it is
    there. So the `Moments` on the wide grid hold Σ w·y and Σ w of the observed values for every
    feature, and rows may be added in any order, repeated, or weighted, as without gaps.
    """

    narrow: Grid  # of the values alone
    wide: Grid  # of 2d features
    mark: float  # a power of two, as large as the values

    @classmethod
    def of_extent(cls, narrow: Grid, low: Floats, high: Floats, weights: Weights) -> PartialGrid:
        """Return the finest grid whose sums cannot overflow; `narrow` has the origin."""
        origin = narrow.origin
        mark = 1.0 / power_of_two(float(np.maximum(high - origin, origin - low).max()))
        zeros = np.zeros_like(origin)
        wide = Grid.of_extent(
            np.concatenate([low, zeros]),
            np.concatenate([high, np.full_like(origin, mark)]),
            np.concatenate([origin, zeros]),
            weights,
        )
        return cls(narrow, wide, mark)

    @property
    def origin(self) -> Floats:
        """The point (d,) that values are relative to."""
        return self.narrow.origin

    def zero(self, k: int) -> Moments:
        """Return the sums of no data."""
        return Moments.zero(k, self.wide)


@dataclass(frozen=True, slots=True)
class PartialSummary:
    """Summaries of clusters of rows with gaps, and how far their means are from centers.

    J at centers c is Σ sse + mass·(mean − c)², which is why means over the observed values are
    best. (Summaries of two data sets do not merge: the sse is not split by features.)
    """

    stats: ClusterStats  # weight of the rows; mean and sse of the observed values
    mass: Floats  # (k, d) weight of the observed values
    gap: Floats  # (k,) ‖mean − center‖
    pull: Floats  # (k,) Σ mass·(mean − center)²

    @property
    def cost(self) -> float:
        """J at the centers."""
        return exact_total(self.stats.sse + self.pull)

    @property
    def cost_at_means(self) -> float:
        """J at the means."""
        return exact_total(self.stats.sse)

    def moved(self, offset: Floats) -> PartialSummary:
        """Return the summary of the data moved by `offset`."""
        return replace(self, stats=self.stats.moved(offset))


@quiet
def summarise_partial(moments: Moments, mark: float, centers: Floats) -> PartialSummary:
    """Summaries by sums on the wide grid; means and centers (k, d) are relative to its origin.

    A feature of which no row of a cluster has a value keeps that of the center. The sse cancels,
    hence the twofold arithmetic: Q − Σ S²/M, with the squares of the marks subtracted from Q too.
    """
    grid, d = moments.grid, centers.shape[1]
    limbs = moments.hi, moments.lo
    head, tail = twofold_values(Sums(*limbs, grid.origin, grid.up, grid.scale, grid.limb))
    y_mark, unscale = mark * grid.scale, 1.0 / grid.scale
    weight = head[:, 2 * d]
    sums, marks = (head[:, :d], tail[:, :d]), (head[:, d : 2 * d], tail[:, d : 2 * d])
    is_known = marks[0] > 0
    mass = (np.where(is_known, marks[0], y_mark) / y_mark, np.where(is_known, marks[1], 0) / y_mark)
    mean = divide(sums, mass)[0]
    gaps = np.where(is_known, mean - centers * grid.scale, 0.0)
    squares = divide(multiply(sums, sums), mass)
    both = add(squares, (marks[0] * y_mark, marks[1] * y_mark))
    between = _row_sums((np.where(is_known, both[0], 0.0), np.where(is_known, both[1], 0.0)))
    rest = add((head[:, 2 * d + 1], tail[:, 2 * d + 1]), (-between[0], -between[1]))[0]
    sse = np.where((weight > 0) & (rest > 0), rest, 0.0)
    mass_of = np.where(is_known, mass[0], 0.0)
    square = grid.unit * unscale * unscale
    return PartialSummary(
        ClusterStats(weight * grid.unit, np.where(is_known, mean * unscale, centers), sse * square),
        mass_of * grid.unit,
        np.sqrt(row_squares(gaps)) * unscale,
        row_squares(np.sqrt(mass_of) * gaps) * square,
    )


def _row_sums(values: Twofold) -> Twofold:
    """Σ over the features of values (k, d), halves added to halves: the same everywhere."""
    head, tail = values
    while head.shape[1] > 1:
        half = (head.shape[1] + 1) // 2
        low, high = (head[:, :half], tail[:, :half]), (head[:, half:], tail[:, half:])
        pad = half - high[0].shape[1]
        high = (np.pad(high[0], ((0, 0), (0, pad))), np.pad(high[1], ((0, 0), (0, pad))))
        head, tail = add(low, high)
    return head[:, 0], tail[:, 0]
