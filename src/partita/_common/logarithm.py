"""The natural logarithm, with the same bits on every machine."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import numpy as np

from partita._common.array_types import Floats

LN_2 = 0.6931471805599453
SERIES_TERMS = 12  # of 2·artanh(f), |f| <= 0.172: the next is below a tenth of an ulp


def logarithm(value: float) -> float:
    """Return ln x by decimal arithmetic: `math.log` and `np.log` differ between processors.

    Slow (about 50 µs), so for a few numbers only.

    >>> logarithm(1.0), logarithm(0.0)
    (0.0, -inf)
    """
    return float(Context(prec=24, traps=[]).ln(Decimal(value)))


def logarithms(values: Any) -> Floats:
    """Return ln x of positive finite numbers to about two ulps, by sums and products alone.

    >>> logarithms([1.0, 2.0]).tolist()
    [0.0, 0.6931471805599453]
    """
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    small = mantissa < np.sqrt(0.5)
    mantissa, exponent = np.where(small, 2 * mantissa, mantissa), exponent - small
    f = (mantissa - 1) / (mantissa + 1)
    square = f * f
    series = np.zeros_like(f)
    for term in range(SERIES_TERMS, -1, -1):
        series = series * square + 1 / (2 * term + 1)
    return np.asarray(exponent * LN_2 + 2 * f * series)
