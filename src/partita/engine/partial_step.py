"""A step of the loop over rows with gaps: means are over the values that the members have."""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.empty_clusters import FarRows, count_members, farthest_rows
from partita.engine.lloyd_step import numbers_without
from partita.geometry import Update
from partita.partial_moments import PartialSummary
from partita.source.partial_rows import PartialSource
from partita.stats import ClusterStats
from partita.trace import Pass

PATH = "partial"


class PartialStep:
    """Lloyd's iteration for J = Σ w_i Σ_t (x_it − c_kt)² over observed values: the k-POD objective.

    Neither the labels, which are nearest centers over the values of each row, nor the means, each
    over the values that the members of a cluster have, can raise J. A feature that no member has
    keeps the value of the center.
    """

    def __init__(self, source: PartialSource, k: int) -> None:
        self.source = source
        self._is_exact = not source.survey().beyond_grid
        self._moments = source.grid.zero(k)
        self.labels: Ints = np.full(source.n, -1, np.int32)
        self.last = Pass(PATH, 1.0)
        self.notes = ["partial: some values are missing, so every pass measures all distances"]
        self.summary: PartialSummary  # of the last call of `stats_about`

    @property
    def origin(self) -> Floats:
        """Origin of the means of the summaries."""
        return self.source.grid.origin

    def assign(self, centers: Centers) -> int:
        """Label every row by `centers`; return how many labels changed."""
        return self.source.assign(centers, self.labels, self._moments if self._is_exact else None)

    def stats_about(self, centers: Centers) -> tuple[ClusterStats, Floats]:
        moments = self._moments if self._is_exact else None
        values = np.ascontiguousarray(centers.about(self.origin))
        self.summary = self.source.summarise(self.labels, moments, values)
        return self.summary.stats, self.summary.gap

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        return self.summary.cost

    def update(self, stats: ClusterStats, gap: Floats, before: Centers) -> Update:
        shift = math.hypot(*gap.tolist())
        return Update(Centers(stats.mean, self.origin), self.summary.cost_at_means, shift)

    def own_cost(self, centers: Centers) -> float:
        return self.source.own_cost(centers, self.labels)

    # what a policy for empty clusters needs

    def members(self, k: int) -> Ints:
        return count_members(self.labels, self.source.weights.counted(), k)

    def farthest(self, centers: Centers, count: int) -> FarRows:
        distance = self.source.own_distances(centers, self.labels)
        return farthest_rows(distance, self.labels, self.source.weights.counted(), count)

    def rows(self, which: Ints) -> Floats:
        return self.source.wide_rows(which)

    def move(self, rows: Ints, to: Ints) -> int:
        changed = int((self.labels[rows] != to).sum())
        if self._is_exact:
            self.source.move(rows, to, self.labels, self._moments)
        else:
            self.labels[rows] = to
        return changed

    def drop(self, clusters: Ints) -> int:
        """Remove clusters; their rows (of weight zero) get a label in the next pass."""
        before = self.labels
        self.labels = numbers_without(clusters, len(self._moments.hi))[before]
        self._moments = self._moments.without(clusters)
        return int((self.labels != before).sum())
