"""What a user means by a dissimilarity: a matrix that is checked, or a metric for rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import distance_metrics
from sklearn.utils.validation import validate_data

from partita._common.array_types import Array, Floats
from partita._common.power_of_two import largest_magnitude, square_scale
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers, one_blas_thread
from partita._kernels import kernels
from partita.estimators import validation
from partita.source.dataframes import from_frame, is_frame
from partita.source.dissimilarities import (
    KERNEL_METRICS,
    CondensedMatrix,
    DissimilarityMatrix,
    DissimilarityTable,
    MetricTable,
    VectorTable,
    check_dissimilarities,
    pack_panels,
    unit_of_scaled,
)

BOOLEAN_METRICS = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
METRICS = tuple(sorted({
    *distance_metrics(), *BOOLEAN_METRICS, "braycurtis", "canberra", "chebyshev", "correlation",
    "hamming", "mahalanobis", "minkowski", "seuclidean", "sqeuclidean", "precomputed",
}))  # fmt: skip
SPARSE_METRICS = ("cityblock", "cosine", "euclidean", "l1", "l2", "manhattan")
EUCLIDEAN_METRICS = ("euclidean", "l2", "sqeuclidean")  # whose nearest centers are those of Euclid
_CHUNK = 1 << 21  # dissimilarities measured at once


# --- metrics ----------------------------------------------------------------------------------


def check_metric(metric: Any, params: Any) -> None:
    """A name that is known, or a callable; parameters by name."""
    if not callable(metric) and metric not in METRICS:
        raise ValueError(
            f"metric={metric!r} was given; a callable is expected, or one of {', '.join(METRICS)}"
        )
    if params is not None and not isinstance(params, Mapping):
        raise ValueError(f"metric_params={params!r} was given; a dict of keywords is expected")
    if params and metric == "precomputed":
        raise ValueError(
            f"metric_params={params!r} was given with metric='precomputed'; a matrix that is "
            "given has no parameters"
        )


def has_flat_cells(metric: Any, params: Any = None) -> bool:
    """Whether what is nearest by this metric is nearest by Euclid's, so that cells are polytopes.

    >>> has_flat_cells("l2"), has_flat_cells("minkowski"), has_flat_cells("minkowski", {"p": 3})
    (True, True, False)
    """
    if isinstance(metric, str) and metric == "minkowski":
        given = dict(params or {})
        return bool(given.get("p", 2) == 2 and given.get("w") is None)
    return isinstance(metric, str) and metric in EUCLIDEAN_METRICS


class Metric:
    """A metric for rows, with all its parameters: those of the fit also serve new rows."""

    def __init__(self, metric: Any, params: Any, X: Any) -> None:
        self.metric = metric
        self.params: dict[str, Any] = dict(params or {})
        if sp.issparse(X) and not callable(metric) and metric not in SPARSE_METRICS:
            raise ValueError(
                f"metric={metric!r} needs dense rows, but X is sparse; give X.toarray(), or one of "
                f"the metrics {', '.join(SPARSE_METRICS)}"
            )
        # scikit-learn learns these from the rows it sees at once, and we show it few at a time
        if metric == "seuclidean" and "V" not in self.params:
            self.params["V"] = np.var(np.asarray(X, np.float64), axis=0, ddof=1)
        if metric == "mahalanobis" and "VI" not in self.params:
            self.params["VI"] = _inverse_covariance(np.asarray(X, np.float64))

    @property
    def plain(self) -> str | None:
        """The name by which our own kernel knows it."""
        return None if callable(self.metric) or self.params else KERNEL_METRICS.get(self.metric)

    @property
    def allows_nan(self) -> bool:
        """Whether rows may have gaps."""
        return bool(self.metric == "nan_euclidean")

    def _ready(self, X: Any) -> Any:
        """Rows as scikit-learn takes them: doubles, which it would not make of float32."""
        X = X.astype(np.float64, copy=False)
        if sp.issparse(X) and X.nnz < 2**31:  # its sparse Manhattan metric knows no longer indices
            start, column = X.indptr.astype(np.int32), X.indices.astype(np.int32)
            return sp.csr_matrix((X.data, column, start), shape=X.shape)
        return X != 0 if self.metric in BOOLEAN_METRICS and not callable(self.metric) else X

    def check(self, X: Any) -> None:
        """See that the parameters suit the metric, by some rows; ValueError if they do not."""
        rows = self._ready(X)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self.measure(rows, rows)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise ValueError(f"the parameters of metric={self.metric!r}: {error}") from error

    def measure(self, rows: Any, others: Any) -> Floats:
        """Dissimilarities (a, b) by scikit-learn."""
        found = pairwise_distances(rows, others, metric=self.metric, **self.params)
        return np.asarray(found, dtype=np.float64)

    def table(self, X: Any, workers: Workers, task: int = 16) -> DissimilarityTable:
        """The dissimilarities of rows to each other; `task` of them are measured at once."""
        if self.plain and not sp.issparse(X):
            return VectorTable(X, self.plain, workers)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        slow, rows = callable(self.metric), self._ready(X)
        if slow:
            self._check_symmetric(rows)
        return MetricTable(rows, self.measure, dtype, workers, slow, task=task)

    def _check_symmetric(self, rows: Any) -> None:
        """A callable must give d(a, b) = d(b, a): seen on a few rows, up to rounding in float32."""
        few = evenly_spaced(rows.shape[0], 8)
        found = self.measure(rows[few], rows[few[::-1]])[:, ::-1]
        gap = np.abs(found - found.T).max()
        if gap > 1e-5 * np.abs(found).max():  # NaN is another error
            raise ValueError(
                f"metric={self.metric!r} is not symmetric: d(a, b) and d(b, a) differ by up to "
                f"{gap:.3g} on a few rows of X; give a metric that is, for example "
                "(d(a, b) + d(b, a)) / 2"
            )

    def between(self, X: Any, centers: Any, workers: Workers) -> tuple[Floats, float]:
        """Doubles (n, k), and the unit they are given in. X is dense or sparse as the centers."""
        if not self.plain or sp.issparse(X):
            with one_blas_thread():
                found = self.measure(self._ready(X), self._ready(centers))
            check_dissimilarities(found)
            return found, 1.0
        scale = square_scale(largest_magnitude(X, centers))
        out = np.empty((len(centers), len(X)))
        with np.errstate(over="ignore"):
            panels = pack_panels(X.astype(np.float64) * scale)
            middle = np.ascontiguousarray(centers, dtype=np.float64) * scale
        kernels.pair_columns(panels, middle, self.plain, out, workers.crew)
        return out.T, unit_of_scaled(self.plain, scale)


def _inverse_covariance(X: Floats) -> Floats:
    try:
        return np.linalg.inv(np.atleast_2d(np.cov(X.T))).T
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "metric='mahalanobis' needs the inverse of the covariance of X, which has none; give "
            "one as metric_params={'VI': ...}, or remove features that others determine"
        ) from error


def match_sparsity(rows: Any, centers: Any) -> Any:
    """Rows in the form of the fit, dense or sparse: so a metric meets what it met there."""
    if sp.issparse(centers):
        return rows if sp.issparse(rows) else sp.csr_array(rows)
    return rows.toarray() if sp.issparse(rows) else rows


def row_chunks(n: int, k: int) -> list[slice]:
    """Rows that are measured at once."""
    step = max(1, _CHUNK // k)
    return [slice(i, min(n, i + step)) for i in range(0, n, step)]


# --- matrices ---------------------------------------------------------------------------------


def check_matrix(X: Any, workers: Workers) -> DissimilarityTable:
    """The table of a square matrix or of its condensed triangle, once nothing is wrong with it."""
    values = as_matrix(X)
    if values.ndim == 1:
        return _check_condensed(values)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        _check_finite(values)
        raise ValueError(
            f"X has the shape {values.shape}; with metric='precomputed' a square matrix of "
            "dissimilarities between all rows is expected, or its upper triangle as "
            "scipy.spatial.distance.pdist gives it"
        )
    if values.flags.f_contiguous and not values.flags.c_contiguous:
        values = values.T  # it is symmetric
    low, high, taint, diagonal, uneven = _looks(values, workers)
    _check_values(values, low, high, taint)
    slack = _slack(values, high)
    if uneven > slack:
        raise ValueError(
            f"the matrix of dissimilarities is not symmetric: d(i, j) and d(j, i) differ by up to "
            f"{uneven:.3g}; symmetrise it, for example (X + X.T) / 2"
        )
    if diagonal > slack:
        raise ValueError(
            f"the diagonal of the matrix of dissimilarities reaches {diagonal:.3g}; a row is not "
            "dissimilar to itself, so it must be 0. A similarity s becomes a dissimilarity as "
            "max(s) - s, for example"
        )
    return DissimilarityMatrix(values, _kernel_dtype(values, high), _scale(high, len(values)))


def _scale(high: float, n: int) -> float:
    """What makes n values up to this one small enough to be added."""
    return 1.0 if high * n < 1e300 else 2.0**-100


def _looks(values: Array, workers: Workers) -> list[float]:
    if (
        values.dtype in validation.FLOAT_DTYPES
        and values.flags.c_contiguous
        and values.flags.aligned
    ):
        looks = np.empty(5)
        kernels.summarise_matrix(values, looks, workers.crew)
        return [float(value) for value in looks]
    found = [0.0] * 5
    for some in row_chunks(*values.shape):  # other dtypes, and views
        part = np.ascontiguousarray(values[some], dtype=np.float64)
        across = np.ascontiguousarray(values[:, some].T, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            found[0] = min(found[0], float(part.min()))
            found[1] = max(found[1], float(part.max()))
            found[2] += float((part * 0).sum())
            found[4] = max(found[4], float(np.abs(part - across).max()))
    found[3] = float(np.diagonal(values).max())
    return found


def _check_condensed(values: Array) -> DissimilarityTable:
    n = (1 + math.isqrt(1 + 8 * len(values))) // 2
    if n * (n - 1) // 2 != len(values) or n < 2:
        raise ValueError(
            f"X has the length {len(values)}; the condensed dissimilarities of n rows are "
            f"n·(n - 1)/2 numbers: {n * (n - 1) // 2} for {n} rows, {n * (n + 1) // 2} for {n + 1}"
        )
    with np.errstate(invalid="ignore"):
        low, high = float(values.min()), float(values.max())
        _check_values(values, low, high, float((values * 0.0).sum()))
    everyone, high = np.arange(n), float(values.max())
    dtype = _kernel_dtype(values, high)
    return CondensedMatrix(values, dtype, _scale(high, n), n, everyone, everyone)


def as_matrix(X: Any) -> Array:
    """Real numbers in any dtype, without a copy where there need not be one."""
    if sp.issparse(X):
        raise TypeError(
            "Sparse data was passed, but dissimilarities that are not stored would be zero; a "
            "dense matrix is expected: use '.toarray()' to convert it"
        )
    if is_frame(X):
        X = from_frame(X) if type(X).__module__.partition(".")[0] != "pandas" else X.to_numpy()
    values = np.asarray(X)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex dissimilarities")
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"X holds what is not a number: {error}") from error
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    if values.size == 0:
        what = "sample(s)" if len(values) == 0 else "feature(s)"
        raise ValueError(
            f"Found array with 0 {what} (shape={values.shape}) while a minimum of 1 is required."
        )
    return values.view(np.uint8) if values.dtype == bool else values


def _check_finite(values: Array) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(
            f"Input X contains {'NaN' if np.isnan(values).any() else 'infinity'}: every "
            "dissimilarity must be a finite number; impute what is missing, or give what is "
            "unreachable a large number"
        )


def _slack(values: Array, high: float) -> float:
    """What rounding may leave where there should be nothing."""
    return (1e-5 if values.dtype in (np.float32, np.float16) else 1e-8) * high


def _check_values(values: Array, low: float, high: float, taint: float) -> None:
    if taint != taint:
        _check_finite(values)
    if low < -_slack(values, high):
        raise ValueError(
            f"Negative values in data passed to X: dissimilarities reach {low:.3g}, but 0 must be "
            "the least. A similarity s becomes a dissimilarity as max(s) - s, for example"
        )


def _kernel_dtype(values: Array, high: float) -> Any:
    """Floats that hold these numbers: whole numbers up to 2^24 exactly in float32."""
    if values.dtype.kind == "f":
        return np.float64 if values.dtype.itemsize == 8 else np.float32
    return np.float32 if high <= 2.0**24 else np.float64


def check_new_dissimilarities(model: Any, X: Any) -> Floats:
    """Dissimilarities (m, n) of new rows to the rows of the fit."""
    values = as_matrix(X)
    if values.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {values.ndim}D array instead. Reshape your data: with "
            f"metric='precomputed' the dissimilarities (m, {model.n_features_in_}) of new rows to "
            "those of the fit are expected"
        )
    _check_finite(values)
    validate_data(model, X, reset=False, skip_check_array=True)
    _check_values(values, float(values.min()), float(values.max()), 0.0)
    return values
