"""Rows as they were given, dense or CSR, where no kernel is needed to read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats

_VALUES = 1 << 20  # that are held at once


def row_slices(n: int, width: int) -> list[slice]:
    """n rows in parts, each of about a million values if a row makes `width` of them.

    >>> spans(5, 1 << 19)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, _VALUES // width)
    return [slice(i, min(n, i + step)) for i in range(0, n, step)]


def as_doubles(rows: Any) -> Floats:
    """Rows as a dense array of doubles."""
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
