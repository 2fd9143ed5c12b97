"""Passes over panels of rows with similar margins, in NumPy.

The bounds are those of panel_pass.hpp, in double, so that a bound which loses a label loses it
here, too.
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.assignment import Codebook, d64
from partita._kernels.crew import Crew
from partita._kernels.exact_sums import Sums, move_rows
from partita._kernels.twofold import quiet

PANEL_ROWS = 16


class SortedRows:
    """n rows in the order of their margins; `until` is the travel up to which each keeps its label.

    The travel of a label is what its center moved plus what the farthest other one did, added over
    all passes.
    """

    def __init__(self, k: int, order: Ints, labels: Ints) -> None:
        self.k, self.order = k, order
        self.own = labels[order]
        self.until: Floats = np.full(len(order), -np.inf)
        self.panels, self.width = -(-len(order) // PANEL_ROWS), PANEL_ROWS
        self.travel: Floats = np.zeros(k)
        self._before: Floats | None = None  # centers of the last pass, in the data's coordinates

    def fit(self, book: Codebook) -> bool:
        """Return whether the rows were packed for books like this one."""
        return self.k == len(book.centers)

    def relabel(self, labels: Ints) -> None:
        """Accept the labels of all rows, and drop the bounds of those that differ."""
        now = labels[self.order]
        self.until[now != self.own] = -np.inf
        self.own = now

    def follow(self, book: Codebook) -> None:
        """Add the way of the centers since the last pass."""
        now, before = book.centers + book.origin, self._before
        self._before = now
        if before is None:
            return
        blur = 2.0**-50 * (np.abs(now) + np.abs(before) + 2 * np.abs(book.origin)).sum(axis=1)
        moved = np.sqrt(((now - before) ** 2).sum(axis=1)) * (1 + 1e-12) + blur
        others = np.where(np.eye(self.k, dtype=bool), 0.0, moved).max(axis=1)
        self.travel = self.travel + (moved + others) * (1 + 1e-12)


def pack_panels(book: Codebook, rows: Floats, labels: Ints, crew: Crew | None = None) -> SortedRows:
    """Pack rows for passes over panels, as they come."""
    return SortedRows(len(book.centers), np.arange(len(rows)), labels)


def sort_panels(book: Codebook, panels: SortedRows, rows: Floats, crew: Crew | None = None) -> None:
    """Sort packed rows by label and margin, in place."""
    order = np.lexsort((panels.until - panels.travel[panels.own], panels.own))
    panels.order, panels.own = panels.order[order], panels.own[order]
    panels.until = panels.until[order]


@quiet
def assign_panels(
    book: Codebook,
    panels: SortedRows,
    rows: Floats,
    labels: Ints,
    first: int,
    last: int,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> list[int]:
    """Label the rows of some panels and move changed rows in the sums; skip where bounds hold.

    `panels.follow(book)` comes first. Return the counts: rows moved, rows rechecked, panels
    compared with all centers, open rows in them.
    """
    before, scale = labels.copy(), book.scale
    travel, error = panels.travel, 8 * (rows.shape[1] + 8) * 2.0**-52
    blur = error * float(np.sqrt(book.origin @ book.origin))
    is_open = ~(travel[panels.own] + blur < panels.until)
    scanned = np.flatnonzero(np.logical_or.reduceat(is_open, np.arange(0, len(rows), PANEL_ROWS)))
    scanned = scanned[(first <= scanned) & (scanned < last)]
    places = (scanned[:, None] * PANEL_ROWS + np.arange(PANEL_ROWS)).ravel()
    places = places[places < len(rows)]
    which = panels.order[places]
    square = d64(rows[which], book.centers, book.origin, scale)
    labels[which] = square.argmin(axis=1)
    panels.own[places] = labels[which]
    two = np.sqrt(np.partition(square, min(1, len(book.centers) - 1), axis=1)) / scale
    size = np.sqrt((np.asarray(rows[which], dtype=np.float64) ** 2).sum(axis=1))
    far = two[:, 1] if len(book.centers) > 1 else np.full(len(two), np.inf)
    margin = far * (1 - error) - two[:, 0] * (1 + error) - error * size
    panels.until[places] = np.where(margin > 0, travel[labels[which]] + margin, -np.inf)
    if sums is not None:
        move_rows(sums, rows, before, labels, times, weight)
    return [int((before != labels).sum()), 0, len(scanned), int(is_open[places].sum())]
