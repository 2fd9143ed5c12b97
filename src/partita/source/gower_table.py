"""Gower's dissimilarity of rows with features of several kinds, computed on demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.threads import Workers
from partita._kernels import kernels
from partita.source.dissimilarities import DissimilarityTable, pack_panels


@dataclass(frozen=True, slots=True)
class FeatureKinds:
    """The kinds of the features of coded rows: numbers, then nominal codes, then presences.

    Coded rows (n, d) are doubles, NaN where a value is missing. Numbers are divided by their range
    and times their weight; presences are 1 or 0.
    """

    weights: Floats  # (d) positive
    numbers: int
    nominal: int


class GowerTable(DissimilarityTable):
    """Coded rows. Each has at least one value, so that equal rows are at 0."""

    def __init__(self, rows: Floats, kinds: FeatureKinds, workers: Workers) -> None:
        super().__init__((len(rows), len(rows)), np.float64, 1.0)
        self._rows, self._kinds, self._workers = rows, kinds, workers

    def columns(self, which: Ints) -> Floats:
        return self.to_rows(self._rows[self._candidates[which]])

    def to_rows(self, others: Floats) -> Floats:
        """Return the dissimilarities (k, n) of other coded rows to the points."""
        if self._prepared_points is None:
            points = self._rows if self._is_whole else self._rows[self._points]
            self._prepared_points = pack_panels(points)
        out, kinds = np.empty((len(others), self.n)), self._kinds
        features = kinds.weights, kinds.numbers, kinds.nominal
        others = np.ascontiguousarray(others)
        kernels.gower_columns(self._prepared_points, others, *features, out, self._workers.crew)
        return out
