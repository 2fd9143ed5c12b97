"""Dense rows that are read block by block: all that the engine needs, by kernels over blocks."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import (
    FSUM_MAX_VALUES,
    exact_total,
    rounded_total,
    zero_digits,
)
from partita._common.power_of_two import power_of_two
from partita._common.threads import Workers
from partita._kernels import kernels
from partita.centers import Centers
from partita.exact_weights import Weights
from partita.moments import Moments
from partita.source.blocks import (
    ALIGN,
    RunBlock,
    add_up_blocks,
    as_kernel_type,
    crew_slices,
    kernel_type,
    lower_where_nearer,
    split_slice,
    work_in_tiles,
)
from partita.source.plusplus_rounds import DenseSeeding
from partita.source.protocol import PrunableRows, Source
from partita.source.scoring import PROBE_ROWS, Scoring
from partita.source.survey import Survey, median_and_deviation, survey_dense

COLUMN_VALUES = 1 << 23  # read at a time, where whole columns are needed
ROUNDED_BYTES = 1 << 23  # of rows that are rounded to bytes before they are read again
GOLDEN_RATIO = 0.6180339887498949  # its multiples are spread evenly and match no pattern


class BlockCounts:
    """Counts (4, d) of all blocks, which threads add; a row counts `times` times."""

    def __init__(self, times: Ints | None, d: int) -> None:
        self.counts = np.zeros((4, d), np.int64)
        self._times, self._lock = times, threading.Lock()

    def counted(self, rows: slice) -> Ints | None:
        """Return how often some rows count; None: once."""
        return None if self._times is None else self._times[rows]

    def add(self, counts: Ints) -> None:
        """Add the counts of a block."""
        with self._lock:
            self.counts += counts


class BlockedRows(ABC):
    """A `Source` of dense rows; a subclass reads the blocks.

    Sums are exact and all else is per row, so blocks may be read in any order, by any thread.
    `in_place` holds all rows if kernels can read them where they are.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: Any,
        weights: Weights,
        workers: Workers,
        survey: Survey | None = None,
    ) -> None:
        self.n, self.d = shape
        self.weights, self.workers = weights, workers
        self.dtype = np.dtype(np.float32 if dtype == np.float32 else np.float64)
        self.kernel_dtype = kernel_type(dtype)
        self._single = self.kernel_dtype == np.float32
        self.in_place: Array | None = None
        # all rows as bytes, or as the bits of halves, that `assign_bytes` can read where they are
        self.narrow: Array | None = None
        self._scoring = Scoring(self.n, self.d, self._single)
        self._survey = survey
        self._extent: tuple[Floats, Floats, Ints] | None = None
        if survey is not None:
            self._extent = survey.low, survey.high, np.empty(0, np.intp)

    @property
    @abstractmethod
    def prunable_rows(self) -> PrunableRows | None:
        """The source itself if all rows are in memory, else None."""

    @abstractmethod
    def each_block(self, work_per_row: int, begin: Callable[[], RunBlock]) -> None:
        """Call begin() once in each thread, then the returned function on (rows, block) of blocks.

        `rows` is a slice that starts at a multiple of blocks.ALIGN; `block` holds these rows in
        `kernel_dtype`, one after the other. All blocks together hold every row once.
        """

    @abstractmethod
    def read_rows(self, rows: slice | Ints) -> Array:
        """Some rows (m, d) in the type of the data."""

    @abstractmethod
    def whole_rows(self, work_per_row: int) -> Array | None:
        """All rows as one block, if that needs no large copy."""

    @abstractmethod
    def subset(self, rows: Ints, weights: Weights, survey: Survey | None = None) -> Source: ...

    def _reduce_narrow(
        self,
        work_per_row: int,
        run: Callable[[slice, Array, Any, Any], None],
        moments: Moments | None,
    ) -> None:
        """`reduce`, without converting narrow rows."""
        if self.narrow is None:
            self.reduce(work_per_row, run, moments)
            return
        for rows, crew in crew_slices(self.workers, self.n, work_per_row):
            run(rows, self.narrow[rows], moments, crew)

    def reduce(
        self,
        work_per_row: int,
        run: Callable[[slice, Array, Any, Any], None],
        moments: Moments | None = None,
    ) -> None:
        """Call run(rows, block, moments, crew) on all blocks."""
        if self.in_place is not None:
            for rows, crew in crew_slices(self.workers, self.n, work_per_row):
                run(rows, self.in_place[rows], moments, crew)
            return
        add_up_blocks(
            lambda begin: self.each_block(work_per_row, begin),
            lambda rows, block, part: run(rows, block, part, None),
            moments,
            self.workers.n > 1,
        )

    # --- the survey ---

    def extent(self) -> tuple[Floats, Floats, Ints]:
        """Lowest and highest value (d,) over rows of weight; which columns are not finite."""
        if self._extent is None:
            weight, lock = self.weights.unless_equal(), threading.Lock()
            whole = np.empty((3, self.d), self.kernel_dtype)
            whole[0], whole[1], whole[2] = np.inf, -np.inf, 0.0  # the last: NaN if not finite
            some = whole.copy()

            def run(rows: slice, block: Array, _: None, crew: Any) -> None:
                of_rows = None if weight is None else weight[rows]
                if self.in_place is not None:  # no other thread calls this
                    kernels.extent(block, *whole, of_rows, crew)
                    return
                part = some.copy()
                kernels.extent(block, *part, of_rows, crew)
                with lock:
                    np.fmin(whole[0], part[0], out=whole[0])
                    np.fmax(whole[1], part[1], out=whole[1])
                    np.add(whole[2], part[2], out=whole[2])

            self.reduce(4 * self.d, run)
            # -0.0 becomes 0.0: which of both zeros comes first must not matter
            low, high = whole[:2].astype(np.float64) + 0.0
            self._extent = low, high, np.isnan(whole[2]).nonzero()[0]
        return self._extent

    def survey(self) -> Survey:
        if self._survey is None:
            self._survey = survey_dense(self, self)
        return self._survey

    def survey_from_sample(self, rows: Ints) -> None:
        """Make a survey from the extent of all rows and the mean and the medians of some."""
        sample = self.subset(rows, self.weights.subset(rows))
        assert isinstance(sample, BlockedRows)
        self._survey = survey_dense(self, sample)

    def all_values(self, most: int) -> Floats | None:
        if self.in_place is None or not self.weights.all_equal or self.n * self.d > most:
            return None
        return self.in_place

    def crowded_features(self, low: Floats, extent: Floats, near: Floats) -> Ints:
        out = np.empty(self.d, np.uint8)
        _, crew = next(crew_slices(self.workers, self.n, 4 * self.d))
        kernels.crowded_features(self.in_place, low, extent, near, out, crew)
        return np.flatnonzero(out)

    def sample(self, most: int) -> Floats:
        """About `most` rows, spread evenly; a row of weight w counts as w rows."""
        times, unit = self.weights.times, 1
        if self.weights.values is None and self.weights.unit < 1 << 20:  # more is no repetition
            unit = max(1, int(self.weights.unit))
        count = unit * (self.n if times is None else int(times.sum()))
        rows: slice | Ints
        if count <= most and times is None and unit == 1:
            rows = slice(0, self.n)
        elif count <= most:
            repeats = np.full(self.n, unit) if times is None else unit * times
            rows = np.repeat(np.arange(self.n), repeats)
        else:
            multiples = np.arange(most) * GOLDEN_RATIO
            drawn: Ints = ((multiples - np.floor(multiples)) * count).astype(np.intp) // unit
            rows = drawn
            if times is not None:
                rows = np.searchsorted(np.cumsum(times), drawn, side="right")
        return np.asarray(self.read_rows(rows), dtype=np.float64)

    def total_count(self) -> int:
        return self.weights.total_count(self.n)

    def medians(self, features: Ints, may_be_whole: Array) -> Iterator[tuple[float, float] | None]:
        rows = self.in_place
        if rows is not None and may_be_whole.all() and kernels.are_whole(rows):
            yield from [None] * len(features)  # ends at the first value that is not whole
            return
        step = max(1, COLUMN_VALUES // self.n)  # a row is read once for all of them
        counts = self.weights.counts() if len(features) else None
        for i in range(0, len(features), step):
            some = slice(i, i + step)
            for values, whole in zip(
                self.read_columns(features[some]), may_be_whole[some], strict=True
            ):
                is_whole = whole and np.array_equal(values, np.rint(values))
                yield None if is_whole else median_and_deviation(values, counts)

    def read_columns(self, features: Ints) -> Floats:
        """The values (m, n) of some features."""
        columns = np.empty((len(features), self.n))

        def run(rows: slice, block: Array, _: None, crew: Any) -> None:
            columns[:, rows] = block[:, features].T

        self.reduce(len(features), run)
        return columns

    def count_beyond(self, cuts: Floats) -> Ints:
        """Count the values beyond cuts (4, d): see kernels.count_beyond."""
        total = BlockCounts(self.weights.counts(), self.d)

        def run(rows: slice, block: Array, _: None, crew: Any) -> None:
            counts = np.zeros((4, self.d), np.int64)
            kernels.count_beyond(block, cuts, counts, total.counted(rows), crew)
            total.add(counts)

        self.reduce(4 * self.d, run)
        return total.counts

    def sum_up(self, moments: Moments, cuts: Floats) -> Ints:
        """Add all rows to the sums, and count as `count_beyond`."""
        total = BlockCounts(self.weights.counts(), self.d)

        def run(rows: slice, block: Array, own: Moments, crew: Any) -> None:
            counts, weights = np.zeros((4, self.d), np.int64), self.weights.kernel_arguments(rows)
            arguments = block, cuts, counts, total.counted(rows)
            kernels.total_rows(own.sums, *arguments, **weights, crew=crew)
            total.add(counts)

        self.reduce(4 * self.d, run, moments)
        return total.counts

    # --- the passes ---

    def assign(
        self, centers: Centers, labels: Ints, moments: Moments | None, memory: float = 0.0
    ) -> int:
        if self._scoring.is_doubtful and self.in_place is not None:
            self._probe(self.in_place, centers)
        book, packed = self._scoring.codebook(centers, self.in_place, self.workers, memory)
        counts: list[tuple[int, int]] = []

        def run(rows: slice, block: Array, own: Moments | None, crew: Any) -> None:
            sums = None if own is None else own.sums
            weights = {} if own is None else self.weights.kernel_arguments(rows)
            counts.append(
                kernels.assign(
                    book, block, labels[rows], sums, **weights, crew=crew, kept=packed,
                    at=rows.start,
                )
            )  # fmt: skip

        k = len(centers.values)
        self.reduce(work_in_tiles(k, self.d), run, moments)
        moved, rechecked = counts[0] if len(counts) == 1 else map(sum, zip(*counts, strict=True))
        self._scoring.review(rechecked, k)
        return moved

    @property
    def scores_in_double(self) -> bool:
        """True if float32 scores leave too many rows to float64."""
        return self._scoring.needs_double

    def _probe(self, rows: Array, centers: Centers) -> None:
        """Try float32 on a few rows."""
        some = np.ascontiguousarray(rows[:: self.n // PROBE_ROWS][:PROBE_ROWS])
        book = kernels.Codebook32(np.ascontiguousarray(centers.values), centers.origin)
        labels = np.zeros(len(some), np.int32)
        self._scoring.review_probe(kernels.assign(book, some, labels)[1], len(centers.values))

    def round_to_bytes(self) -> Any:
        copy, scale = self._byte_rows()

        def run(rows: slice, block: Array, _: None, crew: Any) -> None:
            kernels.round_rows(copy, block, rows.start, scale, crew)

        self.reduce(8 * self.d, run)
        return copy

    def _byte_rows(self) -> tuple[Any, float]:
        """Room for all rows in bytes, and the power of two that scales them before rounding."""
        survey = self.survey()
        origin = survey.grid.origin
        reach = np.maximum(survey.high - origin, origin - survey.low)
        scale = power_of_two(float(reach.max()), 100 if self._single else 1000)
        return kernels.ByteRows(self.n, origin, np.zeros((1, self.d))), scale

    def round_and_assign(
        self, centers: Centers, labels: Ints, moments: Moments | None
    ) -> tuple[Any, tuple[int, int, int]]:
        if self.in_place is None:
            copy = self.round_to_bytes()
            return copy, self.assign_bytes(copy, centers, labels, moments)
        copy, scale = self._byte_rows()
        return copy, self._assign_bytes(copy, centers, labels, moments, scale)

    def assign_bytes(
        self, copy: Any, centers: Centers, labels: Ints, moments: Moments | None
    ) -> tuple[int, int, int]:
        kernels.turn_codes(copy, by_row=False, crew=self.workers.crew)
        return self._assign_bytes(copy, centers, labels, moments, None)

    def _assign_bytes(
        self, copy: Any, centers: Centers, labels: Ints, moments: Moments | None, scale: Any
    ) -> tuple[int, int, int]:
        """Make a pass; with a `scale`, round some rows at a time first, which are cached then."""
        values = np.ascontiguousarray(centers.values)
        book = kernels.ByteBook(copy, values, centers.origin, crew=self.workers.crew)
        counts: list[tuple[int, int, int]] = []
        in_cache = ROUNDED_BYTES // (ALIGN * self.d * self.kernel_dtype.itemsize)
        step = self.n if scale is None else ALIGN * max(self.workers.n, in_cache)

        def run(rows: slice, block: Array, own: Moments | None, crew: Any) -> None:
            sums = None if own is None else own.sums
            for some in split_slice(rows, step):
                part = block[some.start - rows.start : some.stop - rows.start]
                if scale is not None:
                    kernels.round_rows(copy, part, some.start, scale, crew)
                weights = {} if own is None else self.weights.kernel_arguments(some)
                counts.append(
                    kernels.assign_bytes(
                        copy, book, part, some.start, labels[some], sums, **weights, crew=crew
                    )
                )

        self._reduce_narrow(work_in_tiles(len(values), self.d), run, moments)
        moved, open_rows, candidates = (sum(part) for part in zip(*counts, strict=True))
        return moved, open_rows, candidates

    def move(self, rows: Ints, to: Ints, labels: Ints, moments: Moments) -> None:
        block, weights = as_kernel_type(self.read_rows(rows)), self.weights.kernel_arguments(rows)
        kernels.move_rows(moments.sums, block, labels[rows], to, **weights)
        labels[rows] = to

    def own_distances(self, centers: Centers, labels: Ints) -> Floats:
        values, out = np.ascontiguousarray(centers.values), np.empty(self.n)

        def run(rows: slice, block: Array, _: None, crew: Any) -> None:
            kernels.own_distance(block, values, centers.origin, labels[rows], out[rows], crew)

        self.reduce(2 * self.d, run)
        return out

    def squares(self, centers: Centers, out: Floats) -> None:
        values = np.ascontiguousarray(centers.values)

        def run(rows: slice, block: Array, _: None, crew: Any) -> None:
            kernels.squares(block, values, centers.origin, out[rows], crew)

        self.reduce(len(values) * self.d, run)

    def own_cost(self, centers: Centers, labels: Ints) -> float:
        values, weight = np.ascontiguousarray(centers.values), self.weights.unless_equal()
        if self.n < FSUM_MAX_VALUES:
            return exact_total(self.own_distances(centers, labels), weight)
        parts: list[tuple[bool, Ints]] = []

        def run(rows: slice, block: Array, _: None, crew: Any) -> None:
            digits, some = zero_digits(), None if weight is None else weight[rows]
            args = block, values, centers.origin, labels[rows], digits, some, crew
            parts.append((kernels.own_cost(*args), digits))

        self.reduce(2 * self.d, run)
        if not all(is_finite for is_finite, _ in parts):
            return exact_total(self.own_distances(centers, labels), weight)
        return rounded_total([digits for _, digits in parts])

    def lower_distances(self, centers: Centers, first: int, closest: Floats, labels: Ints) -> None:
        book, packed = self._scoring.codebook(centers, self.in_place, self.workers, 0.0)
        values, rechecked = np.ascontiguousarray(centers.values), []

        def run(rows: slice, block: Array, _: None, crew: Any) -> None:
            own, distance = np.full(len(block), -1, np.int32), np.empty(len(block))
            done = kernels.assign(book, block, own, None, crew=crew, kept=packed, at=rows.start)
            rechecked.append(done[1])
            kernels.own_distance(block, values, centers.origin, own, distance, crew)
            lower_where_nearer(closest[rows], labels[rows], distance, own + np.int32(first))

        self.reduce(work_in_tiles(len(values), self.d), run)
        self._scoring.review(sum(rechecked), len(values))

    def take_rows(self, rows: Ints) -> Floats:
        return np.asarray(self.read_rows(rows), dtype=np.float64)

    def seeding(self, k: int, trials: int, memory: float = math.inf) -> DenseSeeding:
        return DenseSeeding(self, self._seed_scale, (k, trials), memory)

    @cached_property
    def _seed_scale(self) -> float:
        # Where squares would leave the range of numbers, a power of two; the sampling is unchanged.
        low, high, _ = self.extent()
        reach = max(abs(float(low.min())), abs(float(high.max())))
        scale = power_of_two(reach, 100 if self._single else 1000)
        largest = 2.0**40 if self._single else 2.0**400
        return scale if not 1 / largest < scale < largest else 1.0
