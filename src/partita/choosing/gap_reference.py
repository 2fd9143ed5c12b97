"""The gap statistic, and whether there is structure at all: the same sweep on rows without any.

References are uniform in the box of the data along its principal axes (Tibshirani, Walther and
Hastie 2001). A single Gaussian has less structure than such a box: what beats the box beats both.
Where features are classes, each of them is drawn by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.threads import Workers
from partita.choosing.ladder import Rung, climb_down
from partita.choosing.sweep_problem import Means, SweepProblem
from partita.choosing.uniform_data import reference_data
from partita.metrics import criteria

_FEWEST = 5  # rows for each cluster of a reference
_LOOKED = 12  # clusters, up to which structure is looked for
_TINY = 1e-300  # a cost of nothing has no logarithm


@dataclass(frozen=True, slots=True)
class SweepCurve:
    """What a sweep of some rows gave, by number of clusters."""

    log_cost: Floats  # (m,)
    silhouette: Floats  # (m,) the simplified one; 0 for one cluster


@dataclass(frozen=True, slots=True)
class GapComparison:
    """The curve of the data, or of a sample of it, and those of rows without structure."""

    ks: Ints  # (m,) ascending, from 1
    data: SweepCurve
    references: tuple[SweepCurve, ...]

    @property
    def expected(self) -> Floats:
        """log J (m,) of rows without structure."""
        return np.asarray(np.mean([curve.log_cost for curve in self.references], axis=0))

    @property
    def gap(self) -> Floats:
        """How far below that the data are (m,)."""
        return self.expected - self.data.log_cost

    @property
    def error(self) -> Floats:
        """s (m,): the standard deviation of the references, and what their mean leaves open."""
        deviation = np.std([curve.log_cost for curve in self.references], axis=0)
        return np.asarray(deviation * math.sqrt(1 + 1 / len(self.references)))

    def pick(self, ks: Ints) -> int:
        """The smallest of 1 and `ks` whose gap is no less than the next one's, less its error."""
        asked = np.isin(self.ks, [1, *ks])
        gap, bar = self.gap[asked], (self.gap - self.error)[asked]
        enough = np.flatnonzero(gap[:-1] >= bar[1:])
        return int(self.ks[asked][enough[0] if len(enough) else -1])


def sample_problem(subject: SweepProblem, size: int, rng: np.random.Generator) -> SweepProblem:
    """The rows that count, or so many of them."""
    counted = subject.counted
    if len(counted) > size:
        counted = np.sort(rng.choice(counted, size, replace=False))
    return subject if len(counted) == subject.n else subject.take(counted)


def compare_with_uniform(
    subject: SweepProblem,
    ks: Ints,
    count: int,
    rng: np.random.Generator,
    workers: Workers,
    hear: Callable[[], object],
) -> GapComparison | None:
    """Sweep over the rows, and over `count` tables without structure; None: no vectors.

    Whether there is structure does not depend on which numbers of clusters were asked for, so some
    are added.
    """
    subject = subject.alone()
    rows = subject.vectors()
    most = max(2, subject.n // _FEWEST)
    some = np.array(sorted({1, *range(2, _LOOKED + 1), *ks.tolist()}))
    some = some[some <= min(most, subject.n)]
    if rows is None or len(some) < 2:
        return None
    box = reference_data(rows, rotate=type(subject) is not Means)
    data = sweep_curve(subject, some, workers)
    hear()
    references = []
    for _ in range(count):
        references.append(sweep_curve(subject.like(box.draw(rng)), some, workers))
        hear()
    return GapComparison(some, data, tuple(references))


def sweep_curve(subject: SweepProblem, ks: Ints, workers: Workers) -> SweepCurve:
    """The costs and simplified silhouettes of a sweep."""
    cost, silhouette = dict.fromkeys(ks.tolist(), 0.0), dict.fromkeys(ks.tolist(), 0.0)

    def hear(rung: Rung) -> None:
        cost[rung.k] = rung.cost
        _, first, second = subject.nearest(rung.model, workers)
        if first is not None and second is not None and rung.k > 1:
            value = criteria.simplified_silhouette(first, second, subject.weight)
            silhouette[rung.k] = value

    climb_down(subject.ladder(workers), ks.tolist(), subject.n, hear)
    logs = np.log(np.maximum(list(cost.values()), _TINY))
    return SweepCurve(logs, np.nan_to_num(np.array(list(silhouette.values()))))
