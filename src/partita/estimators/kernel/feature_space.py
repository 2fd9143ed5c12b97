"""Means in feature space, for the prediction of new rows: exact, or by Nyström pivots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita.engine.kernel.nystrom_cholesky import NystromMap
from partita.engine.kernel.step import KernelResult
from partita.estimators import labelling
from partita.source.gram_matrix import Gram
from partita.source.kernel_function import KernelFunction, share_tiles

BLOCK_VALUES = 1 << 22  # inner products at once; fixed, so that bits do not depend on threads


class Space(ABC):
    """The clusters of a fit in feature space."""

    @abstractmethod
    def scores(self, X: Any, workers: Workers) -> Floats:
        """Return squared distances (n, k), up to one constant per row."""

    @abstractmethod
    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        """Return squared distances (n, k); `diagonal` is k(x, x) if the kernel is not known."""

    def labels(self, X: Any, workers: Workers) -> Ints:
        """Return the nearest cluster of each row, the lower index on ties."""
        return np.asarray(self.scores(X, workers).argmin(axis=1), dtype=np.int32)


class MeansSpace(Space):
    """Means of training rows, which are kept; or of columns of a given matrix."""

    def __init__(
        self, gram: Gram, result: KernelResult, kernel: KernelFunction | None, X: Any
    ) -> None:
        kept = np.flatnonzero(gram.weight)
        members, mass = result.members[kept], result.mass
        self.kernel = kernel
        self.rows = None if kernel is None else X[kept]
        self.columns = kept
        self.off = (gram.shift - gram.level)[kept]
        self.level = gram.level
        self.square = np.where(mass > 0, result.square, np.inf)
        share = gram.weight[kept] / mass[members]
        column = np.arange(len(kept))
        self.mean = sp.csr_array((share, (members, column)), (len(mass), len(kept)))

    @classmethod
    def of_parts(cls, **parts: Any) -> Self:
        """Restore the space of a saved fit from its attributes."""
        space = cls.__new__(cls)
        vars(space).update(parts)
        return space

    def scores(self, X: Any, workers: Workers) -> Floats:
        return self._centred_scores(X, workers)[0]

    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        squares, middle = self._centred_scores(X, workers)
        if diagonal is None:
            assert self.kernel is not None
            diagonal = self.kernel.diagonal(X)
        squares += ((diagonal - middle) - (middle - self.level))[:, None]
        return squares

    def _centred_scores(self, X: Any, workers: Workers) -> tuple[Floats, Floats]:
        out, middle = np.empty((X.shape[0], len(self.square))), np.empty(X.shape[0])
        step = max(1, BLOCK_VALUES // len(self.columns))

        def fill(number: int) -> None:
            rows = slice(number * step, (number + 1) * step)
            inner = self._inner(X[rows])
            middle[rows] = inner.mean(axis=0)  # any number would do: it cancels
            inner -= middle[rows]
            inner -= self.off[:, None]
            out[rows] = (self.square[:, None] - 2 * (self.mean @ inner)).T

        share_tiles(workers, -(-X.shape[0] // step), fill)
        return out, middle

    def _inner(self, X: Any) -> Floats:
        if self.kernel is not None:
            return self.kernel.between(self.rows, X).astype(np.float64)
        inner = X[:, self.columns]
        dense: Array = inner.toarray() if sp.issparse(inner) else inner
        return np.array(dense.T, dtype=np.float64, order="C")


class PivotSpace(Space):
    """Centers among Nyström features; only the pivots are kept."""

    def __init__(self, features: NystromMap, centers: Floats) -> None:
        self.map, self.centers = features, centers

    def scores(self, X: Any, workers: Workers) -> Floats:
        return self.squares(X, None, workers)

    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        features = self.map.features(X, workers)
        return labelling.squares(features, self.centers, workers.n, None)

    def labels(self, X: Any, workers: Workers) -> Ints:
        features = self.map.features(X, workers)
        return labelling.nearest(features, self.centers, workers.n, None)
