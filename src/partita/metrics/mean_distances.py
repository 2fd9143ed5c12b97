"""How far rows are from their own cluster and from the nearest other, on average.

All pairs are measured and none is kept: rows are put in the order of their clusters, so that the
sum of the distances to one cluster is finished before the next begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.threads import Workers
from partita._kernels import compiled, kernels
from partita.source.dissimilarities import Table, in_panels

STRIP = 64  # rows of one cluster that meet the others at once
_PADDED = 1.6  # strips are taken if they fill so little up
_WORK = 1 << (31 if compiled() else 24)  # of a thread in one call: Ctrl-C is heard between calls
_ROOM = 1 << 28  # bytes that the strips of all threads may take, if each has at least one
_STRIPS = 8  # of a thread in one call, at most: each takes n doubles
_SQUARE_ROOT = 16  # features that a distance costs beside its own


class MeanDistances(NamedTuple):
    """Of every point: Σ w·distance to its own cluster, and the mean of the nearest other."""

    inside: Floats
    outside: Floats  # infinity: there is no other


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows, their weights, and the order in which clusters follow each other."""

    label: Ints  # (n,) in 0…k−1
    weight: Floats  # (n,)
    order: Ints  # (n,) rows, cluster after cluster
    start: Ints  # (k + 1,) where each begins in that order
    mass: Floats  # (k,) the weight of each

    @classmethod
    def of(cls, label: Ints, k: int, weight: Floats | None) -> Partition:
        """The partition by these labels."""
        w = np.ones(len(label)) if weight is None else weight
        order = np.argsort(label, kind="stable")
        start = np.searchsorted(label[order], np.arange(k + 1)).astype(np.int64)
        parts = np.split(w[order], start[1:-1])
        mass = np.array([exact_total(part) for part in parts])
        return cls(label.astype(np.int32), w, order, start, mass)

    @property
    def others(self) -> Floats:
        """What the rows beside a row weigh in its cluster (n,); of itself only what is above 1.

        A row of weight 3 stands for three: two of them are others, at distance 0.
        """
        rest = self.mass[self.label] - self.weight  # exactly 0 if it is alone: `total` rounds once
        return np.asarray(np.maximum(rest, 0.0) + np.maximum(self.weight - 1.0, 0.0))

    def values(self, means: MeanDistances, points: Ints | None = None) -> Floats:
        """Silhouettes (b − a) / max(a, b); 0 for a row alone in its cluster."""
        others = self.others if points is None else self.others[points]
        a = np.divide(means.inside, others, out=np.zeros_like(others), where=others > 0)
        most = np.maximum(a, means.outside)
        some = (others > 0) & (most > 0)
        return np.divide(means.outside - a, most, out=np.zeros_like(a), where=some)


def of_vectors(
    X: Floats, metric: str, partition: Partition, workers: Workers, points: Ints | None = None
) -> MeanDistances:
    """By our own kernel, for dense rows of doubles; `points` are some of them, or all."""
    rows = np.ascontiguousarray(X[partition.order])
    weight = partition.weight[partition.order]
    mine = rows, weight, partition.start, partition.mass, metric
    at_once = workers.n * max(1, _WORK // (STRIP * len(rows) * (X.shape[1] + _SQUARE_ROOT)))
    strips = int((-(-np.diff(partition.start) // STRIP)).sum())
    if points is None and strips * STRIP <= _PADDED * len(rows):
        return _every_pair_once(mine, at_once, partition.order, workers)
    which = np.arange(len(rows)) if points is None else points
    inside, outside = np.empty((2, len(which)))
    step = at_once * STRIP
    for i in range(0, len(which), step):
        some = which[i : i + step]
        kernels.silhouette(
            in_panels(X[some]),
            partition.label[some],
            *mine,
            inside[i : i + step],
            outside[i : i + step],
            workers.crew,
        )
    return MeanDistances(inside, outside)


def _every_pair_once(
    mine: tuple[Floats, Floats, Ints, Floats, str],
    at_once: int,
    order: Ints,
    workers: Workers,
) -> MeanDistances:
    """All rows: a distance serves both its ends, at the cost of n doubles for each strip."""
    n, begin = len(order), 0
    most = min(at_once, workers.n * max(1, min(_STRIPS, _ROOM // (8 * n * workers.n))))
    lower, inside, outside = np.zeros(n), np.empty(n), np.full(n, np.inf)
    while begin < n:
        begin = kernels.silhouette_strips(*mine, begin, most, lower, inside, outside, workers.crew)
    found = np.empty((2, n))
    found[:, order] = inside, outside
    return MeanDistances(*found)


def of_table(
    table: Table, partition: Partition, step: int, points: Ints | None = None
) -> MeanDistances:
    """By the columns of any table of dissimilarities, of which `step` are made at once."""
    if points is not None:
        table = table.take(np.arange(table.candidates), points)
    label = partition.label if points is None else partition.label[points]
    sums, inside, outside = np.zeros(table.n), np.zeros(table.n), np.full(table.n, np.inf)
    for j, ends, column, weight in _in_order(table, partition, step):
        sums += column if weight == 1.0 else weight * column
        if not ends:
            continue
        own, mass = label == j, partition.mass[j]
        inside[own] = sums[own]
        if mass > 0:
            np.minimum(outside, sums / mass, out=outside, where=~own)
        sums[:] = 0.0
    return MeanDistances(inside, outside)


def _in_order(
    table: Table, partition: Partition, step: int
) -> Iterator[tuple[int, bool, Floats, float]]:
    """Cluster after cluster: whose column it is, whether its cluster ends, and what it weighs."""
    label, weight = partition.label[partition.order], partition.weight[partition.order]
    ends = np.append(label[1:] != label[:-1], True)
    for i in range(0, len(label), step):
        some = slice(i, i + step)
        which, whole = partition.order[some], table.whole
        columns = table.columns(which) if whole is None else (whole[row] for row in which)
        parts = label[some].tolist(), ends[some].tolist(), columns, weight[some].tolist()
        for j, last, column, w in zip(*parts, strict=True):
            yield j, last, column.astype(np.float64, copy=False), w
