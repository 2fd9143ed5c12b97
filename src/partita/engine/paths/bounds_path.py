"""The paths by bounds: rows whose bounds prove their label are not compared with other centers.

hamerly   two bounds for each row; an open row is compared with every center
yinyang   bounds for up to 32 groups of centers; an open row is compared with open groups
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from partita._common.array_types import Array, Ints
from partita._kernels import kernels
from partita._kernels.pruned_passes import UNBOUNDED, bounds_stride
from partita.centers import Centers
from partita.engine.paths.bytes_path import byte_memory, stays_narrow
from partita.engine.paths.center_groups import CENTERS_PER_TILE, MAX_GROUPS, CenterGroups
from partita.engine.paths.path import (
    MAX_SETTLING_PASSES,
    BoundScales,
    Path,
    PathCache,
    PathKind,
    PathPass,
    PathPlan,
    PathStart,
    byte_copy,
    with_more_rows,
)
from partita.engine.paths.prefix_filter import PrefixFilter
from partita.engine.paths.price import (
    PrunedCounts,
    bookkeeping_cost,
    bounded_cost,
    byte_bounded_cost,
)
from partita.exact_weights import Weights
from partita.moments import Moments
from partita.source.blocks import crew_slices, work_in_tiles
from partita.source.protocol import PrunableRows, Source, batch_of

MIN_WORK_PER_ROW = 1 << 9  # multiply-adds of a row in a pruned pass, about
MAX_CENTER_DISTANCE_FEATURES = 64  # up to which distances between centers prune
QUANTUM_SAMPLE_ROWS = 512
MAX_SAMPLE_VALUES = 1 << 18  # of a sample, as it is copied
QUANTA_PER_TYPICAL_DISTANCE = 1024
FAR_QUANTILE, MAX_FAR_QUANTA = 0.97, 8192  # so many rows are no farther than so many quanta


class RowBounds:
    """Upper bounds to the own center and lower bounds to each group of others.

    Bounds are not rewritten while centers move: the motion of the centers is kept instead. With
    `center_distances` the distances between centers prove labels too.
    """

    def __init__(
        self,
        n: int,
        centers: Centers,
        groups: CenterGroups,
        quantum: float,
        center_distances: bool,
        prefix: PrefixFilter | None = None,
        copy: Any = None,
    ) -> None:
        self.groups, self.quantum, self.prefix = groups, quantum, prefix
        self.copy = copy  # the rows as bytes, if these are what open rows are compared in
        self.fresh = True  # no pass yet: the bounds hold nothing
        self.upper: Ints = np.full(n, UNBOUNDED, np.int32)
        self.other: Ints = np.zeros(n, np.uint16)
        self.lower: Ints = np.zeros((n, bounds_stride(len(groups.sizes))), np.uint16)
        self.lower[:, len(groups.sizes) :] = 65535
        blur = 0.0 if prefix is None else prefix.blur
        values = np.ascontiguousarray(centers.values)
        self._motion: Any = kernels.Motion(
            groups.members, groups.sizes, values, centers.origin, quantum, blur, center_distances
        )

    def follow(self, centers: Centers, labels: Ints, crew: Any = None) -> Any:
        """Add the motion of the centers to their present places; return it for the kernel."""
        self._motion.follow(
            np.ascontiguousarray(centers.values), centers.origin, labels, self.upper, self.other,
            self.lower, crew,
        )  # fmt: skip
        return self._motion

    def grow(self, n: int) -> None:
        """Make room for more rows, without bounds."""
        n_before = len(self.upper)
        self.upper = np.resize(self.upper, n)
        self.other = np.resize(self.other, n)
        self.lower = np.resize(self.lower, (n, self.lower.shape[1]))
        self.lower[n_before:, len(self.groups.sizes) :] = 65535
        self.forget(np.arange(n_before, n))

    def forget(self, rows: Ints) -> None:
        """Drop the bounds of some rows."""
        self.upper[rows] = UNBOUNDED
        self.other[rows] = 0
        self.lower[rows, : len(self.groups.sizes)] = 0


class BoundsPath:
    """Passes that keep bounds for every row, optionally with a filter by a prefix."""

    def __init__(self, source: PrunableRows, labels: Ints, bounds: RowBounds, name: str) -> None:
        self._source, self.labels, self.bounds, self.name = source, labels, bounds, name
        self.note = ""
        if bounds.prefix is not None:
            self.note = f"prefix: {bounds.prefix.length} of {source.d} rotated features"
        elif bounds.copy is not None:
            self.note = f"{name}: open rows are compared in bytes"
        self._n_labelled = source.n  # rows after these joined since the last pass

    def assign(self, centers: Centers, sums: Moments | None) -> PathPass:
        source, bounds = self._source, self.bounds
        first, joined = bounds.fresh, self._label_newcomers(centers, sums)
        counts = self._scan(centers, sums)
        n, k, d = source.n, len(centers.values), source.d
        scales = BoundScales(self.name, bounds.groups, bounds.quantum)
        done = PathPass(counts.moved + joined, counts.scanned / (n * k), scales=scales)
        if first:  # it costs more than those that follow
            return done
        scanned_features = d if bounds.prefix is None else bounds.prefix.length + 1
        if bounds.copy is None:
            row_cost = bounded_cost(counts, n, d, scanned_features)
        else:
            row_cost = byte_bounded_cost(counts, n, d)
        fixed_cost = bookkeeping_cost(k, d, source.workers.n)
        return replace(done, row_cost=row_cost, fixed_cost=fixed_cost)

    def _label_newcomers(self, centers: Centers, sums: Moments | None) -> int:
        """Label the rows that joined by a plain pass, as bounds are about a label."""
        rows = np.arange(self._n_labelled, self._source.n)
        if len(rows):
            batch = batch_of(self._source, rows)
            batch.assign(centers, self.labels[self._n_labelled :], sums)
            self._n_labelled = self._source.n
        return len(rows)

    def _scan(self, centers: Centers, sums: Moments | None) -> PrunedCounts:
        source, bounds = self._source, self.bounds
        crew, k, d = source.workers.crew, len(centers.values), source.d
        motion = bounds.follow(centers, self.labels, crew)
        scan = self._scanner(centers)
        all_rows, totals = self._rows(), None if sums is None else sums.sums
        calls: list[list[int]] = []
        work = max(
            MIN_WORK_PER_ROW, work_in_tiles(k, d if bounds.prefix is None else bounds.prefix.length)
        )
        for rows, crew in crew_slices(source.workers, source.n, work):
            weights = {} if sums is None else source.weights.kernel_arguments(rows)
            calls.append(
                scan(
                    rows, all_rows[rows], self.labels[rows], bounds.upper[rows], bounds.other[rows],
                    bounds.lower[rows], motion, bounds.fresh, totals, **weights, crew=crew,
                )
            )  # fmt: skip
        bounds.fresh = False
        return PrunedCounts.sum_of(calls)

    def _rows(self) -> Array:
        """All rows: where they are, if bytes or halves are only read for their candidates."""
        narrow = self._source.narrow
        return self._source.kernel_rows if self.bounds.copy is None or narrow is None else narrow

    def _scanner(self, centers: Centers) -> Callable[..., list[int]]:
        """Return the kernel for these centers; its first argument is the slice of the rows."""
        bounds, groups, crew = self.bounds, self.bounds.groups, self._source.workers.crew
        values, origin = np.ascontiguousarray(centers.values), centers.origin
        members, copy, prefix = (groups.members, groups.sizes), bounds.copy, bounds.prefix
        if copy is not None:
            kernels.turn_codes(copy, by_row=True, crew=crew)
            byte_book = kernels.ByteBook(copy, values, origin, *members, crew=crew)
            return lambda rows, block, *rest, **more: kernels.assign_byte_bounded(
                copy, byte_book, block, rows.start, *rest, **more
            )
        if prefix is None:
            book = kernels.Codebook32(values, origin, *members, crew=crew)
            return lambda rows, *rest, **more: kernels.assign_bounded(book, None, *rest, **more)
        target, short = kernels.ExactCenters(values, origin), prefix.centers(centers)
        book = kernels.Codebook32(short, np.zeros(short.shape[1]), *members, crew=crew)
        return lambda rows, *rest, **more: kernels.assign_bounded(
            book, target, *rest, **more, filter_rows=prefix.rows[rows]
        )

    def forget(self, rows: Ints) -> None:
        self.bounds.forget(rows)

    def relabel(self, labels: Ints) -> bool:
        return False  # bounds are about the labels they were made for

    def grow(self, source: PrunableRows) -> bool:
        bounds = self.bounds
        if bounds.prefix is not None or bounds.copy is not None:  # of the present rows
            return False
        self.labels, self._source = with_more_rows(self.labels, source.n), source
        self.bounds.grow(source.n)
        return True


# --- how bounds start ---

NO_QUANTUM = PathPlan("plain", "no quantum fits the distances and the extent of the data")


def start_bounds(start: PathStart, prefix: PrefixFilter | None = None) -> Path | PathPlan:
    """Make bounds for all rows, or for those of a trial."""
    known = _known_scales(start)
    quantum = quantum_for(start) if known is None else known.quantum
    if quantum is None:
        return NO_QUANTUM
    source, labels, rows = start.source, start.labels, start.rows
    groups = _groups(start) if known is None else known.groups
    d = source.d
    use_center_distances = d <= MAX_CENTER_DISTANCE_FEATURES and start.k * start.k <= 2 * source.n
    if rows is not None:
        source = source.subset(rows, Weights.of(None, len(rows)), source.survey())
        labels = labels[rows]
    copy = None
    if prefix is None and (start.has_bytes or stays_narrow(start.source, start.k)):
        cache = PathCache() if rows is not None else start.cache  # a trial has rows of its own
        copy = byte_copy(cache, source.round_to_bytes)
    bounds = RowBounds(source.n, start.centers, groups, quantum, use_center_distances, prefix, copy)
    return BoundsPath(source, labels, bounds, start.plan.path)


def _known_scales(start: PathStart) -> BoundScales | None:
    """Return the scales of a trial of this path, if they still serve."""
    scales = start.scales
    if scales is None or scales.path != start.plan.path:
        return None
    return scales if len(scales.groups.members) == start.k else None


def _groups(start: PathStart) -> CenterGroups:
    origin, shift = start.source.survey().grid.origin, None
    centers = start.centers.about(origin)
    if start.before is not None and len(start.before.values) == start.k:
        gap = centers - start.before.about(origin)
        shift = np.sqrt(np.einsum("kd,kd->k", gap, gap))
    most = 1 if start.plan.path == "hamerly" else MAX_GROUPS
    return CenterGroups.around(centers, most, shift)


def quantum_for(start: PathStart) -> float | None:
    """A small share of a typical distance; None unless it is above what rounding changes."""
    source, rows = start.source, strided_rows(start.source, QUANTUM_SAMPLE_ROWS)
    sample = source.subset(rows, Weights.of(None, len(rows)))
    squares = sample.own_distances(start.centers, start.labels[rows])
    # the median, as a few far rows dominate the mean; unless most rows lie on their centers
    typical = math.sqrt(max(float(np.median(squares)), float(squares.mean()) * 2.0**-20))
    survey = source.survey()
    peaks = (np.abs(values).max() for values in (survey.low, survey.high, start.centers.plain))
    far = math.sqrt(float(np.sort(squares)[int(FAR_QUANTILE * len(squares))]))
    quantum = max(typical / QUANTA_PER_TYPICAL_DISTANCE, far / MAX_FAR_QUANTA)
    reach = math.sqrt(source.d) * float(max(peaks))
    # distances between centers and prefixes are float32, whose range this keeps clear of
    return quantum if max(2.0**-44 * reach, 1e-30) < quantum and reach < 1e30 else None


def strided_rows(source: Source, most: int) -> Ints:
    """Up to `most` evenly spaced rows, fewer if they are long."""
    most = min(most, max(64, MAX_SAMPLE_VALUES // source.d))
    return np.arange(0, source.n, -(-source.n // most))


# --- when bounds are planned ---


def bounds_plan(k: int, why: str) -> PathPlan:
    """Plan bounds: in groups, if there are centers for two."""
    if k < 2 * CENTERS_PER_TILE:
        return PathPlan("hamerly", f"{why}, few centers")
    return PathPlan("yinyang", f"{why}, {k} centers in groups")


def bounds_memory(source: PrunableRows, k: int, bytes_per_row: int) -> float:
    """Bytes for bounds of `bytes_per_row`, and for everything else that the passes need."""
    # distances between centers, temporarily, with the rows of those that are measured
    between = 16 * k * k + 16 * k * source.d if k * k <= 2 * source.n else 0
    copy = byte_memory(source) if stays_narrow(source, k) else source.copy_bytes
    return source.n * bytes_per_row + between + copy


def grouped_bytes(k: int) -> int:
    """Bytes of a row of bounds in groups."""
    return 6 + 2 * bounds_stride(min(MAX_GROUPS, max(1, k // CENTERS_PER_TILE)))


def _suits(path: str, source: PrunableRows, k: int) -> str | None:
    plan = bounds_plan(k, f"{source.d} features")
    if plan.path != path:
        return None
    if path == "hamerly" and source.copy_bytes and not stays_narrow(source, k):
        return None
    return plan.why


HAMERLY = PathKind(
    "hamerly",
    suits=lambda source, k: _suits("hamerly", source, k),
    memory=lambda source, k: bounds_memory(source, k, 8),
    start=start_bounds,
    wait=lambda source, k: MAX_SETTLING_PASSES,  # it saves little, so centers must hardly move
)
YINYANG = PathKind(
    "yinyang",
    suits=lambda source, k: _suits("yinyang", source, k),
    memory=lambda source, k: bounds_memory(source, k, grouped_bytes(k)),
    start=start_bounds,
)
