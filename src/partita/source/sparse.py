"""Sparse rows (CSR) in memory. Zeros stay zeros: the data is not centred."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import largest_magnitude, power_of_two
from partita._common.threads import Workers
from partita._common.weighting import weighted
from partita._kernels import kernels
from partita._kernels.weighted_draws import LEAF_ROWS, draw_rows
from partita.centers import Centers
from partita.exact_weights import Weights
from partita.moments import Moments
from partita.source.blocks import add_up_blocks, is_small, walk_blocks
from partita.source.survey import MAX_GRID_RATIO, Survey, survey_at_zero

DENSE_VALUES = 1 << 22  # of rows that are made dense at a time
MIN_DISTANCE_SHARE = 1e-6  # of the squared norms: below, the expanded form has few digits


class SparseSeeding:
    """The rounds of k-means++ for sparse rows."""

    def __init__(
        self, n: int, weight: Floats | None, distances: Callable[[Floats], Floats]
    ) -> None:
        self._weight, self._distances = weight, distances
        self.closest = np.full(n, np.inf)
        if weight is not None:
            self.closest[weight == 0] = 0.0  # nothing to gain there
        self.potential = np.zeros(-(-n // LEAF_ROWS))
        self._closer = np.empty((n, 0))

    def at_once(self, j: int, uniform: Floats, which: Ints) -> bool:
        return False

    def draw(self, uniform: Floats) -> Ints:
        return draw_rows(self.potential, self.closest, self._weight, uniform)

    def gains(self, rows: Floats) -> Floats:
        # Σ w·max(0, closest − distance)
        with np.errstate(over="ignore", invalid="ignore"):  # rows of weight zero may be anywhere
            self._closer = np.minimum(self._distances(rows), self.closest[:, None])
            is_closer = self._closer < self.closest[:, None]
            gain = np.where(is_closer, self.closest[:, None] - self._closer, 0)
        if self._weight is not None:
            gain *= self._weight[:, None]
        return np.asarray(gain.sum(axis=0))

    def choose(self, which: int) -> None:
        self.closest = self._closer[:, which].copy()
        term = weighted(self.closest, self._weight)
        self.potential = np.add.reduceat(term, np.arange(0, len(term), LEAF_ROWS))


class SparseSource:
    """A SciPy CSR matrix (n, d) in canonical form, float32 or float64."""

    prunable_rows = None  # no bounds are kept for sparse rows

    def __init__(
        self, rows: Any, weights: Weights, workers: Workers, survey: Survey | None = None
    ) -> None:
        self.rows, self.weights, self.workers = rows, weights, workers
        self.n, self.d = rows.shape
        self.dtype = np.dtype(rows.dtype)
        self._single = rows.dtype == np.float32
        self._csr = kernels.Csr32 if self._single else kernels.Csr64
        self._start = rows.indptr.astype(np.int64)
        self._column = rows.indices.astype(np.int32, copy=False)
        self._longest = int(np.diff(self._start).max(initial=0))
        self._stored = max(1, rows.nnz // max(1, self.n))
        self._survey = survey

    def _block(self, rows: slice) -> Any:
        start = self._start[rows.start : rows.stop + 1]
        used = slice(start[0], start[-1])
        return self._csr(start - start[0], self._column[used], self.rows.data[used], self.d)

    def survey(self) -> Survey:
        if self._survey is None:
            weight = self.weights.unless_equal()
            rows = self.rows if weight is None else self.rows[weight > 0]
            ends = rows.min(axis=0), rows.max(axis=0)
            low, high = (end.toarray().ravel().astype(np.float64) for end in ends)
            size = np.abs(rows.data)
            size = size[size > 0]
            has_far_values = size.size > 0 and bool(size.max() / MAX_GRID_RATIO > np.median(size))
            ordered = self.weights.ordered or has_far_values
            self._survey = survey_at_zero(low, high, self.weights, self._sum_up, ordered)
        return self._survey

    def survey_from_sample(self, rows: Ints) -> None:
        """Survey all rows, as stored values are few."""
        self.survey()

    def _sum_up(self, moments: Moments) -> None:
        unlabelled, first = np.full(self.n, -1, np.int32), np.zeros(self.n, np.int32)
        weights = self.weights.kernel_arguments(slice(None))
        kernels.move_sparse(
            moments.sums, self._block(slice(0, self.n)), unlabelled, first, **weights
        )

    def assign(
        self, centers: Centers, labels: Ints, moments: Moments | None, memory: float = 0.0
    ) -> int:
        # Where the sums are larger than the data, sums for each thread would cost more than the
        # rows: the rows that moved are added afterwards.
        if moments is not None and self.workers.n > 1 and self.rows.nnz < 4 * moments.hi.size:
            before = labels.copy()
            self.assign(centers, labels, None)
            moved = np.flatnonzero(labels != before)
            after, labels[moved] = labels[moved], before[moved]
            self.move(moved, after, labels, moments)
            return len(moved)
        make = kernels.SparseCodebook32 if self._single else kernels.SparseCodebook64
        book = make(np.ascontiguousarray(centers.plain), self._longest)
        counts: list[int] = []

        def run(rows: slice, own: Moments | None) -> None:
            sums = None if own is None else own.sums
            weights = {} if own is None else self.weights.kernel_arguments(rows)
            moved, _ = kernels.assign_sparse(book, self._block(rows), labels[rows], sums, **weights)
            counts.append(moved)

        work = len(centers.values) * self._stored
        threaded = self.workers.n > 1 and not is_small(self.n, work)
        add_up_blocks(
            lambda begin: walk_blocks(self.workers, self.n, work, begin), run, moments, threaded
        )
        return sum(counts)

    def move(self, rows: Ints, to: Ints, labels: Ints, moments: Moments) -> None:
        moved, weights = self.rows[rows], self.weights.kernel_arguments(rows)
        start, column = moved.indptr.astype(np.int64), moved.indices.astype(np.int32)
        block = self._csr(start, column, moved.data, self.d)
        kernels.move_sparse(moments.sums, block, labels[rows], to, **weights)
        labels[rows] = to

    def own_distances(self, centers: Centers, labels: Ints) -> Floats:
        values, out = np.ascontiguousarray(centers.plain), np.empty(self.n)
        squares = np.empty((len(values), 2))
        kernels.square_norms(values, squares)

        def begin() -> Callable[[slice], None]:
            return lambda rows: kernels.own_distance_sparse(
                self._block(rows), values, squares, labels[rows], out[rows]
            )

        walk_blocks(self.workers, self.n, 8 * self._stored, begin)
        return out

    def take_rows(self, rows: Ints) -> Floats:
        return np.asarray(self.rows[rows].toarray(), dtype=np.float64)

    def subset(self, rows: Ints, weights: Weights, survey: Survey | None = None) -> SparseSource:
        return SparseSource(self.rows[rows], weights, self.workers, survey)

    def seeding(self, k: int, trials: int) -> SparseSeeding:
        return SparseSeeding(self.n, self.weights.unless_equal(), self._distances)

    def _distances(self, candidates: Floats) -> Floats:
        rows, squares, scale = self._scaled
        scaled = candidates * scale
        length = np.einsum("cd,cd->c", scaled, scaled)
        both = squares[:, None] + length
        distance = both - 2.0 * (rows @ scaled.T)
        # a duplicate must be at exactly zero
        close = np.flatnonzero((distance <= MIN_DISTANCE_SHARE * both).any(axis=1))
        step = max(1, DENSE_VALUES // scaled.size)
        for i in range(0, len(close), step):
            chunk = close[i : i + step]
            gap = rows[chunk].toarray()[:, None] - scaled
            distance[chunk] = np.einsum("ncd,ncd->nc", gap, gap)
        return np.asarray(distance)

    @cached_property
    def _scaled(self) -> tuple[Any, Floats, float]:
        """The rows as doubles, scaled near 1 by a power of two, their squared norms, the scale."""
        scale = power_of_two(largest_magnitude(self.rows))
        rows = self.rows.astype(np.float64) * scale
        return rows, np.asarray(rows.multiply(rows).sum(axis=1)).ravel(), scale
