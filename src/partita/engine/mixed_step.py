"""A step of K-prototypes: means of numbers and modes of categories, under the shared loop.

Sums of numbers and counts of categories are exact integers, to which a pass adds the rows whose
label changed. J = Σ w·(‖x − μ‖² + γ·mismatches) follows from them without another pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._kernels import kernels
from partita.centers import Centers
from partita.empty_clusters import FarRows, count_members, farthest_rows
from partita.engine.lloyd import LloydOptions
from partita.engine.lloyd_step import numbers_without
from partita.engine.restarts import run_all
from partita.geometry import EUCLIDEAN, BestCenters, Update
from partita.moments import Moments
from partita.run_record import Fit
from partita.source.blocks import as_kernel_type, stats_by_long_sums
from partita.source.mixed_columns import MISSING
from partita.source.mixed_table import MixedTable
from partita.stats import ClusterStats
from partita.trace import Pass

PATH = "mixed"
NOTE = f"{PATH}: every row is compared with every prototype"
MAX_GATHERED_SHARE = 0.25  # of the rows, above which all are read for the sums


class MixedStep:
    """The labels of a run, the sums of the numbers, and the counts of the categories."""

    def __init__(self, table: MixedTable, k: int) -> None:
        self.table = table
        self.labels: Ints = np.full(table.n, -1, np.int32)
        self.last, self.notes = Pass(PATH, 1.0), [NOTE]
        survey = table.source.survey()
        self._exact, self._origin = not survey.beyond_grid, survey.grid.origin
        self._padding = np.zeros(len(table.levels))  # origin of the codes
        self._moments = Moments.zero(k, survey.grid)
        shape = k, int(table.levels.sum())
        self._counts = [np.zeros(shape, np.int64) for _ in table.counted]
        self._best: BestCenters  # at the last `stats_about`
        self._modes: Ints = np.empty(0, np.int32)  # the best at the last `stats_about`
        self._mismatch = 0.0, 0.0  # total at the present modes, and at these

    def assign(self, centers: Centers) -> int:
        values, modes = self.table.split(centers.values)
        before, origin = self.labels.copy(), np.ascontiguousarray(centers.origin[: self.table.p])
        moved = self.table.panels.assign(values, origin, modes, self.labels)
        self._follow(np.flatnonzero(before != self.labels), before)
        return moved

    def _follow(self, rows: Ints, before: Ints) -> None:
        """Bring the sums up to date for rows whose label changed."""
        table, labels = self.table, self.labels
        for counts, weight in zip(self._counts, table.counted, strict=True):
            times = None if weight.times is None else weight.times[rows]
            table.panels.count(rows, before[rows], labels[rows], counts, times)
        if not self._exact:
            return
        some: slice | Ints = rows
        if len(rows) > MAX_GATHERED_SHARE * table.n:
            some = slice(0, table.n)
        block, weights = table.rows.numbers[some], table.weights.kernel_arguments(some)
        crew = table.workers.crew
        kernels.move_rows(
            self._moments.sums,
            as_kernel_type(block),
            before[some],
            labels[some],
            **weights,
            crew=crew,
        )

    def stats_about(self, centers: Centers) -> tuple[ClusterStats, Floats]:
        here, modes = self._numeric(centers)
        values = np.ascontiguousarray(here.about(self._origin))
        if self._exact:
            stats, gap = self._moments.stats_about(values, self.table.workers.crew)
        else:
            labels = np.maximum(self.labels, 0)
            stats = stats_by_long_sums(self.table.source, labels, len(values), self._origin)
            gap = stats.distances_to(values)
        self._best = EUCLIDEAN.best(stats, self._origin, gap, here)
        weight = self.weights()
        self._modes = np.where(stats.weight[:, None] > 0, self._best_modes(weight), modes)
        known = exact_total(weight.ravel())
        self._mismatch = (
            max(0.0, known - exact_total(self._weight_at(weight, modes).ravel())),
            max(0.0, known - exact_total(self._weight_at(weight, self._modes).ravel())),
        )
        changes = (self._modes != modes).sum(axis=1) * self.table.gamma
        return stats, np.sqrt(gap * gap + changes)

    def weights(self) -> Floats:
        """Return the weight (k, levels) of each category in each cluster."""
        weights = [weight.unit for weight in self.table.counted]
        pairs = zip(self._counts, weights, strict=True)
        return np.asarray(sum(counts * unit for counts, unit in pairs))

    def _columns(self) -> list[slice]:
        edges = self.table.panels.offsets.tolist()
        return [slice(*pair) for pair in pairwise(edges)]

    def _best_modes(self, weight: Floats) -> Ints:
        """Return the heaviest category (k, q) of each column, the first on ties; −1 for none."""
        modes = np.full((len(weight), len(self.table.levels)), MISSING, np.int32)
        for t, column in enumerate(self._columns()):
            own = weight[:, column]
            if own.shape[1]:
                modes[:, t] = np.where(own.max(axis=1) > 0, own.argmax(axis=1), MISSING)
        return modes

    def _weight_at(self, weight: Floats, modes: Ints) -> Floats:
        """Return the weight (k, q) of the rows that have these modes."""
        out, k = np.zeros(modes.shape), np.arange(len(modes))
        for t, column in enumerate(self._columns()):
            has_mode = modes[:, t] != MISSING
            out[has_mode, t] = weight[k[has_mode], column.start + modes[has_mode, t]]
        return out

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        return EUCLIDEAN.cost(self._best) + self.table.gamma * self._mismatch[0]

    def update(self, stats: ClusterStats, gap: Floats, before: Centers) -> Update:
        best = EUCLIDEAN.update(self._best)
        cost = best.cost + self.table.gamma * self._mismatch[1]
        values = np.hstack([best.centers.values, self._modes.astype(np.float64)])
        origin = np.concatenate([best.centers.origin, self._padding])
        return Update(Centers(values, origin), cost, math.hypot(*gap.tolist()))

    def _numeric(self, centers: Centers) -> tuple[Centers, Ints]:
        values, modes = self.table.split(centers.values)
        return Centers(values, centers.origin[: self.table.p]), modes

    # --- the `Assignment` of a policy for empty clusters ---

    def members(self, k: int) -> Ints:
        return count_members(self.labels, self.table.weights.counted(), k)

    def farthest(self, centers: Centers, count: int) -> FarRows:
        distance = self.own_costs(centers)
        return farthest_rows(distance, self.labels, self.table.weights.counted(), count)

    def own_costs(self, centers: Centers) -> Floats:
        """Return the cost (n,) of each row in its own cluster."""
        here, modes = self._numeric(centers)
        codes, own = self.table.rows.codes, modes[self.labels]
        differ = (codes != own) & (codes != MISSING)
        squares = self.table.source.own_distances(here, self.labels)
        return np.asarray(squares + differ.sum(axis=1) * self.table.gamma)

    def rows(self, which: Ints) -> Floats:
        return self.table.take(which)

    def move(self, rows: Ints, to: Ints) -> int:
        before = self.labels.copy()
        self.labels[rows] = to
        changed = np.flatnonzero(before != self.labels)
        self._follow(changed, before)
        return len(changed)

    def drop(self, clusters: Ints) -> int:
        """Remove clusters; their rows (of weight zero) have no label until the next pass."""
        before = self.labels.copy()
        self.labels[:] = numbers_without(clusters, len(self._moments.hi))[before]
        self._moments = self._moments.without(clusters)
        self._counts = [np.delete(counts, clusters, axis=0) for counts in self._counts]
        return int((self.labels != before).sum())


@dataclass(frozen=True, slots=True)
class MixedRun:
    """The best run, after one assignment to the prototypes as they are returned."""

    labels: Ints  # (n,)
    costs: Floats  # (n,) of each row in its cluster
    inertia: float
    weight: Floats  # (k,) of the clusters
    category_weight: Floats  # (k, levels)
    fit: Fit


def best_prototypes(
    table: MixedTable,
    starts: Sequence[Callable[[], Floats]],
    options: LloydOptions,
    returned: Callable[[Floats, Ints], Floats],
) -> MixedRun:
    """Run the loop from every start, and label the rows by the best run.

    `returned` takes the prototypes (k, p + q) and the partition (n,) that they are the means and
    modes of, and rounds them as the estimator will return them.
    """
    fit, step = run_all(starts, options, lambda k: MixedStep(table, k), lambda _: None)
    values = returned(fit.centers.plain, step.labels)
    centers = Centers(values, np.zeros(values.shape[1]))
    step.assign(centers)
    costs = step.own_costs(centers)
    stats, _ = step.stats_about(centers)
    inertia = exact_total(costs, table.weights.unless_equal())
    return MixedRun(step.labels, costs, inertia, stats.weight, step.weights(), fit)
