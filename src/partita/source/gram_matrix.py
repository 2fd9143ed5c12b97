"""Where a Gram matrix lives: in memory, nowhere (its rows are made again), or sparse.

Whoever uses one sees it centred: less `shift` of the row and of the column. Distances in feature
space do not change by that, whatever the shift, and data far from the origin costs no digits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.power_of_two import power_of_two
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers
from partita._kernels import compiled, kernels
from partita.moments import bits_for
from partita.source.kernel_function import KernelFunction, gram_rows
from partita.weights import Weights

SAMPLE = 64  # rows, of which one is near enough to the middle of all
_CALL = 1 << (28 if compiled() else 22)  # values read in one call: some tenths of a second
_STRETCH = 1 << 22  # values that meet a vector at once
_BLOCK = 1 << 24  # values made at once where the matrix does not fit


class Gram(ABC):
    """Inner products of n weighted rows in feature space."""

    exact = True  # whether a row that is read again has the same bits
    path: str

    def __init__(self, n: int, weights: Weights, workers: Workers) -> None:
        self.n, self.weights, self.workers = n, weights, workers
        self.weight = weights.as_floats(n)
        self.shift, self.level = np.zeros(n), 0.0

    def centre(self, plain: Floats, span: tuple[float, float] | None) -> None:
        """Set the shift and the grid. `span` is the lowest and highest value; None if definite.

        The new origin is a row amid the others, of which an outlier or two change nothing.
        """
        some = np.flatnonzero(self.weight)
        some = some[evenly_spaced(len(some), SAMPLE)]
        inner = self.raw(some).astype(np.float64)
        among = inner[:, some]
        apart = (plain[some] - among) - (among - plain[some, None])
        middle = int(np.argmin(np.median(apart, axis=1)))
        self.shift = inner[middle]
        self.level = float(plain[some[middle]])
        self._settle(plain, span)

    def _settle(self, plain: Floats, span: tuple[float, float] | None) -> None:
        self.diagonal = (plain - self.shift) - (self.shift - self.level)
        self.noise = 8 * np.finfo(self.dtype).eps * np.abs(plain)  # what rounding may leave
        if span is None:  # by Cauchy and Schwarz no value is larger than the largest diagonal one
            reach = 2 * float(np.abs(self.diagonal).max()) + float(self.noise.max())
        else:
            away = max(span[1] - self.level, self.level - span[0])
            reach = 2 * away + 2 * float(np.abs(self.shift - self.level).max())
        if reach > 0 and not 2.0**-900 < reach < 2.0**900:
            raise ValueError(
                f"the inner products of the kernel reach {reach:.3g}, too "
                f"{'large' if reach > 1 else 'small'} for their sums; divide the matrix, or scale "
                "the data"
            )
        bits = bits_for(self.weights.count)
        self.scale = 2.0**bits * power_of_two(reach, 900)
        self.limb = 2.0**bits

    @property
    def dtype(self) -> Any:
        """Of the inner products."""
        return np.dtype(np.float64)

    def _stretch(self, first: int, last: int) -> Floats:
        """Rows that follow each other, as they are."""
        return self.raw(np.arange(first, last))

    def among(self, some: Ints) -> Floats:
        """Inner products (m, m) of some rows with each other, centred."""
        found = self._raw_among(some) - self.shift[some]
        return np.asarray(found - (self.shift[some] - self.level)[:, None], dtype=np.float64)

    @abstractmethod
    def _raw_among(self, some: Ints) -> Floats: ...

    @abstractmethod
    def raw(self, which: Ints) -> Floats:
        """Some rows (m, n) as they are, not centred."""

    def rows(self, which: Ints) -> Floats:
        """Some rows (m, n), centred."""
        found = self.raw(which) - self.shift
        found -= (self.shift[which] - self.level)[:, None]
        return np.asarray(found, dtype=np.float64)

    def times(self, vector: Floats) -> Floats:
        """The centred matrix times a vector (n,)."""
        size = max(1, _STRETCH // self.n)
        parts = [
            self._stretch(i, min(self.n, i + size)).astype(np.float64, copy=False) @ vector
            for i in range(0, self.n, size)
        ]
        drift = float((self.shift - self.level) @ vector)
        return np.asarray(np.concatenate(parts) - drift - self.shift * vector.sum())

    @abstractmethod
    def points(self, which: Ints) -> Floats:
        """What tells some rows apart: (m, …)."""

    def sums(self, k: int) -> Ints:
        """Sums of no rows."""
        return np.zeros((k, 2, self.n), np.int64)

    def values(self, sums: Ints) -> Floats:
        """Σ w·K (…, n) from sums (…, 2, n)."""
        both = sums[..., 0, :] + sums[..., 1, :] / self.limb
        return np.asarray(both * (self.weights.unit / self.scale))

    def own(self, sums: Ints, labels: Ints) -> Floats:
        """Σ w·K (n,) over each row's own cluster."""
        at = np.arange(self.n)
        both = sums[labels, 0, at] + sums[labels, 1, at] / self.limb
        return np.asarray(both * (self.weights.unit / self.scale))

    def move(self, which: Ints, before: Ints, after: Ints, sums: Ints) -> None:
        """Move rows from clusters `before` (−1: from nowhere) to `after` in the sums."""
        order = np.lexsort((which, before, after))  # those that make the same move side by side
        which, before, after = which[order].astype(np.int64), before[order], after[order]
        step = self._step()
        for i in range(0, len(which), step):
            some = slice(i, i + step)
            self._add(which[some], before[some], after[some], sums)

    def _step(self) -> int:
        return max(1, _CALL // self.n)

    def _add(self, which: Ints, before: Ints, after: Ints, sums: Ints) -> None:
        rows, at = self._block(which)
        kernels.gram_move(
            rows, at, before, after, self.shift[which] - self.level, self.shift, self.scale,
            self.limb, sums, crew=self.workers.crew, **self._parts(which),
        )  # fmt: skip

    def _block(self, which: Ints) -> tuple[Floats, Ints]:
        """An array that holds some rows, and where."""
        return self.raw(which), np.arange(len(which))

    def _parts(self, which: Ints) -> dict[str, Array]:
        return {name: values[which] for name, values in self.weights.of_rows(slice(None)).items()}


class DenseGram(Gram):
    """The whole matrix in memory."""

    path = "gram"

    def __init__(
        self,
        matrix: Floats,
        points: Any,
        span: tuple[float, float] | None,
        weights: Weights,
        workers: Workers,
    ) -> None:
        super().__init__(len(matrix), weights, workers)
        self.matrix, self._points = matrix, points
        self.centre(matrix.diagonal().astype(np.float64), span)

    @property
    def dtype(self) -> Any:
        """Of the inner products."""
        return self.matrix.dtype

    def raw(self, which: Ints) -> Floats:
        """Some rows (m, n) as they are."""
        return np.asarray(self.matrix[which])

    def _raw_among(self, some: Ints) -> Floats:
        return np.asarray(self.matrix[np.ix_(some, some)])

    def points(self, which: Ints) -> Floats:
        """The rows of the data, or of the matrix where there are none."""
        if self._points is None:
            return self.raw(which)
        found = self._points[which]
        return np.asarray(found.toarray() if sp.issparse(found) else found)

    def _stretch(self, first: int, last: int) -> Floats:
        return self.matrix[first:last]

    def _block(self, which: Ints) -> tuple[Floats, Ints]:
        return self.matrix, which


class FleetingGram(Gram):
    """Rows are computed whenever they are needed, and not kept."""

    exact = False  # BLAS may round a row otherwise in other company
    path = "gram rows made again"

    def __init__(self, kernel: KernelFunction, X: Any, weights: Weights, workers: Workers) -> None:
        super().__init__(X.shape[0], weights, workers)
        self.kernel, self.X = kernel, X
        self.centre(kernel.diagonal(X), None if kernel.definite else self._span())

    @property
    def dtype(self) -> Any:
        """Of the inner products."""
        return self.X.dtype

    def raw(self, which: Ints) -> Floats:
        """Some rows (m, n) as they are."""
        return gram_rows(self.kernel, self.X[which], self.X, self.workers)

    def _raw_among(self, some: Ints) -> Floats:
        return self.kernel.between(self.X[some])

    def points(self, which: Ints) -> Floats:
        """The rows of the data."""
        found = self.X[which]
        return np.asarray(found.toarray() if sp.issparse(found) else found)

    def _step(self) -> int:
        return max(1, _BLOCK // self.n)

    def _span(self) -> tuple[float, float]:
        low, high, step = np.inf, -np.inf, self._step()
        for i in range(0, self.n, step):
            rows = self.raw(np.arange(i, min(self.n, i + step)))
            low, high = min(low, float(rows.min())), max(high, float(rows.max()))
        return low, high


class SparseGram(Gram):
    """A sparse matrix (canonical CSR, symmetric) that stays sparse: it is not centred."""

    path = "sparse gram"

    def __init__(self, matrix: Any, weights: Weights, workers: Workers) -> None:
        super().__init__(matrix.shape[0], weights, workers)
        self.matrix = matrix
        values = matrix.data if matrix.nnz else np.zeros(1)
        span = min(0.0, float(values.min())), max(0.0, float(values.max()))
        self._settle(matrix.diagonal().astype(np.float64), span)
        times = 1.0 if weights.values is None else np.repeat(weights.values, np.diff(matrix.indptr))
        term = matrix.data.astype(np.float64) * times * self.scale
        high = np.rint(term)
        low = np.rint((term - high) * self.limb)
        self._limbs = [
            sp.csr_array((part.astype(np.int64), matrix.indices, matrix.indptr), matrix.shape)
            for part in (high, low)
        ]

    def raw(self, which: Ints) -> Floats:
        """Some rows (m, n) as they are."""
        return np.asarray(self.matrix[which].toarray(), dtype=np.float64)

    def _raw_among(self, some: Ints) -> Floats:
        return np.asarray(self.matrix[some][:, some].toarray(), dtype=np.float64)

    def times(self, vector: Floats) -> Floats:
        """The matrix times a vector (n,)."""
        return np.asarray(self.matrix @ vector)

    def points(self, which: Ints) -> Floats:
        """The rows of the matrix."""
        return self.raw(which)

    def _add(self, which: Ints, before: Ints, after: Ints, sums: Ints) -> None:
        times = self.weights.times
        count = np.ones(len(which), np.int64) if times is None else times[which]
        at, gone, shape = np.arange(len(which)), before >= 0, (len(sums), len(which))
        change = sp.csr_array((count, (after, at)), shape)
        change -= sp.csr_array((count[gone], (before[gone], at[gone])), shape)
        for limb, matrix in enumerate(self._limbs):
            sums[:, limb] += (change @ matrix[which]).toarray()
