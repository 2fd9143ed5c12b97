"""Tables of dissimilarities: a matrix, or vectors that are compared on demand.

A table has candidates (rows that may be medoids) and points (rows to be near one), usually the
same rows. `columns` are the dissimilarities of all points to some candidates. Values times `unit`
are dissimilarities: values too large or too small to be squared or added are scaled.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.power_of_two import largest_magnitude, square_scale
from partita._common.threads import Workers
from partita._kernels import kernels
from partita._kernels.medoid_swaps import PANEL_ROWS

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
    """Dissimilarities between points and candidates."""

    n: int  # points
    candidates: int
    dtype: np.dtype[Any]
    unit: float = 1.0
    matrix: Floats | None = None  # all columns, if they are in memory

    @abstractmethod
    def columns(self, which: Ints) -> Floats:
        """Return the dissimilarities (len(which), n) of all points to some candidates."""

    @abstractmethod
    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        """Return the table of some candidates and some points."""

    def subset(self, rows: Ints) -> DissimilarityTable:
        """Return the table of some rows, if points and candidates are the same."""
        return self.restrict(rows, rows)

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
    """A symmetric matrix of any real dtype; columns become floats when they are read.

    A restricted table keeps row numbers only: a copy may be too large.
    """

    def __init__(
        self,
        values: Array,
        dtype: Any = None,
        scale: float = 1.0,
        candidates: Ints | None = None,
        points: Ints | None = None,
    ) -> None:
        self.values, self.scale = values, scale
        self._candidates, self._points = candidates, points
        self.candidates, self.n = values.shape
        self.dtype = np.dtype(values.dtype if dtype is None else dtype)
        self.unit = 1.0 / scale
        if candidates is not None and points is not None:
            self.candidates, self.n = len(candidates), len(points)
            return
        ready = values.dtype == self.dtype and values.flags.c_contiguous and values.flags.aligned
        if ready and scale == 1.0:
            self.matrix = values

    def columns(self, which: Ints) -> Floats:
        if self._candidates is None or self._points is None:
            block = self.values[which]
        else:
            block = self.values[np.ix_(self._candidates[which], self._points)]
        block = np.ascontiguousarray(block, dtype=self.dtype)
        return block if self.scale == 1.0 else block * self.scale

    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        if self._candidates is not None and self._points is not None:
            candidates, points = self._candidates[candidates], self._points[points]
        table = DissimilarityMatrix(self.values, self.dtype, self.scale, candidates, points)
        table.unit = self.unit
        return table


class CondensedMatrix(DissimilarityTable):
    """The upper triangle of a symmetric matrix, row by row, as SciPy's `pdist` gives it."""

    def __init__(
        self, values: Array, dtype: Any, scale: float, size: int, candidates: Ints, points: Ints
    ) -> None:
        self.values, self.scale, self.size = values, scale, size
        self.dtype = np.dtype(dtype)
        self.unit = 1.0 / scale
        self._candidates, self._points = candidates, points
        self.candidates, self.n = len(candidates), len(points)

    def columns(self, which: Ints) -> Floats:
        a, b = self._candidates[which][:, None], self._points[None]
        low, high = np.minimum(a, b), np.maximum(a, b)
        place = low * (2 * self.size - low - 1) // 2 + high - low - 1
        own = low == high
        place[own] = 0
        block: Floats = np.where(own, 0, self.values[place]).astype(self.dtype)
        return block if self.scale == 1.0 else block * self.scale

    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        rows = self._candidates[candidates], self._points[points]
        return CondensedMatrix(self.values, self.dtype, self.scale, self.size, *rows)


