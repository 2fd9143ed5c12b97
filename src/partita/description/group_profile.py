"""Groups feature by feature: typical values, quartiles, and distances from all rows.

Distances are in units of the spread within groups, so that neither an outlier nor groups that are
far apart hide differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.power_of_two import square_scales
from partita._common.random_state import generator
from partita.description.group_quantiles import group_quantiles
from partita.source.raw_rows import as_doubles

MEAN, MEDIAN = "mean", "median"  # the kinds of typical values
SHARE, PRESENCE = "share", "presence"  # shares of rows: of yes, and of those that have a term
SHARES = (SHARE, PRESENCE)
SHOWN_QUANTILES = (0.25, 0.5, 0.75)
NORMAL_IQR = 1.349  # interquartile range of a normal distribution, in standard deviations
MIN_SPREAD = 0.01  # of the deviation of all rows: a smaller spread within groups counts as this
MAX_SORTED_VALUES = 20_000_000  # for quartiles; of more, a sample of the rows of each group
MIN_SAMPLED_ROWS = 200  # of a group
MAX_BLOCK_VALUES = 4_000_000  # held at a time
MAX_COUNTED_SCORE = 1e3  # in the order of features
MAX_ROUNDING_ERROR = 1e-12  # in deviations: a mean this close to 0 is 0


@dataclass(frozen=True, slots=True, eq=False)
class GroupProfile:
    """Typical values of k groups and of all rows.

    A typical value is the mean; the median if the mean of all rows lies beyond their quartiles;
    the share of ones for features that are 0 or 1; for sparse rows, of rows that have a term.
    """

    statistic: Array  # (d,) MEAN, MEDIAN, SHARE or PRESENCE
    typical: Floats  # (k, d); NaN if no row of the group has a value
    overall: Floats  # (d,) of all rows
    mean: Floats  # (k, d)
    quartiles: Floats | None  # (3, k, d); None for sparse rows
    spread: Floats  # (d,) within groups; infinite if a feature is constant
    scores: Floats  # (k, d): (typical - overall) / spread; 0 if not known
    order: Ints  # (d,) features, those that set groups apart most first
    weight: Floats  # (k,)


class _FeatureStatistics(NamedTuple):
    """The statistics of some features."""

    statistic: Array  # (d,)
    typical: Floats  # (k, d)
    overall: Floats  # (d,)
    mean: Floats  # (k, d)
    spread: Floats  # (d,)
    quartiles: Floats | None  # (3, k + 1, d), in the last place of all rows


def group_profile(
    values: Any, labels: Ints, weight: Floats, k: int, min_rows: int = 1
) -> GroupProfile:
    """Describe the groups of rows (n, d), dense with NaN for missing values, or CSR.

    Labels outside of 0, …, k - 1 belong to no group, but their rows count among all rows. With
    `min_rows` above 1, values of fewer rows are NaN, and no typical value is that of a row.
    """
    labels = np.where((labels >= 0) & (labels < k), labels, -1)
    weight = weight if weight.any() else np.ones(len(weight))
    group_weight = np.bincount(labels[labels >= 0], weight[labels >= 0], k).astype(np.float64)
    if sp.issparse(values):
        parts = [_sparse_columns(values.tocsr(), labels, weight, k)]
    else:
        step = max(1, MAX_BLOCK_VALUES // max(1, len(values)))
        sample = _sorted_rows(values.shape, labels, k)
        parts = [
            _dense_columns(as_doubles(values[:, t : t + step]), labels, weight, k, sample)
            for t in range(0, max(1, values.shape[1]), step)
        ]
    found = parts[0] if len(parts) == 1 else _joined(parts)
    if min_rows > 1:
        found = _hidden(found, _known_rows(values, labels, weight, k) < min_rows)
    gap, typical = found.typical - found.overall, found.typical
    scores = np.divide(gap, found.spread, out=np.zeros_like(gap), where=np.isfinite(gap))
    scores = np.nan_to_num(scores, posinf=0.0, neginf=0.0)
    size = np.minimum(np.abs(scores), MAX_COUNTED_SCORE)
    return GroupProfile(
        *(found.statistic, typical, found.overall, found.mean),
        quartiles=None if found.quartiles is None else found.quartiles[:, :k],
        spread=found.spread,
        scores=scores,
        order=np.argsort(-(group_weight @ size**2), kind="stable"),
        weight=group_weight,
    )


def _known_rows(values: Any, labels: Ints, weight: Floats, k: int) -> Ints:
    """Count rows (k + 1, d) that have weight and a value, in the last place of all groups."""
    mix = _membership(labels, (weight > 0).astype(np.float64), k)
    known = np.isfinite(values).astype(np.float64) if not sp.issparse(values) else None
    size = np.asarray(mix.sum(axis=1))[:, None] * np.ones(values.shape[1])
    counts = size if known is None else mix @ known
    return np.asarray(np.vstack([counts[:k], counts.sum(axis=0)]), dtype=np.intp)


def _hidden(found: _FeatureStatistics, few: Array) -> _FeatureStatistics:
    """Hide what few rows (k + 1, d) have, and replace medians, which are values of rows."""
    typical, overall, quartiles = found.typical, found.overall, found.quartiles
    if quartiles is not None:
        trimean = (quartiles[0] + 2 * quartiles[1] + quartiles[2]) / 4
        by_median = found.statistic == MEDIAN
        typical = np.where(by_median, trimean[:-1], typical)
        overall = np.where(by_median, trimean[-1], overall)
    return found._replace(
        typical=np.where(few[:-1], np.nan, typical),
        overall=np.where(few[-1], np.nan, overall),
        mean=np.where(few[:-1], np.nan, found.mean),
        quartiles=None,
    )


def _joined(parts: list[_FeatureStatistics]) -> _FeatureStatistics:
    return _FeatureStatistics(*(np.concatenate(part, axis=-1) for part in zip(*parts, strict=True)))


def _sorted_rows(shape: tuple[int, ...], labels: Ints, k: int) -> tuple[Ints, Floats]:
    """Return the rows that are sorted for quartiles, and how many each of them stands for."""
    n, d = shape
    most = max(1, MAX_SORTED_VALUES // max(1, d))
    if n <= most:
        return np.arange(n), np.ones(n)
    rng, share = generator(0), most / n
    drawn, factor = [], np.ones(k + 1)
    for j in range(-1, k):
        rows = np.flatnonzero(labels == j)
        m = min(len(rows), max(MIN_SAMPLED_ROWS, round(share * len(rows))))
        drawn.append(rng.choice(rows, m, replace=False))
        factor[j] = len(rows) / max(1, m)
    chosen = np.sort(np.concatenate(drawn))
    return chosen, factor[labels[chosen]]


def _dense_columns(
    values: Floats, labels: Ints, weight: Floats, k: int, sample: tuple[Ints, Floats]
) -> _FeatureStatistics:
    """Statistics of some features, scaled so that no square overflows, about one known value."""
    values = np.where(np.isfinite(values), values, np.nan)
    known = ~np.isnan(values)
    scale = square_scales(np.where(known, np.abs(values), 0.0).max(axis=0, initial=0.0))
    values = values * scale
    first = known.argmax(axis=0), np.arange(values.shape[1])
    anchor = np.nan_to_num(values[first]) if len(values) else np.zeros(values.shape[1])
    means, within, mean, deviation = _moments(values - anchor, known, labels, weight, k)
    rows, factor = sample
    quartiles = group_quantiles(
        values[rows], labels[rows], weight[rows] * factor, k, SHOWN_QUANTILES
    )
    low, median, high = quartiles[:, k]
    tiny = MAX_ROUNDING_ERROR * deviation
    means, mean = (np.where(np.abs(x + anchor) < tiny, 0.0, x + anchor) for x in (means, mean))
    is_share = ((values == 0) | (values == scale) | ~known).all(axis=0) & (deviation > 0)
    by_median = ((mean < low) | (mean > high)) & (high > low) & ~is_share
    statistic = np.where(is_share, SHARE, np.where(by_median, MEDIAN, MEAN))
    typical = np.where(by_median, quartiles[1, :k], means)
    overall = np.where(by_median, median, mean)
    spread = _robust_spread(quartiles[:, :k], _membership(labels, weight, k)[:k] @ known, within)
    spread = np.maximum(spread, np.where(by_median, 0.0, MIN_SPREAD * deviation))
    spread = np.where(spread > 0, spread, np.inf)
    scaled = (x / scale for x in (typical, overall, means, spread, quartiles))
    return _FeatureStatistics(statistic, *scaled)


def _moments(
    centered: Floats, known: Array, labels: Ints, weight: Floats, k: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Means (k, d), the deviation (d,) within groups; mean and deviation (d,) of all rows."""
    centered = np.where(known, centered, 0.0)
    mix = _membership(labels, weight, k)
    totals, counts = mix @ known.astype(np.float64), weight @ known
    means, mean = _divided(mix @ centered, totals), _divided(weight @ centered, counts)
    residual = np.where(known, centered - np.nan_to_num(means)[labels], 0.0)
    inside = labels >= 0
    within = _divided(weight[inside] @ residual[inside] ** 2, totals[:k].sum(axis=0))
    variance = _divided(weight @ np.where(known, centered - mean, 0.0) ** 2, counts)
    return means[:k], np.sqrt(within), mean, np.sqrt(variance)


