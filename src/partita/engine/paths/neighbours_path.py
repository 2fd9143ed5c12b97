"""The path over panels of rows of one label: cpp/kernels/neighbour_pass.hpp.

A panel has a bound for every center, and is compared with those centers only whose bounds do not
hold. Where rows were just sorted, distances between centers take the place of bounds from earlier
passes, so the path begins after the first pass or the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Ints
from partita._kernels import kernels
from partita.centers import Centers
from partita.engine.paths.bounds_path import bounds_plan
from partita.engine.paths.path import Path, PathKind, PathPass, PathPlan, PathStart
from partita.moments import Moments
from partita.source.blocks import crew_slices, work_in_tiles
from partita.source.pass_price import pair_cost, plain_cost, recheck_cost
from partita.source.protocol import PrunableRows
from partita.source.scoring import packed_bytes

MIN_CENTERS = 64  # with fewer, most are near, and bounds for all of them cost less
MAX_FEATURES = 48  # beyond, rows are about as far from each other as from their center
MIN_ROWS_PER_CENTER = 12  # so that panels are at least half full
MAX_CENTER_PAIRS_PER_ROW = 50  # distances between centers, which passes after a sort compute
MAX_UNSORTED_SHARE = 0.12  # of the rows: if more moved since a sort, all are sorted again
MIN_PANEL_ROWS, PANEL_ROWS = 8, 32  # of all instruction sets
SORTING_NS = 40.0, 1.5  # of a row: once, and per feature
ROW_NS = 8.0  # of a row that is compared, besides its pairs
NEAR_PAIR_SHARE = 1.5  # of the price of a pair in a plain pass
ROW_BYTES = 24  # beside its packed values: order and distance, and the keys of a sort
PANEL_SHARE = 1.125  # of the panels that the rows fill
CENTER_PANELS = 1.25  # panels of each label that need not be full


class NeighboursPath:
    """Passes over packed rows, sorted by label and distance to the center."""

    name, note = "neighbours", ""

    def __init__(self, source: PrunableRows, labels: Ints) -> None:
        self._source, self.labels = source, labels
        self._panels: Any = None
        self._is_sorted = False
        self._moved = 0  # rows, since they were sorted

    def assign(self, centers: Centers, sums: Moments | None) -> PathPass:
        source = self._source
        n, k, d = source.n, len(centers.values), source.d
        book, is_fresh = self._prepare(centers)
        self._panels.follow(book, is_fresh, source.workers.crew)
        moved, rechecked, pairs, rows = self._scan(book, sums)
        self._moved += moved
        self._is_sorted = self._moved <= MAX_UNSORTED_SHARE * n and self._panels.settle(self.labels)
        near_pairs = pairs + (k * k if is_fresh else 0)
        cost = rows * ROW_NS + near_pairs * NEAR_PAIR_SHARE * pair_cost(d)
        recheck, compared = recheck_cost(rechecked, k, d), min(1.0, pairs / (n * k))
        return PathPass(moved, compared, row_cost=cost + recheck, recheck_cost=recheck)

    def _prepare(self, centers: Centers) -> tuple[Any, bool]:
        """Sort the rows if they are not; return the book, and whether the rows were sorted."""
        source, crew = self._source, self._source.workers.crew
        values = np.ascontiguousarray(centers.values)
        book = kernels.Codebook32(values, centers.origin, like=self._panels, crew=crew)
        if self._panels is None or not self._panels.fit(book):
            self._panels = None  # its memory is free for the next
            book = kernels.Codebook32(values, centers.origin, crew=crew)
            square = source.own_distances(centers, self.labels)
            self._panels = kernels.pack_neighbours(
                book, source.kernel_rows, self.labels, square, crew
            )
        elif self._is_sorted:
            return book, False
        else:
            kernels.sort_neighbours(book, self._panels, source.kernel_rows, self.labels, crew)
        self._is_sorted, self._moved = True, 0
        return book, True

    def _slices(self) -> Iterator[tuple[slice, Any]]:
        """Rows of one call after the other, so that Ctrl-C is handled, and the crew for them."""
        source, panels = self._source, self._panels
        work = work_in_tiles(panels.k, source.d)
        return crew_slices(source.workers, panels.panels * panels.width, work)

    def _scan(self, book: Any, sums: Moments | None) -> list[int]:
        """Make a pass; return the counts of `kernels.assign_neighbours`."""
        source, panels = self._source, self._panels
        totals = None if sums is None else sums.sums
        weights = {} if sums is None else source.weights.kernel_arguments(slice(0, source.n))
        calls = [
            kernels.assign_neighbours(
                book, panels, source.kernel_rows, self.labels, rows.start // panels.width,
                rows.stop // panels.width, totals, **weights, crew=crew,
            )
            for rows, crew in self._slices()
        ]  # fmt: skip
        return [sum(counts) for counts in zip(*calls, strict=True)]

    def forget(self, rows: Ints) -> None:
        if self._panels is not None and self._is_sorted:
            self._is_sorted = self._panels.relabel(self.labels)

    def relabel(self, labels: Ints) -> bool:
        return False  # panels are of the labels they were made for

    def grow(self, source: PrunableRows) -> bool:
        return False  # the scheduler makes another


def sorting_cost(n: int, d: int) -> float:
    """Cost of sorting and packing all rows, in nanoseconds of one core."""
    return n * (SORTING_NS[0] + SORTING_NS[1] * d)


def _memory(source: PrunableRows, k: int) -> float:
    """Bytes of all rows packed, of their order, and of the distances between centers."""
    places = PANEL_SHARE * source.n + PANEL_ROWS * (CENTER_PANELS * k + 2)
    bounds = 4 * (k + PANEL_ROWS) * (places / MIN_PANEL_ROWS + k)  # and distances of centers
    return (packed_bytes(1, source.d) + ROW_BYTES) * places + bounds + source.copy_bytes


def _suits(source: PrunableRows, k: int) -> str | None:
    n, d = source.n, source.d
    if source.copy_bytes or d > MAX_FEATURES or k < MIN_CENTERS:
        return None
    if n < MIN_ROWS_PER_CENTER * k or k * k > MAX_CENTER_PAIRS_PER_ROW * n:
        return None
    return f"{d} features, {k} centers: rows are compared with those near their own"


def _start(start: PathStart) -> Path | PathPlan:
    if start.source.scores_in_double and not start.plan.forced:
        return bounds_plan(start.k, "float32 scores leave many rows to float64")
    return NeighboursPath(start.source, start.labels)


def _wait(source: PrunableRows, k: int) -> int:
    # while many rows move, they are sorted nearly every time: plain passes first, until they have
    # cost twice as much as that
    return int(2 * sorting_cost(source.n, source.d) / plain_cost(source.n, k, source.d))


NEIGHBOURS = PathKind(
    "neighbours",
    suits=_suits,
    memory=_memory,
    start=_start,
    needs_trial=False,
    wait=_wait,
    instead=bounds_plan,  # whose distances are in double: float32 may leave most rows open
)
