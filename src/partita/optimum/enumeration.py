"""The best partition of a few points, by trying all of them."""

from __future__ import annotations

from itertools import islice

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.theory import partition_count, partitions, sse_of_partition

MAX_PARTITIONS = 20_000  # that are tried: a second
MAX_POINTS = 30  # whose partitions are counted at all
BATCH_PARTITIONS = 2048  # evaluated at a time
MAX_ROUNDING = 1e-9  # of quick costs, relative to the sse of all points


def is_enumerable(n: int, k: int) -> bool:
    """Return whether all partitions of n points into k clusters can be tried."""
    return n <= MAX_POINTS and partition_count(n, k) <= MAX_PARTITIONS


def best_of_all(points: Floats, weight: Floats, k: int) -> Ints:
    """Return the labels (n,) of the best partition into exactly k ≤ n clusters.

    >>> best_of_all(np.array([[0.0], [1.0], [9.0]]), np.ones(3), 2).tolist()
    [0, 0, 1]
    """
    y = points - np.average(points, axis=0, weights=weight)
    total = float(weight @ np.einsum("nd,nd->n", y, y))
    candidates: list[tuple[float, Ints]] = []
    every = partitions(len(points), k)
    least = np.inf
    while batch := list(islice(every, BATCH_PARTITIONS)):
        labels = np.array(batch)
        costs = np.full(len(labels), total)
        for j in range(k):
            share = (labels == j) * weight
            costs -= ((share @ y) ** 2).sum(axis=1) / share.sum(axis=1)
        least = min(least, float(costs.min()))
        near = costs <= least + MAX_ROUNDING * total
        candidates += zip(costs[near].tolist(), labels[near], strict=True)
    chosen = [labels for cost, labels in candidates if cost <= least + MAX_ROUNDING * total]
    # about the mean of all, far points would cost the gaps of near ones their digits
    return min(chosen, key=lambda labels: sse_of_partition(points, labels, weight))
