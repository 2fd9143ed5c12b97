"""Gram matrices: in memory, recomputed row by row, or sparse.

A Gram is centred: `shift` is subtracted from every row and column. No shift changes distances in
feature space, and centring keeps digits for data far from the origin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import power_of_two
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers
from partita._kernels import compiled, kernels
from partita.exact_weights import Weights
from partita.moments import bits_for
from partita.source.kernel_function import KernelFunction, gram_rows

CENTRE_SAMPLE_ROWS = 64  # rows among which the new origin is chosen
CALL_VALUES = 1 << (28 if compiled() else 22)  # read in one kernel call: some tenths of a second
PRODUCT_VALUES = 1 << 22  # multiplied by a vector at once
RECOMPUTED_VALUES = 1 << 24  # computed at once where the matrix does not fit in memory


class Gram(ABC):
    """Inner products of n weighted rows in feature space."""

    exact = True  # rows that are read again have the same bits
    path: str

    def __init__(self, n: int, dtype: Any, points: Any, weights: Weights, workers: Workers) -> None:
        self.n, self.weights, self.workers = n, weights, workers
        self.dtype = np.dtype(dtype)  # of the inner products
        self._points = points  # (n, …) the rows, if they have coordinates
        self.weight = weights.as_floats(n)
        self.shift, self.level = np.zeros(n), 0.0

    def centre(self, diagonal: Floats, span: tuple[float, float] | None) -> None:
        """Set the shift and the grid from K_ii; `span` is (min, max) of K, None if definite.

        The new origin is the row of a sample with the least median distance to the others, which
        a few outliers do not change.
        """
        sample = np.flatnonzero(self.weight)
        sample = sample[evenly_spaced(len(sample), CENTRE_SAMPLE_ROWS)]
        inner = self.raw(sample).astype(np.float64)
        own = inner[:, sample]
        squares = (diagonal[sample] - own) - (own - diagonal[sample, None])
        middle = int(np.argmin(np.median(squares, axis=1)))
        self.shift = inner[middle]
        self.level = float(diagonal[sample[middle]])
        self._set_grid(diagonal, span)

    def _set_grid(self, diagonal: Floats, span: tuple[float, float] | None) -> None:
        self.diagonal = (diagonal - self.shift) - (self.shift - self.level)
        self.noise = 8 * np.finfo(self.dtype).eps * np.abs(diagonal)  # bound of rounding errors
        if span is None:  # Cauchy-Schwarz: no value exceeds the largest on the diagonal
            reach = 2 * float(np.abs(self.diagonal).max()) + float(self.noise.max())
        else:
            away = max(span[1] - self.level, self.level - span[0])
            reach = 2 * away + 2 * float(np.abs(self.shift - self.level).max())
        if reach > 0 and not 2.0**-900 < reach < 2.0**900:
            raise ValueError(
                "The inner products of the kernel must be between 2^-900 and 2^900 at their "
                f"largest, got {reach:.3g}. Multiply the matrix, or the data, by one number."
            )
        bits = bits_for(self.weights.count)
        self.scale = 2.0**bits * power_of_two(reach, 900)
        self.limb = 2.0**bits

    def submatrix(self, rows: Ints) -> Floats:
        """Return the inner products (m, m) of some rows with each other, centred."""
        inner = self._raw_submatrix(rows) - self.shift[rows]
        return np.asarray(inner - (self.shift[rows] - self.level)[:, None], dtype=np.float64)

    @abstractmethod
    def _raw_submatrix(self, rows: Ints) -> Floats: ...

    @abstractmethod
    def raw(self, which: Ints | slice) -> Floats:
        """Return some rows (m, n), not centred."""

    def rows(self, which: Ints) -> Floats:
        """Return some rows (m, n), centred."""
        inner = self.raw(which) - self.shift
        inner -= (self.shift[which] - self.level)[:, None]
        return np.asarray(inner, dtype=np.float64)

    def times(self, vector: Floats) -> Floats:
        """Return the centred matrix times a vector (n,)."""
        size = max(1, PRODUCT_VALUES // self.n)
        parts = [
            self.raw(slice(i, i + size)).astype(np.float64, copy=False) @ vector
            for i in range(0, self.n, size)
        ]
        drift = float((self.shift - self.level) @ vector)
        return np.asarray(np.concatenate(parts) - drift - self.shift * vector.sum())

    def points(self, which: Ints) -> Floats:
        """Return coordinates (m, …) that differ for different rows."""
        rows: Any = self.raw(which) if self._points is None else self._points[which]
        return np.asarray(rows.toarray() if sp.issparse(rows) else rows)

    def sums(self, k: int) -> Ints:
        """Return sums of no rows."""
        return np.zeros((k, 2, self.n), np.int64)

    def values(self, sums: Ints) -> Floats:
        """Return Σ w·K (…, n) from sums (…, 2, n)."""
        return self._joined(sums[..., 0, :], sums[..., 1, :])

    def own(self, sums: Ints, labels: Ints) -> Floats:
        """Return Σ w·K (n,) over each row's own cluster."""
        column = np.arange(self.n)
        return self._joined(sums[labels, 0, column], sums[labels, 1, column])

    def _joined(self, high: Ints, low: Ints) -> Floats:
        return np.asarray((high + low / self.limb) * (self.weights.unit / self.scale))

    def move(self, which: Ints, before: Ints, after: Ints, sums: Ints) -> None:
        """Move rows from clusters `before` (−1: none) to `after` in the sums."""
        order = np.lexsort((which, before, after))  # equal moves side by side
        which, before, after = which[order].astype(np.int64), before[order], after[order]
        step = self._step()
        for i in range(0, len(which), step):
            block = slice(i, i + step)
            self._add(which[block], before[block], after[block], sums)

    def _step(self) -> int:
        return max(1, CALL_VALUES // self.n)

    def _add(self, which: Ints, before: Ints, after: Ints, sums: Ints) -> None:
        rows, places = self._block(which)
        kernels.gram_move(
            rows, places, before, after, self.shift[which] - self.level, self.shift, self.scale,
            self.limb, sums, crew=self.workers.crew,
            **self.weights.kernel_arguments(which),
        )  # fmt: skip

    def _block(self, which: Ints) -> tuple[Floats, Ints]:
        """Return an array that contains some rows, and their places in it."""
        return self.raw(which), np.arange(len(which))


class DenseGram(Gram):
    """A matrix in memory."""

    path = "gram"

    def __init__(
        self,
        matrix: Floats,
        points: Any,
        span: tuple[float, float] | None,
        weights: Weights,
        workers: Workers,
    ) -> None:
        super().__init__(len(matrix), matrix.dtype, points, weights, workers)
        self.matrix = matrix
        self.centre(matrix.diagonal().astype(np.float64), span)

    def raw(self, which: Ints | slice) -> Floats:
        return np.asarray(self.matrix[which])

    def _raw_submatrix(self, rows: Ints) -> Floats:
        return np.asarray(self.matrix[np.ix_(rows, rows)])

    def _block(self, which: Ints) -> tuple[Floats, Ints]:
        return self.matrix, which


class RecomputedGram(Gram):
    """A matrix whose rows are computed whenever they are needed, and not kept."""

    exact = False  # BLAS may round a row differently in another block
    path = "gram rows made again"

    def __init__(self, kernel: KernelFunction, X: Any, weights: Weights, workers: Workers) -> None:
        super().__init__(X.shape[0], X.dtype, X, weights, workers)
        self.kernel, self.X = kernel, X
        self.centre(kernel.diagonal(X), None if kernel.definite else self._span())

    def raw(self, which: Ints | slice) -> Floats:
        return gram_rows(self.kernel, self.X[which], self.X, self.workers)

    def _raw_submatrix(self, rows: Ints) -> Floats:
        return self.kernel.between(self.X[rows])

    def _step(self) -> int:
        return max(1, RECOMPUTED_VALUES // self.n)

    def _span(self) -> tuple[float, float]:
        low, high, step = np.inf, -np.inf, self._step()
        for i in range(0, self.n, step):
            rows = self.raw(slice(i, i + step))
            low, high = min(low, float(rows.min())), max(high, float(rows.max()))
        return low, high


class SparseGram(Gram):
    """A sparse matrix (canonical CSR, symmetric) that stays sparse: it is not centred."""

    path = "sparse gram"

    def __init__(self, matrix: Any, weights: Weights, workers: Workers) -> None:
        super().__init__(matrix.shape[0], np.float64, None, weights, workers)
        self.matrix = matrix
        values = matrix.data if matrix.nnz else np.zeros(1)
        span = min(0.0, float(values.min())), max(0.0, float(values.max()))
        self._set_grid(matrix.diagonal().astype(np.float64), span)
        times = 1.0 if weights.values is None else np.repeat(weights.values, np.diff(matrix.indptr))
        term = matrix.data.astype(np.float64) * times * self.scale
        high = np.rint(term)
        low = np.rint((term - high) * self.limb)
        self._limbs = [
            sp.csr_array((part.astype(np.int64), matrix.indices, matrix.indptr), matrix.shape)
            for part in (high, low)
        ]

    def raw(self, which: Ints | slice) -> Floats:
        return np.asarray(self.matrix[which].toarray(), dtype=np.float64)

    def _raw_submatrix(self, rows: Ints) -> Floats:
        return np.asarray(self.matrix[rows][:, rows].toarray(), dtype=np.float64)

    def times(self, vector: Floats) -> Floats:
        return np.asarray(self.matrix @ vector)

    def _add(self, which: Ints, before: Ints, after: Ints, sums: Ints) -> None:
        times = self.weights.times
        count = np.ones(len(which), np.int64) if times is None else times[which]
        place, left, shape = np.arange(len(which)), before >= 0, (len(sums), len(which))
        change = sp.csr_array((count, (after, place)), shape)
        change -= sp.csr_array((count[left], (before[left], place[left])), shape)
        for limb, matrix in enumerate(self._limbs):
            sums[:, limb] += (change @ matrix[which]).toarray()
