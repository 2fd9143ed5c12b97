"""Prediction strength and stability: agreement of the clusters of two halves of the data.

Each half is clustered. The centers of one half label the rows of the other, and these labels are
compared with the clusters that the other half has by itself; then the halves change roles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita.choosing.ladder import climb_down
from partita.choosing.principal_axes import MAX_FEATURES
from partita.choosing.sweep_problem import SweepProblem
from partita.metrics.criteria import adjusted_rand, crossed

MIN_PREDICTION_STRENGTH = 0.9  # of reproducible clusters; Tibshirani and Walther (2005): 0.8 to 0.9
MIN_ROWS_PER_CLUSTER = 5  # of a half


@dataclass(frozen=True, slots=True)
class SplitAgreement:
    """Agreement of halves of the data, by number of clusters."""

    ks: Ints  # (m,)
    strength: Floats  # (splits, m) prediction strength
    rand: Floats  # (splits, m) adjusted Rand index

    def pick(self, max_k: float = np.inf) -> int:
        """Return the largest K up to `max_k` whose mean prediction strength reaches 0.9; else 1."""
        is_strong = self.strength.mean(axis=0) >= MIN_PREDICTION_STRENGTH
        strong = self.ks[is_strong & (self.ks <= max_k)]
        return int(strong.max()) if len(strong) else 1


def mean_and_error(values: Floats) -> tuple[Floats, Floats]:
    """The mean over splits (m,), and its standard error."""
    mean, degrees = values.mean(axis=0), max(1, len(values) - 1)
    deviation = np.sqrt(((values - mean) ** 2).sum(axis=0) / degrees)
    return mean, deviation / np.sqrt(len(values))


def compare_halves(
    problem: SweepProblem,
    ks: Ints,
    n_splits: int,
    rng: np.random.Generator,
    workers: Workers,
    callback: Callable[[], object],
) -> SplitAgreement | None:
    """Compare the clusters of two halves, `n_splits` times; None if there are too few rows."""
    half = problem.n // 2
    ks = np.array([k for k in sorted(ks) if 1 < k <= half // MIN_ROWS_PER_CLUSTER])
    if not len(ks):
        return None
    is_wide = not problem.pairwise and problem.X.shape[1] > MAX_FEATURES  # other starts cost most
    strength, rand = np.empty((2, n_splits, len(ks)))
    for split in range(n_splits):
        order = rng.permutation(problem.n)
        halves = [problem.take(np.sort(rows)) for rows in (order[half:], order[:half])]
        fits = [
            climb_down(one.ladder(workers), ks.tolist(), one.n, only_merges=is_wide)
            for one in halves
        ]
        for number, k in enumerate(ks.tolist()):
            models = [rungs[k].model for rungs in fits]
            both_ways = [_agreement(*halves, *models), _agreement(*halves[::-1], *models[::-1])]
            strength[split, number], rand[split, number] = np.mean(both_ways, axis=0)
        callback()
    return SplitAgreement(ks, strength, rand)


def _agreement(
    test: SweepProblem, train: SweepProblem, own: Any, other: Any
) -> tuple[float, float]:
    """Prediction strength and adjusted Rand index of one half, by the model of the other."""
    labels, predicted = test.labels(own, test), train.labels(other, test)
    weight = test.weight
    return prediction_strength(labels, predicted, weight), adjusted_rand(labels, predicted, weight)


def prediction_strength(own: Array, predicted: Array, weight: Floats | None = None) -> float:
    """The least share, over own clusters, of pairs of rows that the prediction keeps together.

    Clusters of a single row have no pairs and are left out.

    >>> prediction_strength(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 2]))
    0.3333333333333333
    """
    w = np.ones(len(own)) if weight is None else weight
    table, single = crossed(own, predicted, w), crossed(own, predicted, w * w)
    together = (table * table - single).sum(axis=1)
    pairs = table.sum(axis=1) ** 2 - single.sum(axis=1)
    several = pairs > 0
    return float((together[several] / pairs[several]).min()) if several.any() else 1.0
