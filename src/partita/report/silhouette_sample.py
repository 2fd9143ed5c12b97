"""Silhouettes of all rows, or of a sample of every cluster, within a budget of work."""

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
from partita.report.report_input import NotApplicable, ReportInput
from partita.source.dissimilarities import KERNEL_METRICS

# Costs are in products of differences: a distance takes one per feature, and some overhead.
MAX_PRODUCTS = 3e10  # some seconds
DISTANCE_PRODUCTS = 16  # the overhead of a distance
_FOREIGN_FACTOR = 8  # for a distance that no kernel of ours measures
_LOOKUP_PRODUCTS = 400  # for an entry of a matrix
_CALL_PRODUCTS = 1e5  # for a Python function
_MIN_CLUSTER_ROWS = 30  # of a sample; fewer if they would take more than
_MAX_MINIMUM_SHARE = 0.5  # of the budget, but at least
_FEWEST_ROWS = 2  # for a deviation
_SEPARATION = ((0.7, "far apart"), (0.5, "apart"), (0.25, "touching"))  # from this mean on


@dataclass(frozen=True, slots=True)
class SilhouetteSample:
    """Silhouettes of all rows, or of some that are compared with all."""

    values: Floats  # (m,)
    labels: Ints  # (m,)
    means: Floats  # (k,) of the clusters; NaN if no row was measured
    mean: float
    negative: float  # share of the weight below 0
    error: float  # standard error of the mean; 0 without sampling
    n_rows: int  # that could have been measured

    @property
    def is_sampled(self) -> bool:
        """True if these are not all rows."""
        return len(self.values) < self.n_rows

    @property
    def description(self) -> str:
        """The separation of the clusters, in words."""
        for lowest, words in _SEPARATION:
            if self.mean >= lowest:
                return f"the clusters are {words}"
        return "the clusters overlap, or there are none"


def measure_silhouettes(data: ReportInput) -> SilhouetteSample:
    """Measure rows; raise `NotApplicable` if there is nothing to compare."""
    capabilities = capabilities_of(data.model)
    metric = capabilities.metric
    if metric is None:
        raise NotApplicable(f"There are no silhouettes: {capabilities.why_not(METRIC)}.")
    inside = np.flatnonzero((data.labels >= 0) & (data.weight > 0))
    labels, rows, weight = data.labels[inside], data.rows, data.weight[inside]
    if data.places is not None:
        assert capabilities.pairs is not None
        rows, metric = capabilities.pairs(rows)
    sizes = np.bincount(labels, minlength=data.k)
    if (sizes > 0).sum() < 2:
        raise NotApplicable("Silhouettes compare clusters, and there is only one.")
    if sizes.max() < 2 and not (weight > 1).any():
        raise NotApplicable("Every row is a cluster of its own: there are no others to compare.")
    if len(inside) < data.n:
        if data.is_matrix:
            raise NotApplicable("Some rows of the matrix have no cluster or no weight.")
        rows = rows[inside]
    if sp.issparse(rows) and not callable(metric):  # the kernel scales dense rows
        rows = scaled(rows, square_scale(largest_magnitude(rows)))
    measured = _sample(labels, sizes, _affordable_rows(rows, len(labels), metric))
    values = silhouettes_at(
        rows,
        labels,
        measured,
        metric=metric,
        sample_weight=None if data.fitted.weight is None else weight,
        n_threads=getattr(data.model, "n_threads", None),
    )
    cluster_weight = np.bincount(labels, weight, data.k).astype(np.float64)
    return _stratified(values, labels[measured], weight[measured], cluster_weight, sizes)


def _affordable_rows(rows: Any, n: int, metric: Any) -> float:
    """The number of rows that the budget allows to compare with all n."""
    price, factor = _pair_price(rows, metric)
    if n * n * price * factor <= MAX_PRODUCTS:
        return float(n)
    return min(n - 1.0, MAX_PRODUCTS / (n * price))


def _pair_price(rows: Any, metric: Any) -> tuple[float, float]:
    """The cost of a pair in `silhouettes_at`, and its factor if all rows are measured."""
    if callable(metric):
        return _CALL_PRODUCTS, 1.0
    if metric == "precomputed":
        return _LOOKUP_PRODUCTS, 1 / 8  # whole columns need no indexing
    if sp.issparse(rows):
        return _FOREIGN_FACTOR * (rows.nnz / max(1, rows.shape[0]) + DISTANCE_PRODUCTS), 1.0
    own = rows.shape[1] + DISTANCE_PRODUCTS
    if metric in KERNEL_METRICS or metric == "cosine":
        return own, 0.5  # each pair once
    return _FOREIGN_FACTOR * own, 1.0


def _sample(labels: Ints, sizes: Ints, max_rows: float) -> Ints:
    """All rows; or of every cluster its share of `max_rows`, with a minimum of each."""
    if len(labels) <= max_rows:
        return np.arange(len(labels))
    rng = generator(0)
    clusters = np.flatnonzero(sizes)
    affordable = _MAX_MINIMUM_SHARE * max_rows / len(clusters)
    minimum = int(np.clip(affordable, _FEWEST_ROWS, _MIN_CLUSTER_ROWS))
    share = max_rows / len(labels)
    order, end = np.argsort(labels, kind="stable"), np.cumsum(sizes)
    drawn = []
    for j in clusters:
        members = order[end[j] - sizes[j] : end[j]]
        m = min(len(members), max(minimum, round(share * len(members))))
        drawn.append(rng.choice(members, m, replace=False))
    return np.sort(np.concatenate(drawn))


def _stratified(
    values: Floats, labels: Ints, weight: Floats, cluster_weight: Floats, sizes: Ints
) -> SilhouetteSample:
    """The mean over clusters of known weight, each estimated by a sample of its rows.

    The mean of a cluster is a ratio, Σ w·s / Σ w, of which both parts are sampled: its variance is
    (1 − m/n)·m/(m − 1)·Σ (w·(s − mean))² / (Σ w)² (Cochran, Sampling Techniques, chapter 6).
    """
    k, n = len(cluster_weight), int(sizes.sum())
    count, share = np.bincount(labels, minlength=k), cluster_weight / cluster_weight.sum()
    drawn = np.bincount(labels, weight, k)
    divisor = np.where(drawn > 0, drawn, 1.0)
    negative = np.bincount(labels, weight * (values < 0), k) / divisor
    means = np.where(drawn > 0, np.bincount(labels, weight * values, k) / divisor, np.nan)
    gap = weight * np.where(drawn[labels] > 0, values - np.nan_to_num(means)[labels], 0.0)
    left = 1 - count / np.maximum(sizes, 1)
    squares = np.bincount(labels, gap**2, k)
    variance = left * count / np.maximum(count - 1, 1) * squares / divisor**2
    mean, error = float(share @ np.nan_to_num(means)), math.sqrt(float(share**2 @ variance))
    if len(values) == n:  # the sum of `silhouette_score`
        mean, error = exact_total(values, weight) / exact_total(weight), 0.0
    return SilhouetteSample(values, labels, means, mean, float(share @ negative), error, n)
