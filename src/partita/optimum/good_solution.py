"""Good partitions: one to begin an exact search with, and those that moves of points improve."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.estimators.kmeans import KMeans

MIN_GAIN = 1e-12  # of a move, relative to J


def good_solution(rows: Floats, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Return the labels (n,) of a good partition of distinct rows into k clusters, 1 < k < n."""
    model = KMeans(k, quality="best", random_state=int(rng.integers(2**31)))
    return np.asarray(model.fit(rows, sample_weight=weight).labels_, dtype=np.int64)


@np.errstate(divide="ignore", invalid="ignore")  # by weights beyond all proportion
def move_single_points(rows: Floats, weight: Floats, labels: Ints, k: int) -> tuple[Ints, float]:
    """Move the point that lowers J most to another cluster, until none does (Hartigan)."""
    labels = labels.astype(np.int64)
    n, before, least = len(rows), labels.copy(), np.inf
    while True:
        member = np.eye(k)[labels]
        mass = member.T @ weight
        used = mass > 0
        sums = member.T @ (weight[:, None] * rows)
        means = np.divide(sums, mass[:, None], out=np.zeros_like(sums), where=used[:, None])
        distance = np.stack([((rows - mean) ** 2).sum(axis=1) for mean in means], axis=1)
        own = np.arange(n), labels
        cost = float(weight @ distance[own])
        if not cost < least:  # the gain was one of rounding
            return before, float(least)
        before, least = labels.copy(), cost
        rest = mass[labels] - weight
        is_movable = np.bincount(labels, minlength=k)[labels] > 1
        scale = mass[labels] / np.where(is_movable, rest, 1.0)
        saved = np.where(is_movable, weight * distance[own] * scale, 0.0)
        price = weight[:, None] * distance * (mass / (mass + weight[:, None]))
        price[own] = np.inf
        gain = saved - price.min(axis=1)
        best = int(gain.argmax())
        if gain[best] <= MIN_GAIN * cost:
            return labels, cost
        labels[best] = int(price[best].argmin())
