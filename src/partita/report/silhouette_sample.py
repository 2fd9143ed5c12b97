"""Silhouettes for a report: of all rows, or of a sample of every cluster, within a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita._common.random_state import generator
from partita.estimators.capabilities import METRIC
from partita.estimators.fitted_models import capabilities_of
from partita.metrics.silhouette import silhouettes_at
from partita.report.not_shown import NotApplicable
from partita.report.report_input import Case
from partita.source.dissimilarities import KERNEL_METRICS

_MAX_PRODUCTS = 3e10  # budget: a product and a sum per feature of a pair; some seconds
# What a pair costs, in products
_ROOT_PRODUCTS = 16  # the root and the bookkeeping, besides the features
_GENERIC_FACTOR = 8  # for metrics that have no kernel of their own
_MATRIX_PRODUCTS = 400  # to read an entry of a matrix; an eighth of it if all are read
_CALL_PRODUCTS = 1e5  # to call a Python function
_MAX_MIN_ROWS = 30  # of every cluster in a sample; fewer if
_MIN_ROWS_SHARE = 0.5  # they would take more than this share of the budget
_MIN_ROWS = 2  # a deviation needs two


@dataclass(frozen=True, slots=True)
class SilhouetteSample:
    """Silhouettes of all rows, or of a sample that is compared with all."""

    values: Floats  # (m,)
    labels: Ints  # (m,)
    means: Floats  # (k,) of the clusters; NaN where there is none
    mean: float
    negative: float  # share of the weight that lies below 0
    error: float  # standard error of the mean; 0 if nothing was sampled
    of: int  # rows that could have been measured

    @property
    def is_sampled(self) -> bool:
        """Return whether these are only some of the rows."""
        return len(self.values) < self.of

    @property
    def words(self) -> str:
        """The separation of the clusters in words."""
        for minimum, text in ((0.7, "far apart"), (0.5, "apart"), (0.25, "touching")):
            if self.mean >= minimum:
                return f"the clusters are {text}"
        return "the clusters overlap, or there are none"


def measure_silhouettes(case: Case) -> SilhouetteSample:
    """Measure the rows of a case; raise `NotApplicable` if there is nothing to compare."""
    metric = _metric(case)
    inside = np.flatnonzero((case.labels >= 0) & (case.weight > 0))
    labels, rows, weight = case.labels[inside], case.rows, case.weight[inside]
    sizes = np.bincount(labels, minlength=case.k)
    if (sizes > 0).sum() < 2:
        raise NotApplicable("Silhouettes need at least two clusters.")
    if sizes.max() < 2 and not (weight > 1).any():
        raise NotApplicable("Silhouettes need a cluster with at least two rows.")
    if len(inside) < case.n and case.is_matrix:
        raise NotApplicable("Some rows of the matrix belong to no cluster, or have no weight.")
    if len(inside) < case.n:
        rows = rows[inside]
    if sp.issparse(rows) and not callable(metric):  # the kernel scales dense rows
        rows = scaled(rows, square_scale(largest_magnitude(rows)))
    points = _points(labels, sizes, _affordable(rows, len(labels), metric))
    values = silhouettes_at(
        rows,
        labels,
        points,
        metric=metric,
        sample_weight=None if case.fitted.weight is None else weight,
        n_threads=getattr(case.model, "n_threads", None),
    )
    mass = np.bincount(labels, weight, case.k).astype(np.float64)
    return _of_strata(values, labels[points], weight[points], mass, sizes)


def _metric(case: Case) -> Any:
    capabilities = capabilities_of(case.model)
    if capabilities.metric is None:
        raise NotApplicable(f"There are no silhouettes: {capabilities.why_not(METRIC)}.")
    return capabilities.metric


def _affordable(rows: Any, n: int, metric: Any) -> float:
    """The number of rows that the budget allows to compare with all n."""
    products, share_if_all = _pair_products(rows, metric)
    if n * n * products * share_if_all <= _MAX_PRODUCTS:
        return float(n)
    return min(n - 1.0, _MAX_PRODUCTS / (n * products))


def _pair_products(rows: Any, metric: Any) -> tuple[float, float]:
    """The cost of a pair, and the share of it that remains if all pairs are measured."""
    if callable(metric):
        return _CALL_PRODUCTS, 1.0
    if metric == "precomputed":
        return _MATRIX_PRODUCTS, 1 / 8  # whole columns are read in order
    if sp.issparse(rows):
        return _GENERIC_FACTOR * (rows.nnz / max(1, rows.shape[0]) + _ROOT_PRODUCTS), 1.0
    own = rows.shape[1] + _ROOT_PRODUCTS
    return (
        (own, 0.5)
        if metric in KERNEL_METRICS or metric == "cosine"
        else (_GENERIC_FACTOR * own, 1.0)
    )


def _points(labels: Ints, sizes: Ints, most: float) -> Ints:
    """Select rows: all, or of every cluster its share of `most`, with a minimum."""
    if len(labels) <= most:
        return np.arange(len(labels))
    rng = generator(0)
    occupied = np.flatnonzero(sizes)
    minimum = int(np.clip(_MIN_ROWS_SHARE * most / len(occupied), _MIN_ROWS, _MAX_MIN_ROWS))
    share = most / len(labels)
    order, end = np.argsort(labels, kind="stable"), np.cumsum(sizes)
    drawn = []
    for j in occupied:
        members = order[end[j] - sizes[j] : end[j]]
        m = min(len(members), max(minimum, round(share * len(members))))
        drawn.append(rng.choice(members, m, replace=False))
    return np.sort(np.concatenate(drawn))


def _of_strata(
    values: Floats, labels: Ints, weight: Floats, mass: Floats, sizes: Ints
) -> SilhouetteSample:
    """Estimate the mean over clusters of known mass from a sample of each.

    The mean of a cluster is a ratio, Σ w·s / Σ w, of which both parts are sampled: its variance is
    (1 − m/n)·m/(m − 1)·Σ (w·(s − mean))² / (Σ w)² (Cochran, Sampling Techniques, chapter 6).
    """
    k = len(mass)
    count, share = np.bincount(labels, minlength=k), mass / mass.sum()
    sampled = np.bincount(labels, weight, k)
    safe = np.where(sampled > 0, sampled, 1.0)
    below = np.bincount(labels, weight * (values < 0), k) / safe
    means = np.where(sampled > 0, np.bincount(labels, weight * values, k) / safe, np.nan)
    gap = weight * np.where(sampled[labels] > 0, values - np.nan_to_num(means)[labels], 0.0)
    correction = 1 - count / np.maximum(sizes, 1)
    variance = (
        correction * count / np.maximum(count - 1, 1) * np.bincount(labels, gap**2, k) / safe**2
    )
    mean, error = float(share @ np.nan_to_num(means)), math.sqrt(float(share**2 @ variance))
    if len(values) == sizes.sum():  # the bits of `silhouette_score`
        mean, error = exact_total(weight * values) / exact_total(weight), 0.0
    of = int(sizes.sum())
    return SilhouetteSample(values, labels, means, mean, float(share @ below), error, of)
