"""Tables of dissimilarities: a matrix, or vectors that are compared on demand.

A table has candidates (rows that may be medoids) and points (rows to be near one), usually the
same rows. `columns` are the dissimilarities of all points to some candidates. Values times `unit`
are dissimilarities: values too large or too small to be squared or added are scaled.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.power_of_two import largest_magnitude, square_scale
from partita._common.threads import Workers
from partita._kernels import kernels
from partita._kernels.pairwise import PANEL_ROWS

KERNEL_METRICS = {  # names of the compiled kernel by the names of users
    "euclidean": "euclidean",
    "l2": "euclidean",
    "sqeuclidean": "sqeuclidean",
    "manhattan": "manhattan",
    "cityblock": "manhattan",
    "l1": "manhattan",
}
BLOCK_BYTES = 1 << 23  # of columns computed at once: they are read while they are in the cache
SUM_ROOM = 2.0**32  # divided by it, so many doubles of any size can be added
TASK_CANDIDATES = 16  # measured by a thread at once; fixed, so that bits do not change
SIMILARITY_ADVICE = "A similarity s becomes a dissimilarity as max(s) - s, for example."


class DissimilarityTable(ABC):
    """Dissimilarities between n points and some candidates.

    A restricted table keeps row numbers only: a copy may be too large.
    """

    matrix: Floats | None = None  # all columns, if they are in memory

    def __init__(self, shape: tuple[int, int], dtype: Any, unit: float) -> None:
        self.candidates, self.n = shape
        self.dtype, self.unit = np.dtype(dtype), unit
        self._candidates, self._points = np.arange(self.candidates), np.arange(self.n)
        self._is_whole = True  # not restricted
        self._prepared_points: Any = None  # for `columns`, if it needs them in another form

    @abstractmethod
    def columns(self, which: Ints) -> Floats:
        """Return the dissimilarities (len(which), n) of all points to some candidates."""

    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        """Return the table of some candidates and some points."""
        table = copy.copy(self)
        table._candidates, table._points = self._candidates[candidates], self._points[points]
        table.candidates, table.n = len(candidates), len(points)
        table.matrix, table._is_whole, table._prepared_points = None, False, None
        return table

    def blocks(self, order: Ints, work: int = 1 << 28) -> Iterator[tuple[Floats, Ints, Ints]]:
        """Yield candidates in this order: an array, rows of it, and the candidates of these rows.

        A block has at most `work` values, so that Ctrl-C works between blocks.
        """
        if self.matrix is not None:
            step = max(64, work // self.n)
            for i in range(0, len(order), step):
                yield self.matrix, order[i : i + step], order[i : i + step]
            return
        step = max(8, min(256, BLOCK_BYTES // (self.n * self.dtype.itemsize) // 8 * 8))
        for i in range(0, len(order), step):
            ids = order[i : i + step]
            yield self.columns(ids), np.arange(len(ids)), ids


class DissimilarityMatrix(DissimilarityTable):
    """A symmetric matrix of any real dtype; columns become floats when they are read."""

    def __init__(self, values: Array, dtype: Any, scale: float = 1.0) -> None:
        super().__init__(values.shape, dtype, 1.0 / scale)
        self._values, self._scale = values, scale
        ready = values.dtype == self.dtype and values.flags.c_contiguous and values.flags.aligned
        if ready and scale == 1.0:
            self.matrix = values

    def columns(self, which: Ints) -> Floats:
        rows = self._candidates[which]
        block = self._values[rows if self._is_whole else np.ix_(rows, self._points)]
        block = np.ascontiguousarray(block, dtype=self.dtype)
        return block if self._scale == 1.0 else block * self._scale


class CondensedMatrix(DissimilarityTable):
    """The upper triangle of a symmetric matrix, row by row, as SciPy's `pdist` gives it."""

    def __init__(self, values: Array, size: int, dtype: Any, scale: float) -> None:
        super().__init__((size, size), dtype, 1.0 / scale)
        self._values, self._size, self._scale = values, size, scale

    def columns(self, which: Ints) -> Floats:
        a, b = self._candidates[which][:, None], self._points[None]
        low, high = np.minimum(a, b), np.maximum(a, b)
        place = low * (2 * self._size - low - 1) // 2 + high - low - 1
        own = low == high
        place[own] = 0
        block: Floats = np.where(own, 0, self._values[place]).astype(self.dtype)
        return block if self._scale == 1.0 else block * self._scale


