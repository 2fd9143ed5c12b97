"""Where dissimilarities come from: a matrix, or vectors that are compared when asked.

A table has candidates (rows that may be medoids) and points (rows that are to be near one): as a
rule the same rows. `columns` says how far all points are from some candidates. Values times `unit`
are dissimilarities: what is too large or too small to be squared or added is scaled before.
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

KERNEL_METRICS = {  # measured by our own kernel
    "euclidean": "euclidean",
    "l2": "euclidean",
    "sqeuclidean": "sqeuclidean",
    "manhattan": "manhattan",
    "cityblock": "manhattan",
    "l1": "manhattan",
}
_BLOCK = 1 << 23  # bytes of columns made at once: they are read while they are in the cache
_ROOM = 2.0**32  # of so many doubles even the largest can be added, once divided by it
_TASK = 16  # candidates that a thread asks a metric about at once: fixed, so that bits are


class DissimilarityTable(ABC):
    """Dissimilarities between points and candidates."""

    n: int  # points
    candidates: int
    dtype: np.dtype[Any]
    unit: float = 1.0
    matrix: Floats | None = None  # all columns, where they are in memory

    @abstractmethod
    def columns(self, which: Ints) -> Floats:
        """How far all points are from some candidates: (len(which), n)."""

    @abstractmethod
    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        """The table of some candidates and some points."""

    def subset(self, rows: Ints) -> DissimilarityTable:
        """The table of some rows, where points and candidates are the same."""
        return self.restrict(rows, rows)

    def blocks(self, order: Ints, work: int = 1 << 28) -> Iterator[tuple[Floats, Ints, Ints]]:
        """Candidates in this order: a table, rows of it, and whose columns these rows are.

        Blocks are short enough that Ctrl-C is heard: at most `work` values each.
        """
        if self.matrix is not None:
            step = max(64, work // self.n)
            for i in range(0, len(order), step):
                yield self.matrix, order[i : i + step], order[i : i + step]
            return
        step = max(8, min(256, _BLOCK // (self.n * self.dtype.itemsize) // 8 * 8))
        for i in range(0, len(order), step):
            some = order[i : i + step]
            yield self.columns(some), np.arange(len(some)), some


class DissimilarityMatrix(DissimilarityTable):
    """A matrix of dissimilarities. Any real dtype; columns are made of floats as they are read.

    Of some rows and columns of it only the numbers are kept: a copy may be too large.
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
        """Rows of the matrix, which is symmetric."""
        if self._candidates is None or self._points is None:
            block = self.values[which]
        else:
            block = self.values[np.ix_(self._candidates[which], self._points)]
        block = np.ascontiguousarray(block, dtype=self.dtype)
        return block if self.scale == 1.0 else block * self.scale

    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        """The same matrix, fewer rows and columns."""
        if self._candidates is not None and self._points is not None:
            candidates, points = self._candidates[candidates], self._points[points]
        part = DissimilarityMatrix(self.values, self.dtype, self.scale, candidates, points)
        part.unit = self.unit
        return part


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
        """Gathered from the triangle."""
        a, b = self._candidates[which][:, None], self._points[None]
        low, high = np.minimum(a, b), np.maximum(a, b)
        place = low * (2 * self.size - low - 1) // 2 + high - low - 1
        own = low == high
        place[own] = 0
        block: Floats = np.where(own, 0, self.values[place]).astype(self.dtype)
        return block if self.scale == 1.0 else block * self.scale

    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        """The same triangle, fewer rows."""
        mine = self._candidates[candidates], self._points[points]
        return CondensedMatrix(self.values, self.dtype, self.scale, self.size, *mine)


