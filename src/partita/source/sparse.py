"""Sparse rows (CSR) in memory. Zeros stay zeros: the data is not centred."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.power_of_two import largest_magnitude, power_of_two
from partita._common.threads import Workers
from partita._common.weighting import weighted
from partita._kernels import kernels
from partita._kernels.seeding import leaf_sums
from partita._kernels.weighted_draws import LEAF_ROWS, draw_rows
from partita.centers import Centers
from partita.exact_weights import Weights
from partita.moments import Moments
from partita.source.blocks import add_up_blocks, is_small, lower_where_nearer, walk_blocks
from partita.source.survey import MAX_GRID_RATIO, Survey, survey_at_zero


class SparseSeeding:
    """The rounds of k-means++ for sparse rows."""

    def __init__(self, rows: SparseSource) -> None:
        self._rows, self._weight = rows, rows.weights.unless_equal()
        self.closest = np.full(rows.n, np.inf)
        if self._weight is not None:
            self.closest[self._weight == 0] = 0.0  # nothing to gain there
        self.potential = np.zeros(-(-rows.n // LEAF_ROWS))
        self._closer = np.empty((rows.n, 0))

    def at_once(self, j: int, uniform: Floats, which: Ints) -> bool:
        return False

    def draw(self, uniform: Floats) -> Ints:
        return draw_rows(self.potential, self.closest, self._weight, uniform)

    def gains(self, rows: Floats) -> Floats:
        # Σ w·max(0, closest − distance)
        with np.errstate(over="ignore", invalid="ignore"):  # rows of weight zero may be anywhere
            self._closer = np.minimum(self._rows.seed_distances(rows), self.closest[:, None])
            is_closer = self._closer < self.closest[:, None]
            gain = np.where(is_closer, self.closest[:, None] - self._closer, 0)
        if self._weight is not None:
            gain *= self._weight[:, None]
        return np.asarray(gain.cumsum(axis=0, out=gain)[-1])  # a running sum: one order for all

    def choose(self, which: int) -> None:
        self.closest = self._closer[:, which].copy()
        self.potential = leaf_sums(weighted(self.closest, self._weight))


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
            beyond_grid = self.weights.beyond_grid or self._has_far_values()
            self._survey = survey_at_zero(low, high, self.weights, self._sum_up, beyond_grid)
        return self._survey

    def _has_far_values(self) -> bool:
        """Return whether the largest value is far beyond the median of those that are not 0."""
        times = self.weights.times  # a row of weight 3 counts as three rows
        if times is None:
            times = (self.weights.as_floats(self.n) > 0).astype(np.int64)
        counts, size = np.repeat(times, np.diff(self._start)), np.abs(self.rows.data)
        far = size.max(initial=0.0, where=counts > 0) / MAX_GRID_RATIO
        small = (size > 0) & (size < far)
        if not small.any():
            return False
        return 2 * int(counts[small].sum()) >= int(counts[size > 0].sum())

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

    def label_once(self, centers: Centers, labels: Ints) -> None:
        """Label every row in place."""
        self.assign(centers, labels, None)

    def move(self, rows: Ints, to: Ints, labels: Ints, moments: Moments) -> None:
        moved, weights = self.rows[rows], self.weights.kernel_arguments(rows)
        start, column = moved.indptr.astype(np.int64), moved.indices.astype(np.int32)
        block = self._csr(start, column, moved.data, self.d)
        kernels.move_sparse(moments.sums, block, labels[rows], to, **weights)
        labels[rows] = to

    def own_cost(self, centers: Centers, labels: Ints) -> float:
        return exact_total(self.own_distances(centers, labels), self.weights.unless_equal())

    def lower_distances(self, centers: Centers, first: int, closest: Floats, labels: Ints) -> None:
        own = np.full(self.n, -1, np.int32)
        self.assign(centers, own, None)
        distance = self.own_distances(centers, own)
        lower_where_nearer(closest, labels, distance, own + np.int32(first))

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

    def squares(self, centers: Centers, out: Floats) -> None:
        for j in range(len(centers.values)):
            one = Centers(centers.values[j : j + 1], centers.origin)
            out[:, j] = self.own_distances(one, np.zeros(self.n, np.int32))

    def take_rows(self, rows: Ints) -> Floats:
        return np.asarray(self.rows[rows].toarray(), dtype=np.float64)

    def subset(self, rows: Ints, weights: Weights, survey: Survey | None = None) -> SparseSource:
        return SparseSource(self.rows[rows], weights, self.workers, survey)

    def square_lengths(self, scale: float = 1.0) -> Floats:
        """‖x·scale‖² (n,): the bits of D64 of dense rows to 0."""
        out = np.empty(self.n)

        def begin() -> Callable[[slice], None]:
            return lambda rows: kernels.square_lengths(self._block(rows), scale, out[rows])

        walk_blocks(self.workers, self.n, self._stored, begin)
        return out

    def seeding(self, k: int, trials: int, memory: float = math.inf) -> SparseSeeding:
        return SparseSeeding(self)

    def seed_distances(self, candidates: Floats) -> Floats:
        """Squared distances (n, m) of all rows to candidates (m, d), times a common factor."""
        scale, squares = self._scale_and_squares
        scaled, out = candidates * scale, np.empty((self.n, len(candidates)))
        which, column = np.nonzero(scaled)
        start = np.searchsorted(which, np.arange(len(scaled) + 1))
        values = scaled[which, column], scaled.shape[1]
        drawn = kernels.Csr64(start.astype(np.int64), column.astype(np.int32), *values)
        lengths, by_feature = np.empty(len(scaled)), np.ascontiguousarray(scaled.T)
        kernels.square_lengths(drawn, 1.0, lengths)

        def begin() -> Callable[[slice], None]:
            return lambda rows: kernels.seed_distances_sparse(
                self._block(rows), scale, squares[rows], drawn, by_feature, lengths, out[rows]
            )

        walk_blocks(self.workers, self.n, len(scaled) * self._stored, begin)
        return out

    @cached_property
    def _scale_and_squares(self) -> tuple[float, Floats]:
        """The power of two that scales the rows near 1, and ‖x‖² (n,) of the scaled rows."""
        scale = power_of_two(largest_magnitude(self.rows))
        return scale, self.square_lengths(scale)
