"""The rows of a fit as numbers and categories, with their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.threads import Workers
from partita.exact_weights import Weights
from partita.source.dense import DenseSource
from partita.source.mixed_columns import MISSING
from partita.source.mixed_panels import MixedPanels
from partita.source.mixed_rows import MixedRows

LIMB_BITS = 30  # of the two integers of a weight that is not whole


@dataclass(frozen=True, slots=True)
class CountedWeight:
    """The weights of rows as integers, of which the counts of categories are sums."""

    times: Ints | None  # (n,); None: every row counts once
    unit: float


class MixedTable:
    """Complete numbers and codes of the rows of a fit.

    A prototype is a row of p + q doubles: a center, and the codes of a mode (−1: none). A table
    without numbers has a column of zeros in their place.
    """

    def __init__(
        self,
        rows: MixedRows,
        levels: Ints,
        gamma: float,
        weight: Floats | None,
        workers: Workers,
    ) -> None:
        self.rows = rows if rows.numbers.shape[1] else MixedRows(np.zeros((rows.n, 1)), rows.codes)
        self.n, self.p = self.rows.numbers.shape
        self.levels, self.gamma, self.workers = levels, gamma, workers
        self.panels = MixedPanels(self.rows, levels, gamma, workers)
        self.weights = Weights.of(weight, self.n)
        self.source = DenseSource(self.rows.numbers, self.weights, workers)

    @cached_property
    def counted(self) -> list[CountedWeight]:
        """The weights as integers, whose counts times their units add up to the weights."""
        weights = self.weights
        if weights.values is None:
            return [CountedWeight(weights.times, weights.unit)]
        high = np.rint(weights.values * 2.0**LIMB_BITS)
        low = np.rint((weights.values * 2.0**LIMB_BITS - high) * 2.0**LIMB_BITS)
        units = weights.unit * 2.0**-LIMB_BITS, weights.unit * 2.0 ** (-2 * LIMB_BITS)
        return [
            CountedWeight(limb.astype(np.int64), unit)
            for limb, unit in zip((high, low), units, strict=True)
        ]

    def split(self, values: Floats) -> tuple[Floats, Ints]:
        """Return the centers (k, p) and the modes (k, q) of prototypes (k, p + q)."""
        return values[:, : self.p], values[:, self.p :].astype(np.int32)

    def joined(self, rows: MixedRows) -> Floats:
        """Return rows as prototypes (m, p + q); categories that no row has are none."""
        numbers = rows.numbers if rows.numbers.shape[1] else np.zeros((rows.n, 1))
        codes = np.where(rows.codes < self.levels, rows.codes, MISSING)
        return np.hstack([numbers, codes.astype(np.float64)])

    def take(self, which: Ints) -> Floats:
        """Return some rows as prototypes (m, p + q)."""
        return self.joined(self.rows.take(which))
