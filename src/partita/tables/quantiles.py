"""Quantiles of weighted columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita._common.array_types import Array, Floats

QUANTILE_SLACK = 1e-12  # rounding of cumulated weights


def quantiles(x: Array, weight: Array | None, at: Sequence[float]) -> Floats:
    """Return where the cumulated weight reaches each share in `at`.

    Halfway to the next value if a share is reached exactly, so that a row of weight 2 counts as two
    rows. Rows of weight 0 must have been left out.
    """
    values, q = np.asarray(x, dtype=np.float64), np.asarray(at, dtype=np.float64)
    last = len(values) - 1
    if weight is None:
        first = np.ceil((q - QUANTILE_SLACK) * len(values)).astype(np.intp) - 1
        after = np.floor((q + QUANTILE_SLACK) * len(values)).astype(np.intp)
        first, after = first.clip(0, last), after.clip(0, last)
        ordered = np.partition(values, np.union1d(first, after))
        return np.asarray(ordered[first] / 2 + ordered[after] / 2)
    order = np.argsort(values, kind="stable")
    ordered, row_weight = values[order], np.asarray(weight, dtype=np.float64)[order]
    return quantiles_of_parts(ordered, row_weight, np.array([0, len(values)]), at)[:, 0]


def quantiles_of_parts(ordered: Array, weight: Array, ends: Array, at: Sequence[float]) -> Floats:
    """Return the quantiles (q, k) of k consecutive parts, each in ascending order.

    Part j has the values from ends[j] to ends[j + 1]; NaN if there are none.
    """
    cumulated = np.concatenate([[0.0], np.cumsum(weight)])
    before, total = cumulated[ends[:-1]], np.diff(cumulated[ends])
    wanted = before + np.asarray(at, dtype=np.float64)[:, None] * total
    slack = QUANTILE_SLACK * total + 4 * np.finfo(np.float64).eps * cumulated[-1]
    first = np.searchsorted(cumulated[1:], wanted - slack, side="left")
    after = np.searchsorted(cumulated[1:], wanted + slack, side="right")
    if not len(ordered):
        return np.full(wanted.shape, np.nan)
    low, high = ends[:-1], np.maximum(ends[1:] - 1, 0)
    first, after = (np.clip(place, np.minimum(low, high), high) for place in (first, after))
    found = ordered[first] / 2 + ordered[after] / 2
    return np.where(np.diff(ends) > 0, found, np.nan)
