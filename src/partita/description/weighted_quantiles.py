"""Weighted quantiles of groups of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita._common.array_types import Floats, Ints


def group_quantiles(
    values: Floats, labels: Ints, weight: Floats, k: int, shares: Sequence[float]
) -> Floats:
    """Return quantiles (q, k + 1, d) of k groups, and in the last place of all rows.

    Missing values (NaN) do not count. A quantile is the mean of the two values between which the
    weight divides, as NumPy's "averaged_inverted_cdf".

    >>> rows = np.array([[1.0], [2.0], [3.0], [9.0]])
    >>> group_quantiles(rows, np.array([0, 0, 0, 1]), np.ones(4), 2, [0.5])[0, :, 0]
    array([2. , 9. , 2.5])
    """
    out = np.full((len(shares), k + 1, values.shape[1]), np.nan)
    for t in range(values.shape[1]):
        known = np.flatnonzero(~np.isnan(values[:, t]) & (weight > 0))
        column, group, counts = values[known, t], labels[known], weight[known]
        order = np.argsort(column, kind="stable")
        column, group, counts = column[order], group[order], counts[order]
        out[:, k, t] = _quantiles(column, counts, shares)
        by_group = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[by_group], np.arange(k + 1))
        for j in range(k):
            rows = by_group[ends[j] : ends[j + 1]]
            out[:, j, t] = _quantiles(column[rows], counts[rows], shares)
    return out


def _quantiles(ascending: Floats, weight: Floats, shares: Sequence[float]) -> Floats:
    if not len(ascending):
        return np.full(len(shares), np.nan)
    reached = np.cumsum(weight)
    wanted = np.asarray(shares) * reached[-1]
    slack = 1e-12 * reached[-1]  # sums of weights are rounded
    last = len(ascending) - 1
    low = np.minimum(np.searchsorted(reached, wanted - slack), last)
    high = np.minimum(np.searchsorted(reached, wanted + slack, side="right"), last)
    return np.asarray(ascending[low] / 2 + ascending[high] / 2)
