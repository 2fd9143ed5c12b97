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
from partita.report.not_shown import NotHere
from partita.report.report_input import Case
from partita.source.dissimilarities import KERNEL_METRICS

_WORK = 3e10  # products of differences that silhouettes may take: some seconds
_ROOT = 16  # features that a distance costs beside its own
_FOREIGN = 8  # times as much where no kernel of ours measures it
_LOOKED_UP = 400  # products for a number of a matrix, and an eighth of it if all are wanted
_CALLED = 1e5  # for a function of Python
_LEAST = 30  # rows of every cluster that are measured, where rows are sampled; fewer if
_FLOOR = 0.5  # these would take more than this share of the budget
_TWO = 2  # but a deviation needs two


@dataclass(frozen=True, slots=True)
class Silhouettes:
    """Silhouettes of rows, of all or of some that are compared with all."""

    values: Floats  # (m,)
    labels: Ints  # (m,)
    means: Floats  # (k,) of the clusters; NaN where there is none
    mean: float
    negative: float  # share of the weight that lies below 0
    error: float  # standard error of the mean; 0 if nothing was sampled
    of: int  # how many rows could have been measured

    @property
    def is_sampled(self) -> bool:
        """Return whether these are not all rows."""
        return len(self.values) < self.of

    @property
    def words(self) -> str:
        """What the mean says of the clusters."""
        for least, text in ((0.7, "far apart"), (0.5, "apart"), (0.25, "touching")):
            if self.mean >= least:
                return f"the clusters are {text}"
        return "the clusters overlap, or there are none"


def silhouettes_of(case: Case) -> Silhouettes:
    """Measure the rows of a case; `NotHere` if there is nothing to compare."""
    metric = _metric(case)
    inside = np.flatnonzero((case.labels >= 0) & (case.weight > 0))
    labels, rows, weight = case.labels[inside], case.rows, case.weight[inside]
    sizes = np.bincount(labels, minlength=case.k)
    if (sizes > 0).sum() < 2:
        raise NotHere("A silhouette compares a cluster with another, and there is only one.")
    if sizes.max() < 2 and not (weight > 1).any():
        raise NotHere("Every row is a cluster of its own: there are no others to compare with.")
    if len(inside) < case.n and case.is_matrix:
        raise NotHere("Some rows of the matrix belong to no cluster, or have no weight.")
    if len(inside) < case.n:
        rows = rows[inside]
    if sp.issparse(rows) and not callable(metric):  # dense ones are brought there by the kernel
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
        raise NotHere(f"There are no silhouettes: {capabilities.why_not(METRIC)}.")
    return capabilities.metric


def _affordable(rows: Any, n: int, metric: Any) -> float:
    """How many rows the budget allows to compare with all n; n if all of them."""
    price, all_alike = _price(rows, metric)
    return float(n) if n * n * price * all_alike <= _WORK else min(n - 1.0, _WORK / (n * price))


def _price(rows: Any, metric: Any) -> tuple[float, float]:
    """What a pair costs, as `silhouettes_of_some` measures it, and its share if all are wanted."""
    if callable(metric):
        return _CALLED, 1.0
    if metric == "precomputed":
        return _LOOKED_UP, 1 / 8  # whole columns need no picking
    if sp.issparse(rows):
        return _FOREIGN * (rows.nnz / max(1, rows.shape[0]) + _ROOT), 1.0
    own = rows.shape[1] + _ROOT
    return (own, 0.5) if metric in KERNEL_METRICS or metric == "cosine" else (_FOREIGN * own, 1.0)


def _points(labels: Ints, sizes: Ints, most: float) -> Ints:
    """Which rows to measure: all, or of every cluster its share of `most`, but some of each."""
    if len(labels) <= most:
        return np.arange(len(labels))
    rng = generator(0)
    found = np.flatnonzero(sizes)
    least = int(np.clip(_FLOOR * most / len(found), _TWO, _LEAST))
    share = most / len(labels)
    order, end = np.argsort(labels, kind="stable"), np.cumsum(sizes)
    drawn = []
    for j in found:
        members = order[end[j] - sizes[j] : end[j]]
        m = min(len(members), max(least, round(share * len(members))))
        drawn.append(rng.choice(members, m, replace=False))
    return np.sort(np.concatenate(drawn))


def _of_strata(
    values: Floats, labels: Ints, weight: Floats, mass: Floats, sizes: Ints
) -> Silhouettes:
    """The mean over clusters of known mass, each known by a sample of its rows.

    The mean of a cluster is a ratio, Σ w·s / Σ w, of which both parts are sampled: its variance is
    (1 − m/n)·m/(m − 1)·Σ (w·(s − mean))² / (Σ w)² (Cochran, Sampling Techniques, chapter 6).
    """
    k = len(mass)
    count, share = np.bincount(labels, minlength=k), mass / mass.sum()
    heavy = np.bincount(labels, weight, k)
    safe = np.where(heavy > 0, heavy, 1.0)
    below = np.bincount(labels, weight * (values < 0), k) / safe
    means = np.where(heavy > 0, np.bincount(labels, weight * values, k) / safe, np.nan)
    gap = weight * np.where(heavy[labels] > 0, values - np.nan_to_num(means)[labels], 0.0)
    left = 1 - count / np.maximum(sizes, 1)
    variance = left * count / np.maximum(count - 1, 1) * np.bincount(labels, gap**2, k) / safe**2
    mean, error = float(share @ np.nan_to_num(means)), math.sqrt(float(share**2 @ variance))
    if len(values) == sizes.sum():  # as `silhouette_score` adds it up
        mean, error = exact_total(weight * values) / exact_total(weight), 0.0
    of = int(sizes.sum())
    return Silhouettes(values, labels, means, mean, float(share @ below), error, of)
