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
    order = np.argsort(values, kind="stable")
    w = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=np.float64)
    cumulated = np.cumsum(w[order])
    cumulated /= cumulated[-1]
    last = len(values) - 1
    first = np.searchsorted(cumulated, q - QUANTILE_SLACK, side="left").clip(max=last)
    after = np.searchsorted(cumulated, q + QUANTILE_SLACK, side="right").clip(max=last)
    return np.asarray(values[order[first]] / 2 + values[order[after]] / 2)
