"""Scaling by powers of two, which rounds nothing: squares and sums stay within the doubles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.sparse_format import is_sparse

MAX_SQUARED = 2.0**300  # above it, or below its inverse, squares or their sums may leave the range
MAX_EXPONENT = 1000  # of a scale


def ceil_log2(value: float) -> int:
    """Return the least e with value <= 2^e, exactly; `math.log2` rounds, not the same everywhere.

    >>> ceil_log2(16.0), ceil_log2(16.0 + 2.0**-48)
    (4, 5)
    """
    fraction, exponent = math.frexp(value)
    return exponent - (fraction == 0.5)


def power_of_two(largest: float, max_exponent: int = MAX_EXPONENT) -> float:
    """Return the power of two that brings `largest` to [½, 1), within 2^±max_exponent."""
    return 2.0 ** max(-max_exponent, min(max_exponent, -math.frexp(largest)[1]))


def square_scale(
    largest: float, limit: float = MAX_SQUARED, max_exponent: int = MAX_EXPONENT
) -> float:
    """Return 1, or the power of two that makes values of this magnitude fit to be squared.

    >>> square_scale(1e10), square_scale(0.0), square_scale(2.0**900) == 2.0**-901
    (1.0, 1.0, True)
    """
    if largest == 0 or 1 / limit < largest < limit:
        return 1.0
    return power_of_two(largest, max_exponent)


def square_scales(largest: Floats) -> Floats:
    """Return `square_scale` of each value (d,)."""
    return np.array([square_scale(value) for value in largest.tolist()])


def largest_magnitude(*arrays: Any) -> float:
    """Return max |x| over dense and sparse arrays; 0 if all are empty."""
    largest = 0.0
    for values in (array.data if is_sparse(array) else array for array in arrays):
        if values.size:
            largest = max(largest, abs(float(values.max())), abs(float(values.min())))
    return largest


def scaled(rows: Any, scale: float) -> Any:
    """Return rows·scale as doubles; the rows themselves if the scale is 1."""
    return rows if scale == 1 else rows.astype(np.float64) * scale
