"""Sums that are rounded once."""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats
from partita._kernels import kernels

FSUM_MAX_VALUES = 4096  # above it, the kernel is faster


def exact_total(values: Floats) -> float:
    """Σ of values (n,), rounded once: the same bits in any order and for any blocks.

    inf beyond the largest double; nan for inf − inf.
    """
    if len(values) < FSUM_MAX_VALUES:
        try:
            return math.fsum(values.tolist())
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan
    if not np.isfinite(values).all():
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(values))
    digits = np.zeros(68, np.int64)
    kernels.exact_sum(np.ascontiguousarray(values, dtype=np.float64), digits)
    whole = sum(int(digit) << (32 * place) for place, digit in enumerate(digits))
    try:
        return whole / (1 << 1088)
    except OverflowError:
        return math.inf
