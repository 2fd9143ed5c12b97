"""Samples of rows without randomness."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Ints


def evenly_spaced(n: int, max_count: int) -> Ints:
    """Up to `max_count` row numbers below n, evenly spaced from the first to the last.

    >>> evenly_spaced(9, 3)
    array([0, 4, 8])
    """
    return np.unique(np.linspace(0, n - 1, max_count).astype(np.intp))
