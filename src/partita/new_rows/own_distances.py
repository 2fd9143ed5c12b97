"""The distance of each row to the center of its own cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita._common.threads import Workers
from partita.centers import Centers
from partita.estimators import capabilities as needs
from partita.estimators import validation
from partita.estimators.fitted_models import capabilities_of, complete_rows, count_clusters
from partita.geometry import EUCLIDEAN, Geometry
from partita.source.raw_rows import row_slices
from partita.source.unit_rows import unit_rows


def own_distances(model: Any, X: Any, labels: Array) -> Floats:
    """Return the distance (n,) that `model.transform` measures, of each row to its own cluster.

    X are checked rows. NaN for rows whose label has no center. A ValueError for models that do not
    measure distances of new rows.
    """
    capabilities, centers = capabilities_of(model), getattr(model, "cluster_centers_", None)
    X = complete_rows(model, X)
    if capabilities.geometry is not None and centers is not None:
        return _to_centers(X, centers, labels, capabilities.geometry)
    if capabilities.input not in (needs.ROWS, needs.DISSIMILARITIES):
        raise ValueError(
            f"A {type(model).__name__} of {capabilities.input} does not measure distances of new "
            "rows. Fit it to rows, with a named kernel."
        )
    k = count_clusters(model)
    distance = np.full(len(labels), np.nan)
    for part in row_slices(len(labels), k):
        known = (labels[part] >= 0) & (labels[part] < k)
        every = np.asarray(model.transform(X[part]), dtype=np.float64)
        distance[part][known] = every[known, labels[part][known]]
    return distance


def _to_centers(X: Any, centers: Floats, labels: Array, geometry: Geometry) -> Floats:
    """Return Euclidean distances, or 1 − cos for directions."""
    known = (labels >= 0) & (labels < len(centers))
    own = np.ascontiguousarray(np.where(known, labels, 0), dtype=np.int32)
    if len(own) == 0:
        return np.zeros(0)
    scale = 1.0
    with Workers(validation.check_threads(None)) as workers:
        if geometry is EUCLIDEAN:
            scale = square_scale(largest_magnitude(X, centers))
            rows = scaled(X, scale)
        else:
            rows = unit_rows(X, workers)[0]
        values = np.ascontiguousarray(centers, dtype=np.float64) * scale
        source = validation.make_source(rows, None, workers)
        squares = source.own_distances(Centers(values, np.zeros(values.shape[1])), own)
    distance = np.sqrt(squares) / scale if geometry is EUCLIDEAN else squares / 2
    return np.where(known, distance, np.nan)
