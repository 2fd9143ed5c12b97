"""The exact sums of the rows that are left out, kept from one iteration to the next."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Ints
from partita.moments import Moments
from partita.source.protocol import Source

MAX_ROWS_MOVED = 1 << 14  # at a time


class LeftOutRows:
    """Subtracts the rows that are left out from the sums of all rows.

    Most of them are left out again in the next iteration, from the same cluster. Sums are integers,
    so that only the others are added or subtracted, and no bit depends on it.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._labels, self._unlabelled = np.full((2, source.n), -1, np.int32)
        self._sums: Moments | None = None  # of the rows by these labels

    def subtracted_from(self, sums: Moments, labels: Ints, outside: Ints) -> Moments:
        """Return the sums of all rows but those outside."""
        wanted = np.full(self._source.n, -1, np.int32)
        wanted[outside] = labels[outside]
        changed = np.flatnonzero(wanted != self._labels)
        known = self._sums
        if known is None or len(known.hi) != len(sums.hi) or len(changed) > len(outside):
            known = self.sums_of(outside, labels, sums)
        else:
            entering = self.sums_of(changed, wanted, sums)
            known = difference(known, self.sums_of(changed, self._labels, sums))
            known.add(entering)
        self._sums, self._labels = known, wanted
        return difference(sums, known)

    def sums_of(self, rows: Ints, labels: Ints, like: Moments) -> Moments:
        """The sums of some rows by their labels, on the grid of others; none of label −1."""
        sums = Moments.zero(len(like.hi), like.grid)
        rows = rows[labels[rows] >= 0]  # clusters that were dropped have taken theirs with them
        unlabelled = self._unlabelled
        for i in range(0, len(rows), MAX_ROWS_MOVED):
            some = rows[i : i + MAX_ROWS_MOVED]
            self._source.move(some, labels[some], unlabelled, sums)
            unlabelled[some] = -1
        return sums


def difference(sums: Moments, others: Moments) -> Moments:
    """The sums without those of some of the rows."""
    return Moments(sums.grid, sums.hi - others.hi, sums.lo - others.lo)
