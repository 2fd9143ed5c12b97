"""The survey: the origin of the data, and the grid that its sums are rounded to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._kernels import kernels
from partita.exact_weights import Weights, WeightScale
from partita.moments import Grid, Moments
from partita.source.median_brackets import MedianBrackets

SAMPLE_ROWS = 64, 512  # that medians are guessed from: at least, and at most
SAMPLE_VALUES = 1 << 17, 1 << 19  # up to the first, rows are read freely; at most the second
WIDE_SAMPLE_SHARE = 1 / 32  # of the rows, from the first to the second
SAMPLE_SHARE = 1 / 4  # of the rows, where these are more than FEW_ROWS
FEW_ROWS = 192
WHOLE_VALUES = 1 << 20  # up to which all are tested for whole numbers first
COUNTED_VALUES = 1 << 18  # up to which all are counted, without a sample
MAX_COUNTING_PASSES = 3  # over all rows, with better guesses each
MIN_COUNTED_SHARE = 1 / 8  # of the features: of fewer, columns are read at once
MAX_MEAN_ORIGIN_RATIO = 2.0**20  # extent over typical deviation, up to which the mean is the origin
MAX_GRID_RATIO = 2.0**40  # above, no grid holds both the outlier and the digits of the others


@dataclass(frozen=True, slots=True)
class Survey:
    """Extent, origin and scale of the data."""

    grid: Grid
    spread: float  # √ of the mean variance of the features
    beyond_grid: bool  # no grid holds the sums: they are long integers
    low: Floats  # (d,) lowest values, over rows of weight
    high: Floats  # (d,)


class SurveyedRows(Protocol):
    """Rows as a survey asks for them, in memory or elsewhere."""

    n: int
    d: int
    kernel_dtype: np.dtype[Any]
    weights: Any  # Weights, or the WeightScale of rows elsewhere

    def extent(self) -> tuple[Floats, Floats, Ints]:
        """Lowest and highest value (d,) over rows of weight; which columns are not finite."""

    def total_count(self) -> int:
        """Sum of the weights as integers (`Weights.counts`)."""

    def all_values(self, most: int) -> Floats | None:
        """All rows, if they are in memory, of equal weight, and have no more values than that."""

    def crowded_features(self, low: Floats, extent: Floats, near: Floats) -> Ints:
        """Features of `all_values` with half of the deviations from the median at most `near`."""

    def sample(self, most: int) -> Floats:
        """About `most` rows, spread evenly: what is found does not depend on which."""

    def sum_up(self, moments: Moments, cuts: Floats) -> Ints:
        """Add all rows to the sums, and count as `count_beyond`."""

    def count_beyond(self, cuts: Floats) -> Ints:
        """Count the values beyond cuts (4, d): see kernels.count_beyond."""

    def medians(self, features: Ints, may_be_whole: Array) -> Iterator[tuple[float, float] | None]:
        """Lower median of each feature, and that of the deviations from it that are not 0.

        None for a feature that may be whole, and is: all its values are whole numbers.
        """


def survey_dense(rows: SurveyedRows, seen: SurveyedRows) -> Survey:
    """Origin and grid from the extent of `rows` and one exact total of those `seen`.

    The origin is the mean, rounded to a coarse step above the lowest value: near the data, and
    moved along exactly when the data is moved. A feature with outliers so far that the mean is far
    from the others gets the median instead: if its extent is more than 2^20 times the typical
    deviation, the median of the deviations from the median that are not 0. All this depends on the
    weighted rows only, not on their order.
    """
    (low, high, _), weights = rows.extent(), rows.weights
    if float(low.min()) < -1e307 or float(high.max()) > 1e307:  # differences would overflow
        cuts = np.zeros((4, rows.d), rows.kernel_dtype)  # nothing is asked about them
        return survey_at_zero(
            low, high, weights, lambda m: seen.sum_up(m, cuts), beyond_grid=weights.beyond_grid
        )
    extent = high - low
    moments = Moments.zero(1, Grid.of_extent(low, high, low, weights))
    suspects = _sum_up_and_suspect(low, extent, seen, moments)
    mean, spread = _mean_and_spread(moments)
    step = np.ldexp(1.0, np.maximum(np.frexp(extent)[1] - 6, -1060))
    origin, beyond_grid = low + step * np.rint(mean / step), weights.beyond_grid
    may_be_whole = extent[suspects] < MAX_MEAN_ORIGIN_RATIO  # whole numbers deviate by 1 or more
    for t, middle in zip(suspects, seen.medians(suspects, may_be_whole), strict=True):
        if middle is None:
            continue
        median, deviation = middle
        if extent[t] > MAX_MEAN_ORIGIN_RATIO * deviation > 0:
            origin[t] = median
            beyond_grid = beyond_grid or bool(extent[t] > MAX_GRID_RATIO * deviation)
    return Survey(Grid.of_extent(low, high, origin, weights), spread, beyond_grid, low, high)


def _sum_up_and_suspect(low: Floats, extent: Floats, rows: SurveyedRows, moments: Moments) -> Ints:
    """Add up all rows; return the features that only their columns can clear of outliers."""
    if (suspects := _suspects_among_few(low, extent, rows)) is not None:
        rows.sum_up(moments, np.zeros((4, rows.d), rows.kernel_dtype))
        return suspects
    fewest, most = SAMPLE_ROWS
    narrow, wide = (values // rows.d for values in SAMPLE_VALUES)
    most = min(most, max(FEW_ROWS, int(SAMPLE_SHARE * rows.n)))
    most = min(most, wide, max(narrow, int(WIDE_SAMPLE_SHARE * rows.n)))
    sample = rows.sample(max(fewest, most))
    brackets = MedianBrackets.of_sample(sample, extent / MAX_MEAN_ORIGIN_RATIO)
    total, suspect = rows.total_count(), extent > 0
    counts = rows.sum_up(moments, brackets.cuts(rows.kernel_dtype))
    suspect &= ~brackets.cleared(counts, total)
    for _ in range(MAX_COUNTING_PASSES - 1):
        few = np.count_nonzero(suspect) < MIN_COUNTED_SHARE * rows.d
        refined = None if few else brackets.refined(counts, total, suspect)
        if refined is None:
            break
        brackets = refined
        counts = rows.count_beyond(brackets.cuts(rows.kernel_dtype))
        suspect &= ~brackets.cleared(counts, total)
    return np.flatnonzero(suspect)


def _suspects_among_few(low: Floats, extent: Floats, rows: SurveyedRows) -> Ints | None:
    """Return the same where the rows are so few that a sample would save nothing, else None."""
    values = rows.all_values(WHOLE_VALUES)
    if values is None:
        return None
    if float(extent.max()) < MAX_MEAN_ORIGIN_RATIO and kernels.are_whole(values):
        return np.empty(0, np.intp)  # whole numbers deviate by 1 or more
    if values.size > COUNTED_VALUES:
        return None
    return rows.crowded_features(low, extent, extent * (1.001 / MAX_MEAN_ORIGIN_RATIO))


def survey_at_zero(
    low: Floats,
    high: Floats,
    weights: Weights | WeightScale,
    sum_up: Callable[[Moments], object],
    beyond_grid: bool,
) -> Survey:
    """Survey with the origin 0: for sparse data, whose zeros must stay zeros."""
    origin = np.zeros_like(low)
    grid = Grid.of_extent(np.minimum(origin, low), np.maximum(origin, high), origin, weights)
    moments = Moments.zero(1, grid)
    sum_up(moments)
    return Survey(grid, _mean_and_spread(moments)[1], beyond_grid, low, high)


def _mean_and_spread(moments: Moments) -> tuple[Floats, float]:
    """The mean of all rows relative to the grid's origin, and their spread."""
    grid = moments.grid
    whole, unscale = moments.stats(), 1.0
    if not 1e-280 < whole.sse[0] < 1e280:  # in the grid's own units nothing overflows
        whole = Moments(replace(grid, scale=1.0), moments.hi, moments.lo).stats()
        unscale = 1.0 / grid.scale
    variance = float(whole.sse[0] / whole.weight[0]) / len(grid.origin)
    return whole.mean[0] * unscale, math.sqrt(variance) * unscale


def median_and_deviation(values: Floats, counts: Ints | None) -> tuple[float, float]:
    """The lower median of a feature, and that of the deviations that are not 0."""
    if counts is not None:
        values, counts = values[counts > 0], counts[counts > 0]
    if len(values) == 0:  # a sample without weight
        return 0.0, 0.0
    median = lower_median(values, counts)
    away = np.abs(values - median)
    deviates = away > 0
    if not deviates.any():
        return median, 0.0
    return median, lower_median(away[deviates], None if counts is None else counts[deviates])


def lower_median(values: Floats, counts: Ints | None) -> float:
    """The median of values (n,), each counted `counts` times; the lower of two."""
    if counts is not None:
        order = np.argsort(values)
        cumulated = np.cumsum(counts[order])
        return float(values[order[np.searchsorted(cumulated, (cumulated[-1] + 1) // 2)]]) + 0.0
    middle = (len(values) - 1) // 2
    common = values[middle]  # most features that come here have one value in most rows
    below, up_to = np.count_nonzero(values < common), np.count_nonzero(values <= common)
    if below <= middle < up_to:
        return float(common) + 0.0  # -0.0 becomes 0.0: equal values may come in any order
    return float(np.partition(values, middle)[middle]) + 0.0
