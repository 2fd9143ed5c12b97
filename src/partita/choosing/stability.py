"""Would other rows of the same kind give the same clusters? Halves of the data are compared.

Each half is clustered. The centers of one label the rows of the other, and that is compared with
the clusters which the other found by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita.choosing.ladder import Rung, climb_down
from partita.choosing.sweep_problem import SweepProblem
from partita.metrics.criteria import adjusted_rand, crossed

MIN_PREDICTION_STRENGTH = (
    0.8  # prediction strength from which clusters are taken to be there (Tibshirani, Walther)
)
_FEWEST = 5  # rows of a half for each cluster


@dataclass(frozen=True, slots=True)
class SplitAgreement:
    """How far halves of the data agree, by number of clusters."""

    ks: Ints  # (m,)
    strength: Floats  # (splits, m) prediction strength
    rand: Floats  # (splits, m) adjusted Rand index

    @property
    def pick(self) -> int:
        """The largest K whose prediction strength, with its error, reaches 0.8; else 1."""
        mean, error = mean_and_error(self.strength)
        strong = self.ks[mean + error >= MIN_PREDICTION_STRENGTH]
        return int(strong.max()) if len(strong) else 1


def mean_and_error(values: Floats) -> tuple[Floats, Floats]:
    """The mean over splits (m,), and its standard error."""
    few = max(1, len(values) - 1)
    spread = np.sqrt(((values - values.mean(axis=0)) ** 2).sum(axis=0) / few)
    return values.mean(axis=0), spread / np.sqrt(len(values))


def compare_halves(
    subject: SweepProblem,
    ks: Ints,
    splits: int,
    rng: np.random.Generator,
    workers: Workers,
    hear: Callable[[], object],
) -> SplitAgreement | None:
    """Compare the clusters of two halves, `splits` times; None: too few rows."""
    half = subject.n // 2
    some = np.array([k for k in sorted(ks) if 1 < k <= half // _FEWEST])
    if not len(some):
        return None
    strength, rand = np.empty((2, splits, len(some)))
    for split in range(splits):
        order = rng.permutation(subject.n)
        here, other = (subject.take(np.sort(part)) for part in (order[half:], order[:half]))
        mine, theirs = _models(here, some, workers), _models(other, some, workers)
        for at, k in enumerate(some.tolist()):
            own, there = here.labels(mine[k], here), other.labels(theirs[k], here)
            strength[split, at] = prediction_strength(own, there, here.weight)
            rand[split, at] = adjusted_rand(own, there, here.weight)
        hear()
    return SplitAgreement(some, strength, rand)


def prediction_strength(own: Array, predicted: Array, weight: Floats | None = None) -> float:
    """The least share, over own clusters, of pairs of rows that the prediction keeps together.

    Clusters of a single row have no pairs, and no say.

    >>> prediction_strength(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 2]))
    0.3333333333333333
    """
    w = np.ones(len(own)) if weight is None else weight
    table, alone = crossed(own, predicted, w), crossed(own, predicted, w * w)
    together = (table * table - alone).sum(axis=1)
    size = table.sum(axis=1)
    pairs = size * size - alone.sum(axis=1)
    some = pairs > 0
    return float((together[some] / pairs[some]).min()) if some.any() else 1.0


def _models(subject: SweepProblem, ks: Ints, workers: Workers) -> dict[int, Any]:
    found: dict[int, Any] = {}

    def hear(rung: Rung) -> None:
        found[rung.k] = rung.model

    climb_down(subject.ladder(workers), ks.tolist(), subject.n, hear)
    return found
