"""What a fit of kernel K-means keeps for new rows: means in feature space, whole or by pivots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._threads import Workers
from partita._typing import Array, Floats, Ints
from partita.engine.kernel import KernelResult
from partita.engine.nystrom import NystromMap
from partita.estimators import labelling
from partita.source.gram import Gram
from partita.source.kernel import KernelFunction, share_tiles

_VALUES = 1 << 22  # inner products made at once; the same for any number of threads


class Space(ABC):
    """Where new rows meet the clusters."""

    @abstractmethod
    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        """Squared distances (n, k), of which `diagonal`, k(x, x), is a part; 0 where not known."""

    def labels(self, X: Any, workers: Workers) -> Ints:
        """The nearest cluster of each row, the lower index on ties."""
        found = self.squares(X, np.zeros(X.shape[0]), workers).argmin(axis=1)
        return np.asarray(found, dtype=np.int32)


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

    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        """Squared distances (n, k)."""
        out = np.empty((X.shape[0], len(self.square)))
        step = max(1, _VALUES // len(self.columns))

        def fill(number: int) -> None:
            rows = slice(number * step, (number + 1) * step)
            inner = self._inner(X[rows])
            middle = inner.mean(axis=0)  # any number serves: it cancels
            inner -= middle
            inner -= self.off[:, None]
            own = np.zeros(inner.shape[1])
            if self.kernel is not None and diagonal is None:
                own = (self.kernel.diagonal(X[rows]) - middle) - (middle - self.level)
            elif diagonal is not None:
                own = (diagonal[rows] - middle) - (middle - self.level)
            out[rows] = (own + (self.square[:, None] - 2 * (self.mean @ inner))).T

        share_tiles(workers, -(-X.shape[0] // step), fill)
        return out

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

    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        """Squared distances (n, k) in the space of the pivots."""
        features = self.map.features(X, workers)
        return labelling.squares(features, self.centers, workers.n, None)

    def labels(self, X: Any, workers: Workers) -> Ints:
        """The nearest center of each row, as the fit measures it."""
        features = self.map.features(X, workers)
        return labelling.nearest(features, self.centers, workers.n, None)
