"""Gram matrices: in memory, recomputed row by row, or sparse.

Distances in feature space do not change if a number a_i is subtracted from row i and column i of a
Gram matrix. Half of the diagonal makes it −½‖φ_i − φ_l‖² with zeros on the diagonal: data far from
the origin of feature space then costs no digits, and no origin has to be chosen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.content_keys import content_keys
from partita._common.exact_sum import exact_totals
from partita._common.power_of_two import power_of_two
from partita._common.threads import Workers
from partita._kernels import compiled, kernels
from partita.exact_weights import Weights
from partita.moments import bits_for
from partita.source.gram_tiles import gram_rows
from partita.source.kernel_function import ENTRY_ROUNDINGS, KernelFunction
from partita.source.kernel_rows import KernelRows

CALL_VALUES = 1 << (28 if compiled() else 22)  # read in one kernel call: some tenths of a second
PRODUCT_VALUES = 1 << 22  # multiplied by a vector at once
RECOMPUTED_VALUES = 1 << 20  # computed at once where the matrix does not fit in memory


class Gram(ABC):
    """Inner products of n weighted rows in feature space, up to a number per row."""

    path: str

    def __init__(self, n: int, points: Any, weights: Weights, workers: Workers) -> None:
        self.n, self.weights, self.workers = n, weights, workers
        self._points = points  # (n, …) the rows, if they have coordinates
        self.weight = weights.as_floats(n)
        self.shift, self.diagonal = np.zeros(n), np.zeros(n)
        self.noise = 0.0  # bound of the rounding errors that cancelling may leave

    def _set_grid(self, reach: float) -> None:
        """Set the grid of sums for inner products up to `reach`."""
        if reach > 0 and not 2.0**-900 < reach < 2.0**900:
            raise ValueError(
                "The inner products of the kernel must be between 2^-900 and 2^900 at their "
                f"largest, got {reach:.3g}. Multiply the matrix, or the data, by one number."
            )
        self.reach = reach
        bits = bits_for(self.weights.count)
        self.scale = 2.0**bits * power_of_two(reach, 900)
        self.limb = 2.0**bits

    def submatrix(self, rows: Ints) -> Floats:
        """Return the inner products (m, m) of some rows with each other."""
        inner = self._raw_submatrix(rows).astype(np.float64) - self.shift[rows]
        return np.asarray(inner - self.shift[rows, None])

    @abstractmethod
    def _raw_submatrix(self, rows: Ints) -> Floats: ...

    @abstractmethod
    def raw(self, which: Ints) -> Floats:
        """Return some rows (m, n), without the shift."""

    def rows(self, which: Ints) -> Floats:
        """Return some rows (m, n)."""
        inner = self.raw(which) - self.shift
        return np.asarray(inner - self.shift[which, None], dtype=np.float64)

    def times(self, vector: Floats) -> Floats:
        """Return the matrix times a vector (n,)."""
        size = max(1, PRODUCT_VALUES // self.n)
        parts = [
            self.raw(np.arange(i, min(self.n, i + size))).astype(np.float64, copy=False) @ vector
            for i in range(0, self.n, size)
        ]
        product = np.concatenate(parts) - self.shift @ vector
        return np.asarray(product - self.shift * vector.sum())

    def points(self, which: Ints) -> Floats:
        """Return coordinates (m, …) that differ for different rows.

        Without coordinates they are the sorted inner products, which do not depend on the order of
        rows, and the inner products.
        """
        if self._points is None:
            inner = self.raw(which)
            return np.concatenate([np.sort(inner, axis=1), inner], axis=1)
        rows = self._points[which]
        return np.asarray(rows.toarray() if sp.issparse(rows) else rows)

    def sample(self, max_count: int) -> tuple[Ints, Floats]:
        """Return numbers (m,) of rows of positive weight, and the weight of each and its equals.

        They have the lowest keys of their content, so they do not depend on the order of rows.
        Rows without coordinates have keys by few numbers, and each stands for itself.
        """
        rows = np.flatnonzero(self.weight)
        if self._points is None:
            numbers = np.stack([2 * self.shift + self.diagonal, *self._row_extent()], axis=1)
            rows = rows[np.argsort(content_keys(numbers[rows]), kind="stable")[:max_count]]
            return rows, self.weight[rows]
        keys = content_keys(self._points[rows])
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        count = min(len(first), max_count)
        taken = number < count
        return rows[first[:count]], exact_totals(self.weight[rows[taken]], number[taken], count)

    def _row_extent(self) -> tuple[Floats, Floats]:
        """Return the lowest and the highest entry (n,) of each row of a given matrix."""
        raise NotImplementedError

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
            rows, places, before, after, self.shift[which], self.shift, self.scale,
            self.limb, sums, crew=self.workers.crew,
            **self.weights.kernel_arguments(which),
        )  # fmt: skip

    def _block(self, which: Ints) -> tuple[Floats, Ints]:
        """Return an array that contains some rows, and their places in it."""
        return self.raw(which), np.arange(len(which))


class DenseGram(Gram):
    """A matrix in memory: inner products, or those less half of the diagonal.

    `reach` bounds the entries without the diagonal's halves; None: the extent of the entries.
    """

    path = "gram"

    def __init__(
        self,
        matrix: Floats,
        points: Any,
        weights: Weights,
        workers: Workers,
        reach: float | None = None,
    ) -> None:
        super().__init__(len(matrix), points, weights, workers)
        self.matrix = matrix
        diagonal = matrix.diagonal().astype(np.float64)
        self.shift = 0.5 * diagonal
        eps = float(np.finfo(matrix.dtype).eps)
        self.noise = ENTRY_ROUNDINGS * eps * float(np.abs(diagonal).max())
        self._set_grid(float(matrix.max()) - float(matrix.min()) if reach is None else reach)

    def raw(self, which: Ints) -> Floats:
        return np.asarray(self.matrix[which])

    def _raw_submatrix(self, rows: Ints) -> Floats:
        return np.asarray(self.matrix[np.ix_(rows, rows)])

    def _row_extent(self) -> tuple[Floats, Floats]:
        return self.matrix.min(axis=1), self.matrix.max(axis=1)

    def _block(self, which: Ints) -> tuple[Floats, Ints]:
        return self.matrix, which


class RecomputedGram(Gram):
    """A matrix whose rows are computed whenever they are needed, with the bits of `DenseGram`."""

    path = "gram rows made again"

    def __init__(
        self,
        kernel: KernelFunction,
        rows: KernelRows,
        weights: Weights,
        workers: Workers,
        reach: float | None,
    ) -> None:
        super().__init__(len(rows), rows.values, weights, workers)
        self._kernel, self._rows = kernel, rows
        self._set_grid(self._largest() if reach is None else reach)

    def raw(self, which: Ints) -> Floats:
        return gram_rows(self._kernel, which, self._rows, self.workers)

    def _raw_submatrix(self, rows: Ints) -> Floats:
        return self.raw(rows)[:, rows]

    def _step(self) -> int:
        return max(1, RECOMPUTED_VALUES // self.n)

    def _largest(self) -> float:
        step, everything = self._step(), np.arange(self.n)
        blocks = (everything[i : i + step] for i in range(0, self.n, step))
        return max(float(np.abs(self.raw(block)).max()) for block in blocks)


class SparseGram(Gram):
    """A sparse matrix (canonical CSR, symmetric) that stays sparse: it is not shifted."""

    path = "sparse gram"

    def __init__(self, matrix: Any, weights: Weights, workers: Workers) -> None:
        super().__init__(matrix.shape[0], None, weights, workers)
        self.matrix = matrix
        self.diagonal = matrix.diagonal().astype(np.float64)
        eps = float(np.finfo(np.float64).eps)
        self.noise = ENTRY_ROUNDINGS * eps * float(np.abs(self.diagonal).max())
        self._set_grid(float(np.abs(matrix.data).max()) if matrix.nnz else 0.0)
        times = 1.0 if weights.values is None else np.repeat(weights.values, np.diff(matrix.indptr))
        term = matrix.data.astype(np.float64) * times * self.scale
        high = np.rint(term)
        low = np.rint((term - high) * self.limb)
        self._limbs = [
            sp.csr_array((part.astype(np.int64), matrix.indices, matrix.indptr), matrix.shape)
            for part in (high, low)
        ]

    def raw(self, which: Ints) -> Floats:
        return np.asarray(self.matrix[which].toarray(), dtype=np.float64)

    def _raw_submatrix(self, rows: Ints) -> Floats:
        return np.asarray(self.matrix[rows][:, rows].toarray(), dtype=np.float64)

    def _row_extent(self) -> tuple[Floats, Floats]:
        low, high = self.matrix.min(axis=1), self.matrix.max(axis=1)
        return low.toarray().ravel(), high.toarray().ravel()

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
