"""Callables as kernels: every pair is evaluated in the same way, wherever it is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.parameters import Got, must_be
from partita.source.kernel_rows import KernelRows


def call_pairs(kernel: Any, params: dict[str, Any], a: KernelRows, b: KernelRows) -> Floats:
    """Return k (len(a), len(b)); of rows of the data, the earlier one is the first argument."""
    out = np.empty((len(a), len(b)))
    if takes_blocks(kernel):
        for i in range(len(a)):  # one by one: BLAS may round a row differently in another block
            out[i] = kernel(a.values[i : i + 1], b.values)
        return out
    are_data = a.numbers.size > 0 and b.numbers.size > 0
    columns = [_row(b, j) for j in range(len(b))]
    for i in range(len(a)):
        row = _row(a, i)
        earlier = np.count_nonzero(b.numbers < a.numbers[i]) if are_data else 0
        for j, column in enumerate(columns):
            if a is b and j < i:
                out[i, j] = out[j, i]
                continue
            pair = (column, row) if j < earlier else (row, column)
            out[i, j] = _number(kernel(*pair, **params))
    return out


def call_own(kernel: Any, params: dict[str, Any], rows: KernelRows) -> Floats:
    """Return k(x, x) (n,) of every row."""
    each = (rows.take(np.array([i])) for i in range(len(rows)))
    return np.array([float(call_pairs(kernel, params, row, row)[0, 0]) for row in each])


def takes_blocks(kernel: Any) -> bool:
    """Return whether it is a kernel of scikit-learn's Gaussian processes, which takes matrices."""
    return hasattr(kernel, "is_stationary") and hasattr(kernel, "diag")


def _row(rows: KernelRows, i: int) -> Any:
    return rows.values[[i], :] if sp.issparse(rows.values) else rows.values[i]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        got = Got(f"{type(value).__name__} from a call")
        raise must_be("kernel", "a callable that returns a number", got) from None
