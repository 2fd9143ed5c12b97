"""Rows scaled to unit length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.sparse_format import is_sparse
from partita._common.threads import Workers
from partita.centers import Centers
from partita.exact_weights import Weights
from partita.source.blocks import as_kernel_type, kernel_type, split_slice, walk_blocks
from partita.source.dense import DenseSource
from partita.source.row_views import RowView
from partita.source.sparse import SparseSource

MIN_EXACT_SQUARE, MAX_EXACT_SQUARE = 1e-280, 1e280  # no square in between under- or overflowed
MAX_LENGTH_ERROR = 1e-5  # how far from 1 the length of a row may be if normalized=True
CACHED_VALUES = 1 << 18  # that stay in cache


class UnitLength:
    """Dense rows at unit length, divided when they are read."""

    def __init__(self, rows: RowView, length: Floats, power: Ints) -> None:
        self._rows, self._length, self._power = rows, length, power
        self.shape, self.dtype = rows.shape, kernel_type(rows.dtype)

    def __getitem__(self, rows: slice | Ints) -> Array:
        values = as_kernel_type(self._rows[rows])
        out = np.empty(values.shape, self.dtype)
        _divide(values, self._length[rows, None], self._power[rows, None], out)
        return out


def unit_rows(X: Any, workers: Workers, memory: float = math.inf) -> tuple[Any, Floats]:
    """Return the rows at unit length, and their lengths (n,); zero rows stay zero.

    They are a copy if it takes no more than `memory` bytes. The length of a row with NaN or
    infinity is not finite.
    """
    length, power = _lengths(X, workers)
    if is_sparse(X):
        stored, data = np.diff(X.indptr), np.empty_like(X.data)
        _divide(X.data, np.repeat(length, stored), np.repeat(power, stored), data)
        rows = type(X)((data, X.indices, X.indptr), shape=X.shape)
        return rows, _whole(length, power)
    view, (n, d) = UnitLength(X, length, power), X.shape
    if n * d * view.dtype.itemsize > memory:
        return view, _whole(length, power)
    out = np.empty(X.shape, view.dtype)

    def copy(rows: slice) -> None:
        for part in split_slice(rows, max(1, CACHED_VALUES // d)):
            out[part] = view[part]

    walk_blocks(workers, n, 16 * d, lambda: copy)
    return out, _whole(length, power)


def row_lengths(X: Any, workers: Workers) -> Floats:
    """Lengths (n,) of the rows."""
    return _whole(*_lengths(X, workers))


def _lengths(X: Any, workers: Workers) -> tuple[Floats, Ints]:
    """Lengths (n,) as length·2^power, so that no square leaves the range of doubles."""
    square, power = _squares(X, workers), np.zeros(X.shape[0], np.int64)
    inexact = np.flatnonzero(~((square > MIN_EXACT_SQUARE) & (square < MAX_EXACT_SQUARE)))
    for i in inexact:
        row = X.data[X.indptr[i] : X.indptr[i + 1]] if is_sparse(X) else X[i]
        row = row.astype(np.float64)
        peak = float(np.abs(row).max(initial=0.0))
        power[i] = np.frexp(peak)[1] if np.isfinite(peak) else 0
        square[i] = _squares(np.ldexp(row, -power[i])[None], workers)[0] if peak else 0.0
    return np.sqrt(square), power


def _squares(X: Any, workers: Workers) -> Floats:
    """D64 (n,) of every row to 0, the same for dense and sparse rows."""
    weights = Weights.of(None, X.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(X):
            return SparseSource(X, weights, workers).square_lengths()
        origin, labels = np.zeros(X.shape[1]), np.zeros(X.shape[0], np.int32)
        return DenseSource(X, weights, workers).own_distances(Centers(origin[None], origin), labels)


def _divide(values: Array, length: Floats, power: Ints, out: Array) -> None:
    if power.any():
        values = np.ldexp(values.astype(np.float64), -power)
    with np.errstate(invalid="ignore"):  # in double precision, rounded once
        np.divide(values, np.where(length == 0, 1.0, length), out=out, casting="same_kind")


def _whole(length: Floats, power: Ints) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(length, power))
