"""Changes of the sums of clusters, which a pass over a partition returns.

The sums are a function of a mark, so their change is a function of two: a partition that has lost
its state derives both again, and returns the same integers. Clusters that did not change are left
out, so less travels as a fit converges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Ints
from partita.moments import Moments


@dataclass(frozen=True, slots=True)
class SumsChange:
    """Differences of the sums of those clusters that changed; those of disjoint rows add up."""

    clusters: Ints  # (m,) ascending, int32
    hi: Ints  # (m, d + 2)
    lo: Ints  # (m, d + 2)

    @classmethod
    def between(cls, before: tuple[Ints, Ints] | None, after: Moments) -> SumsChange:
        """Subtract the limbs of sums before (None: of no rows) from sums after."""
        hi, lo = after.hi, after.lo
        if before is not None:
            hi, lo = hi - before[0], lo - before[1]
        changed = np.flatnonzero(hi.any(axis=1) | lo.any(axis=1))
        return cls(changed.astype(np.int32), hi[changed], lo[changed])

    def __add__(self, other: SumsChange) -> SumsChange:
        if np.array_equal(self.clusters, other.clusters):  # such as all of them
            return SumsChange(self.clusters, self.hi + other.hi, self.lo + other.lo)
        clusters = np.union1d(self.clusters, other.clusters)
        hi, lo = np.zeros((2, len(clusters), self.hi.shape[1]), np.int64)
        for one in (self, other):
            places = np.searchsorted(clusters, one.clusters)
            hi[places] += one.hi
            lo[places] += one.lo
        return SumsChange(clusters, hi, lo)

    def add_to(self, moments: Moments) -> None:
        """Add the change to the sums of all clusters, in place."""
        moments.hi[self.clusters] += self.hi
        moments.lo[self.clusters] += self.lo


@dataclass(frozen=True, slots=True)
class PassSums:
    """The result of a pass over some rows; those of all rows add up."""

    change: SumsChange | None  # since the mark before; None beyond the grid
    moved: int
    rows: dict[str, int]  # that each path labelled
    compared: float  # pairs, over k
    candidates: float  # centers that a filter left, of all rows
    notes: tuple[str, ...]

    def __add__(self, other: PassSums) -> PassSums:
        change = None
        if self.change is not None and other.change is not None:
            change = self.change + other.change
        names = {**self.rows, **other.rows}
        return PassSums(
            change,
            self.moved + other.moved,
            {name: self.rows.get(name, 0) + other.rows.get(name, 0) for name in names},
            self.compared + other.compared,
            self.candidates + other.candidates,
            tuple(dict.fromkeys(self.notes + other.notes)),
        )
