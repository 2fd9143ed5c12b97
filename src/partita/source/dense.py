"""Dense rows in memory (or mapped into it)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from partita._common.array_types import Array, Ints
from partita._common.power_of_two import power_of_two
from partita._common.threads import Workers
from partita._kernels import kernels
from partita.centers import Centers
from partita.exact_weights import Weights
from partita.source.blocked_rows import BlockedRows
from partita.source.blocks import RunBlock, converted_rows, is_small, split_slice, walk_blocks
from partita.source.far_seeding import FarSeeding
from partita.source.pass_price import passes_before_bytes
from partita.source.plusplus_rounds import DenseSeeding
from partita.source.row_views import RowView, SelectedRows, are_far
from partita.source.survey import Survey


class DenseSource(BlockedRows):
    """Rows (n, d): float32 and float64 in order are read in place, others block by block.

    Blocks are converted into a buffer of each thread, which stays in its cache.
    """

    def __init__(
        self, rows: RowView, weights: Weights, workers: Workers, survey: Survey | None = None
    ) -> None:
        super().__init__(rows.shape, rows.dtype, weights, workers, survey)
        self.rows = rows
        if isinstance(rows, np.ndarray) and self._is_ready(rows):
            self.in_place = rows
        self.narrow = narrow_values(rows)
        self.row_bytes = self.d * rows.dtype.itemsize
        values = self.n * self.d if self.in_place is None else 0
        self.copy_bytes = values * self.kernel_dtype.itemsize

    @property
    def prunable_rows(self) -> DenseSource:
        return self

    @cached_property
    def kernel_rows(self) -> Array:
        """All rows in a type that kernels read."""
        if self.in_place is not None:
            return self.in_place
        whole = np.empty((self.n, self.d), self.kernel_dtype)

        def copy(rows: slice, block: Array) -> None:
            whole[rows] = block

        self.each_block(self.d, lambda: copy)
        return whole

    def each_block(self, work_per_row: int, begin: Callable[[], RunBlock]) -> None:
        def begin_slices() -> Callable[[slice], None]:
            run = begin()
            if self.in_place is not None:
                in_place = self.in_place
                return lambda rows: run(rows, in_place[rows])
            read = self._reader()

            def run_parts(rows: slice) -> None:
                for part in split_slice(rows, converted_rows(self.d, self.kernel_dtype)):
                    run(part, read(part))

            return run_parts

        walk_blocks(self.workers, self.n, work_per_row, begin_slices)

    def label_once(self, centers: Centers, labels: Ints) -> None:
        """Label every row in place; by bytes, some at a time, if rounding pays for one pass."""
        wait = passes_before_bytes(self.n, len(centers.values), self.d, self.row_bytes)
        if self.in_place is None or wait != 0:
            self.assign(centers, labels, None)
            return
        values, crew = np.ascontiguousarray(centers.values), self.workers.crew
        low, high, _ = self.extent()
        middle = values.mean(axis=0)
        reach = max(float((high - middle).max()), float((middle - low).max()))
        scale = power_of_two(reach, 100 if self._single else 1000)
        step = converted_rows(self.d, np.dtype(np.uint8))
        copy = book = None
        for rows in split_slice(slice(0, self.n), 8 * step):
            block = self.in_place[rows]
            if copy is None or len(block) < 8 * step:
                copy = kernels.ByteRows(len(block), centers.origin, middle[None])
                book = kernels.ByteBook(copy, values, centers.origin, crew=crew)
            kernels.round_rows(copy, block, 0, scale, crew)
            kernels.assign_bytes(copy, book, block, 0, labels[rows], crew=crew)

    def _reader(self) -> Callable[[slice], Array]:
        """Return a function that converts some rows; its results share one buffer."""
        rows_at_once = min(self.n, converted_rows(self.d, self.kernel_dtype))
        buffer = np.empty((rows_at_once, self.d), self.kernel_dtype)

        def read(rows: slice) -> Array:
            values = self.rows[rows]
            if self._is_ready(values):
                return values
            out = buffer[: len(values)]
            if values.dtype == np.float16 and (bits := narrow_values(values)) is not None:
                kernels.widen_halves(bits, out)  # many times faster than NumPy
            else:
                np.copyto(out, values)
            return out

        return read

    def _is_ready(self, rows: Array) -> bool:
        aligned = rows.flags.c_contiguous and rows.flags.aligned
        return bool(rows.dtype == self.kernel_dtype and aligned)

    def read_rows(self, rows: slice | Ints) -> Array:
        return self.rows[rows]

    def whole_rows(self, work_per_row: int) -> Array | None:
        if self.in_place is not None or is_small(self.n, work_per_row):
            return self.kernel_rows
        return None

    def seeding(self, k: int, trials: int, memory: float = math.inf) -> DenseSeeding:
        if are_far(self.rows):
            return FarSeeding(self, self._seed_scale, (k, trials), memory)
        return super().seeding(k, trials, memory)

    def subset(self, rows: Ints, weights: Weights, survey: Survey | None = None) -> DenseSource:
        whole = self.rows
        # many times faster than by an index, where rows are short
        chosen = whole.take(rows, axis=0) if isinstance(whole, np.ndarray) else whole[rows]
        chosen = np.ascontiguousarray(chosen)
        return DenseSource(chosen, weights, self.workers, survey)

    def selection(self, rows: Ints, weights: Weights, survey: Survey | None = None) -> DenseSource:
        return DenseSource(SelectedRows(self.rows, rows), weights, self.workers, survey)


def narrow_values(rows: RowView) -> Array | None:
    """Rows of bytes, or the bits of halves, if kernels can read them where they are."""
    if not isinstance(rows, np.ndarray) or not rows.flags.c_contiguous or not rows.flags.aligned:
        return None
    if rows.dtype == np.float16:
        return rows.view(np.uint16)
    return rows if rows.dtype == np.uint8 else None
