"""Mean distances of rows to their own cluster and to the nearest other one.

All pairs are measured and none is stored: rows are sorted by cluster, so that the sum of distances
to one cluster is complete before the next begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.threads import Workers
from partita._kernels import compiled, kernels
from partita.source.dissimilarities import DissimilarityTable, pack_panels

STRIP_ROWS = 64  # of one cluster, measured against all others at once
MAX_PADDING = 1.6  # rows in strips over rows; beyond it strips are mostly empty
MAX_WORK_PER_CALL = 1 << (31 if compiled() else 24)  # per thread; Ctrl-C works between calls
MAX_STRIP_BYTES = 1 << 28  # for all threads, if each has at least one strip
MAX_STRIPS_PER_THREAD = 8  # in one call; each needs n doubles
SQUARE_ROOT_FEATURES = 16  # a square root costs as much as so many features


# Σ w·distance of every point to its own cluster, and the mean to the nearest other (inf if none)
MeanDistances = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class Partition:
    """Labels and weights of rows, sorted by cluster."""

    label: Ints  # (n,) in 0…k−1
    weight: Floats  # (n,)
    order: Ints  # (n,) row numbers, cluster by cluster
    start: Ints  # (k + 1,) positions at which clusters start in `order`
    mass: Floats  # (k,) weight of each cluster

    @classmethod
    def of(cls, label: Ints, k: int, weight: Floats | None) -> Partition:
        """Sort rows by label."""
        w = np.ones(len(label)) if weight is None else weight
        order = np.argsort(label, kind="stable")
        start = np.searchsorted(label[order], np.arange(k + 1)).astype(np.int64)
        mass = np.array([exact_total(cluster) for cluster in np.split(w[order], start[1:-1])])
        return cls(label.astype(np.int32), w, order, start, mass)

    @property
    def others(self) -> Floats:
        """The weight (n,) of the other rows in a row's cluster, and of its own copies.

        A row of weight 3 counts as three rows: two of them are others, at distance 0.
        """
        # exactly 0 if the row is alone: sums are rounded once
        rest = self.mass[self.label] - self.weight
        return np.asarray(np.maximum(rest, 0.0) + np.maximum(self.weight - 1.0, 0.0))

    def values(self, means: MeanDistances, points: Ints | None = None) -> Floats:
        """Silhouettes (b − a) / max(a, b); 0 for a row alone in its cluster."""
        others = self.others if points is None else self.others[points]
        inside, b = means
        a = np.divide(inside, others, out=np.zeros_like(others), where=others > 0)
        larger = np.maximum(a, b)
        defined = (others > 0) & (larger > 0)
        return np.divide(b - a, larger, out=np.zeros_like(a), where=defined)


def of_vectors(
    X: Floats, metric: str, partition: Partition, workers: Workers, points: Ints | None = None
) -> MeanDistances:
    """Measure dense rows of doubles by the compiled kernel: all of them, or `points`."""
    rows = np.ascontiguousarray(X[partition.order])
    weight = partition.weight[partition.order]
    clusters = rows, weight, partition.start, partition.mass, metric
    work = STRIP_ROWS * len(rows) * (X.shape[1] + SQUARE_ROOT_FEATURES)
    strips_per_call = workers.n * max(1, MAX_WORK_PER_CALL // work)
    strips = int((-(-np.diff(partition.start) // STRIP_ROWS)).sum())
    if points is None and strips * STRIP_ROWS <= MAX_PADDING * len(rows):
        return _every_pair_once(clusters, strips_per_call, partition.order, workers)
    numbers = np.arange(len(rows)) if points is None else points
    inside, outside = np.empty((2, len(numbers)))
    step = strips_per_call * STRIP_ROWS
    for start in range(0, len(numbers), step):
        block, span = numbers[start : start + step], slice(start, start + step)
        panels, label = pack_panels(X[block]), partition.label[block]
        kernels.silhouette(panels, label, *clusters, inside[span], outside[span], workers.crew)
    return inside, outside


def _every_pair_once(
    clusters: tuple[Floats, Floats, Ints, Floats, str],
    strips_per_call: int,
    order: Ints,
    workers: Workers,
) -> MeanDistances:
    """Measure each distance once for both of its rows, with n doubles of memory per strip."""
    n, begin = len(order), 0
    per_thread = min(MAX_STRIPS_PER_THREAD, MAX_STRIP_BYTES // (8 * n * workers.n))
    strips = min(strips_per_call, workers.n * max(1, per_thread))
    sums, inside, outside = np.zeros(n), np.empty(n), np.full(n, np.inf)
    while begin < n:
        begin = kernels.silhouette_strips(
            *clusters, begin, strips, sums, inside, outside, workers.crew
        )
    distances = np.empty((2, n))
    distances[:, order] = inside, outside
    return distances[0], distances[1]


def of_table(
    table: DissimilarityTable, partition: Partition, step: int, points: Ints | None = None
) -> MeanDistances:
    """Measure by the columns of any table of dissimilarities, `step` at a time."""
    if points is not None:
        table = table.restrict(np.arange(table.candidates), points)
    label = partition.label if points is None else partition.label[points]
    sums, inside, outside = np.zeros(table.n), np.zeros(table.n), np.full(table.n, np.inf)
    for row, column in _columns(table, partition.order, step):
        j, weight = partition.label[row], partition.weight[row]
        sums += column if weight == 1.0 else weight * column
        if row != partition.order[partition.start[j + 1] - 1]:  # more rows of this cluster follow
            continue
        own, mass = label == j, partition.mass[j]
        inside[own] = sums[own]
        if mass > 0:
            np.minimum(outside, sums / mass, out=outside, where=~own)
        sums[:] = 0.0
    return inside, outside


def _columns(table: DissimilarityTable, order: Ints, step: int) -> Iterator[tuple[int, Floats]]:
    """Row numbers in this order, each with the distances to that row."""
    for start in range(0, len(order), step):
        rows, whole = order[start : start + step], table.matrix
        columns = table.columns(rows) if whole is None else (whole[row] for row in rows)
        for row, column in zip(rows.tolist(), columns, strict=True):
            yield row, column.astype(np.float64, copy=False)
