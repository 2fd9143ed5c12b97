"""Kernel K-means under the shared loop: means in feature space, given by their inner products.

A center is a row of n + 1 numbers: its inner product with every row of the data, and its squared
norm. The loop needs ‖φ_i − c‖² = K_ii − 2⟨φ_i, c⟩ + ‖c‖² and Huygens' theorem, no more. All sums
over rows are exact (integers, or rounded once), so the order of rows changes no bit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total, exact_totals
from partita._kernels import kernels
from partita.centers import Centers
from partita.empty_clusters import FarRows, count_members, farthest_rows
from partita.engine.lloyd import LloydOptions, best_run, lloyd
from partita.engine.lloyd_step import numbers_without
from partita.geometry import Update
from partita.observers import RunStart, announce
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
        self._distance: Floats = np.zeros(gram.n)  # to the own center, at the last `stats_about`
        self.unshifted_sse: Floats = np.zeros(k)  # at the last `stats_about`, as without `sigma`

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
        labels = self._used_labels()
        mass = self._mass()
        whole = np.where(mass > 0, mass, 1.0)
        inner = self._add(self.gram.own(self._sums, labels))
        self._square = square = np.where(mass > 0, inner / whole**2 + self.sigma / whole, 0.0)
        along = centers.values[labels, np.arange(self.gram.n)]
        apart = square - 2 * self._add(along) / whole + centers.values[:, -1]
        gap = np.sqrt(np.where((mass > 0) & self._touched, np.maximum(apart, 0.0), 0.0))
        self._distance = self.distances(centers)
        self.unshifted_sse = self._sse(inner, whole)
        return ClusterStats(mass, np.zeros((len(mass), 0)), self._shifted_sse()), gap

    def _used_labels(self) -> Ints:
        return np.maximum(self.labels, 0)  # rows without a label have no weight

    def _mass(self) -> Floats:
        if self.gram.weights.all_equal:
            count = np.bincount(self.labels, minlength=len(self._sums))
            return np.asarray(count * self.gram.weights.unit)
        return exact_totals(self.gram.weight, self._used_labels(), len(self._sums))

    def _add(self, values: Floats) -> Floats:
        """Σ w·values of every cluster, rounded once."""
        return exact_totals(values, self._used_labels(), len(self._sums), self.gram.weight)

    def _sse(self, inner: Floats, whole: Floats) -> Floats:
        """Σ w·K_ii − ‖Σ w·φ‖² / W of every cluster, without `sigma`."""
        sse = -inner / whole
        if self.gram.diagonal.any():
            sse = sse + self._add(self.gram.diagonal)
        return np.asarray(sse if self.sigma else np.maximum(sse, self._min_square))

    def _shifted_sse(self) -> Floats:
        if not self.sigma:
            return self.unshifted_sse
        counted = self.labels[self.gram.weight > 0]
        count = np.bincount(counted, minlength=len(self._sums))
        sse = self.unshifted_sse + self.sigma * np.maximum(count - 1, 0)
        return np.asarray(np.maximum(sse, self._min_square))

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        return exact_total(self._distance, self.gram.weight)

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
        centers = Centers(values, NO_ORIGIN)
        cost = exact_total(self.distances(centers), self.gram.weight)
        return Update(centers, cost, math.hypot(*gap.tolist()))

    # --- the `Assignment` of a policy for empty clusters, and what it needs

    def distances(self, centers: Centers) -> Floats:
        labels = self._used_labels()
        own = centers.values[labels, np.arange(self.gram.n)]
        squares = self.diagonal + (centers.values[labels, -1] - 2 * own)
        return np.asarray(np.maximum(squares, self._min_square))

    def members(self, k: int) -> Ints:
        return count_members(self.labels, self._counted(), k)

    def farthest(self, centers: Centers, count: int) -> FarRows:
        return farthest_rows(self.distances(centers), self.labels, self._counted(), count)

    def rows(self, which: Ints) -> Floats:
        return self.gram.points(which)

    def _counted(self) -> Ints | None:
        return None if self.gram.weights.all_equal else (self.gram.weight > 0).astype(np.int64)

    def move(self, rows: Ints, to: Ints) -> int:
        before = self.labels[rows].copy()
        self.labels[rows] = to
        self._update_sums(rows, before)
        return int((before != to).sum())

    def drop(self, clusters: Ints) -> int:
        """Remove clusters; their rows (of weight zero) have no label until the next pass."""
        before = self.labels.copy()
        self.labels[:] = numbers_without(clusters, len(self._sums))[before]
        self._sums = np.delete(self._sums, clusters, axis=0)
        self._touched = np.ones(len(self._sums), bool)
        return int((self.labels != before).sum())


@dataclass(frozen=True, slots=True)
class KernelResult:
    """The best run, after one more assignment to its final means."""

    labels: Ints  # (n,)
    inertia: float
    stats: ClusterStats  # of these labels
    unshifted_cost: float  # Σ sse of these labels, as without a shift of the diagonal
    members: Ints  # (n,) the partition of which the centers are the means
    mass: Floats  # (k,) weight of these members; 0 for a cluster without rows
    square: Floats  # (k,) ‖mean‖²
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
    runs = itertools.count(1)

    def run(start: Callable[[], Centers]) -> tuple[float, Fit, KernelStep]:
        announce(options.callbacks, RunStart(next(runs), len(starts), options.halt))
        step = KernelStep(gram, options.k, sigma, definite)
        step.notes = [f"{gram.path}: {note}"]
        fit = lloyd(step, start(), options, begin)
        return fit.trace[-1].cost_after, fit, step

    fit, step = best_run(starts, run, options.halt, options.on_run_end)
    members, centers, mass = step.labels.copy(), fit.centers, fit.stats.weight
    square = centers.values[:, -1].copy()
    centers.values[mass == 0, -1] = np.inf  # no row joins a cluster without members
    step.assign(centers)
    cost = exact_total(step.distances(centers), gram.weight)
    stats, _ = step.stats_about(centers)
    unshifted = exact_total(step.unshifted_sse)
    return KernelResult(step.labels, cost, stats, unshifted, members, mass, square, fit)
