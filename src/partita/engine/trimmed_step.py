"""A step of the loop that leaves out the rows that are farthest from their centers."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.empty_clusters import FarRows, count_members, farthest_rows
from partita.engine.left_out_rows import LeftOutRows, difference
from partita.engine.lloyd_step import LloydStep
from partita.geometry import BestCenters, Update
from partita.source.blocks import stats_by_long_sums
from partita.source.own_lengths import own_lengths
from partita.stats import ClusterStats
from partita.trace import Pass
from partita.trimming import NOTHING, cut_farthest, outside_labels

GUESSED_SHARE = 0.9  # of the last threshold: rows beyond it are candidates of the next cut


class TrimmedStep:
    """A concentration step: label all rows, cut off the farthest, take the means of the rest.

    The labels and sums of all rows are those of a `LloydStep`, by its fast paths; the few rows that
    are left out are subtracted from the sums, exactly. Neither the cut nor the means can raise the
    cost of the rows that count.
    """

    def __init__(self, inner: LloydStep, trim: float) -> None:
        self._inner, self.source, self._trim = inner, inner.source, trim
        self._weight = inner.source.weights.unless_equal()
        self._is_exact = not inner.source.survey().beyond_grid
        self._left_out = LeftOutRows(inner.source)
        self.cut = NOTHING
        self.labels: Ints = np.full(inner.source.n, -1, np.int32)  # −1 for rows that are left out
        self._best: BestCenters  # of the last call of `stats_about`

    @property
    def last(self) -> Pass:
        return self._inner.last

    @property
    def notes(self) -> list[str]:
        return self._inner.notes

    @property
    def origin(self) -> Floats:
        """Origin of the means of the summaries."""
        return self._inner.origin

    def give_up_bounds(self) -> None:
        """Free the memory of the path; a later pass is a plain one."""
        self._inner.give_up_bounds()

    def assign(self, centers: Centers) -> int:
        """Label every row, −1 beyond the cut; return how many count in another way."""
        moved = self._inner.assign(centers)
        if not self._trim:
            self.labels = self._inner.labels
            return moved
        distance = own_lengths(self.source, centers, self._inner.labels)
        before, near = (self.labels, self.cut), GUESSED_SHARE * self.cut.threshold
        self.cut = cut_farthest(distance, self._weight, self._trim, near)
        self.labels = outside_labels(self._inner.labels, self.cut.outside)
        moved = int(np.count_nonzero(self.labels != before[0]))
        return moved or int(not self.cut.is_same(before[1]))

    def cost_of_rows(self, centers: Centers) -> float:
        """Σ w·‖x − c‖² of the rows that count, rounded once; w = 1 if all weights are equal."""
        squares = self.source.own_distances(centers, self._inner.labels)
        return self.cut.total(squares, self._weight)

    def stats_about(self, centers: Centers) -> tuple[ClusterStats, Floats]:
        stats, gap = self._kept_stats(np.ascontiguousarray(centers.about(self.origin)))
        self._best = self._inner.geometry.best(stats, self.origin, gap, centers)
        return stats, self._best.gap

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        return self._inner.geometry.cost(self._best)

    def update(self, stats: ClusterStats, gap: Floats, before: Centers) -> Update:
        return self._inner.geometry.update(self._best)

    # --- the summaries of the rows that count ---

    def _kept_stats(self, centers: Floats) -> tuple[ClusterStats, Floats]:
        """Summaries, means relative to the origin, and their distances to these centers."""
        k, cut = len(centers), self.cut
        if not self._is_exact:
            stats = self._long_stats(k)
            return stats, stats.distances_to(centers)
        if not len(cut.outside) and not len(cut.boundary):
            return self._inner.moments.stats_about(centers, self.source.workers.crew)
        labels, left_out = self._inner.labels, self._left_out
        kept = left_out.subtracted_from(self._inner.moments, labels, cut.outside)
        if not len(cut.boundary):
            return kept.stats_about(centers, self.source.workers.crew)
        at_cut = left_out.sums_of(cut.boundary, labels, kept)
        whole, part = difference(kept, at_cut).stats(), at_cut.stats().scaled(cut.share)
        stats = whole.merge(part)
        return stats, stats.distances_to(centers)

    def _long_stats(self, k: int) -> ClusterStats:
        """The same for rows that no grid holds."""
        is_whole = self.labels >= 0
        is_whole[self.cut.boundary] = False
        whole = self._long_stats_of(np.flatnonzero(is_whole), k)
        if not len(self.cut.boundary):
            return whole
        return whole.merge(self._long_stats_of(self.cut.boundary, k).scaled(self.cut.share))

    def _long_stats_of(self, rows: Ints, k: int) -> ClusterStats:
        source = self.source
        if len(rows) < source.n:
            source = source.subset(rows, source.weights.subset(rows), source.survey())
        return stats_by_long_sums(source, self._inner.labels[rows], k, self.origin)

    # --- what a policy for empty clusters needs ---

    def members(self, k: int) -> Ints:
        inside = np.flatnonzero(self.labels >= 0)
        counted = self.source.weights.counted()
        return count_members(self.labels[inside], None if counted is None else counted[inside], k)

    def farthest(self, centers: Centers, count: int) -> FarRows:
        squares = self.source.own_distances(centers, np.maximum(self.labels, 0))
        counted = self.source.weights.counted()
        inside = self.labels >= 0
        counted = inside.astype(np.int64) if counted is None else np.where(inside, counted, 0)
        return farthest_rows(squares, self.labels, counted, count)

    def rows(self, which: Ints) -> Floats:
        return self.source.take_rows(which)

    def move(self, rows: Ints, to: Ints) -> int:
        changed = int((self.labels[rows] != to).sum())
        self._inner.move(rows, to)
        self.labels[rows] = to
        return changed

    def drop(self, clusters: Ints) -> int:
        before = self.labels
        self._inner.drop(clusters)
        self.labels = outside_labels(self._inner.labels, self.cut.outside)
        return int((self.labels != before).sum())
