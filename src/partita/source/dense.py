"""Dense rows in memory (or mapped into it)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from partita._common.array_types import Array, Ints
from partita._common.threads import Workers
from partita.exact_weights import Weights
from partita.source.blocked_rows import BlockedRows
from partita.source.blocks import RunBlock, as_kernel_type, is_small, walk_blocks
from partita.source.survey import Survey


class DenseSource(BlockedRows):
    """An array (n, d): float32 and float64 are read in place, other types block by block."""

    def __init__(
        self, rows: Array, weights: Weights, workers: Workers, survey: Survey | None = None
    ) -> None:
        super().__init__(rows.shape, rows.dtype, weights, workers, survey)
        self.rows = rows
        self._native = rows.dtype in (np.float32, np.float64)
        if self._native and rows.flags.c_contiguous:
            self.in_place = rows
        self.copy_bytes = 0 if self.in_place is not None else rows.size * self.dtype.itemsize

    @property
    def prunable_rows(self) -> DenseSource:
        return self

    @cached_property
    def kernel_rows(self) -> Array:
        """All rows in a type that kernels read."""
        return as_kernel_type(self.rows)

    def each_block(self, work_per_row: int, begin: Callable[[], RunBlock]) -> None:
        def begin_slices() -> Callable[[slice], None]:
            run = begin()
            return lambda rows: run(rows, as_kernel_type(self.rows[rows]))

        walk_blocks(self.workers, self.n, work_per_row, begin_slices)

    def read_rows(self, rows: Ints) -> Array:
        return self.rows[rows]

    def whole_rows(self, work_per_row: int) -> Array | None:
        if self._native or is_small(self.n, work_per_row):
            return as_kernel_type(self.rows)
        return None

    def subset(self, rows: Ints, weights: Weights, survey: Survey | None = None) -> DenseSource:
        return DenseSource(self.rows[rows], weights, self.workers, survey)
