"""Rows as they were given, dense or CSR, where no kernel is needed to read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita.stats import power_of_two

_VALUES = 1 << 20  # that are held at once
_FARTHEST = 2.0**300  # beyond it, or below its inverse, squares leave the range of doubles


def spans(n: int, width: int) -> list[slice]:
    """n rows in parts, each of about a million values if a row makes `width` of them.

    >>> spans(5, 1 << 19)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, _VALUES // width)
    return [slice(i, min(n, i + step)) for i in range(0, n, step)]


def doubles(rows: Any) -> Floats:
    """Rows as a dense array of doubles."""
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)


def unit_for(*given: Any) -> float:
    """The power of two to measure rows and centers in: 1, unless squares would not be doubles.

    >>> unit_for(np.array([[1e10, 0.0]])), unit_for(np.array([[2.0**900, 0.0]])) == 2.0**-901
    (1.0, True)
    """
    peak = 0.0
    for values in (each.data if sp.issparse(each) else each for each in given):
        if values.size:
            peak = max(peak, abs(float(values.max())), abs(float(values.min())))
    if peak == 0 or 1 / _FARTHEST < peak < _FARTHEST:
        return 1.0
    return power_of_two(peak, 1000)


def times(rows: Any, unit: float) -> Any:
    """The rows in such a unit; as they are if it is 1."""
    return rows if unit == 1 else rows.astype(np.float64) * unit
