"""Rows of numbers and categories packed for the kernels, and their costs at prototypes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita._kernels import kernels
from partita._kernels.mixed_costs import missing_code
from partita._kernels.pairwise import PANEL_ROWS
from partita._kernels.weighted_draws import LEAF_ROWS
from partita.source.blocks import crew_slices
from partita.source.dissimilarities import pack_panels
from partita.source.mixed_columns import MISSING
from partita.source.mixed_rows import MixedRows

MAX_BYTE_LEVELS = 254  # of each column, for codes of one byte: two more stand for unseen, missing
CODES_PER_NUMBER = 8  # that are compared in the time of a number


class MixedPanels:
    """Complete numbers (n, p) and codes (n, q); `levels` (q) is the number of known ones.

    The cost of a row at a prototype (a center relative to an origin, and a mode) is the squared
    distance of the numbers, plus `gamma` for each category that is known and not the mode. The mode
    −1 stands for none: every known category differs from it.
    """

    def __init__(self, rows: MixedRows, levels: Ints, gamma: float, workers: Workers) -> None:
        self.n, self.p, self.q = rows.n, rows.numbers.shape[1], rows.codes.shape[1]
        self.gamma, self.workers = gamma, workers
        fits_bytes = not len(levels) or int(levels.max()) <= MAX_BYTE_LEVELS
        self._dtype = np.dtype(np.uint8 if fits_bytes else np.int32)
        self._numbers = pack_panels(rows.numbers)
        self._codes = pack_panels(self._coded(rows.codes))
        self.offsets = np.concatenate([[0], np.cumsum(levels)]).astype(np.int64)

    def _coded(self, codes: Ints) -> Array:
        """Return codes as the kernels take them."""
        missing = missing_code(self._dtype)
        return np.where(codes == MISSING, missing, codes).astype(self._dtype)

    def _parts(self, k: int) -> Iterator[tuple[slice, tuple[Array, Array], Any]]:
        """Yield rows, their panels, and the crew: one call after the other can be interrupted."""
        work = k * (self.p + self.q // CODES_PER_NUMBER + 1)
        for rows, crew in crew_slices(self.workers, self.n, work):
            panels = slice(rows.start // PANEL_ROWS, -(-rows.stop // PANEL_ROWS))
            yield rows, (self._numbers[panels], self._codes[panels]), crew

    def _prototypes(self, centers: Floats, origin: Floats, modes: Ints) -> tuple[Any, ...]:
        values = np.ascontiguousarray(centers, dtype=np.float64)
        return values, origin, np.ascontiguousarray(self._coded(modes)), self.gamma

    def assign(self, centers: Floats, origin: Floats, modes: Ints, labels: Ints) -> int:
        """Label every row by the cheapest cluster; return how many labels changed."""
        return self.assign_with_costs(centers, origin, modes, labels, np.empty(self.n))

    def assign_with_costs(
        self, centers: Floats, origin: Floats, modes: Ints, labels: Ints, costs: Floats
    ) -> int:
        """The same; also fill in what each row costs."""
        moved, to = 0, self._prototypes(centers, origin, modes)
        for rows, panels, crew in self._parts(len(centers)):
            moved += kernels.mixed_assign(*panels, *to, labels[rows], costs[rows], crew)
        return moved

    def costs(self, centers: Floats, origin: Floats, modes: Ints) -> Floats:
        """Return the cost (n, k) of every row in every cluster."""
        to, out = self._prototypes(centers, origin, modes), np.empty((self.n, len(centers)))
        for rows, panels, crew in self._parts(len(centers)):
            part = np.empty((len(centers), rows.stop - rows.start))
            kernels.mixed_columns(*panels, *to, part, crew)
            out[rows] = part.T
        return out

    def gains(self, centers: Floats, modes: Ints, closest: Floats, weight: Floats | None) -> Floats:
        """Return what each prototype would take from Σ w·closest (k,), leaf by leaf in order."""
        to = self._prototypes(centers, np.zeros(self.p), modes)
        gain = np.empty((-(-self.n // LEAF_ROWS), len(centers)))
        for rows, panels, crew in self._parts(len(centers)):
            part = None if weight is None else weight[rows]
            kernels.mixed_gain(*panels, *to, closest[rows], gain[_leaves(rows)], part, crew)
        return np.asarray(gain.cumsum(axis=0)[-1])

    def lower(
        self,
        centers: Floats,
        modes: Ints,
        closest: Floats,
        potential: Floats,
        weight: Floats | None,
    ) -> None:
        """Lower `closest` (n,) to the costs at prototypes; set Σ w·closest of every leaf."""
        to = self._prototypes(centers, np.zeros(self.p), modes)
        for rows, panels, crew in self._parts(len(centers)):
            part = None if weight is None else weight[rows]
            kernels.mixed_lower(*panels, *to, closest[rows], potential[_leaves(rows)], part, crew)

    def count(
        self, rows: Ints, before: Ints, after: Ints, counts: Ints, times: Ints | None
    ) -> None:
        """Move rows from one cluster (−1: none) to another in the counts (k, levels)."""
        labels = before.astype(np.int32), after.astype(np.int32)
        crew = self.workers.crew
        kernels.count_codes(self._codes, self.offsets, rows, *labels, counts, times, crew)


def _leaves(rows: slice) -> slice:
    return slice(rows.start // LEAF_ROWS, -(-rows.stop // LEAF_ROWS))
