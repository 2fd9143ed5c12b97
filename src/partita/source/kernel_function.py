"""Kernels: inner products of rows in feature space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers, one_blas_thread
from partita.geometry import directions

TILE_ROWS = 1024  # and columns; fixed, so that bits do not depend on the number of threads
SHIFT_INVARIANT = ("linear", "rbf")  # moving the data changes no distance, and saves digits
DEFINITE_KERNELS = ("linear", "rbf", "laplacian", "cosine", "chi2")
UNIT_NORM = ("rbf", "laplacian")  # exp(0): every row has length 1
STRIP_COLUMNS = 64  # transposed at once, so that writes stay in cache
DIAGONAL_ROWS = 64  # rows of a block whose diagonal is read


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A kernel by name or as a callable of two rows, as `pairwise_kernels` takes it."""

    metric: Any
    params: dict[str, Any] = field(default_factory=dict)
    origin: Floats | None = None  # (d,) subtracted from rows first

    @classmethod
    def about(cls, origin: Floats, metric: Any, params: dict[str, Any]) -> KernelFunction:
        """Make the kernel; rows are moved by `origin` if distances do not change by it."""
        return cls(metric, params, origin if metric in SHIFT_INVARIANT else None)

    @property
    def definite(self) -> bool:
        """True if the kernel is known to be positive semidefinite."""
        if self.metric == "polynomial":
            degree, coef0 = self.params["degree"], self.params["coef0"]
            return float(degree).is_integer() and degree >= 1 and coef0 >= 0
        return isinstance(self.metric, str) and self.metric in DEFINITE_KERNELS

    def place(self, X: Any) -> Any:
        """Return rows in the form that `between` takes."""
        if sp.issparse(X):
            if self.origin is None or not self.origin.any():
                return X
            X = X.toarray()  # as the rows of the fit, which were moved
        if self.metric == "cosine":
            return directions(X)[0]
        return X if self.origin is None else (X - self.origin).astype(X.dtype, copy=False)

    def between(self, a: Any, b: Any = None) -> Floats:
        """Return the inner products (len(a), len(b)); of `a` with itself if b is None."""
        from sklearn.metrics.pairwise import pairwise_kernels

        with np.errstate(over="ignore", invalid="ignore"):
            inner = pairwise_kernels(a, b, metric=self.metric, **self.params)
        inner = np.asarray(inner.toarray() if sp.issparse(inner) else inner)
        if not np.isfinite(inner).all():
            raise ValueError(
                f"kernel={self.metric!r} gave NaN or infinity for some rows. Scale the data, or "
                "use other parameters of the kernel."
            )
        return inner

    def diagonal(self, a: Any) -> Floats:
        """Return the inner products (n,) of rows with themselves."""
        if self.metric in UNIT_NORM:
            return np.ones(a.shape[0])
        size = 1 if callable(self.metric) else DIAGONAL_ROWS
        parts = [self.between(a[i : i + size]).diagonal() for i in range(0, a.shape[0], size)]
        return np.concatenate(parts).astype(np.float64)


def gram_matrix(
    kernel: KernelFunction, X: Any, workers: Workers
) -> tuple[Floats, tuple[float, float]]:
    """Return the Gram matrix (n, n) in the dtype of X, exactly symmetric, and (min, max) of it."""
    n = X.shape[0]
    out = np.empty((n, n), X.dtype)
    starts = range(0, n, TILE_ROWS)
    tiles = [(i, j) for i in starts for j in starts if i <= j]
    span = np.empty((len(tiles), 2))

    def fill(number: int) -> None:
        i, j = tiles[number]
        rows, columns = slice(i, i + TILE_ROWS), slice(j, j + TILE_ROWS)
        if i < j:
            tile = kernel.between(X[rows], X[columns])
            for first in range(0, len(tile), STRIP_COLUMNS):
                strip = tile[first : first + STRIP_COLUMNS]
                out[columns, i + first : i + first + len(strip)] = strip.T
        else:
            tile = kernel.between(X[rows])
            tile = np.triu(tile) + np.triu(tile, 1).T
        out[rows, columns] = tile
        span[number] = tile.min(), tile.max()

    share_tiles(workers, len(tiles), fill)
    return out, (float(span[:, 0].min()), float(span[:, 1].max()))


def gram_rows(kernel: KernelFunction, a: Any, X: Any, workers: Workers) -> Floats:
    """Return the inner products (len(a), n) of some rows with all, in the dtype of X."""
    n = X.shape[0]
    out = np.empty((a.shape[0], n), X.dtype)

    def fill(number: int) -> None:
        columns = slice(number * TILE_ROWS, (number + 1) * TILE_ROWS)
        out[:, columns] = kernel.between(a, X[columns])

    share_tiles(workers, -(-n // TILE_ROWS), fill)
    return out


def share_tiles(workers: Workers, count: int, fill: Callable[[int], None]) -> None:
    """Call fill(number) for every tile in several threads; BLAS runs in the calling thread."""

    def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            fill(number)

    with one_blas_thread():
        workers.share(count, work)


def is_symmetric(kernel: KernelFunction, X: Any) -> bool:
    """Return whether a callable gives k(a, b) = k(b, a) on a few rows."""
    rows = X[evenly_spaced(X.shape[0], 8)]
    forward, backward = kernel.between(rows, rows[::-1]), kernel.between(rows[::-1], rows)
    gap = np.abs(forward - backward.T).max()
    return bool(gap <= 1e-8 * np.abs(forward).max())
