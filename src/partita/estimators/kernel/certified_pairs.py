"""The partition of a fitted `KernelKMeans`, as certificates take it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.threads import Workers
from partita.certificates.bounding import CertifiedPartition
from partita.certificates.certified_kernels import certify_pairs, squared_distances
from partita.estimators import validation
from partita.estimators.certifiable import check_room
from partita.estimators.kernel import kernel_input, matrices
from partita.source.gram_tiles import gram_matrix

MATRIX_COPIES = 6  # of the Gram matrix: distances, centred products and those of the bounds


def certified_pairs(
    model: Any, X: Any, weight: Floats | None, workers: Workers
) -> CertifiedPartition:
    """Return the partition of X, by all pairs of its rows under the true kernel.

    With a shift of the diagonal it is that of the shifted kernel, as `inertia_` is.
    """
    X = validation.check_new_rows(model, X)
    n = X.shape[0]
    check_room(MATRIX_COPIES * 8.0 * n * n, f"the Gram matrix of {n} rows")
    closeness, weight = _closeness(model, X, weight, workers)
    labels = _labels(model, X)
    mass = np.ones(n) if weight is None else weight
    kept = np.flatnonzero(mass)
    if len(kept) < n:
        closeness, labels, mass = closeness[np.ix_(kept, kept)], labels[kept], mass[kept]
    sigma = float(model.diagonal_shift_)
    squares = squared_distances(closeness, mass, sigma)
    known = _is_linked(model) or (model.kernel_ is not None and model.kernel_.definite)
    k = len(model.stats_.weight)
    return certify_pairs(squares, labels, mass, k, is_definite=known)


def _closeness(
    model: Any, X: Any, weight: Floats | None, workers: Workers
) -> tuple[Floats, Floats | None]:
    """Return inner products (n, n) up to a number per row and column, and the weights."""
    if _is_linked(model):
        return model._space.inner_products(X, workers), weight
    if model.kernel_ is not None:
        names = getattr(model, "feature_names_in_", None)
        rows = X if X.dtype in validation.FLOAT_DTYPES else X.astype(np.float32)
        validation.check_finite(validation.make_source(rows, None, workers), rows, names)
        placed = model.kernel_.place(rows, model._space.kept_rows)
        return gram_matrix(model.kernel_, model.kernel_.prepare(placed, True), workers), weight
    if model.kernel == kernel_input.CUT:
        X, weight = matrices.cut_matrix(X)
    matrices.check_square(X, "Gram matrix")
    dense = X.toarray() if sp.issparse(X) else X
    return np.asarray(dense, dtype=np.float64), weight


def _is_linked(model: Any) -> bool:
    return bool(model.kernel == kernel_input.NEIGHBOURS)


def _labels(model: Any, X: Any) -> Ints:
    """Return the labels of the fit, if X is a matrix or a shift tells it from new rows."""
    labels = getattr(model, "labels_", None)
    is_of_fit = labels is not None and len(labels) == X.shape[0]
    is_matrix = model.kernel_ is None and not _is_linked(model)
    if is_of_fit and (is_matrix or model.diagonal_shift_):
        return np.asarray(labels, dtype=np.int64)
    return np.asarray(model.predict(X), dtype=np.int64)
