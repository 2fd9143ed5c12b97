"""The path over panels of rows with similar margins: cpp/kernels/panel_pass.hpp.

A panel of rows is compared with the groups of centers that may hold a nearer one, in the tiles of
a plain pass. Bounds are kept for panels, not for rows, so a pass costs hardly more than a plain one
at worst. The rows are sorted again when too many of those that are compared have bounds that hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Ints
from partita._kernels import kernels
from partita.centers import Centers
from partita.engine.paths.bounds_path import bounds_plan
from partita.engine.paths.center_groups import CenterGroups
from partita.engine.paths.path import (
    MAX_MOVED_SHARE,
    MAX_PATIENCE_PASSES,
    Path,
    PathKind,
    PathPass,
    PathPlan,
    PathStart,
    settling_passes,
)
from partita.moments import Moments
from partita.source.blocks import crew_slices, work_in_tiles
from partita.source.pass_price import passes_before_bytes, plain_cost, recheck_cost
from partita.source.protocol import PrunableRows
from partita.source.scoring import packed_bytes

SORTING_NS = 40.0, 0.7  # of a row: once, and per feature
REGRET_SHARE = 0.2  # of a pass over groups of centers: what a better order is taken to save
MIN_GROUPED_WORK = 3000  # centers × (features + 16): with less, one bound for all centers is better
MAX_OPEN_SHARE = 0.8  # of rows: sorting helps if fewer are open
MAX_FEATURES = 256  # beyond it, bounds of each row are better
MIN_ROWS_PER_CENTER = 40  # so that most panels have rows of one label
MIN_PANEL_ROWS = 8  # of all instruction sets
PLAIN_COST_SHARE = 0.8  # of a plain pass: it is left only if many rows are compared again
ROW_BYTES = 32  # beside its packed values: order, label and bound, twice while rows are sorted; key


class PanelsPath:
    """Passes over packed rows, sorted by label and margin once that pays."""

    name, note = "panels", ""

    def __init__(self, source: PrunableRows, labels: Ints) -> None:
        self._source, self.labels = source, labels
        self._sorted: Any = None
        self._groups: CenterGroups | None = None  # None: all centers are one
        self._is_sorted = False
        self._is_fresh = True  # no margin is known
        self._regret = 0.0  # nanoseconds that a better order would have saved
        self._plain_passes, self._patience = 0, 1  # to come, before margins are tried again

    def assign(self, centers: Centers, sums: Moments | None) -> PathPass:
        source = self._source
        n, k, d, crew = source.n, len(centers.values), source.d, source.workers.crew
        book = None if self._sorted is None else self._book(centers)
        if book is None or not self._sorted.fit(book):
            book = self._pack(centers)
        elif self._regret > sorting_cost(n, d):
            kernels.sort_panels(book, self._sorted, source.kernel_rows, crew)
            self._is_sorted, self._regret = True, 0.0
        cost = plain_cost(n, k, d)
        if self._plain_passes > 0:
            moved, rechecked = self._scan_all(book, sums)
            self._plain_passes -= moved < MAX_MOVED_SHARE * n
            if self._plain_passes == 0:
                self._sorted.relabel(self.labels)
            return self._done(moved, 1.0, cost, recheck_cost(rechecked, k, d))
        moved, rechecked, pairs, open_pairs = self._scan(book, sums)
        compared, open_share = min(1.0, pairs / (n * k)), open_pairs / (n * k)
        if self._groups is not None or open_share < MAX_OPEN_SHARE:
            in_vain = max(0.0, compared - 1.2 * open_share)
            self._regret += cost * (REGRET_SHARE * compared if self._groups else in_vain)
            self._patience = 1
        elif not self._is_sorted and not self._is_fresh:
            self._plain_passes = self._patience
            self._patience = min(2 * self._patience, MAX_PATIENCE_PASSES)
        self._is_fresh = self._plain_passes > 0
        return self._done(moved, compared, cost, recheck_cost(rechecked, k, d))

    @staticmethod
    def _done(moved: int, compared: float, plain: float, recheck: float) -> PathPass:
        cost = PLAIN_COST_SHARE * compared * plain + recheck
        return PathPass(moved, compared, row_cost=cost, recheck_cost=recheck)

    def _book(self, centers: Centers) -> Any:
        groups, crew = self._groups, self._source.workers.crew
        members, sizes = (None, None) if groups is None else (groups.members, groups.sizes)
        values = np.ascontiguousarray(centers.values)
        return kernels.Codebook32(
            values, centers.origin, members, sizes, like=self._sorted, crew=crew
        )

    def _pack(self, centers: Centers) -> Any:
        """Pack the rows for centers like these; return the book of these."""
        rows, crew = self._source.kernel_rows, self._source.workers.crew
        self._sorted = None  # its memory is free for the next
        if is_grouped(len(centers.values), self._source.d):  # one tile each: it is skipped whole
            self._groups = CenterGroups.in_tiles(centers.values, kernels.centers_per_tile())
        book = self._book(centers)
        self._sorted = kernels.pack_panels(book, rows, self.labels, crew)
        grouped = self._groups is not None
        self._is_sorted, self._regret = grouped, math.inf if grouped else 0.0
        self._is_fresh, self._plain_passes = True, int(not grouped)
        return book

    def _slices(self) -> Iterator[tuple[slice, Any]]:
        """Rows of one call after the other, so that Ctrl-C is handled, and the crew for them."""
        source = self._source
        return crew_slices(source.workers, source.n, work_in_tiles(self._sorted.k, source.d))

    def _scan(self, book: Any, sums: Moments | None) -> list[int]:
        """Make a pass; return the counts of `kernels.assign_panels`."""
        source, panels = self._source, self._sorted
        panels.follow(book)
        totals = None if sums is None else sums.sums
        weights = {} if sums is None else source.weights.kernel_arguments(slice(0, source.n))
        calls = [
            kernels.assign_panels(
                book, panels, source.kernel_rows, self.labels, rows.start // panels.width,
                -(-rows.stop // panels.width), totals, **weights, crew=crew,
            )
            for rows, crew in self._slices()
        ]  # fmt: skip
        return [sum(counts) for counts in zip(*calls, strict=True)]

    def _scan_all(self, book: Any, sums: Moments | None) -> tuple[int, int]:
        """Make a plain pass: the rows are still packed in their order."""
        source, totals = self._source, None if sums is None else sums.sums
        calls = []
        for rows, crew in self._slices():
            weights = {} if sums is None else source.weights.kernel_arguments(rows)
            calls.append(
                kernels.assign(
                    book, source.kernel_rows[rows], self.labels[rows], totals, **weights, crew=crew,
                    kept=self._sorted, at=rows.start,
                )
            )  # fmt: skip
        moved, rechecked = (sum(counts) for counts in zip(*calls, strict=True))
        return moved, rechecked

    def forget(self, rows: Ints) -> None:
        if self._sorted is not None:
            self._sorted.relabel(self.labels)

    def relabel(self, labels: Ints) -> bool:
        return False  # bounds are about the labels they were made for

    def grow(self, source: PrunableRows) -> bool:
        return False  # the scheduler makes another


def is_grouped(k: int, d: int) -> bool:
    """Return whether panels have a bound for each group of centers."""
    return k * (d + 16) >= MIN_GROUPED_WORK


def sorting_cost(n: int, d: int) -> float:
    """Cost of sorting and packing all rows, in nanoseconds of one core."""
    return n * (SORTING_NS[0] + SORTING_NS[1] * d)


def panels_memory(source: PrunableRows, k: int) -> float:
    """Bytes of all rows packed, of their order and bounds."""
    bounds = ROW_BYTES * source.n
    if is_grouped(k, source.d):  # twice while rows are sorted
        groups = -(-k // kernels.centers_per_tile())
        bounds += 8 * source.n // MIN_PANEL_ROWS * margin_stride(groups)
    return packed_bytes(source.n, source.d) + bounds + source.copy_bytes


def margin_stride(groups: int) -> int:
    """Length of a row of bounds for groups, padded as in cpp/kernels/views.hpp."""
    return -(-groups // 16) * 16


def _start(start: PathStart) -> Path | PathPlan:
    if start.source.scores_in_double and not start.plan.forced:
        return bounds_plan(start.k, "float32 scores leave many rows to float64")
    return PanelsPath(start.source, start.labels)


def _suits(source: PrunableRows, k: int) -> str | None:
    n, d = source.n, source.d
    if source.copy_bytes or d > MAX_FEATURES or n < MIN_ROWS_PER_CENTER * k:
        return None
    if is_grouped(k, d) and passes_before_bytes(n, k, d, source.row_bytes) is not None:
        return None  # all pairs cost so little in bytes that bounds must save more
    return f"{source.d} features, {k} centers: rows with similar margins share a bound"


def _wait(source: PrunableRows, k: int) -> int:
    # one pass at least: after two, many fits of well separated groups are over
    return 1 if is_grouped(k, source.d) else max(1, settling_passes(source, k))


PANELS = PathKind(
    "panels",
    suits=_suits,
    memory=panels_memory,
    start=_start,
    needs_trial=False,
    wait=_wait,
    instead=bounds_plan,  # whose distances are in double: float32 may leave most rows open
)
