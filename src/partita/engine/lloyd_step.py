"""A step of the loop: it owns the labels and the sums; the source owns the rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.empty_clusters import Assignment, FarRows, count_members, farthest_rows
from partita.engine.paths.path import PathCache, PathPlan
from partita.engine.paths.scheduler import PassScheduler
from partita.engine.repeated_passes import Passes
from partita.geometry import EUCLIDEAN, BestCenters, Geometry, Update
from partita.moments import Moments
from partita.source.blocks import stats_by_long_sums
from partita.source.protocol import Source
from partita.stats import ClusterStats
from partita.trace import Pass


class Step(Assignment, Protocol):
    """The state of a run, as the loop uses it."""

    @property
    def last(self) -> Pass:
        """A record of the last assignment."""

    @property
    def notes(self) -> list[str]:
        """Paths that were taken, and the reasons."""

    def assign(self, centers: Centers) -> int:
        """Label every row by `centers`; return how many labels changed."""

    def stats_about(self, centers: Centers) -> tuple[ClusterStats, Floats]:
        """Summaries of the present labels, means relative to `origin`; ‖best − center‖ (k,)."""

    # Both with the results of the last `stats_about`:

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        """J at centers that are `gap` away from the best."""

    def update(self, stats: ClusterStats, gap: Floats, before: Centers) -> Update:
        """The best center of every cluster; one without weight keeps its center `before`."""


class LloydStep:
    """The state of a run over the rows of a source: the passes, and the sums of every cluster."""

    def __init__(
        self,
        source: Source,
        k: int,
        geometry: Geometry = EUCLIDEAN,
        passes: Passes | None = None,
    ) -> None:
        self.source, self.geometry = source, geometry
        self._exact = not source.survey().beyond_grid
        self.last = Pass("plain", 1.0)
        plain = PathPlan("plain", "")
        self._passes: Passes = passes or PassScheduler(source, plain, PathCache())
        self._moments = Moments.zero(k, source.survey().grid)
        self.stats = ClusterStats.zero(k, 0)  # of the last call of `stats_about`
        self._best: BestCenters  # of the same

    @property
    def labels(self) -> Ints:
        return self._passes.labels

    @property
    def notes(self) -> list[str]:
        return self._passes.notes

    @property
    def moments(self) -> Moments:
        """The sums of every cluster; zero if no grid holds them."""
        return self._moments

    @property
    def origin(self) -> Floats:
        """Origin of the means of the summaries."""
        return self._moments.grid.origin

    def grow(self, source: Source, plan: PathPlan) -> None:
        """Go on with more rows, the present ones first, on the same grid."""
        assert isinstance(self._passes, PassScheduler)  # whose rows are those of the source
        self.source = source
        self._passes.grow(source, plan)

    def assign(self, centers: Centers) -> int:
        name, done = self._passes.assign(centers, self._moments if self._exact else None)
        self.last = Pass(name, done.compared, done.candidates)
        return done.moved

    def expect_end(self) -> None:
        """Prepare nothing for passes after the next one."""
        self._passes.expect_end()

    def give_up_bounds(self) -> None:
        """Free the memory of the path; a later pass is a plain one."""
        self._passes.give_up_bounds()

    def stats_about(self, centers: Centers) -> tuple[ClusterStats, Floats]:
        values = np.ascontiguousarray(centers.about(self.origin))
        if self._exact:
            self.stats, gap = self._moments.stats_about(values, self.source.workers.crew)
        else:
            self.stats = stats_by_long_sums(self.source, self.labels, len(values), self.origin)
            gap = self.stats.distances_to(values)
        self._best = self.geometry.best(self.stats, self.origin, gap, centers)
        return self.stats, self._best.gap

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        return self.geometry.cost(self._best)

    def update(self, stats: ClusterStats, gap: Floats, before: Centers) -> Update:
        return self.geometry.update(self._best)

    def own_cost(self, centers: Centers) -> float:
        """Σ w·‖x − c‖² over all rows, as of a `Source`."""
        return self._passes.own_cost(centers)

    # what a policy for empty clusters needs

    def members(self, k: int) -> Ints:
        return count_members(self.labels, self.source.weights.counted(), k)

    def farthest(self, centers: Centers, count: int) -> FarRows:
        distance = self.source.own_distances(centers, self.labels)
        return farthest_rows(distance, self.labels, self.source.weights.counted(), count)

    def rows(self, which: Ints) -> Floats:
        return self.source.take_rows(which)

    def move(self, rows: Ints, to: Ints) -> int:
        changed = int((self.labels[rows] != to).sum())
        if self._exact:
            self.source.move(rows, to, self.labels, self._moments)
        else:
            self.labels[rows] = to
        self._passes.forget(rows)
        return changed

    def drop(self, clusters: Ints) -> int:
        """Remove clusters; their rows (of weight zero) get a label in the next pass."""
        before = self.labels
        self._passes.renumber(numbers_without(clusters, len(self._moments.hi)))
        self._moments = self._moments.without(clusters)
        return int((self.labels != before).sum())

    def merge_clusters(self, i: int, j: int) -> None:
        """Merge clusters i < j into i; the clusters after j move down by one."""
        number = numbers_without(np.array([j]), len(self._moments.hi))
        number[j] = i
        self._passes.renumber(number)
        self._moments = self._moments.fused(i, j)


def numbers_without(clusters: Ints, k: int) -> Ints:
    """New numbers (k + 1,) of k clusters when some are removed; -1 for these, and for no label."""
    number = np.full(k + 1, -1, np.int32)
    kept = np.delete(np.arange(k), clusters)
    number[kept] = np.arange(len(kept))
    return number