class VectorTable(DissimilarityTable):
    """Dense rows under a metric of the compiled kernel, by differences, so that nothing cancels.

    In float32 for rows of float32, else in float64.
    """

    def __init__(self, rows: Floats, metric: str, workers: Workers) -> None:
        largest = largest_magnitude(rows)
        single = rows.dtype == np.float32 and 1e-12 < largest < 1e12
        dtype, scale = np.float32 if single else np.float64, square_scale(largest)
        super().__init__((len(rows), len(rows)), dtype, unit_of_scaled(metric, scale))
        rows = np.ascontiguousarray(rows, dtype=dtype)
        self._rows = rows * scale if scale != 1.0 else rows
        self._metric, self._workers = metric, workers

    def columns(self, which: Ints) -> Floats:
        if self._prepared_points is None:
            points = self._rows if self._is_whole else self._rows[self._points]
            self._prepared_points = pack_panels(points)
        out = np.empty((len(which), self.n), self.dtype)
        centers = np.ascontiguousarray(self._rows[self._candidates[which]])
        kernels.pair_columns(self._prepared_points, centers, self._metric, out, self._workers.crew)
        return out


def unit_of_scaled(metric: str, scale: float) -> float:
    """Return the unit of dissimilarities between vectors that were scaled."""
    return 1.0 / scale / scale if metric == "sqeuclidean" else 1.0 / scale


def pack_panels(rows: Floats) -> Array:
    """Return rows in the layout of the kernel: (n / 64, d, 64)."""
    n, d = rows.shape
    panels = np.zeros((-(-n // PANEL_ROWS), d, PANEL_ROWS), rows.dtype)
    full = n // PANEL_ROWS * PANEL_ROWS
    panels[: n // PANEL_ROWS] = (
        rows[:full].reshape(n // PANEL_ROWS, PANEL_ROWS, d).transpose(0, 2, 1)
    )
    if full < n:
        panels[-1, :, : n - full] = rows[full:].T
    return panels


Measure = Callable[[Any, Any], Floats]  # rows (a, d), rows (b, d) -> (a, b)


class MetricTable(DissimilarityTable):
    """Rows of any kind under any metric, block by block; BLAS should run in one thread.

    With a `slow` metric each pair is measured once only. (Not every metric gives d(a, b) = d(b, a)
    to the last bit.) The size of values is not known before, so doubles are always divided by
    SUM_ROOM. `task` is how many candidates a thread measures at once.
    """

    def __init__(
        self,
        rows: Any,
        measure: Measure,
        dtype: Any,
        workers: Workers,
        slow: bool = False,
        task: int = TASK_CANDIDATES,
    ) -> None:
        unit = 1.0 if dtype == np.float32 else SUM_ROOM
        super().__init__((rows.shape[0], rows.shape[0]), dtype, unit)
        self._rows, self._measure, self._workers = rows, measure, workers
        self.slow, self.task = slow, task

    def columns(self, which: Ints) -> Floats:
        rows = self._candidates[which]
        if self._prepared_points is None:
            self._prepared_points = self._rows if self._is_whole else self._rows[self._points]
        out = np.empty((len(rows), self.n), self.dtype)

        def work(numbers: Iterator[int]) -> None:
            for number in numbers:
                block = slice(number * self.task, (number + 1) * self.task)
                out[block] = self._measure(self._rows[rows[block]], self._prepared_points)
                if self._is_whole:  # the dissimilarity of a row to itself is 0
                    out[block][np.arange(len(rows[block])), rows[block]] = 0.0
                else:
                    out[block][rows[block, None] == self._points] = 0.0

        self._workers.share(math.ceil(len(rows) / self.task), work)
        check_dissimilarities(out)
        return out if self.unit == 1.0 else np.multiply(out, 1.0 / self.unit, out=out)


def check_dissimilarities(values: Floats) -> None:
    """Check that a metric returned dissimilarities; set what rounding made negative to zero."""
    lowest, highest = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        raise ValueError(
            "`metric` must be finite for all pairs of rows, got NaN or infinity. Check X for "
            "values that the metric does not support, or use another metric."
        )
    if lowest < -1e-6 * highest:
        raise ValueError(
            f"`metric` must be >= 0 for all pairs of rows, got {lowest:.3g}. {SIMILARITY_ADVICE}"
        )
    if lowest < 0:
        np.maximum(values, 0.0, out=values)


def materialize(table: DissimilarityTable, memory: float) -> DissimilarityTable:
    """Return the table with all its columns in memory, if they fit in `memory` bytes."""
    size = table.candidates * table.n * table.dtype.itemsize
    if table.matrix is not None or size > memory:
        return table
    out = np.empty((table.candidates, table.n), table.dtype)
    all_points = np.arange(table.n)
    if isinstance(table, MetricTable) and table.slow and table.candidates == table.n:
        for i in range(0, table.n, 4 * TASK_CANDIDATES):  # each pair once
            ids = all_points[i : i + 4 * TASK_CANDIDATES]
            block = table.restrict(ids, all_points[i:]).columns(np.arange(len(ids)))
            out[ids, i:] = block
            out[i:, i : i + len(ids)] = block.T
    else:
        for values, _, block_ids in table.blocks(np.arange(table.candidates)):
            out[block_ids[0] : block_ids[-1] + 1] = values
    matrix = DissimilarityMatrix(out, out.dtype)
    matrix.unit = table.unit
    return matrix
