"""The plane of the first two principal axes, in which data of many features is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita.estimators import validation
from partita.source.raw_rows import as_doubles, row_slices
from partita.stats import ClusterStats

COVARIANCE_MAX_FEATURES = 1024  # beyond that no covariance matrix is made


def pca_plane(X: Any, sample_weight: Any = None) -> tuple[Floats, Floats]:
    """Return the mean (d,) of rows and their first two principal axes (2, d), of unit length.

    X is dense, CSR, or a `ClusterStats`, whose means count by their weights. The largest component
    of an axis is positive. `Cells.slice(*pca_plane(X))` cuts cells by this plane.

    >>> mean, axes = pca_plane([[0.0, 0.0, 1.0], [4.0, 0.0, 1.0], [2.0, 1.0, 1.0]])
    >>> mean.round(3).tolist(), axes.round(3).tolist()
    ([2.0, 0.333, 1.0], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    """
    if isinstance(X, ClusterStats):
        X, sample_weight = X.mean, X.weight
    rows = validation.as_rows(X, "pca_plane")
    n, d = rows.shape
    if d < 2:
        raise ValueError(f"`X` must have at least 2 features for a plane, got {d}.")
    weight = validation.check_weights(sample_weight, n)
    w = np.ones(n) if weight is None else weight
    values = rows.data if sp.issparse(rows) else rows
    if not np.isfinite(values).all():
        raise ValueError("`X` must be finite, got NaN or infinity. Fill or remove these rows.")
    unit = square_scale(largest_magnitude(rows))
    rows = scaled(rows, unit)
    w = w / w.sum()
    anchor = np.zeros(d) if sp.issparse(rows) else np.asarray(rows[0], dtype=np.float64)
    mean = anchor + sum(w[span] @ (as_doubles(rows[span]) - anchor) for span in row_slices(n, d))
    axes = (_by_covariance if d <= COVARIANCE_MAX_FEATURES else _by_lanczos)(rows, w, mean)
    sign = np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1))
    return mean / unit, axes * np.where(sign == 0, 1.0, sign)


def _by_covariance(rows: Any, w: Floats, mean: Floats) -> Floats:
    covariance = np.zeros((len(mean), len(mean)))
    for span in row_slices(*rows.shape):
        gap = as_doubles(rows[span]) - mean
        covariance += (gap.T * w[span]) @ gap
    return np.asarray(np.linalg.eigh(covariance)[1][:, :-3:-1].T)


def _by_lanczos(rows: Any, w: Floats, mean: Floats) -> Floats:
    """The same by products with the rows; the mean is subtracted from the product."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    def covariance_times(v: Floats) -> Floats:
        flat = v.ravel()
        along = w * (rows @ flat - mean @ flat)
        return np.asarray(rows.T @ along - mean * along.sum())

    d = len(mean)
    start = np.random.default_rng(0).normal(size=d)
    if not covariance_times(start).any():  # all rows are equal
        return np.eye(2, d)
    operator = LinearOperator((d, d), matvec=covariance_times, dtype=np.float64)
    size, vectors = eigsh(operator, k=2, v0=start)
    return np.asarray(vectors[:, np.argsort(-size)].T)
