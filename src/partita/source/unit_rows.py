"""Rows at unit length: what is left of them is their direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita.centers import Centers
from partita.source.blocks import as_kernel_type, walk_blocks
from partita.source.dense import DenseSource
from partita.source.sparse import SparseSource
from partita.weights import Weights

_SMALL, _LARGE = 1e-280, 1e280  # squares between these have lost nothing to the range of doubles
_BLOCK = 1 << 18  # values that stay in cache


def unit_rows(X: Any, workers: Workers) -> tuple[Any, Floats]:
    """A copy of the rows at unit length, and their lengths (n,) before; zero rows stay zero.

    Rows with NaN or infinity come out with a length that is not finite.
    """
    length, power = _lengths(X, workers)
    if sp.issparse(X):
        each = np.diff(X.indptr)
        data = np.empty_like(X.data)
        _divide(X.data, np.repeat(length, each), np.repeat(power, each), data)
        rows = type(X)((data, X.indices, X.indptr), shape=X.shape)
        return rows, _whole(length, power)
    out = np.empty(X.shape, np.float64 if X.dtype == np.float64 else np.float32)

    def begin() -> Callable[[slice], None]:
        def some(rows: slice) -> None:
            step = max(1, _BLOCK // X.shape[1])
            for i in range(rows.start, rows.stop, step):
                part = slice(i, min(i + step, rows.stop))
                block = as_kernel_type(X[part])
                _divide(block, length[part, None], power[part, None], out[part])

        return some

    walk_blocks(workers, X.shape[0], 16 * X.shape[1], begin)
    return out, _whole(length, power)


def row_lengths(X: Any, workers: Workers) -> Floats:
    """The lengths (n,) of the rows alone."""
    return _whole(*_lengths(X, workers))


def _lengths(X: Any, workers: Workers) -> tuple[Floats, Ints]:
    """Lengths (n,) as length·2^power: no square leaves the range of doubles."""
    square, power = _squares(X, workers), np.zeros(X.shape[0], np.int64)
    odd = np.flatnonzero(~((square > _SMALL) & (square < _LARGE)))
    for i in odd:
        row = X.data[X.indptr[i] : X.indptr[i + 1]] if sp.issparse(X) else X[i]
        row = row.astype(np.float64)
        peak = float(np.abs(row).max(initial=0.0))
        power[i] = np.frexp(peak)[1] if np.isfinite(peak) else 0
        square[i] = _squares(np.ldexp(row, -power[i])[None], workers)[0] if peak else 0.0
    return np.sqrt(square), power


def _squares(X: Any, workers: Workers) -> Floats:
    """The squared distance of every row to 0."""
    source = (SparseSource if sp.issparse(X) else DenseSource)(
        X, Weights.of(None, X.shape[0]), workers
    )
    origin = np.zeros(X.shape[1])
    labels = np.zeros(X.shape[0], np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        return source.own_distances(Centers(origin[None], origin), labels)


def _divide(values: Array, length: Floats, power: Ints, out: Array) -> None:
    if power.any():
        values = np.ldexp(values.astype(np.float64), -power)
    with np.errstate(invalid="ignore"):  # in double precision, rounded once
        np.divide(values, np.where(length == 0, 1.0, length), out=out, casting="same_kind")


def _whole(length: Floats, power: Ints) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(length, power))
