"""The survey: the origin of the data, and the grid that its sums are rounded to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita.exact_weights import Weights
from partita.moments import Grid, Moments

if TYPE_CHECKING:
    from partita.source.blocked_rows import BlockedRows

FIRST_SAMPLE_ROWS, MAX_SAMPLE_ROWS = 64, 2048  # searched for outliers, first and where in doubt
MAX_SAMPLE_VALUES = 1 << 20  # of the larger sample, about
SUSPECT_RATIO = 2.0**10  # extent over spread of the sample: examine the feature
MAX_MEAN_ORIGIN_RATIO = 2.0**20  # extent over typical deviation, up to which the mean is the origin
MAX_GRID_RATIO = 2.0**40  # above, no grid holds both the outlier and the digits of the others


@dataclass(frozen=True, slots=True)
class Survey:
    """Extent, origin and scale of the data."""

    grid: Grid
    spread: float  # √ of the mean variance of the features
    ordered: bool  # sums must be floats in the order of the rows
    low: Floats  # (d,) lowest values, over rows of weight
    high: Floats  # (d,)


def survey_dense(rows: BlockedRows, sum_up: Callable[[Moments], None], count: bool) -> Survey:
    """Origin and grid from the extent of the data and one exact total of it.

    The origin is the mean, rounded to a coarse step above the lowest value: near the data, and
    moved along exactly when the data is moved. A feature with an outlier so far that the mean is
    far from the others gets the median instead. `count`: count values first, as reading whole
    columns is slow.
    """
    (low, high, _), weights = rows.extent(), rows.weights
    if float(low.min()) < -1e307 or float(high.max()) > 1e307:  # differences would overflow
        return survey_at_zero(low, high, weights, sum_up, ordered=weights.ordered)
    first = Grid.of_extent(low, high, low, weights)
    mean, spread = _total(first, sum_up)
    step = np.ldexp(1.0, np.maximum(np.frexp(high - low)[1] - 6, -1060))
    origin, ordered = low + step * np.rint(mean / step), weights.ordered
    suspects = _suspects(high - low, rows, count)
    for t, values in zip(suspects, rows.columns(suspects), strict=True):
        median, deviation = _middle(values, weights)
        if high[t] - low[t] > MAX_MEAN_ORIGIN_RATIO * deviation > 0:
            origin[t] = median
            ordered = ordered or bool(high[t] - low[t] > MAX_GRID_RATIO * deviation)
    return Survey(Grid.of_extent(low, high, origin, weights), spread, ordered, low, high)


def _suspects(extent: Floats, rows: BlockedRows, count: bool) -> Ints:
    """Features whose extent may be far beyond their typical deviation from the median."""
    ranked = np.sort(rows.sample(FIRST_SAMPLE_ROWS, slice(None)).T, axis=1)
    n = ranked.shape[1]
    wide = extent > SUSPECT_RATIO * (ranked[:, 3 * (n // 4)] - ranked[:, n // 4])
    if count and wide.any():
        wide &= ~_cleared(ranked[:, (n - 1) // 2], extent / MAX_MEAN_ORIGIN_RATIO, rows)
    suspects = np.flatnonzero(wide)
    if suspects.size == 0:
        return suspects
    # Many features have one value in most rows: compare with the deviation of the others.
    most = max(4 * FIRST_SAMPLE_ROWS, min(MAX_SAMPLE_ROWS, MAX_SAMPLE_VALUES // suspects.size))
    ranked = np.sort(rows.sample(most, suspects).T, axis=1)
    n = ranked.shape[1]
    away = np.abs(ranked - ranked[:, (n - 1) // 2, None])
    away.sort(axis=1)
    middle = np.minimum((n + np.count_nonzero(away == 0, axis=1)) // 2, n - 1)
    typical = np.take_along_axis(away, middle[:, None], axis=1)[:, 0]
    return np.asarray(suspects[extent[suspects] > SUSPECT_RATIO * typical])


def _cleared(middle: Floats, near: Floats, rows: BlockedRows) -> Array:
    """Features cleared by counting: the median is known, and most other values are not near it."""
    n, near = rows.n, near * (1 + 2.0**-20)  # as float32 rounds
    below, equal, around = rows.count_around(middle, near)
    known = (below <= (n - 1) // 2) & ((n - 1) // 2 < below + equal)
    return np.asarray(known & (around <= (n - equal - 1) // 2))


def survey_at_zero(
    low: Floats, high: Floats, weights: Weights, sum_up: Callable[[Moments], None], ordered: bool
) -> Survey:
    """Survey with the origin 0: for sparse data, whose zeros must stay zeros."""
    origin = np.zeros_like(low)
    grid = Grid.of_extent(np.minimum(origin, low), np.maximum(origin, high), origin, weights)
    return Survey(grid, _total(grid, sum_up)[1], ordered, low, high)


def _total(grid: Grid, sum_up: Callable[[Moments], None]) -> tuple[Floats, float]:
    """The mean of all rows relative to the grid's origin, and their spread."""
    moments = Moments.zero(1, grid)
    sum_up(moments)
    whole, unscale = moments.stats(), 1.0
    if not 1e-280 < whole.sse[0] < 1e280:  # in the grid's own units nothing overflows
        whole = Moments(replace(grid, scale=1.0), moments.hi, moments.lo).stats()
        unscale = 1.0 / grid.scale
    variance = float(whole.sse[0] / whole.weight[0]) / len(grid.origin)
    return whole.mean[0] * unscale, math.sqrt(variance) * unscale


def _middle(values: Floats, weights: Weights) -> tuple[float, float]:
    """The lower median of a feature, and the median of the deviations that are not 0."""
    weight = weights.as_floats(len(values))
    median = _median(values, weight)
    away = np.abs(values - median)
    deviates = (away > 0) & (weight > 0)
    return median, _median(away[deviates], weight[deviates]) if deviates.any() else 0.0


def _median(values: Floats, weight: Floats) -> float:
    if weight.min() == weight.max():
        middle = (len(values) - 1) // 2
        common = values[middle]  # most features that come here have one value in most rows
        below, up_to = np.count_nonzero(values < common), np.count_nonzero(values <= common)
        if below <= middle < up_to:
            return float(common)
        return float(np.partition(values, middle)[middle])
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(cumulated, cumulated[-1] / 2)])
