"""Clusters of equal sizes: times and objectives, each from its own starts."""

from __future__ import annotations

import math

import numpy as np
from harness.generated_data import Array

from tasks.family import FamilyTask, Mixture


def equal_sizes_cost(rows: Array, labels: Array) -> float:
    """Σ ‖x − mean‖² in float64; infinite if the sizes of clusters differ by more than 1."""
    labels = labels.astype(np.int64)
    sizes, doubles = np.bincount(labels), rows.astype(np.float64)
    if np.ptp(sizes) > 1:
        return math.inf
    parts = (doubles[labels == j] for j in range(len(sizes)))
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


def balanced_tasks(quick: bool) -> list[FamilyTask]:
    sizes = (1_000, 2_000) if quick else (2_000, 10_000, 200_000)
    return [
        FamilyTask(
            Mixture(n, 10, 20, 1.0, 2.0),
            equal_sizes_cost,
            {"k-means-constrained": 10.0},
            "partita balanced",
        )
        for n in sizes
    ]
