"""The range of a value axis, and whether it is logarithmic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from partita._common.array_types import Floats

MAX_LINEAR_RATIO = 30.0  # largest to smallest value; beyond it the axis is logarithmic
MAX_ROUNDING_ERROR = 1e-7  # relative differences of J that are rounding errors


class AxisRange(NamedTuple):
    """The values that an axis must hold."""

    low: float
    high: float
    log: bool


def axis_range(values: Floats) -> AxisRange | None:
    """Return the range of the finite values; None if there are none.

    Values that differ by no more than rounding have the range (high, high).

    >>> axis_range(np.array([1.0, 5.0, np.nan])), axis_range(np.array([1.0, 1000.0])).log
    (AxisRange(low=1.0, high=5.0, log=False), True)
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    low, high = float(finite.min()), float(finite.max())
    if high - low <= MAX_ROUNDING_ERROR * abs(high):
        low = high
    return AxisRange(low, high, low > 0 and high > MAX_LINEAR_RATIO * low)
