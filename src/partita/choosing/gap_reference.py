"""The gap statistic: the same sweep on data and on references without structure.

References are uniform in the box of the data along its principal axes (Tibshirani, Walther and
Hastie 2001). A single Gaussian has less structure than such a box, so data that beats the box beats
both. Categorical features are drawn independently.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.threads import Workers
from partita.choosing.ladder import Rung, climb_down
from partita.choosing.sweep_problem import SweepProblem
from partita.choosing.uniform_data import reference_data
from partita.metrics import criteria

MIN_ROWS_PER_CLUSTER = 5  # of a reference
MAX_K_FOR_STRUCTURE = 12  # structure is tested up to here, for any `ks`
MIN_COST = 1e-300  # a cost of 0 has no logarithm


@dataclass(frozen=True, slots=True)
class SweepCurve:
    """The result of a sweep, by number of clusters."""

    log_cost: Floats  # (m,)
    silhouette: Floats  # (m,) the simplified one; 0 for one cluster


@dataclass(frozen=True, slots=True)
class GapComparison:
    """The curve of the data, or of a sample of it, and those of references without structure."""

    ks: Ints  # (m,) ascending, from 1
    data: SweepCurve
    references: tuple[SweepCurve, ...]

    @property
    def expected(self) -> Floats:
        """The mean log J (m,) of the references."""
        return np.asarray(np.mean([curve.log_cost for curve in self.references], axis=0))

    @property
    def gap(self) -> Floats:
        """The gap statistic (m,): how far the data is below the references."""
        return self.expected - self.data.log_cost

    @property
    def error(self) -> Floats:
        """s (m,): the standard deviation of the references, with the error of their mean."""
        deviation = np.std([curve.log_cost for curve in self.references], axis=0)
        return np.asarray(deviation * math.sqrt(1 + 1 / len(self.references)))

    def pick(self, ks: Ints) -> int:
        """Return the smallest of 1 and `ks` with gap(k) >= gap(next k) − s(next k)."""
        wanted = np.isin(self.ks, [1, *ks])
        gap, bound = self.gap[wanted], (self.gap - self.error)[wanted]
        accepted = np.flatnonzero(gap[:-1] >= bound[1:])
        return int(self.ks[wanted][accepted[0] if len(accepted) else -1])


def sample_problem(problem: SweepProblem, size: int, rng: np.random.Generator) -> SweepProblem:
    """Return the problem for up to `size` of the rows that have weight."""
    rows = problem.counted
    if len(rows) > size:
        rows = np.sort(rng.choice(rows, size, replace=False))
    return problem if len(rows) == problem.n else problem.take(rows)


def compare_with_uniform(
    problem: SweepProblem,
    ks: Ints,
    n_references: int,
    rng: np.random.Generator,
    workers: Workers,
    callback: Callable[[], object],
) -> GapComparison | None:
    """Sweep over the rows, and over references without structure; None if rows are not vectors.

    Some K are added to `ks`, so that the test for structure does not depend on the user's choice.
    """
    problem = problem.alone()
    rows = problem.vectors()
    ks = np.array(sorted({1, *range(2, MAX_K_FOR_STRUCTURE + 1), *ks.tolist()}))
    ks = ks[ks <= min(problem.n, max(2, problem.n // MIN_ROWS_PER_CLUSTER))]
    if rows is None or len(ks) < 2:
        return None
    reference = reference_data(rows, rotate=not problem.is_euclidean)
    data = sweep_curve(problem, ks, workers)
    callback()
    references = []
    for _ in range(n_references):
        references.append(sweep_curve(problem.like(reference.draw(rng)), ks, workers))
        callback()
    return GapComparison(ks, data, tuple(references))


def sweep_curve(problem: SweepProblem, ks: Ints, workers: Workers) -> SweepCurve:
    """Sweep, and return the costs and simplified silhouettes."""
    cost, silhouette = dict.fromkeys(ks.tolist(), 0.0), dict.fromkeys(ks.tolist(), 0.0)

    def record(rung: Rung) -> None:
        cost[rung.k] = rung.cost
        _, first, second = problem.nearest(rung.model, workers)
        if first is not None and second is not None and rung.k > 1:
            silhouette[rung.k] = criteria.simplified_silhouette(first, second, problem.weight)

    climb_down(problem.ladder(workers), ks.tolist(), problem.n, record)
    log_cost = np.log(np.maximum(list(cost.values()), MIN_COST))
    return SweepCurve(log_cost, np.nan_to_num(np.array(list(silhouette.values()))))
