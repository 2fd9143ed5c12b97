"""Means in feature space, for the prediction of new rows: exact, or by Nyström pivots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita._kernels import kernels
from partita.engine.kernel.nystrom_cholesky import NystromMap
from partita.engine.kernel.step import KernelResult
from partita.estimators import labelling
from partita.exact_weights import Weights
from partita.source.gram_matrix import Gram
from partita.source.gram_tiles import closeness_to, share_tiles
from partita.source.kernel_function import KernelFunction
from partita.source.kernel_rows import KernelRows

BLOCK_VALUES = 1 << 22  # inner products at once; fixed, so that bits do not depend on threads


class Space(ABC):
    """The clusters of a fit in feature space."""

    @property
    @abstractmethod
    def kept_rows(self) -> Any:
        """Rows of the fit, in the form to which new rows are converted; None for a matrix."""

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
    """Means of training rows, which are kept; or of columns of a given matrix.

    The inner products of new rows are added as those of the training rows were, on the same grid,
    so that a training row gets the label that it had.
    """

    def __init__(
        self, gram: Gram, result: KernelResult, kernel: KernelFunction | None, X: Any
    ) -> None:
        kept = np.flatnonzero(gram.weight)
        kept = kept[np.argsort(result.members[kept], kind="stable")]
        self.kernel = kernel
        self.rows = None if kernel is None else X[kept]
        self.columns = kept
        self.members = result.members[kept]
        self.weight = gram.weight[kept]
        self.off = gram.shift[kept]
        self.mass = result.mass
        self.square = np.where(result.mass > 0, result.square, np.inf)
        self.scale, self.limb = gram.scale, gram.limb

    @property
    def kept_rows(self) -> Any:
        return self.rows

    @classmethod
    def of_parts(cls, **parts: Any) -> Self:
        """Restore the space of a saved fit from its attributes."""
        space = cls.__new__(cls)
        vars(space).update(parts)
        return space

    def scores(self, X: Any, workers: Workers) -> Floats:
        return self._scores(X, None, workers)[0]

    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        squares, own = self._scores(X, diagonal, workers)
        squares += own[:, None]
        return squares

    def _scores(self, X: Any, diagonal: Floats | None, workers: Workers) -> tuple[Floats, Floats]:
        """Return scores (n, k), and what is added to them for squared distances (n,)."""
        n = X.shape[0]
        out, own = np.empty((n, len(self.square))), np.zeros(n)
        step, rows = max(1, BLOCK_VALUES // len(self.columns)), self._prepared_rows()

        def fill(number: int) -> None:
            some = slice(number * step, (number + 1) * step)
            if rows is not None:
                assert self.kernel is not None
                inner = closeness_to(self.kernel, rows, self.kernel.prepare(X[some]))
            else:
                inner = self._given_products(X[some])
                half = _middle(inner) if diagonal is None else 0.5 * diagonal[some]
                if self.off.any():
                    inner = (inner - half) - self.off[:, None]
                    own[some] = 0.0 if diagonal is None else (diagonal[some] - half) - half
                elif diagonal is not None:
                    own[some] = diagonal[some]
            out[some] = self._block_scores(inner)

        share_tiles(workers, -(-n // step), fill)
        return out, own

    def _prepared_rows(self) -> KernelRows | None:
        return None if self.kernel is None else self.kernel.prepare(self.rows)

    def _given_products(self, X: Any) -> Floats:
        inner = X[:, self.columns]
        dense: Array = inner.toarray() if sp.issparse(inner) else inner
        return np.array(dense.T, dtype=np.float64, order="C")

    def _block_scores(self, inner: Floats) -> Floats:
        """Return ‖c‖² − 2⟨φ, c⟩ (m, k) from the inner products (rows, m) of m new rows."""
        weights = Weights.of(self.weight, len(self.weight))
        # what is too large for the grid is divided by a power of two
        excess = np.frexp(np.abs(inner).max(axis=0))[1] - np.frexp(self.limb / self.scale)[1] + 1
        excess = np.maximum(excess, 0)
        if excess.any():
            inner = np.ldexp(inner, -excess)
        sums = np.zeros((len(self.mass), 2, inner.shape[1]), np.int64)
        nowhere, zeros = np.full(len(inner), -1, np.int32), np.zeros(len(inner))
        kernels.gram_move(
            np.ascontiguousarray(inner), np.arange(len(inner)), nowhere, self.members, zeros,
            np.zeros(inner.shape[1]), self.scale, self.limb, sums,
            **weights.kernel_arguments(slice(None)),
        )  # fmt: skip
        total = (sums[:, 0] + sums[:, 1] / self.limb) * (weights.unit / self.scale)
        mean = np.ldexp(total, excess) / np.where(self.mass > 0, self.mass, 1.0)[:, None]
        return np.asarray((self.square[:, None] - 2 * mean).T)


def _middle(inner: Floats) -> Floats:
    """A number (m,) amid the values of each column: any would do, it cancels."""
    return np.asarray(0.5 * inner.min(axis=0) + 0.5 * inner.max(axis=0))


class PivotSpace(Space):
    """Centers among Nyström features; only the pivots are kept."""

    def __init__(self, features: NystromMap, centers: Floats) -> None:
        self.map, self.centers = features, centers

    @property
    def kept_rows(self) -> Any:
        return self.map.pivots

    def scores(self, X: Any, workers: Workers) -> Floats:
        return self.squares(X, None, workers)

    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        features = self.map.features(X, workers)
        return labelling.squares(features, self.centers, workers.n, None)

    def labels(self, X: Any, workers: Workers) -> Ints:
        features = self.map.features(X, workers)
        return labelling.nearest(features, self.centers, workers.n, None)
