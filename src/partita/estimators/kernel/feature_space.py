"""What a fit of kernel K-means keeps for new rows: means in feature space, whole or by pivots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita.engine.kernel.nystrom import NystromMap
from partita.engine.kernel.step import KernelResult
from partita.estimators import labelling
from partita.source.gram_matrix import Gram
from partita.source.kernel_function import KernelFunction, share_tiles

_VALUES = 1 << 22  # inner products made at once; the same for any number of threads


class Space(ABC):
    """Where new rows meet the clusters."""

    @abstractmethod
    def scores(self, X: Any, workers: Workers) -> Floats:
        """Squared distances (n, k), but for a number that is the same in all of a row."""

    @abstractmethod
    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        """Squared distances (n, k); `diagonal` is k(x, x), where the kernel is not known."""

    def labels(self, X: Any, workers: Workers) -> Ints:
        """The nearest cluster of each row, the lower index on ties."""
        return np.asarray(self.scores(X, workers).argmin(axis=1), dtype=np.int32)


class MeansSpace(Space):
    """Means of training rows: all of them, or their columns in a matrix that is given."""

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
        at = np.arange(len(kept))
        self.mean = sp.csr_array((share, (members, at)), (len(mass), len(kept)))

    @classmethod
    def of_parts(cls, **parts: Any) -> Self:
        """The space of a fit that was saved, from its attributes."""
        space = cls.__new__(cls)
        vars(space).update(parts)
        return space

    def scores(self, X: Any, workers: Workers) -> Floats:
        """‖mean‖² − 2⟨x, mean⟩ (n, k), with x about a middle of its own."""
        return self._meet(X, workers)[0]

    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        """Squared distances (n, k)."""
        found, middle = self._meet(X, workers)
        if diagonal is None:
            assert self.kernel is not None
            diagonal = self.kernel.diagonal(X)
        found += ((diagonal - middle) - (middle - self.level))[:, None]
        return found

    def _meet(self, X: Any, workers: Workers) -> tuple[Floats, Floats]:
        out, middle = np.empty((X.shape[0], len(self.square))), np.empty(X.shape[0])
        step = max(1, _VALUES // len(self.columns))

        def fill(number: int) -> None:
            rows = slice(number * step, (number + 1) * step)
            inner = self._inner(X[rows])
            middle[rows] = inner.mean(axis=0)  # any number serves: it cancels
            inner -= middle[rows]
            inner -= self.off[:, None]
            out[rows] = (self.square[:, None] - 2 * (self.mean @ inner)).T

        share_tiles(workers, -(-X.shape[0] // step), fill)
        return out, middle

    def _inner(self, X: Any) -> Floats:
        if self.kernel is not None:
            return self.kernel.between(self.rows, X).astype(np.float64)
        some = X[:, self.columns]
        dense: Array = some.toarray() if sp.issparse(some) else some
        return np.array(dense.T, dtype=np.float64, order="C")


class PivotSpace(Space):
    """Centers among the features of Nyström's map: only the pivots are kept."""

    def __init__(self, features: NystromMap, centers: Floats) -> None:
        self.map, self.centers = features, centers

    def scores(self, X: Any, workers: Workers) -> Floats:
        """Squared distances (n, k) in the space of the pivots."""
        return self.squares(X, None, workers)

    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        """Squared distances (n, k) in the space of the pivots."""
        features = self.map.features(X, workers)
        return labelling.squares(features, self.centers, workers.n, None)

    def labels(self, X: Any, workers: Workers) -> Ints:
        """The nearest center of each row, as the fit measures it."""
        features = self.map.features(X, workers)
        return labelling.nearest(features, self.centers, workers.n, None)
