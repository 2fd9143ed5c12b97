"""The step of the loop over partitions: the driver has the centers and adds up integer sums."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.empty_clusters import FarRows, merge_far_rows
from partita.engine.lloyd_step import numbers_without
from partita.engine.partitioned_pass import (
    ApplyChanges,
    CountLabels,
    DroppedClusters,
    FindFarthest,
    LongSumsOf,
    MakePass,
    Mark,
    MovedRows,
    OwnCost,
    RunOptions,
    at_changes,
)
from partita.engine.partitioned_sums import PassSums
from partita.geometry import BestCenters, Geometry, Update
from partita.moments import Moments
from partita.source.partitioned_rows import PartitionedRows
from partita.stats import ClusterStats
from partita.trace import Pass


class PartitionedStep:
    """The state of a run: a mark, which determines all labels, and the sums of every cluster."""

    def __init__(
        self, rows: PartitionedRows, options: RunOptions, geometry: Geometry, run: int
    ) -> None:
        self.rows_of_fit, self.geometry = rows, geometry
        self._partitions, self._options, self._run = rows.partitions, options, run
        self._exact = not rows.survey().beyond_grid
        self._mark: Mark | None = None
        self._moments = Moments.zero(0, rows.survey().grid)
        self.last = Pass("plain", 1.0)
        self.notes: list[str] = []
        self._best: BestCenters

    @property
    def origin(self) -> Floats:
        """Origin of the means of the summaries."""
        return self.rows_of_fit.survey().grid.origin

    def assign(self, centers: Centers) -> int:
        number = 1 if self._mark is None else self._mark.number + 1
        if self._mark is None:
            self._moments = Moments.zero(len(centers.values), self._moments.grid)
        mark = Mark(self._run, number, centers)
        task = MakePass(self._options, self._mark, mark, self._exact)
        done = self._partitions.total(task, operator.add)
        self._mark = mark
        if done.change is not None:
            done.change.add_to(self._moments)
        self.last = _pass_of(done, self.rows_of_fit.n)
        self.notes += [note for note in done.notes if note not in self.notes]
        return done.moved

    def stats_about(self, centers: Centers) -> tuple[ClusterStats, Floats]:
        values = np.ascontiguousarray(centers.about(self.origin))
        if self._exact:
            stats, gap = self._moments.stats_about(values)
        else:
            stats = self._stats_by_long_sums(len(values))
            gap = stats.distances_to(values)
        self._best = self.geometry.best(stats, self.origin, gap, centers)
        return stats, self._best.gap

    def _stats_by_long_sums(self, k: int) -> ClusterStats:
        """`blocks.stats_by_long_sums`, of partitions."""
        d = self.rows_of_fit.d
        sums = self._total(LongSumsOf(self._options, self.mark, k, self.origin)).totals()
        mass, mean = sums[:k], np.ascontiguousarray(sums[k:].reshape(d, k).T)
        np.divide(mean, mass[:, None], out=mean, where=mass[:, None] > 0)
        squares = LongSumsOf(self._options, self.mark, k, self.origin, mean)
        return ClusterStats(mass, mean, self._total(squares).totals())

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        return self.geometry.cost(self._best)

    def update(self, stats: ClusterStats, gap: Floats, before: Centers) -> Update:
        return self.geometry.update(self._best)

    # --- what a policy for empty clusters needs

    def members(self, k: int) -> Ints:
        return np.asarray(self._total(CountLabels(self._options, self.mark, k, weighted=True)))

    def farthest(self, centers: Centers, count: int) -> FarRows:
        task = FindFarthest(self._options, self.mark, centers, count)
        return merge_far_rows(self._partitions.run(task), count)

    def rows(self, which: Ints) -> Floats:
        return self.rows_of_fit.take_rows(which)

    def move(self, rows: Ints, to: Ints) -> int:
        before = self.mark
        self._mark = at_changes(before, MovedRows(rows, to))
        task = ApplyChanges(self._options, before, self._mark, self._exact)
        for change in self._partitions.run(task, self.rows_of_fit.owners(rows)):
            if change is not None:
                change.add_to(self._moments)
        return len(rows)  # a policy moves rows of weight to clusters without any

    def drop(self, clusters: Ints) -> int:
        k = len(self.mark.centers.values)
        for change in self.mark.changes:
            k -= len(change.clusters) if isinstance(change, DroppedClusters) else 0
        number = numbers_without(clusters, k)[:-1]
        counts = self.label_counts(k)
        self._mark = at_changes(self.mark, DroppedClusters(clusters))
        if self._exact:
            self._moments = self._moments.without(clusters)
        return int(counts[number != np.arange(k)].sum())

    # --- the end of a run

    @property
    def mark(self) -> Mark:
        """The present point of the run."""
        assert self._mark is not None
        return self._mark

    def label_counts(self, k: int) -> Ints:
        """Count the rows (k,) of each label, those without weight too."""
        return np.asarray(self._total(CountLabels(self._options, self.mark, k, weighted=False)))

    def own_cost(self) -> float:
        """Σ w·D64 of the rows to the centers of the last pass, rounded once."""
        return float(self._total(OwnCost(self._options, self.mark)).totals()[0])

    def _total(self, task: Any) -> Any:
        return self._partitions.total(task, operator.add)


def _pass_of(done: PassSums, n: int) -> Pass:
    """Describe a pass by the path of most rows."""
    path = max(sorted(done.rows), key=lambda name: done.rows[name])
    return Pass(path, done.compared / n, done.candidates / n)
