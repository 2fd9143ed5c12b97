"""The path over panels of rows with similar margins: cpp/kernels/panel_pass.hpp.

A panel of rows is compared with all centers, as in a plain pass, or skipped as a whole. Nothing is
kept but one bound for each panel, so a pass costs at most as much as a plain one. The rows are
sorted again when too many panels are scanned for the rows whose bounds are open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Ints
from partita._kernels import kernels
from partita.centers import Centers
from partita.engine.paths.path import PathKind, PathPass, PathStart
from partita.moments import Moments
from partita.source.blocks import crew_slices, work_in_tiles
from partita.source.pass_price import plain_cost, recheck_cost
from partita.source.protocol import PrunableRows
from partita.source.scoring import packed_bytes

SORTING_NS = 60.0, 2.0  # of a row: once, and per feature
MAX_OPEN_SHARE = 0.8  # of rows: sorting helps if fewer are open
ROW_BYTES = 16  # of a row beside its packed values: order, label, bound; and while it is sorted


class PanelsPath:
    """Passes over packed rows, sorted by label and margin."""

    name, note = "panels", ""

    def __init__(self, source: PrunableRows, labels: Ints) -> None:
        self._source, self.labels = source, labels
        self._sorted: Any = None
        self._regret = 0.0  # nanoseconds that a better order would have saved

    def assign(self, centers: Centers, sums: Moments | None) -> PathPass:
        source, values = self._source, np.ascontiguousarray(centers.values)
        n, k, d, crew = source.n, len(values), source.d, source.workers.crew
        book = kernels.Codebook32(values, centers.origin, like=self._sorted, crew=crew)
        stale = self._sorted is None or not self._sorted.fit(book)
        if stale or self._regret > sorting_cost(n, d):
            before = None if stale else self._sorted
            self._sorted = kernels.sort_rows(
                book, source.kernel_rows, self.labels, before, crew=crew
            )
            self._regret = 0.0
        moved, rechecked, scanned, is_open = self._scan(book, k, sums)
        scanned_share, open_share = min(1.0, scanned / self._sorted.panels), is_open / n
        cost = plain_cost(n, k, d)
        if open_share < MAX_OPEN_SHARE:
            self._regret += cost * max(0.0, scanned_share - 1.2 * open_share)
        row_cost = scanned_share * cost + recheck_cost(rechecked, k, d)
        return PathPass(moved, scanned_share, row_cost=row_cost)

    def _scan(self, book: Any, k: int, sums: Moments | None) -> list[int]:
        source = self._source
        weights = {} if sums is None else source.weights.kernel_arguments(slice(0, source.n))
        _, crew = next(crew_slices(source.workers, source.n, work_in_tiles(k, source.d)))
        counts: list[int] = kernels.assign_panels(
            book, self._sorted, source.kernel_rows, self.labels,
            None if sums is None else sums.sums, **weights, crew=crew,
        )  # fmt: skip
        return counts

    def forget(self, rows: Ints) -> None:
        if self._sorted is not None:
            self._sorted.relabel(self.labels)

    def relabel(self, labels: Ints) -> bool:
        return False  # bounds are about the labels they were made for

    def grow(self, source: PrunableRows) -> bool:
        return False  # the scheduler makes another


def sorting_cost(n: int, d: int) -> float:
    """Cost of sorting and packing all rows, in nanoseconds of one core."""
    return n * (SORTING_NS[0] + SORTING_NS[1] * d)


def panels_memory(source: PrunableRows) -> float:
    """Bytes of all rows packed, of their order and bounds."""
    return packed_bytes(source.n, source.d) + ROW_BYTES * source.n + source.copy_bytes


def _start(start: PathStart) -> PanelsPath:
    return PanelsPath(start.source, start.labels)


PANELS = PathKind(
    "panels",
    suits=lambda source, k: f"{source.d} features, {k} centers" if not source.copy_bytes else None,
    memory=lambda source, k: panels_memory(source),
    start=_start,
    needs_trial=False,
)
