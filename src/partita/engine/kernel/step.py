"""Kernel K-means under the shared loop: means in feature space, given by their inner products.

A center is a row of n + 1 numbers: its inner product with every row of the data, and its squared
norm. The loop needs ‖φ_i − c‖² = K_ii − 2⟨φ_i, c⟩ + ‖c‖² and Huygens' theorem, no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._kernels import kernels
from partita.centers import Centers
from partita.engine.lloyd import LloydOptions, best_run, lloyd
from partita.engine.lloyd_step import numbers_without
from partita.geometry import Update
from partita.run_record import Fit
from partita.source.gram_matrix import Gram
from partita.stats import ClusterStats
from partita.trace import Pass

NO_ORIGIN = np.zeros(0)  # centers in feature space have no coordinates


class KernelStep:
    """One pass: assign labels by the centers, then update the sums by the rows that moved.

    `sigma` is added to the diagonal as sigma / weight, which adds the same number to the objective
    of every partition: sigma·(n − k) for n rows of positive weight.
    """

    def __init__(self, gram: Gram, k: int, sigma: float = 0.0, definite: bool = True) -> None:
        self.gram, self.sigma = gram, sigma
        self._min_square = 0.0 if definite else -math.inf  # below it is rounding
        self.labels: Ints = np.full(gram.n, -1, np.int32)
        self.last = Pass(gram.path, 1.0)
        self.notes: list[str] = []
        self.diagonal, weight = gram.diagonal, gram.weight
        if sigma:
            inverse = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0)
            self.diagonal = gram.diagonal + sigma * inverse
        self._sums = gram.sums(k)
        self._square = np.zeros(k)  # ‖mean‖² at the last `stats_about`
        self._touched = np.ones(k, bool)  # clusters that changed since the last `update`

    def assign(self, centers: Centers) -> int:
        before = self.labels.copy()
        moved = kernels.gram_assign(centers.values, self.labels, self.gram.workers.crew)
        changed = np.flatnonzero(before != self.labels)
        self._update_sums(changed, before[changed])
        return int(moved)

    def _update_sums(self, rows: Ints, before: Ints) -> None:
        after = self.labels[rows]
        self.gram.move(rows, before, after, self._sums)
        self._touched[after] = True
        self._touched[before[before >= 0]] = True

    def stats_about(self, centers: Centers) -> tuple[ClusterStats, Floats]:
        """Return weight and sse of every cluster (means of length 0), and its gap to the center."""
        k, weight = len(self._sums), self.gram.weight
        labels = np.maximum(self.labels, 0)  # rows without a label have no weight

        def add(values: Floats) -> Floats:
            return np.asarray(np.bincount(labels, weights=weight * values, minlength=k))

        mass = add(np.ones(self.gram.n))
        whole = np.where(mass > 0, mass, 1.0)
        square = add(self.gram.own(self._sums, labels)) / whole**2
        self._square = square = np.where(mass > 0, square + self.sigma / whole, 0.0)
        sse = np.maximum(add(self.diagonal) - mass * square, self._min_square)
        inner = centers.values[labels, np.arange(self.gram.n)]
        apart = square - 2 * add(inner) / whole + centers.values[:, -1]
        gap = np.sqrt(np.where((mass > 0) & self._touched, np.maximum(apart, 0.0), 0.0))
        return ClusterStats(mass, np.zeros((k, 0)), sse), gap

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        return exact_total(stats.sse + stats.weight * (gap * gap))

    def update(self, stats: ClusterStats, gap: Floats, before: Centers) -> Update:
        values = before.values.copy()
        new = (stats.weight > 0) & self._touched
        for j in np.flatnonzero(new):
            values[j, :-1] = self.gram.values(self._sums[j]) / stats.weight[j]
            values[j, -1] = self._square[j]
        if self.sigma:
            own = np.flatnonzero(new[self.labels] & (self.gram.weight > 0))
            values[self.labels[own], own] += self.sigma / stats.weight[self.labels[own]]
        self._touched[:] = False
        return Update(Centers(values, NO_ORIGIN), exact_total(stats.sse), math.hypot(*gap.tolist()))

    # --- the `Assignment` of a policy for empty clusters

    def distances(self, centers: Centers) -> Floats:
        own = centers.values[self.labels, np.arange(self.gram.n)]
        squares = self.diagonal - 2 * own + centers.values[self.labels, -1]
        return np.asarray(np.maximum(squares, self._min_square))

    def rows(self, which: Ints) -> Floats:
        return self.gram.points(which)

    def counted(self) -> Ints | None:
        return None if self.gram.weights.all_equal else (self.gram.weight > 0).astype(np.int64)

    def move(self, rows: Ints, to: Ints) -> None:
        before = self.labels[rows].copy()
        self.labels[rows] = to
        self._update_sums(rows, before)

    def drop(self, clusters: Ints) -> None:
        """Remove clusters; their rows (of weight zero) have no label until the next pass."""
        self.labels[:] = numbers_without(clusters, len(self._sums))[self.labels]
        self._sums = np.delete(self._sums, clusters, axis=0)
        self._touched = np.ones(len(self._sums), bool)

    def recompute_sums(self) -> None:
        """Recompute the sums: rows that were computed twice may have had other bits."""
        self._sums[:] = 0
        rows = np.flatnonzero(self.labels >= 0)
        self.gram.move(rows, np.full(len(rows), -1, np.int32), self.labels[rows], self._sums)
        self._touched[:] = True


@dataclass(frozen=True, slots=True)
class KernelResult:
    """The best run, after one more assignment to its final means."""

    labels: Ints  # (n,)
    inertia: float
    stats: ClusterStats  # of these labels
    members: Ints  # (n,) the partition of which the centers are the means
    mass: Floats  # (k,) weight of these members; 0 for a cluster without rows
    square: Floats  # (k,) ‖mean‖², centred
    fit: Fit


def best_means(
    gram: Gram,
    starts: Sequence[Callable[[], Centers]],
    options: LloydOptions,
    *,
    sigma: float,
    definite: bool,
    note: str,
    begin: float,
) -> KernelResult:
    """Run the loop from every start, and keep the best (see `best_run`).

    `definite`: no square in feature space is negative, except by rounding. `begin` is the start of
    the clock (`time.perf_counter`), which includes the computation of the Gram matrix.
    """

    def run(start: Callable[[], Centers]) -> tuple[float, Fit, KernelStep]:
        step = KernelStep(gram, options.k, sigma, definite)
        step.notes = [f"{gram.path}: {note}"]
        fit = lloyd(step, start(), options, begin)
        return fit.trace[-1].cost_after, fit, step

    fit, step = best_run(starts, run, options.halt, options.on_run_end)
    members, centers = step.labels.copy(), fit.centers
    if not gram.exact:
        step.recompute_sums()
        stats, gap = step.stats_about(centers)
        centers = step.update(stats, gap, centers).centers
    mass, square = fit.stats.weight, centers.values[:, -1].copy()
    centers.values[mass == 0, -1] = np.inf  # no row joins a cluster without members
    step.assign(centers)
    cost = exact_total(step.distances(centers), gram.weight)
    stats, _ = step.stats_about(centers)
    return KernelResult(step.labels, cost, stats, members, mass, square, fit)
