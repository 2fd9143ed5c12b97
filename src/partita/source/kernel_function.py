"""A kernel: inner products of rows in a feature space that is never visited."""

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

TILE = 1024  # rows and columns of a tile: fixed, so that its bits do not depend on threads
_SHIFTABLE = ("linear", "rbf")  # moving the data changes no distance, and saves digits
_DEFINITE = ("linear", "rbf", "laplacian", "cosine", "chi2")
_UNIT = ("rbf", "laplacian")  # exp(0): every row has length 1
_STRIP = 64  # columns that are transposed at once
_ALONE = 64  # rows whose diagonal is read off a small square


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A kernel by name or as a callable of two rows, as `pairwise_kernels` takes it."""

    metric: Any
    params: dict[str, Any] = field(default_factory=dict)
    origin: Floats | None = None  # (d,) subtracted from rows first

    @classmethod
    def about(cls, origin: Floats, metric: Any, params: dict[str, Any]) -> KernelFunction:
        """The same kernel of rows less `origin`, if that changes no distance in feature space."""
        return cls(metric, params, origin if metric in _SHIFTABLE else None)

    @property
    def definite(self) -> bool:
        """Whether it is known to be positive semidefinite."""
        if self.metric == "polynomial":
            degree, coef0 = self.params["degree"], self.params["coef0"]
            return float(degree).is_integer() and degree >= 1 and coef0 >= 0
        return isinstance(self.metric, str) and self.metric in _DEFINITE

    def place(self, X: Any) -> Any:
        """Rows as `between` takes them."""
        if sp.issparse(X):
            if self.origin is None or not self.origin.any():
                return X
            X = X.toarray()  # the rows of the fit were dense, and moved
        if self.metric == "cosine":
            return directions(X)[0]
        return X if self.origin is None else (X - self.origin).astype(X.dtype, copy=False)

    def between(self, a: Any, b: Any = None) -> Floats:
        """Inner products (len(a), len(b)), or of `a` with itself."""
        from sklearn.metrics.pairwise import pairwise_kernels

        with np.errstate(over="ignore", invalid="ignore"):
            found = pairwise_kernels(a, b, metric=self.metric, **self.params)
        found = np.asarray(found.toarray() if sp.issparse(found) else found)
        if not np.isfinite(found).all():
            raise ValueError(
                f"kernel={self.metric!r} gives values that are not finite on these rows; scale the "
                "data, or choose other parameters of the kernel"
            )
        return found

    def diagonal(self, a: Any) -> Floats:
        """Inner products (n,) of rows with themselves."""
        if self.metric in _UNIT:
            return np.ones(a.shape[0])
        size = 1 if callable(self.metric) else _ALONE
        parts = [self.between(a[i : i + size]).diagonal() for i in range(0, a.shape[0], size)]
        return np.concatenate(parts).astype(np.float64)


def gram_matrix(
    kernel: KernelFunction, X: Any, workers: Workers
) -> tuple[Floats, tuple[float, float]]:
    """The whole Gram matrix (n, n) in the dtype of X, exactly symmetric; its least and greatest."""
    n = X.shape[0]
    out = np.empty((n, n), X.dtype)
    starts = range(0, n, TILE)
    tiles = [(i, j) for i in starts for j in starts if i <= j]
    span = np.empty((len(tiles), 2))

    def fill(number: int) -> None:
        i, j = tiles[number]
        rows, columns = slice(i, i + TILE), slice(j, j + TILE)
        if i < j:
            tile = kernel.between(X[rows], X[columns])
            for at in range(0, len(tile), _STRIP):  # narrow, so that what is written stays near
                strip = tile[at : at + _STRIP]
                out[columns, i + at : i + at + len(strip)] = strip.T
        else:
            tile = kernel.between(X[rows])
            tile = np.triu(tile) + np.triu(tile, 1).T
        out[rows, columns] = tile
        span[number] = tile.min(), tile.max()

    share_tiles(workers, len(tiles), fill)
    return out, (float(span[:, 0].min()), float(span[:, 1].max()))


def gram_rows(kernel: KernelFunction, a: Any, X: Any, workers: Workers) -> Floats:
    """Inner products (len(a), n) of some rows with all, in the dtype of X."""
    n = X.shape[0]
    out = np.empty((a.shape[0], n), X.dtype)

    def fill(number: int) -> None:
        columns = slice(number * TILE, (number + 1) * TILE)
        out[:, columns] = kernel.between(a, X[columns])

    share_tiles(workers, -(-n // TILE), fill)
    return out


def share_tiles(workers: Workers, count: int, fill: Callable[[int], None]) -> None:
    """Call fill(number) for every tile, shared among threads that call BLAS alone."""

    def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            fill(number)

    with one_blas_thread():
        workers.share(count, work)


def is_symmetric(kernel: KernelFunction, X: Any) -> bool:
    """Whether a callable gives k(a, b) = k(b, a) on a few rows."""
    few = evenly_spaced(X.shape[0], 8)
    once, again = kernel.between(X[few], X[few[::-1]]), kernel.between(X[few[::-1]], X[few])
    gap = np.abs(once - again.T).max()
    return bool(gap <= 1e-8 * np.abs(once).max())
