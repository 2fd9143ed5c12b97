"""Statistics of the data before a fit, and the exact sum of doubles, in NumPy."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.crew import Crew
from partita._kernels.twofold import quiet

DIGITS = 68  # 32-bit digits of an exact sum of doubles


def extent(
    rows: Floats,
    low: Floats,
    high: Floats,
    taint: Floats,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None:
    """Lower `low`, raise `high`; `taint` becomes NaN where a column holds NaN or infinity."""
    with np.errstate(invalid="ignore"):
        taint += (rows * 0).sum(axis=0, dtype=rows.dtype)
    if weight is not None:
        rows = rows[weight > 0]
    if len(rows):
        np.fmin(low, np.fmin.reduce(rows, axis=0), out=low)
        np.fmax(high, np.fmax.reduce(rows, axis=0), out=high)


@quiet
def count_around(
    rows: Floats, middle: Floats, near: Floats, counts: Ints, crew: Crew | None = None
) -> None:
    """Add to counts (3, d) the values below `middle`, equal to it, and nearer to it than `near`."""
    away = rows - middle
    counts[0] += (away < 0).sum(axis=0)
    counts[1] += (away == 0).sum(axis=0)
    counts[2] += ((np.abs(away) < near) & (away != 0)).sum(axis=0)


def exact_sum(values: Floats, digits: Ints) -> None:
    """Add finite doubles to `digits` without rounding: digits[i] counts 2^(32·i − 1088)."""
    mantissa, exponent = np.frexp(values)
    whole = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    # frexp normalises subnormal values, the core does not; the sum is the same.
    short = np.maximum(0, -1074 - (exponent - 53))
    whole >>= short
    place = exponent - 53 + short + 1088
    sign = np.where(values < 0, -1, 1)
    shift, digit = place & 31, place >> 5
    low, high = whole & 0xFFFFFFFF, whole >> 32
    a = low << shift
    b = (high << shift) + (a >> 32)
    np.add.at(digits, digit, sign * (a & 0xFFFFFFFF))
    np.add.at(digits, digit + 1, sign * (b & 0xFFFFFFFF))
    np.add.at(digits, digit + 2, sign * (b >> 32))
