"""Quantiles of groups of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.tables.quantiles import quantiles_of_parts


def group_quantiles(
    values: Floats, labels: Ints, weight: Floats, k: int, shares: Sequence[float]
) -> Floats:
    """Return quantiles (q, k + 1, d) of k groups, and in the last place of all rows.

    Missing values (NaN) and rows of weight 0 do not count.

    >>> rows = np.array([[1.0], [2.0], [3.0], [9.0]])
    >>> group_quantiles(rows, np.array([0, 0, 0, 1]), np.ones(4), 2, [0.5])[0, :, 0]
    array([2. , 9. , 2.5])
    """
    out = np.full((len(shares), k + 1, values.shape[1]), np.nan)
    counts = weight > 0
    for t in range(values.shape[1]):
        rows = np.flatnonzero(counts & ~np.isnan(values[:, t]))
        rows = rows[np.argsort(values[rows, t], kind="stable")]
        grouped = rows[np.argsort(labels[rows], kind="stable")]
        ends = np.searchsorted(labels[grouped], np.arange(k + 1))
        out[:, :k, t] = quantiles_of_parts(values[grouped, t], weight[grouped], ends, shares)
        whole = np.array([0, len(rows)])
        out[:, k:, t] = quantiles_of_parts(values[rows, t], weight[rows], whole, shares)
    return out
