"""The partition of a fitted `KMedoids`, as certificates take it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import Got, must_be
from partita._common.threads import Workers
from partita.certificates.bounding import CertifiedPartition
from partita.certificates.certified_medoids import certify_medoids
from partita.certificates.certified_rows import EPSILON
from partita.estimators.certifiable import check_room
from partita.estimators.medoids.metric import check_matrix
from partita.source.dissimilarities import DissimilarityTable

MATRIX_COPIES = 4  # of the dissimilarities: theirs, those times weights, and the work of the bound
ROUNDINGS = 16  # of a dissimilarity beside those of its d terms


def certified_fit(
    model: Any, X: Any, weight: Floats | None, workers: Workers
) -> CertifiedPartition:
    """Return the partition of the rows of the fit; other rows have no such medoids.

    Rows of weight 0 neither count nor become medoids.
    """
    table, d, allowed = _table(model, X, weight, workers)
    n, medoids = table.n, model.medoid_indices_
    points = np.arange(n) if weight is None else np.flatnonzero(weight)
    candidates = np.union1d(points if allowed is None else points[allowed[points]], medoids)
    check_room(MATRIX_COPIES * 8.0 * len(points) * len(candidates), f"{n} × {n} dissimilarities")
    values = table.restrict(candidates, points).columns(np.arange(len(candidates)))
    values = values.astype(np.float64) * table.unit
    values[candidates[:, None] == points] = 0.0  # of a row to itself
    mass = np.ones(len(points)) if weight is None else weight[points]
    places = np.searchsorted(candidates, medoids)
    error = 0.0 if d is None else 2 * (d + ROUNDINGS) * EPSILON
    return certify_medoids(np.ascontiguousarray(values), places, mass, d, error)


def _table(
    model: Any, X: Any, weight: Floats | None, workers: Workers
) -> tuple[DissimilarityTable, int | None, Array | None]:
    """Return the dissimilarities of the rows of the fit, and their number of features.

    The last are which rows (n,) may be medoids; None: all.
    """
    if model._metric is None:
        table = check_matrix(X, workers)
        if table.n != model.n_features_in_:
            raise _other_rows(f"dissimilarities between {table.n} rows")
        return table, None, None
    metric = model._metric
    rows = metric.new_rows(model, X)
    if not _has_rows(rows, model.medoid_indices_, metric.compared(model.cluster_centers_)):
        raise _other_rows("rows without the medoids")
    allowed = metric.candidates(rows, weight)
    return metric.table(rows.astype(np.float64), workers), rows.shape[1], allowed


def _has_rows(rows: Any, places: Ints, expected: Any) -> bool:
    """Return whether some rows are the expected ones; NaN equals NaN."""
    if places.max() >= rows.shape[0]:
        return False
    found = rows[places]
    found, expected = (x.toarray() if sp.issparse(x) else x for x in (found, expected))
    return bool(np.array_equal(found, expected, equal_nan=True))


def _other_rows(got: str) -> Exception:
    advice = "Medoids are rows, and the bound is about the choice among them."
    return must_be("X", "the rows of the fit, in their order", Got(got), advice)
