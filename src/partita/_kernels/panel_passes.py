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
    """n rows by label and margin, in panels, with bounds for panels and groups of centers.

    `margin` (n, groups) is what is left of what the nearest center of a row was nearer than any
    other of a group; when a panel is compared, its rows get the least of their margins.
    """

    def __init__(self, book: Codebook, order: Ints, labels: Ints) -> None:
        self.k, self.order, self.own = len(book.centers), order, labels[order]
        self.group = _group_of(book)
        self.panels, self.width = -(-len(order) // PANEL_ROWS), PANEL_ROWS
        self.margin: Floats = np.full((len(order), self.group.max() + 1), -np.inf)
        self._before: Floats | None = None  # centers of the last pass, in the data's coordinates

    def fit(self, book: Codebook) -> bool:
        """Return whether the rows were packed for books like this one."""
        return self.k == len(book.centers) and bool((_group_of(book) == self.group).all())

    def relabel(self, labels: Ints) -> None:
        """Accept the labels of all rows, and drop the bounds of those that differ."""
        now = labels[self.order]
        self.margin[now != self.own] = -np.inf
        self.own = now

    def follow(self, book: Codebook) -> None:
        """Take the way of the centers since the last pass from the margins."""
        now, before = book.centers + book.origin, self._before
        self._before = now
        if before is None:
            return
        blur = 2.0**-50 * (np.abs(now) + np.abs(before) + 2 * np.abs(book.origin)).sum(axis=1)
        moved = np.sqrt(((now - before) ** 2).sum(axis=1)) * (1 + 1e-12) + blur
        farthest = np.zeros(self.margin.shape[1])
        np.maximum.at(farthest, self.group, moved)
        self.margin -= (moved[self.own, None] + farthest) * (1 + 1e-12)


def _group_of(book: Codebook) -> Ints:
    """Return the group (k,) of each center."""
    group = np.zeros(len(book.centers), np.int64)
    if book.members is not None and book.sizes is not None:
        group[book.members] = np.repeat(np.arange(len(book.sizes)), book.sizes)
    return group


def pack_panels(book: Codebook, rows: Floats, labels: Ints, crew: Crew | None = None) -> SortedRows:
    """Pack rows for passes over panels: by label if there are groups, else as they come."""
    grouped = book.sizes is not None and len(book.sizes) > 1
    order = np.argsort(labels, kind="stable") if grouped else np.arange(len(rows))
    return SortedRows(book, order, labels)


def sort_panels(book: Codebook, panels: SortedRows, rows: Floats, crew: Crew | None = None) -> None:
    """Sort packed rows by label and margin, in place."""
    order = np.lexsort((panels.margin.min(axis=1), panels.own))
    panels.order, panels.own = panels.order[order], panels.own[order]
    panels.margin = panels.margin[order]


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

    `panels.follow(book)` comes first. Return the counts: rows moved, rows rechecked, pairs of rows
    and centers compared, those of them with rows whose own bounds do not hold.
    """
    before, scale = labels.copy(), book.scale
    error = 8 * (rows.shape[1] + 8) * 2.0**-52
    blur = error * float(np.sqrt(book.origin @ book.origin))
    pairs = open_pairs = 0
    for at in range(first * PANEL_ROWS, min(last * PANEL_ROWS, len(rows)), PANEL_ROWS):
        here = slice(at, min(at + PANEL_ROWS, len(rows)))
        held = blur < panels.margin[here]
        compared = ~held.all(axis=0)
        if not compared.any():
            continue
        compared[panels.group[panels.own[here][panels.own[here] >= 0]]] = True
        which, centers = panels.order[here], np.flatnonzero(compared[panels.group])
        square = d64(rows[which], book.centers[centers], book.origin, scale)
        nearest = square.argmin(axis=1)
        labels[which] = panels.own[here] = centers[nearest]
        distance = np.sqrt(square) / scale
        own = np.take_along_axis(distance, nearest[:, None], axis=1)
        np.put_along_axis(distance, nearest[:, None], np.inf, axis=1)
        size = np.sqrt((np.asarray(rows[which], dtype=np.float64) ** 2).sum(axis=1))[:, None]
        margin = distance * (1 - error) - own * (1 + error) - error * size
        for group in np.flatnonzero(compared):
            inside = panels.group[centers] == group
            panels.margin[here, group] = margin[:, inside].min()
        pairs += len(which) * len(centers)
        open_pairs += int((~held).any(axis=1).sum()) * len(centers)
    if sums is not None:
        move_rows(sums, rows, before, labels, times, weight)
    return [int((before != labels).sum()), 0, pairs, open_pairs]
