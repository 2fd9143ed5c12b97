"""Rows at unit length: what is left of them is their direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._kernels import kernels
from partita._threads import Workers
from partita._typing import Array, Floats, Ints
from partita.source.blocks import as_kernel_type, walk

_SMALL, _LARGE = 1e-280, 1e280  # squares between these have lost nothing to the range of doubles
_BLOCK = 1 << 18  # values that stay in cache


def unit_rows(X: Any, workers: Workers) -> tuple[Any, Floats]:
    """A copy of the rows at unit length, and their lengths (n,) before; zero rows stay zero.

    Rows with NaN or infinity come out with a length that is not finite.
    """
    if sp.issparse(X):
        length, power = _sparse_lengths(X)
        each = np.diff(X.indptr)
        data = _divided(X.data.astype(np.float64), np.repeat(length, each), np.repeat(power, each))
        rows = type(X)((data.astype(X.dtype), X.indices, X.indptr), shape=X.shape)
        return rows, _whole(length, power)
    out = np.empty(X.shape, np.float64 if X.dtype == np.float64 else np.float32)
    lengths = np.empty(X.shape[0])

    def run(rows: slice, block: Floats) -> None:
        length, power = _lengths(block)
        out[rows] = _divided(block, length[:, None], power[:, None])
        lengths[rows] = _whole(length, power)

    _each_block(X, workers, run)
    return out, lengths


def row_lengths(X: Any, workers: Workers) -> Floats:
    """The lengths (n,) of the rows alone."""
    if sp.issparse(X):
        return _whole(*_sparse_lengths(X))
    lengths = np.empty(X.shape[0])

    def run(rows: slice, block: Floats) -> None:
        lengths[rows] = _whole(*_lengths(block))

    _each_block(X, workers, run)
    return lengths


def _each_block(X: Array, workers: Workers, run: Callable[[slice, Floats], None]) -> None:
    def begin() -> Callable[[slice], None]:
        def some(rows: slice) -> None:
            step = max(1, _BLOCK // X.shape[1])
            for i in range(rows.start, rows.stop, step):
                part = slice(i, min(i + step, rows.stop))
                run(part, np.asarray(as_kernel_type(X[part]), dtype=np.float64))

        return some

    walk(workers, X.shape[0], 16 * X.shape[1], begin)


def _lengths(block: Floats) -> tuple[Floats, Ints]:
    """Lengths (n,) as length·2^power: no square leaves the range of doubles."""
    squares, power = np.empty((len(block), 2)), np.zeros(len(block), np.int64)
    kernels.square_norms(np.ascontiguousarray(block), squares)
    square = squares[:, 0]
    odd = np.flatnonzero(~((square > _SMALL) & (square < _LARGE)))
    if odd.size:
        part, again = block[odd], np.empty((len(odd), 2))
        peak = np.abs(part).max(axis=1, initial=0.0)
        power[odd] = np.where(np.isfinite(peak), np.frexp(peak)[1], 0)
        kernels.square_norms(np.ldexp(part, -power[odd, None]), again)
        square[odd] = again[:, 0]
    return np.sqrt(square), power


def _sparse_lengths(X: Any) -> tuple[Floats, Ints]:
    n, start = X.shape[0], X.indptr
    values, row = X.data.astype(np.float64), np.repeat(np.arange(n), np.diff(start))
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.bincount(row, values * values, minlength=n)
    power = np.zeros(n, np.int64)
    odd = ~((square > _SMALL) & (square < _LARGE)) & (np.diff(start) > 0)
    length = np.sqrt(square)
    for i in np.flatnonzero(odd):
        (length[i],), (power[i],) = _lengths(values[None, start[i] : start[i + 1]])
    return length, power


def _divided(values: Floats, length: Floats, power: Ints) -> Floats:
    if power.any():
        values = np.ldexp(values, -power)
    with np.errstate(invalid="ignore"):
        return np.asarray(values / np.where(length == 0, 1.0, length))


def _whole(length: Floats, power: Ints) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(length, power))
