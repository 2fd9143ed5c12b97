"""Rows with gaps in memory: the values that are NaN are missing, and do not count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total, exact_totals
from partita._common.row_squares import row_squares
from partita._common.threads import Workers
from partita._kernels import kernels
from partita._kernels.assignment import exact_scale
from partita._kernels.partial_pass import wide_rows
from partita.centers import Centers
from partita.exact_weights import Weights
from partita.moments import Moments
from partita.partial_moments import PartialGrid, PartialSummary, summarise_partial
from partita.source.blocks import as_kernel_type
from partita.source.dense import DenseSource
from partita.source.raw_rows import row_slices
from partita.source.row_views import RowView
from partita.source.survey import Survey, lower_median
from partita.stats import ClusterStats

COLUMN_VALUES = 1 << 23  # read at a time, where whole columns are needed


class RowsWithGaps:
    """Checked rows of which some values are missing; the functions that label rows tell by it."""

    def __init__(self, rows: RowView) -> None:
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype

    def __getitem__(self, rows: slice | Ints) -> Array:
        return self.rows[rows]


class FilledRows:
    """The same rows with a value for every gap of a column."""

    def __init__(self, rows: RowView, fill: Floats) -> None:
        self._rows, self._fill = rows, fill
        self.shape, self.dtype = rows.shape, rows.dtype

    def __getitem__(self, rows: slice | Ints) -> Array:
        values = np.array(self._rows[rows])
        np.copyto(values, self._fill, where=np.isnan(values), casting="same_kind")
        return values


@dataclass(frozen=True, slots=True)
class GapCounts:
    """Counts of missing values, and of those that no fit can use."""

    missing: Ints  # (d,) missing values of each column
    rows: int  # with a gap
    empty_rows: int  # without any value
    infinite: Ints  # columns with infinity
    infinite_rows: int

    @classmethod
    def of(cls, blocks: Iterator[Array], d: int) -> GapCounts:
        """Count block by block."""
        missing, infinite = np.zeros((2, d), np.int64)
        rows = empty = infinite_rows = 0
        for block in blocks:
            gap = np.isnan(block)
            missing += np.count_nonzero(gap, axis=0)
            rows += int(np.count_nonzero(gap.any(axis=1)))
            empty += int(np.count_nonzero(gap.all(axis=1)))
            if np.isinf(np.fmax.reduce(np.abs(block), axis=None, initial=0)):
                beyond = np.isinf(block)
                infinite += np.count_nonzero(beyond, axis=0)
                infinite_rows += int(np.count_nonzero(beyond.any(axis=1)))
        return cls(missing, rows, empty, np.flatnonzero(infinite), infinite_rows)


class PartialSource:
    """Rows (n, d) with gaps, with weights: a pass counts the values that rows have.

    They are read in place if the kernels can, else block by block, as by `DenseSource`.
    """

    prunable_rows = None

    def __init__(self, rows: RowView, weights: Weights, workers: Workers) -> None:
        self._dense = DenseSource(rows, weights, workers)
        self.rows, self.weights, self.workers = rows, weights, workers
        self.n, self.d, self.dtype = self._dense.n, self._dense.d, self._dense.dtype

    # --- the survey ---

    @cached_property
    def counts(self) -> GapCounts:
        """The counts over all rows."""
        steps = row_slices(self.n, self.d)
        return GapCounts.of((self.rows[rows] for rows in steps), self.d)

    @property
    def has_counted_gaps(self) -> bool:
        """True if a row of positive weight has a gap: else the others are rows without gaps."""
        weight = self.weights.unless_equal()
        if weight is None:
            return self.counts.rows > 0
        steps = row_slices(self.n, self.d)
        return any(np.isnan(self.rows[rows][weight[rows] > 0]).any() for rows in steps)

    @property
    def observed_weight(self) -> Floats:
        """The weight (d,) of the rows that have a value in each column."""
        if self.weights.unless_equal() is None:
            return np.asarray(self.n - self.counts.missing, dtype=np.float64)
        return np.asarray(self.whole.mass[0])

    @cached_property
    def medians(self) -> Floats:
        """The lower median (d,) of the values of each column, over rows of weight; 0 of none."""
        out, counts = np.zeros(self.d), self.weights.counts()
        step = max(1, COLUMN_VALUES // self.n)
        for first in range(0, self.d, step):
            features = np.arange(first, min(self.d, first + step))
            for t, column in zip(features, self._dense.read_columns(features), strict=True):
                known = ~np.isnan(column) if counts is None else ~np.isnan(column) & (counts > 0)
                if known.any():
                    out[t] = lower_median(column[known], None if counts is None else counts[known])
        return out

    @cached_property
    def filled(self) -> DenseSource:
        """The rows with medians in place of gaps, for the survey and for starts.

        They are filled whenever they are read, unless `keep_filled` made a copy.
        """
        return DenseSource(FilledRows(self.rows, self.medians), self.weights, self.workers)

    def keep_filled(self, memory: float) -> float:
        """Copy the filled rows if they fit `memory` bytes; return the bytes that are left."""
        taken = self.n * self._dense.row_bytes
        if taken > memory:
            return memory
        copy = np.empty((self.n, self.d), self._dense.kernel_dtype)
        view = self.filled.rows
        for rows in row_slices(self.n, self.d):
            copy[rows] = view[rows]
        self.filled = DenseSource(copy, self.weights, self.workers)
        return memory - taken

    @cached_property
    def grid(self) -> PartialGrid:
        """The grid of the sums."""
        survey = self.filled.survey()
        return PartialGrid.of_extent(survey.grid, survey.low, survey.high, self.weights)

    @cached_property
    def whole(self) -> PartialSummary:
        """The summary of all rows as one cluster; the mean is relative to the grid's origin."""
        labels, centers = np.full(self.n, -1, np.int32), np.zeros((1, self.d))
        moments = None if self.filled.survey().beyond_grid else self.grid.zero(1)
        self.assign(Centers(centers, self.grid.origin), labels, moments)
        return self.summarise(labels, moments, centers)

    @cached_property
    def _survey(self) -> Survey:
        whole = self.whole
        variance = float(whole.stats.sse[0]) / float(whole.mass.sum())
        return replace(self.filled.survey(), spread=float(np.sqrt(variance)))

    def survey(self) -> Survey:
        """Extent, origin and grid of the values; the spread is about their means."""
        return self._survey

    # --- the passes ---

    def assign(
        self, centers: Centers, labels: Ints, moments: Moments | None, memory: float = 0.0
    ) -> int:
        """Label every row in place, update `moments` by the rows that moved; return their number.

        The moments are those of the wide grid.
        """
        scale = exact_scale(centers.values)
        values = np.ascontiguousarray(centers.values * scale)
        moved: list[int] = []

        def run(rows: slice, block: Array, own: Moments | None, crew: Any) -> None:
            sums = None if own is None else own.sums
            weights = {} if own is None else self.weights.kernel_arguments(rows)
            mark = 0.0 if own is None else self.grid.mark
            arguments = block, values, centers.origin, scale, mark, labels[rows]
            moved.append(kernels.assign_partial(*arguments, sums, **weights, crew=crew))

        self._dense.reduce(2 * values.size, run, moments)
        return sum(moved)

    def label_once(self, centers: Centers, labels: Ints) -> None:
        """Label every row in place."""
        self.assign(centers, labels, None)

    def move(self, rows: Ints, to: Ints, labels: Ints, moments: Moments) -> None:
        """Move some rows to other clusters, in the labels and in the moments."""
        wide = self.wide_rows(rows)
        weights = self.weights.kernel_arguments(rows)
        kernels.move_rows(moments.sums, wide, labels[rows], to, **weights)
        labels[rows] = to

    def own_distances(self, centers: Centers, labels: Ints) -> Floats:
        """Squared distance D64 (n,) of every row to the center of its label."""
        values, out = np.ascontiguousarray(centers.values), np.empty(self.n)

        def run(rows: slice, block: Array, _: None, crew: Any) -> None:
            arguments = block, values, centers.origin, labels[rows], out[rows], crew
            kernels.own_distance_partial(*arguments)

        self._dense.reduce(2 * self.d, run)
        return out

    def own_cost(self, centers: Centers, labels: Ints) -> float:
        """Σ w·‖x − c‖² over the values of all rows, rounded once; without w if all are equal."""
        return exact_total(self.own_distances(centers, labels), self.weights.unless_equal())

    def distances(self, centers: Floats, out: Floats) -> None:
        """Set out (n, k) to the distances over the values of each row."""

        def run(rows: slice, block: Array, _: None, crew: Any) -> None:
            distance = np.empty((len(block), len(centers)))
            kernels.distances_partial(block, centers, distance)
            out[rows] = distance

        self._dense.reduce(4 * centers.size, run)

    def summarise(self, labels: Ints, moments: Moments | None, centers: Floats) -> PartialSummary:
        """Summaries about centers (k, d) relative to the grid's origin; None: by long sums."""
        if moments is not None:
            return summarise_partial(moments, self.grid.mark, centers)
        return self._long_summary(labels, centers)

    # --- rows ---

    def take_rows(self, rows: Ints) -> Floats:
        """Some rows (m, d) as doubles, NaN where a value is missing."""
        return np.asarray(self.rows[rows], dtype=np.float64)

    def wide_rows(self, rows: Ints) -> Floats:
        """Some rows (m, 2d) as the sums take them: finite, and equal if the rows are."""
        return wide_rows(as_kernel_type(self.rows[rows]), self.grid.wide.origin, self.grid.mark)

    def _long_summary(self, labels: Ints, centers: Floats) -> PartialSummary:
        """The same by long integers, for data or weights that no grid holds; slower."""
        n, k, weight = self.n, len(centers), self.weights.as_floats(self.n)
        mean, mass, square = centers.copy(), np.zeros(centers.shape), np.zeros((n, self.d))
        label = np.maximum(labels, 0)
        for t in range(self.d):
            column = self._dense.read_columns(np.array([t]))[0] - self.grid.origin[t]
            known = np.flatnonzero(~np.isnan(column))
            own, w, y = label[known], weight[known], column[known]
            mass[:, t] = exact_totals(w, own, k)
            total = exact_totals(y, own, k, w)
            np.divide(total, mass[:, t], out=mean[:, t], where=mass[:, t] > 0)
            with np.errstate(over="ignore"):
                square[known, t] = (y - mean[own, t]) ** 2
        sse = exact_totals(square.sum(axis=1), label, k, weight)
        gaps = np.where(mass > 0, mean - centers, 0.0)
        stats = ClusterStats(exact_totals(weight, label, k), mean, sse)
        pull = row_squares(np.sqrt(mass) * gaps)
        return PartialSummary(stats, mass, np.sqrt(row_squares(gaps)), pull)