def _sparse_columns(values: Any, labels: Ints, weight: Floats, k: int) -> _FeatureStatistics:
    """Shares of the rows in which a term occurs."""
    occurs = values.copy()
    occurs.data = (np.isfinite(values.data) & (values.data != 0)).astype(np.float64)
    mix, total = _membership(labels, weight, k)[:k], max(float(weight.sum()), 1e-300)
    size = np.asarray(mix.sum(axis=1)).reshape(-1, 1)
    share = np.asarray(_divided(np.asarray((mix @ occurs).todense()), size))
    means = np.asarray(_divided(np.asarray((mix @ values).todense()), size))
    overall = np.asarray(occurs.T @ weight).ravel() / total
    variance = (size * np.nan_to_num(share * (1 - share))).sum(axis=0) / max(size.sum(), 1e-300)
    spread = np.sqrt(np.maximum(variance, MIN_SPREAD**2 * overall * (1 - overall)))
    spread = np.where(spread > 0, spread, np.inf)
    kind = np.full(len(overall), PRESENCE)
    return _FeatureStatistics(kind, share, overall, means, spread, None)


def _membership(labels: Ints, weight: Floats, k: int) -> Any:
    """Weights (k + 1, n) of the rows in their groups; the last row is of those without a group."""
    n = len(labels)
    return sp.csr_array((weight, (labels % (k + 1), np.arange(n))), shape=(k + 1, n))


def _robust_spread(quartiles: Floats, totals: Floats, within: Floats) -> Floats:
    """The spread (d,) within groups, pooled: by quartiles, by squares where they coincide."""
    ranges = np.nan_to_num(quartiles[2] - quartiles[0]) / NORMAL_IQR  # (k, d)
    pooled = np.sqrt(_divided((totals * ranges**2).sum(axis=0), totals.sum(axis=0)))
    return np.where(pooled > 0, pooled, within)


def _divided(sums: Any, totals: Any) -> Any:
    return np.divide(sums, totals, out=np.full(np.shape(sums), np.nan), where=totals > 0)
