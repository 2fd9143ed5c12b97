"""The gap statistic: the same sweep on data and on references without structure.

References are uniform in the box of the data along its principal axes (Tibshirani, Walther and
Hastie 2001). A single Gaussian has less structure than such a box, so data that beats the box beats
both. Categorical features are drawn independently. Skewed features and counts have more structure
than a box: data that beats it is also compared with one cloud of such features. Tables with columns
of categories are compared with tables whose categories are shuffled, and whose numbers are a cloud.

Rows that most fits leave out as outliers are not part of a cloud: references have the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.logarithm import logarithm
from partita._common.threads import Workers, one_blas_thread
from partita.choosing.independent_categories import shuffled_table
from partita.choosing.ladder import climb_down
from partita.choosing.sweep_problem import SweepProblem
from partita.choosing.unimodal_reference import unimodal_cloud
from partita.choosing.value_grid import count_comparable
from partita.geometry import EUCLIDEAN
from partita.metrics import criteria

MIN_ROWS_PER_CLUSTER = 5  # of a reference
MAX_K_FOR_STRUCTURE = 12  # structure is tested up to here, for any `ks`
MIN_COST = 1e-300  # a cost of 0 has no logarithm
MAX_CATEGORIES = 20  # distinct values of a categorical feature
MIN_ROWS_PER_CATEGORY = 5  # on average

Sampler = Callable[[np.random.Generator], Floats]  # draws as many rows as the data has


@dataclass(frozen=True, slots=True)
class SweepCurve:
    """The result of a sweep, by number of clusters."""

    log_cost: Floats  # (m,)
    silhouette: Floats  # (m,) the simplified one; 0 for one cluster
    n_comparable: int | None = None  # K from the first on whose clusters are no grid; None: all
    outliers: Ints | None = None  # rows that most fits leave out; None: there are none


@dataclass(frozen=True, slots=True)
class ReferenceKind:
    """A kind of references without structure."""

    about: str
    is_like_data: bool  # whether their features are distributed like those of the data


UNIFORM = ReferenceKind("uniform data", is_like_data=False)
ONE_CLOUD = ReferenceKind("one cloud with such features", is_like_data=True)
SHUFFLED = ReferenceKind("such a table with shuffled categories", is_like_data=True)


@dataclass(frozen=True, slots=True)
class GapComparison:
    """The curve of the data, or of a sample of it, and those of references without structure."""

    ks: Ints  # (m,) ascending, from 1
    data: SweepCurve
    references: tuple[SweepCurve, ...]
    kind: ReferenceKind = UNIFORM

    @property
    def gap(self) -> Floats:
        """The gap statistic (m,): how far the data is below the references."""
        expected = np.mean([curve.log_cost for curve in self.references], axis=0)
        return np.asarray(expected - self.data.log_cost)

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
    """Sweep over the rows, and over references without structure.

    None if rows are neither vectors nor a table with categories. Some K are added to `ks`, so that
    the test for structure does not depend on the user's choice.
    """
    problem = problem.alone()
    rows, is_table = problem.vectors(), problem.capabilities.mixed is not None
    ks = np.array(sorted({1, *range(2, MAX_K_FOR_STRUCTURE + 1), *ks.tolist()}))
    ks = ks[ks <= min(problem.n, max(2, problem.n // MIN_ROWS_PER_CLUSTER))]
    if (rows is None and not is_table) or len(ks) < 2:
        return None
    data = sweep_curve(problem, ks, workers)
    callback()
    if rows is None:
        draw_table = shuffled_table(problem.X, problem.category_columns(workers))
        shuffled = (problem.like(draw_table(rng)) for _ in range(n_references))
        return GapComparison(ks, data, _sweep_each(shuffled, ks, workers, callback), SHUFFLED)
    rotate = problem.capabilities.geometry is not EUCLIDEAN
    draw = among_outliers(rows, data.outliers, lambda inliers: reference_data(inliers, rotate))
    tables = (problem.like(draw(rng)) for _ in range(n_references))
    return GapComparison(ks, data, _sweep_each(tables, ks, workers, callback))


def compare_with_cloud(
    problem: SweepProblem,
    uniform: GapComparison,
    n_references: int,
    rng: np.random.Generator,
    workers: Workers,
    callback: Callable[[], object],
) -> GapComparison | None:
    """Sweep over references that are one cloud; None for categories that are no numbers."""
    problem = problem.alone()
    rows = problem.vectors()
    is_euclidean = problem.capabilities.geometry is EUCLIDEAN
    if rows is None or (is_categorical(rows) and not is_euclidean):
        return None
    draw = among_outliers(rows, uniform.data.outliers, unimodal_cloud)
    tables = (problem.like(draw(rng)) for _ in range(n_references))
    references = _sweep_each(tables, uniform.ks, workers, callback)
    return replace(uniform, references=references, kind=ONE_CLOUD)


def _sweep_each(
    tables: Iterable[SweepProblem], ks: Ints, workers: Workers, callback: Callable[[], object]
) -> tuple[SweepCurve, ...]:
    curves = []
    for table in tables:
        curves.append(sweep_curve(table, ks, workers))
        callback()
    return tuple(curves)


def sweep_curve(problem: SweepProblem, ks: Ints, workers: Workers) -> SweepCurve:
    """Sweep, and return the costs and simplified silhouettes."""
    rungs = climb_down(problem.ladder(workers), ks.tolist(), problem.n, only_merges=True)
    silhouette = np.zeros(len(ks))
    for number, k in enumerate(ks.tolist()):
        _, first, second = problem.nearest(rungs[k].model, workers)
        if first is not None and second is not None and k > 1:
            silhouette[number] = criteria.simplified_silhouette(first, second, problem.weight)
    costs = [rungs[k].cost for k in ks.tolist()]
    log_cost = np.array([logarithm(max(cost, MIN_COST)) for cost in costs])
    count = count_comparable(np.array(costs) / problem.mass, problem.grid_variance)
    outliers = left_out_by_most([rung.model for rung in rungs.values()])
    return SweepCurve(log_cost, np.nan_to_num(silhouette), count, outliers)


def left_out_by_most(models: Sequence[Any]) -> Ints | None:
    """The rows to which more than half of the fits gave no cluster; None if there are none.

    A single fit may leave out rows of a cluster that it lacks a center for.
    """
    labels = [np.asarray(own) for m in models if (own := getattr(m, "labels_", None)) is not None]
    rows = np.flatnonzero(2 * np.sum([own < 0 for own in labels], axis=0) > len(models))
    return rows if len(rows) else None


def among_outliers(
    rows: Floats, outliers: Ints | None, sampler_of: Callable[[Floats], Sampler]
) -> Sampler:
    """Draw like the rows that are no outliers; these stay where they are."""
    if outliers is None:
        return sampler_of(rows)
    inliers = np.setdiff1d(np.arange(len(rows)), outliers)
    draw = sampler_of(rows[inliers])

    def draw_all(rng: np.random.Generator) -> Floats:
        drawn = rows.copy()
        drawn[inliers] = draw(rng)
        return drawn

    return draw_all


def uniform_box(rows: Floats, rotate: bool) -> Sampler:
    """Uniform in the box along the principal axes; Euclidean distances need no rotation back."""
    mean = rows.mean(axis=0)
    with one_blas_thread():
        u, s, axes = np.linalg.svd(rows - mean, full_matrices=False)
    placed = u * s
    low, high = placed.min(axis=0), placed.max(axis=0)

    def draw(rng: np.random.Generator) -> Floats:
        drawn = rng.uniform(low, high, placed.shape)
        return np.asarray(drawn @ axes + mean) if rotate else drawn

    return draw


def independent_categories(rows: Floats) -> Sampler:
    """Independent features: all categories equally likely; uniform if there are many values."""
    categories = [np.unique(column) for column in rows.T]

    def draw(rng: np.random.Generator) -> Floats:
        columns = [
            rng.choice(values, len(rows))
            if len(values) <= MAX_CATEGORIES
            else rng.uniform(values[0], values[-1], len(rows))
            for values in categories
        ]
        return np.column_stack(columns)

    return draw


def reference_data(rows: Floats, rotate: bool) -> Sampler:
    """Return independent categories if most features are categorical, else a uniform box."""
    return independent_categories(rows) if is_categorical(rows) else uniform_box(rows, rotate)


def is_categorical(rows: Floats) -> bool:
    """Return whether most features have few values, each of them in several rows."""
    max_categories = max(2, min(MAX_CATEGORIES, len(rows) // MIN_ROWS_PER_CATEGORY))
    categorical = [len(np.unique(column)) <= max_categories for column in rows.T]
    return 2 * sum(categorical) > len(categorical)