class VectorTable(DissimilarityTable):
    """Dense rows under a metric of the compiled kernel, by differences, so that nothing cancels.

    In float32 for rows of float32, else in float64.
    """

    def __init__(self, rows: Floats, metric: str, workers: Workers) -> None:
        largest = largest_magnitude(rows)
        fits = 1e-12 < largest < 1e12
        self.dtype = np.dtype(np.float32 if rows.dtype == np.float32 and fits else np.float64)
        scale = square_scale(largest)
        rows = np.ascontiguousarray(rows, dtype=self.dtype)
        self._set(rows * scale if scale != 1.0 else rows, None, metric, workers)
        self.unit = unit_of_scaled(metric, scale)

    def _set(self, rows: Floats, points: Floats | None, metric: str, workers: Workers) -> None:
        self._rows, self._metric, self._workers = rows, metric, workers
        self._panels: Array | None = None
        self._points = rows if points is None else points
        self.candidates, self.n = len(rows), len(self._points)

    def columns(self, which: Ints) -> Floats:
        if self._panels is None:
            self._panels = pack_panels(self._points)
        out = np.empty((len(which), self.n), self.dtype)
        centers = np.ascontiguousarray(self._rows[which])
        kernels.pair_columns(self._panels, centers, self._metric, out, self._workers.crew)
        return out

    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        table = VectorTable.__new__(VectorTable)
        table.dtype, table.unit = self.dtype, self.unit
        rows = self._rows[candidates], self._points[points]
        table._set(*rows, self._metric, self._workers)
        return table


def unit_of_scaled(metric: str, scale: float) -> float:
    """Return the unit of dissimilarities between vectors that were scaled."""
    return 1.0 / scale / scale if metric == "sqeuclidean" else 1.0 / scale


def pack_panels(rows: Floats) -> Array:
    """Return rows in the layout of the kernel: (n / 64, d, 64)."""
    n, d = rows.shape
    panels = np.zeros((-(-n // PANEL_ROWS), d, PANEL_ROWS), rows.dtype)
    full = n // PANEL_ROWS * PANEL_ROWS
    panels[: n // PANEL_ROWS] = rows[:full].reshape(-1, PANEL_ROWS, d).transpose(0, 2, 1)
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
        candidates: Ints | None = None,
        points: Ints | None = None,
        task: int = TASK_CANDIDATES,
    ) -> None:
        self._rows, self._measure, self._workers = rows, measure, workers
        self.dtype, self.slow, self.task = np.dtype(dtype), slow, task
        self.unit = 1.0 if self.dtype == np.float32 else SUM_ROOM
        all_rows = np.arange(rows.shape[0])
        self._candidates = all_rows if candidates is None else candidates
        self._points = all_rows if points is None else points
        self.candidates, self.n = len(self._candidates), len(self._points)
        self._has_all_points = points is None
        self._others = rows if points is None else rows[points]

    def columns(self, which: Ints) -> Floats:
        rows = self._candidates[which]
        out = np.empty((len(rows), self.n), self.dtype)

        def work(numbers: Iterator[int]) -> None:
            for number in numbers:
                block = slice(number * self.task, (number + 1) * self.task)
                out[block] = self._measure(self._rows[rows[block]], self._others)
                if self._has_all_points:  # the dissimilarity of a row to itself is 0
                    out[block][np.arange(len(rows[block])), rows[block]] = 0.0
                else:
                    out[block][rows[block, None] == self._points] = 0.0

        self._workers.share(math.ceil(len(rows) / self.task), work)
        check_dissimilarities(out)
        return out if self.unit == 1.0 else np.multiply(out, 1.0 / self.unit, out=out)

    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        places = self._candidates[candidates], self._points[points]
        how = self._measure, self.dtype, self._workers, self.slow
        return MetricTable(self._rows, *how, *places, self.task)


def check_dissimilarities(values: Floats) -> None:
    """Check that a metric returned dissimilarities; set what rounding made negative to zero."""
    lowest, highest = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        raise ValueError(
            "The metric must be finite for all pairs of rows, got NaN or infinity. Check X for "
            "values that the metric does not support, or use another metric."
        )
    if lowest < -1e-6 * highest:
        raise ValueError(
            f"The metric must be >= 0 for all pairs of rows, got {lowest:.3g}. {SIMILARITY_ADVICE}"
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
    matrix = DissimilarityMatrix(out)
    matrix.unit = table.unit
    return matrix
