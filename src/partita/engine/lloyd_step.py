"""A step of the loop: it owns the labels and the sums; the source owns the rows."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.empty_clusters import Assignment
from partita.engine.paths.path import PathCache, PathPlan
from partita.engine.paths.scheduler import PassScheduler
from partita.geometry import EUCLIDEAN, Geometry, Update
from partita.moments import Grid, Moments
from partita.source.protocol import Source
from partita.stats import ClusterStats
from partita.trace import Pass


class Step(Assignment, Protocol):
    """The state of a run, as the loop uses it."""

    last: Pass  # how the last assignment was made

    @property
    def notes(self) -> list[str]:
        """Paths that were taken, and the reasons."""

    def assign(self, centers: Centers) -> int:
        """Label every row by `centers`; return how many labels changed."""

    def stats_about(self, centers: Centers) -> tuple[ClusterStats, Floats]:
        """Summaries of the present labels, and ‖mean − center‖ (k,)."""

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        """J at centers that are `gap` away from the means."""

    def update(self, stats: ClusterStats, gap: Floats, before: Centers) -> Update:
        """The best center of every cluster; one without weight keeps its center `before`."""


class LloydStep:
    """The state of a run over the rows of a source: the passes, and the sums of every cluster."""

    def __init__(
        self,
        source: Source,
        grid: Grid,
        k: int,
        geometry: Geometry = EUCLIDEAN,
        passes: PassScheduler | None = None,
    ) -> None:
        self.source = source
        self.geometry = geometry
        self.exact = not source.survey().ordered
        self.last = Pass("plain", 1.0)
        self._passes = passes or PassScheduler(source, PathPlan("plain", ""), PathCache())
        self._moments = Moments.zero(k, grid)
        self.stats = ClusterStats.zero(k, 0)  # of the last call of `stats_about`

    @property
    def labels(self) -> Ints:
        """The label (n,) of every row."""
        return self._passes.labels

    @property
    def notes(self) -> list[str]:
        """Paths that were planned, and the reasons."""
        return self._passes.notes

    @property
    def origin(self) -> Floats:
        """Origin of the means of the summaries."""
        return self._moments.grid.origin

    def grow(self, source: Source, plan: PathPlan, memory: float = 0.0) -> None:
        """Go on with more rows, the present ones first, on the same grid; see `PassScheduler`."""
        self.source = source
        self._passes.grow(source, plan, memory)

    def assign(self, centers: Centers) -> int:
        name, done = self._passes.assign(centers, self._moments if self.exact else None)
        self.last = Pass(name, done.compared)
        return done.moved

    def stats_about(self, centers: Centers) -> tuple[ClusterStats, Floats]:
        """Summaries of the present labels, means relative to `origin`, and ‖mean − center‖ (k,)."""
        values = np.ascontiguousarray(centers.about(self.origin))
        if self.exact:
            self.stats, gap = self._moments.stats_about(values, self.source.workers.crew)
            return self.stats, gap
        self.stats = stats = self.source.ordered_stats(self.labels, len(values), self.origin)
        apart = np.where(stats.weight[:, None] > 0, stats.mean - values, 0.0)
        return stats, np.array([math.hypot(*row) for row in apart])

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        return self.geometry.cost(stats, gap)

    def update(self, stats: ClusterStats, gap: Floats, before: Centers) -> Update:
        return self.geometry.update(stats, self.origin, gap, before)

    # what a policy for empty clusters needs

    def distances(self, centers: Centers) -> Floats:
        return self.source.own_distances(centers, self.labels)

    def rows(self, which: Ints) -> Floats:
        return self.source.take_rows(which)

    def counted(self) -> Ints | None:
        if self.source.weights.all_equal:
            return None
        return (self.source.weights.as_floats(self.source.n) > 0).astype(np.int64)

    def move(self, rows: Ints, to: Ints) -> None:
        if self.exact:
            self.source.move(rows, to, self.labels, self._moments)
        else:
            self.labels[rows] = to
        self._passes.forget(rows)

    def drop(self, clusters: Ints) -> None:
        """Remove clusters; their rows (of weight zero) get a label in the next pass."""
        number = np.full(len(self._moments.hi) + 1, -1, np.int32)
        kept = np.delete(np.arange(len(self._moments.hi)), clusters)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        self._passes.renumber(number)
        self._moments = self._moments.without(clusters)

    def merge_clusters(self, i: int, j: int) -> None:
        """Merge clusters i < j into i; the clusters after j move down by one."""
        number = np.arange(len(self._moments.hi) + 1, dtype=np.int32)
        number[j + 1 :] -= 1
        number[j], number[-1] = i, -1
        self._passes.renumber(number)
        self._moments = self._moments.fused(i, j)
