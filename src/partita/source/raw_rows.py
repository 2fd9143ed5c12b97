"""Access to rows as the user gave them, dense or CSR, without a source."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.sparse_format import is_sparse

VALUES_PER_SLICE = 1 << 20


def row_slices(n: int, width: int) -> list[slice]:
    """Cut n rows into slices of about a million values, where a row makes `width` values.

    >>> row_slices(5, 1 << 19)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, VALUES_PER_SLICE // width)
    return [slice(i, min(n, i + step)) for i in range(0, n, step)]


def as_doubles(rows: Any) -> Floats:
    """Convert rows to a dense array of doubles."""
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
