"""`fit_auto`: features on one footing, by rules that a few gross outliers do not change.

For each feature: a logarithm if the values are positive and very skewed; a few values far beyond
the quartiles count as the last value before them; then mean 0 and standard deviation 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Floats
from partita._common.logarithm import logarithms
from partita._kernels import kernels
from partita.tables.quantiles import quantiles
from partita.tables.scaling import Scaling
from partita.tables.shared_units import shared_unit

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LOG_MIN_RATIO = 10.0  # of the 95 % quantile to the 5 % quantile
LOG_MIN_SKEWNESS = 0.5  # of the quantiles: half of what is possible
LOG_MAX_SKEWNESS_LEFT = 1 / 3  # of that: the logarithm makes the values far more symmetric
FENCE_IQRS = 3.0  # beyond the quartiles: Tukey's outer fences
FAR_IQRS = 30.0  # for skewed features, of which many values are beyond the outer fences
FAR_MIN_GROWTH = 10.0  # of the deviation, by the values so far: they alone would set the scale
OUTLIERS_MAX_SHARE = 0.01  # of the weight beyond a fence: more is a group, not a few outliers
OUTLIERS_MAX_ROWS = 2  # always few, of this many rows:
OUTLIERS_MIN_ROWS = 50


class AutoScaling(NamedTuple):
    """A scaling, and why the features were left alone (empty: they were not)."""

    scaling: Scaling
    shared_unit: str = ""


def fit_auto(X: Any, names: Sequence[str], weight: Any = None) -> AutoScaling:
    """Fit the scaling "auto"; "none" if all features share a unit. NaN is a gap."""
    X = np.asarray(X)
    rows = X if weight is None else X[np.asarray(weight) > 0]
    reason = shared_unit(names, rows)
    if reason:
        return AutoScaling(Scaling.fit(rows, "none"), reason)
    w = None if weight is None else np.asarray(weight, dtype=np.float64)[np.asarray(weight) > 0]
    d = rows.shape[1]
    logged, offset = np.zeros(d, dtype=bool), np.zeros(d)
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    every_weight = w
    for t in range(d):
        known = ~np.isnan(rows[:, t])
        if not known.any():
            continue
        x = rows[known, t].astype(np.float64)
        w = None if every_weight is None else every_weight[known]
        q = quantiles(x, w, QUANTILES)
        offset_if_logged = log_offset(x, w, q)
        if offset_if_logged is not None:
            logged[t], offset[t], low[t] = True, offset_if_logged, x.min()
            q = logarithms(q + offset[t])
            x = logarithms(x + offset[t])
        reach = _reach_of_fences(x, w, q)
        inner = _within(x, q, reach)
        if not inner.all():
            inside = rows[known, t][inner]
            low[t] = inside.min() if logged[t] or x.min() < x[inner].min() else -np.inf
            high[t] = inside.max() if x.max() > x[inner].max() else np.inf
    identity = Scaling("auto", np.zeros(d), np.ones(d), logged, offset, low, high)
    moments = Scaling.fit(identity.apply(rows.astype(np.float64)), "standard", every_weight)
    return AutoScaling(Scaling("auto", moments.center, moments.scale, logged, offset, low, high))


def with_fences(scaling: Scaling, X: Any, weight: Any = None) -> Scaling:
    """Limit the scaling of a sample X at its fences, if no or few values are beyond them.

    Rows that the sample lacks may be beyond. A pass over all rows finds the last values before.
    """
    if scaling.logged is None:
        return scaling
    X = np.asarray(X)
    rows = X if weight is None else X[np.asarray(weight) > 0]
    w = None if weight is None else np.asarray(weight, dtype=np.float64)[np.asarray(weight) > 0]
    low, high = scaling.low.copy(), scaling.high.copy()
    for t, is_logged in enumerate(scaling.logged):
        x, offset = rows[:, t].astype(np.float64), scaling.offset[t]
        x = logarithms(x + offset) if is_logged else x
        q = quantiles(x, w, QUANTILES)
        reach = _reach_of_fences(x, w, q)
        if not np.isfinite(reach):
            continue
        fences = np.array([q[1] - reach, q[3] + reach])
        if is_logged:
            kernels.exponentials(fences)
            fences -= offset
        low[t], high[t] = fences
    return replace(scaling, low=low, high=high)


def without_limits(scaling: Scaling) -> Scaling:
    """Return the scaling without its limits: outliers keep their distance.

    Except that values below those of a feature with a logarithm have none.
    """
    if scaling.logged is None:
        return scaling
    low = np.where(scaling.logged, scaling.low, -np.inf)
    return replace(scaling, low=low, high=np.full(len(low), np.inf))


def log_offset(x: Floats, weight: Floats | None, q: Floats) -> float | None:
    """Return c if the feature is to be ln(x + c), else None; c > 0 only if there are zeros.

    `q` holds the quantiles of x at `QUANTILES`.
    """
    low, _, middle, _, high = q
    smallest = x.min()
    if not smallest >= 0 or not high > middle:
        return None
    offset = 0.0
    if smallest == 0:
        positive = x > 0
        w = None if weight is None else weight[positive]
        offset = float(quantiles(x[positive], w, QUANTILES[:1])[0])
    three = np.array([low, middle, high]) + offset
    if three[2] < LOG_MIN_RATIO * three[0] or not np.isfinite(three[2]):
        return None
    skewness, skewness_of_log = _skewness(three), _skewness(logarithms(three))
    is_better = abs(skewness_of_log) <= LOG_MAX_SKEWNESS_LEFT * skewness
    return offset if skewness >= LOG_MIN_SKEWNESS and is_better else None


def _skewness(q: Floats) -> float:
    """Return the skewness of three quantiles: 0 if symmetric, at most 1."""
    low, middle, high = q
    return float(((high - middle) - (middle - low)) / (high - low))


def _reach_of_fences(x: Floats, weight: Floats | None, q: Floats) -> float:
    """Return how far beyond the quartiles values count; inf if too many are far, or no value has.

    Tukey's outer fences, if no or few values are beyond; else far ones, if the values beyond these
    are few and dominate the deviation.
    """
    spread = float(q[3] - q[1])
    if not spread > 0:
        return np.inf
    near, far = FENCE_IQRS * spread, FAR_IQRS * spread
    if _are_few(~_within(x, q, near), weight):
        return near
    inner = _within(x, q, far)
    if inner.all() or not _are_few(~inner, weight):
        return np.inf
    unit = np.abs(x - q[2]).max()  # so that squares do not overflow
    y = (x - q[2]) / unit
    grown = _deviation(y, weight) >= FAR_MIN_GROWTH * _deviation(
        y[inner], None if weight is None else weight[inner]
    )
    return far if grown else np.inf


def _within(x: Floats, q: Floats, reach: float) -> Any:
    return (x >= q[1] - reach) & (x <= q[3] + reach)


def _are_few(beyond: Any, weight: Floats | None) -> bool:
    """Return whether so few rows are beyond a fence that they are no group."""
    n = int(beyond.sum())
    share = n / len(beyond) if weight is None else weight[beyond].sum() / weight.sum()
    is_few = n <= OUTLIERS_MAX_ROWS and len(beyond) >= OUTLIERS_MIN_ROWS
    return bool(n == 0 or is_few or share <= OUTLIERS_MAX_SHARE)


def _deviation(x: Floats, weight: Floats | None) -> float:
    mean = np.average(x, weights=weight)
    return float(np.sqrt(np.average((x - mean) ** 2, weights=weight)))
