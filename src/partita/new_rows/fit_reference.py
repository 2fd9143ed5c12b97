"""`FitReference`: what is kept of the rows of a fit, to compare new rows with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.sparse_format import is_sparse
from partita.estimators import capabilities as needs
from partita.estimators.fitted_models import capabilities_of, count_clusters
from partita.new_rows.own_distances import own_distances
from partita.new_rows.reach import cluster_reach
from partita.source.raw_rows import row_slices


@dataclass(frozen=True, slots=True, eq=False)
class FitReference:
    """The rows of a fit in a few numbers.

    Attributes
    ----------
    reach : ndarray of shape (k,)
        The distance from the center of each cluster up to which rows are like those of the fit.
    share : ndarray of shape (k,)
        The part of the (weight of the) rows in each cluster.
    mean, deviation : ndarray of shape (d,) or None
        Mean and standard deviation of the features over the rows within reach, as the model was
        fitted to them. None if the model was fitted to a matrix between rows, or to a table with
        categories.
    rows : int
        The number of rows.
    """

    reach: Floats
    share: Floats
    mean: Floats | None
    deviation: Floats | None
    rows: int

    @classmethod
    def of(cls, model: Any, X: Any, labels: Array, weight: Floats | None = None) -> FitReference:
        """Summarise the checked rows X of a fit and their labels; rows of weight 0 do not count."""
        k, capabilities = count_clusters(model), capabilities_of(model)
        if weight is not None:
            counts = weight > 0
            X, labels, weight = X[counts], labels[counts], weight[counts]
        distance = own_distances(model, X, labels)
        # a row pulls its own center, unless that is a medoid, which stays where a row is
        about_means = capabilities.merge_rule != "representatives"
        unrelated = None if capabilities.unrelated is None else capabilities.unrelated()
        reach = cluster_reach(distance, labels, k, about_means=about_means, unrelated=unrelated)
        mean = deviation = None
        if capabilities.input == needs.ROWS and capabilities.mixed is None:
            within = (labels >= 0) & ~beyond_reach(distance, labels, reach)
            mean, deviation = moments(X, within, weight)
        return cls(reach, shares(labels, k, weight), mean, deviation, len(labels))


def beyond_reach(distance: Floats, labels: Array, reach: Floats) -> Array:
    """Return which rows (n,) are farther from their center than their cluster reaches."""
    k = len(reach)
    own = np.append(reach, np.inf)[np.where((labels >= 0) & (labels < k), labels, k)]
    return np.asarray(distance > own)


def shares(labels: Array, k: int, weight: Floats | None = None) -> Floats:
    """Return the part (k,) of each cluster in the weight of the rows that have a center."""
    known = (labels >= 0) & (labels < k)
    sums = np.bincount(labels[known], None if weight is None else weight[known], k)
    return np.asarray(sums / (sums.sum() or 1.0))


def moments(X: Any, chosen: Array, weight: Floats | None = None) -> tuple[Floats, Floats]:
    """Return mean and standard deviation (d,) of the chosen rows; NaN if there are none."""
    share = chosen * (1.0 if weight is None else weight)
    total = share.sum()
    if total == 0:
        return np.full(X.shape[1], np.nan), np.full(X.shape[1], np.nan)
    share = share / total
    if not is_sparse(X) and np.isnan(X).any():
        return _moments_of_known(X, share)
    largest = _column_maxima(X)  # so that no square leaves the range
    if is_sparse(X):
        Y = X.multiply(1 / largest).tocsr()
        mean = np.asarray(share @ Y).ravel()
        square = np.asarray(share @ Y.multiply(Y)).ravel() - mean**2
    else:
        mean, square = (np.zeros(X.shape[1]) for _ in range(2))
        parts = row_slices(X.shape[0], X.shape[1])
        for part in parts:
            mean += (share[part, None] * (X[part] / largest)).sum(axis=0)
        for part in parts:
            square += (share[part, None] * (X[part] / largest - mean) ** 2).sum(axis=0)
    return mean * largest, np.sqrt(np.maximum(square, 0)) * largest


def _moments_of_known(X: Any, share: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the values that are not missing, feature by feature."""
    pairs = []
    for x in X.T:
        known = ~np.isnan(x)
        pairs.append(
            [value[0] for value in moments(x[known, None], share[known] > 0, share[known])]
        )
    mean, deviation = np.array(pairs).T
    return mean, deviation


def _column_maxima(X: Any) -> Floats:
    largest = abs(X).max(axis=0)
    largest = np.asarray(largest.toarray() if is_sparse(largest) else largest, np.float64).ravel()
    return np.where(largest > 0, largest, 1.0)
