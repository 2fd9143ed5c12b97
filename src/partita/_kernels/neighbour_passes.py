"""Passes over panels of rows of one label, with a bound for every center, in NumPy.

The bounds are those of neighbour_pass.hpp, in double, so that a bound which loses a label loses it
here, too. A panel is a row.
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.assignment import Codebook, d64
from partita._kernels.crew import Crew
from partita._kernels.exact_sums import Sums, move_rows
from partita._kernels.twofold import quiet


class PanelsByLabel:
    """n rows, and what is left of how much nearer their own center was than each other one."""

    width = 1

    def __init__(self, book: Codebook, labels: Ints) -> None:
        self.k, self.panels, self._d = len(book.centers), len(labels), book.centers.shape[1]
        self._before: Floats | None = None  # centers of the last pass, in the data's coordinates
        self.gap: Floats | None = None  # (k, k) distances between the present centers
        self.sort(labels)

    def sort(self, labels: Ints) -> None:
        """Forget all bounds."""
        self.own, self.margin = labels.copy(), np.full((self.panels, self.k), -np.inf)
        self.margin[np.arange(self.panels), labels] = np.inf

    def fit(self, book: Codebook) -> bool:
        """Return whether the rows were packed for books like this one."""
        return book.members is None and book.centers.shape == (self.k, self._d)

    def relabel(self, labels: Ints) -> bool:
        """Accept labels that a pass did not set: their rows have no bounds."""
        self.margin[labels != self.own] = -np.inf
        return self.settle(labels)

    def settle(self, labels: Ints) -> bool:
        """Accept the labels of a pass; True, as there is always room for them."""
        rows = np.flatnonzero(labels != self.own)
        self.margin[rows, self.own[rows]] = -np.inf
        self.margin[rows, labels[rows]] = np.inf
        self.own = labels.copy()
        return True

    @quiet
    def follow(self, book: Codebook, with_gaps: bool, crew: Crew | None = None) -> None:
        """Take the centers of the pass to come; `with_gaps`: and the distances between them."""
        now, before = book.centers + book.origin, self._before
        self._before, self.gap = now, None
        if with_gaps:
            gap = np.sqrt(((now[:, None] - now[None, :]) ** 2).sum(axis=2)) * (1 - 1e-6)
            self.gap = np.where(np.isnan(gap), 0.0, gap)
        if before is None:
            return
        blur = 2.0**-50 * (np.abs(now) + np.abs(before) + 2 * np.abs(book.origin)).sum(axis=1)
        moved = np.sqrt(((now - before) ** 2).sum(axis=1)) * (1 + 1e-12) + blur
        self.margin -= (moved[self.own, None] + moved) * (1 + 1e-12)


def pack_neighbours(
    book: Codebook, rows: Floats, labels: Ints, square: Floats, crew: Crew | None = None
) -> PanelsByLabel:
    """Pack rows in panels of one label, by `square` (n), their squared distances to it."""
    return PanelsByLabel(book, labels)


def sort_neighbours(
    book: Codebook, panels: PanelsByLabel, rows: Floats, labels: Ints, crew: Crew | None = None
) -> None:
    """Sort packed rows by their labels and distances, in place."""
    panels.sort(labels)


@quiet
def assign_neighbours(
    book: Codebook,
    panels: PanelsByLabel,
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

    `panels.follow(book)` comes first, and `panels.settle(labels)` after a whole pass. Return the
    counts: rows moved, rows rechecked, pairs of rows and centers compared, rows compared.
    """
    before, scale = labels.copy(), book.scale
    error = 8 * (rows.shape[1] + 8) * 2.0**-52
    blur = error * float(np.sqrt(book.origin @ book.origin))
    here, own = np.arange(first, last), labels[first:last]
    distance = np.sqrt(d64(rows[here], book.centers, book.origin, scale)) / scale
    size = np.sqrt((np.asarray(rows[here], dtype=np.float64) ** 2).sum(axis=1))[:, None]
    away = np.take_along_axis(distance, own[:, None], axis=1) * (1 + error) + error * size
    if panels.gap is not None:
        by_gap = panels.gap[own] - 2 * away * (1 + 1e-6)
        panels.margin[here] = np.fmax(panels.margin[here], by_gap)
    is_open = ~(blur < panels.margin[here])
    candidates = is_open.copy()
    candidates[np.arange(len(here)), own] = True
    square = np.where(candidates, d64(rows[here], book.centers, book.origin, scale), np.inf)
    labels[here] = square.argmin(axis=1)
    margin = distance * (1 - error) - away - error * size
    panels.margin[here] = np.where(is_open, margin, panels.margin[here])
    if sums is not None:
        move_rows(sums, rows, before, labels, times, weight)
    moved, compared = int((before != labels).sum()), is_open.any(axis=1)
    return [moved, 0, int(is_open.sum() + compared.sum()), int(compared.sum())]
