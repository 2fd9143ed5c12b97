"""Means of clusters compared with all rows, feature by feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import square_scales
from partita.source.raw_rows import as_doubles

_MAX_ROUNDING_ERROR = 1e-12  # in deviations: a mean this close to 0 is 0


@dataclass(frozen=True, slots=True)
class ClusterProfile:
    """Centers in standard deviations of each feature: (center - mean) / deviation."""

    mean: Floats  # (d,) of all rows
    deviation: Floats  # (d,) of all rows
    centers: Floats  # (k, d)
    scores: Floats  # (k, d), in deviations
    order: Ints  # (d,) features, that with most variance between clusters first
    cluster_weight: Floats  # (k,)


def cluster_profile(
    values: Any, labels: Ints, weight: Floats, k: int, centers: Floats | None = None
) -> ClusterProfile:
    """Compare centers, or the means of the clusters, with all rows (n, d), dense or CSR.

    Labels outside of 0, …, k - 1 belong to no cluster. An empty cluster has the mean of all rows.
    """
    labels = np.where((labels >= 0) & (labels < k), labels, -1)
    inside = labels >= 0
    cluster_weight = np.bincount(labels[inside], weight[inside], k).astype(np.float64)
    scale = square_scales(as_doubles(abs(values).max(axis=0)).ravel())  # mostly 1
    if (scale != 1).any():
        values = values.multiply(scale).tocsr() if sp.issparse(values) else values * scale
    mean, deviation = feature_moments(values, weight if weight.any() else np.ones(len(weight)))
    if centers is None:
        centers = _cluster_means(values, labels, weight, cluster_weight)
        centers = np.where(cluster_weight[:, None] > 0, centers, mean)
    else:
        centers = centers * scale
    scores = np.divide(centers - mean, deviation, out=np.zeros_like(centers), where=deviation > 0)
    scores = np.nan_to_num(scores, posinf=0.0, neginf=0.0)
    order = np.argsort(-(cluster_weight @ scores**2), kind="stable")
    centers = np.where(np.abs(centers) < _MAX_ROUNDING_ERROR * deviation, 0.0, centers)
    return ClusterProfile(
        mean / scale, deviation / scale, centers / scale, scores, order, cluster_weight
    )


def feature_moments(values: Any, weight: Floats) -> tuple[Floats, Floats]:
    """Return the mean (d,) and deviation (d,) of every feature; 0 exactly if it is constant."""
    share = weight / weight.sum()
    if sp.issparse(values):
        mean = np.asarray(values.T @ share).ravel()
        square = np.asarray(values.multiply(values).T @ share).ravel()
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
    anchor = values[0]  # so that an offset of the data costs no digits
    centered = values - anchor
    middle = share @ centered
    deviation = np.sqrt(share @ (centered - middle) ** 2)
    return anchor + middle, np.where(np.ptp(centered, axis=0) > 0, deviation, 0.0)


def _cluster_means(values: Any, labels: Ints, weight: Floats, cluster_weight: Floats) -> Floats:
    """Weighted means (k, d); 0 for a cluster without weight."""
    rows = np.flatnonzero(labels >= 0)
    share = weight[rows] / np.where(cluster_weight > 0, cluster_weight, 1.0)[labels[rows]]
    shape = (len(cluster_weight), len(labels))
    mix = sp.csr_array((share, (labels[rows], rows)), shape=shape)
    if sp.issparse(values):
        return np.asarray((mix @ values).todense())
    anchor = values[0]
    return np.asarray(mix @ (values - anchor) + anchor)
