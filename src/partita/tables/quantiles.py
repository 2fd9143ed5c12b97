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
    else:
        order = np.argsort(values, kind="stable")
        cumulated = np.cumsum(np.asarray(weight, dtype=np.float64)[order])
        cumulated /= cumulated[-1]
        first = np.searchsorted(cumulated, q - QUANTILE_SLACK, side="left").clip(max=last)
        after = np.searchsorted(cumulated, q + QUANTILE_SLACK, side="right").clip(max=last)
        ordered = values[order]
    return np.asarray(ordered[first] / 2 + ordered[after] / 2)