class VectorTable(DissimilarityTable):
    """Dense rows under a metric of our own kernel: plain differences, so nothing cancels.

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
        """Measured now."""
        if self._panels is None:
            self._panels = pack_panels(self._points)
        out = np.empty((len(which), self.n), self.dtype)
        centers = np.ascontiguousarray(self._rows[which])
        kernels.pair_columns(self._panels, centers, self._metric, out, self._workers.crew)
        return out

    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        """A copy of these rows."""
        twin = VectorTable.__new__(VectorTable)
        twin.dtype, twin.unit = self.dtype, self.unit
        mine = self._rows[candidates], self._points[points]
        twin._set(*mine, self._metric, self._workers)
        return twin


def unit_of_scaled(metric: str, scale: float) -> float:
    """What a dissimilarity of scaled vectors stands for."""
    return 1.0 / scale / scale if metric == "sqeuclidean" else 1.0 / scale


def pack_panels(rows: Floats) -> Array:
    """Rows as the kernel takes them: (n / 64, d, 64)."""
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

    `slow` is a metric for which each pair is worth to be measured once only: d(a, b) = d(b, a) to
    the last bit is not to be expected of all. How large values will be is not known, so doubles are
    always made small enough to be added. `task` is how many candidates a thread asks about at once.
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
        task: int = _TASK,
    ) -> None:
        self._rows, self._measure, self._workers = rows, measure, workers
        self.dtype, self.slow, self.task = np.dtype(dtype), slow, task
        self.unit = 1.0 if self.dtype == np.float32 else _ROOM
        everyone = np.arange(rows.shape[0])
        self._candidates = everyone if candidates is None else candidates
        self._points = everyone if points is None else points
        self.candidates, self.n = len(self._candidates), len(self._points)
        self._everyone = points is None
        self._others = rows if points is None else rows[points]

    def columns(self, which: Ints) -> Floats:
        """Measured now; a row is not dissimilar to itself."""
        rows = self._candidates[which]
        out = np.empty((len(rows), self.n), self.dtype)

        def work(numbers: Iterator[int]) -> None:
            for number in numbers:
                some = slice(number * self.task, (number + 1) * self.task)
                out[some] = self._measure(self._rows[rows[some]], self._others)
                if self._everyone:
                    out[some][np.arange(len(rows[some])), rows[some]] = 0.0
                else:
                    out[some][rows[some, None] == self._points] = 0.0

        self._workers.share(math.ceil(len(rows) / self.task), work)
        check_dissimilarities(out)
        return out if self.unit == 1.0 else np.multiply(out, 1.0 / self.unit, out=out)

    def restrict(self, candidates: Ints, points: Ints) -> DissimilarityTable:
        """The same rows, fewer of them."""
        mine = self._candidates[candidates], self._points[points]
        how = self._measure, self.dtype, self._workers, self.slow
        return MetricTable(self._rows, *how, *mine, self.task)


def check_dissimilarities(values: Floats) -> None:
    """What a metric gave must be dissimilarities; what rounding made negative is zero."""
    lowest, highest = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        raise ValueError(
            "the metric gave NaN or infinity for some rows; every dissimilarity must be finite: "
            "look at X for values the metric is not made for, or use another metric"
        )
    if lowest < -1e-6 * highest:
        raise ValueError(
            f"the metric gave a negative dissimilarity ({lowest:.3g}); 0 must be the least. A "
            "similarity s becomes a dissimilarity as max(s) - s, for example"
        )
    if lowest < 0:
        np.maximum(values, 0.0, out=values)


def materialize(table: DissimilarityTable, memory: float) -> DissimilarityTable:
    """The table with all its columns in memory, if they fit there."""
    size = table.candidates * table.n * table.dtype.itemsize
    if table.matrix is not None or size > memory:
        return table
    out = np.empty((table.candidates, table.n), table.dtype)
    everyone = np.arange(table.n)
    if isinstance(table, MetricTable) and table.slow and table.candidates == table.n:
        for i in range(0, table.n, 4 * _TASK):  # each pair once
            some = everyone[i : i + 4 * _TASK]
            part = table.restrict(some, everyone[i:]).columns(np.arange(len(some)))
            out[some, i:] = part
            out[i:, i : i + len(some)] = part.T
    else:
        for values, _, block in table.blocks(np.arange(table.candidates)):
            out[block[0] : block[-1] + 1] = values
    held = DissimilarityMatrix(out)
    held.unit = table.unit
    return held
