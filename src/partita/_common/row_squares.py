"""Squared lengths of rows."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats
from partita._kernels import kernels


def row_squares(rows: Floats) -> Floats:
    """‖x‖² (n,) of rows (n, d), features in order: einsum adds as the processor likes.

    >>> row_squares(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([25.,  1.])
    """
    zero, out = np.zeros(rows.shape[1]), np.empty(len(rows))
    labels, doubles = np.zeros(len(rows), np.int32), np.ascontiguousarray(rows, dtype=np.float64)
    kernels.own_distance(doubles, zero[None], zero, labels, out)
    return out
