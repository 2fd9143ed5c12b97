"""The dissimilarity of a user: a metric for rows, or a matrix, checked."""

from __future__ import annotations

import math
import warnings
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import distance_metrics
from sklearn.utils.validation import validate_data

from partita._common import parameters as accept
from partita._common.array_types import Array, Floats, Ints
from partita._common.errors import ParameterError
from partita._common.number_arrays import as_any_array, returning_numbers
from partita._common.parameters import Got, check, choice, must_be
from partita._common.power_of_two import largest_magnitude, square_scale
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers, one_blas_thread
from partita._kernels import kernels
from partita.estimators import validation
from partita.source.cosine import cosine_distances, cosine_table
from partita.source.dataframes import from_frame, is_frame
from partita.source.dissimilarities import (
    KERNEL_METRICS,
    SIMILARITY_ADVICE,
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
    "gower", "hamming", "mahalanobis", "minkowski", "seuclidean", "sqeuclidean", "precomputed",
}))  # fmt: skip
SPARSE_METRICS = ("cityblock", "cosine", "euclidean", "l1", "l2", "manhattan")
EUCLIDEAN_METRICS = ("euclidean", "l2", "sqeuclidean")  # with the same nearest centers
GOWER = "gower"  # of tables with categories and gaps: see `gower_metric`
CHUNK_VALUES = 1 << 21  # dissimilarities measured at once


def check_metric(metric: Any, params: Any) -> None:
    """Check the metric and its parameters as far as they do not depend on the data."""
    if hasattr(metric, "rows_at"):  # a `RowMetric`, which a fit made
        return
    check("metric", metric, accept.either(choice(*METRICS), accept.CALLABLE))
    check("metric_params", params, accept.optional(accept.KEYWORDS))
    if params and metric == "precomputed":
        raise must_be("metric_params", "None with metric='precomputed'", params)


class RowMetric(Protocol):
    """A metric with what it learned in a fit, for the rows of a model."""

    @property
    def metric(self) -> Any: ...

    def new_rows(self, estimator: Any, X: Any) -> Any:
        """Return rows for a fitted estimator, checked, as the metric compares them."""

    def compared(self, centers: Any) -> Any:
        """Return the centers of a model as the metric compares them."""

    def rows_at(self, estimator: Any, X: Any, places: Ints) -> Any:
        """Return some rows of X as the centers of a model."""

    def candidates(self, rows: Any, weight: Floats | None) -> Array | None:
        """Return which rows (n,) may be medoids; None: all."""

    def table(self, rows: Any, workers: Workers, task: int = ...) -> DissimilarityTable:
        """Return the table of rows; a thread measures `task` of them at once."""

    def between(self, rows: Any, centers: Any, workers: Workers) -> tuple[Floats, float]:
        """Return the dissimilarities (n, k), and their unit."""


class Metric:
    """A metric for rows, with its parameters; those learned in a fit are used for new rows."""

    def __init__(self, metric: Any, params: Any, X: Any) -> None:
        self.metric = metric
        self.params: dict[str, Any] = dict(params or {})
        self.allows_nan = isinstance(metric, str) and metric == "nan_euclidean"
        self.is_cosine = isinstance(metric, str) and metric == "cosine" and not self.params
        if sp.issparse(X) and not callable(metric) and metric not in SPARSE_METRICS:
            wanted = f"{choice(*SPARSE_METRICS).text} for sparse X"
            raise must_be("metric", wanted, metric, "Or pass X.toarray().")
        # scikit-learn computes these from the rows of one call, which are only some of X
        if metric == "seuclidean" and "V" not in self.params:
            self.params["V"] = np.var(np.asarray(X, np.float64), axis=0, ddof=1)
        if metric == "mahalanobis" and "VI" not in self.params:
            self.params["VI"] = _inverse_covariance(np.asarray(X, np.float64))

    @property
    def plain(self) -> str | None:
        """The name of the metric in the compiled kernel, or None."""
        return None if callable(self.metric) or self.params else KERNEL_METRICS.get(self.metric)

    def checked(self, rows: Any, names: Any) -> Any:
        """Return rows as they are compared; `names` of the features are for errors."""
        if rows.dtype in validation.SMALL_DTYPES:
            rows = np.ascontiguousarray(rows, dtype=np.float32)
        if not self.allows_nan:
            with Workers(1) as workers:
                validation.check_finite(validation.make_source(rows, None, workers), rows, names)
        return rows

    def new_rows(self, estimator: Any, X: Any) -> Any:
        """Return rows for a fitted estimator, checked."""
        names = getattr(estimator, "feature_names_in_", None)
        return self.checked(validation.check_new_rows(estimator, X), names)

    def compared(self, centers: Any) -> Any:
        """Return the centers of a model, which are rows."""
        return centers

    def rows_at(self, estimator: Any, X: Any, places: Ints) -> Any:
        """Return some rows of X as the centers of a model."""
        return validation.as_rows(X)[places]

    def candidates(self, rows: Any, weight: Floats | None) -> Array | None:
        """Return None: every row may be a medoid."""
        return None

    def _ready(self, X: Any) -> Any:
        """Return rows in the form that scikit-learn takes, as doubles."""
        X = X.astype(np.float64, copy=False)
        if sp.issparse(X) and X.nnz < 2**31:  # its Manhattan metric needs short indices
            start, column = X.indptr.astype(np.int32), X.indices.astype(np.int32)
            return sp.csr_matrix((X.data, column, start), shape=X.shape)
        return X != 0 if self.metric in BOOLEAN_METRICS and not callable(self.metric) else X

    def check(self, X: Any) -> None:
        """Raise ValueError if the parameters do not suit the metric, by trying some rows."""
        rows = self._ready(X)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self.measure(rows, rows)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise ParameterError(
                f"`metric_params` must suit metric={self.metric!r}, got an error: {error}",
                parameter="metric_params",
            ) from error

    def measure(self, rows: Any, others: Any) -> Floats:
        """Return the dissimilarities (a, b) of rows, by scikit-learn."""
        metric = self.metric
        if callable(metric):
            metric = returning_numbers("metric", metric)
        values = pairwise_distances(rows, others, metric=metric, **self.params)
        return np.asarray(values, dtype=np.float64)

    def table(self, X: Any, workers: Workers, task: int = 16) -> DissimilarityTable:
        """Return the table of rows; a thread measures `task` of them at once."""
        if self.plain and not sp.issparse(X):
            return VectorTable(X, self.plain, workers)
        if self.is_cosine:
            return cosine_table(X, workers, task)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        slow, rows = callable(self.metric), self._ready(X)
        if slow:
            self._check_symmetric(rows)
        return MetricTable(rows, self.measure, dtype, workers, slow, task)

    def _check_symmetric(self, rows: Any) -> None:
        """Check d(a, b) = d(b, a) of a callable on a few rows, up to rounding in float32."""
        sample = evenly_spaced(rows.shape[0], 8)
        values = self.measure(rows[sample], rows[sample[::-1]])[:, ::-1]
        gap = np.abs(values - values.T).max()
        if gap > 1e-5 * np.abs(values).max():  # NaN is another error
            got = f"{self.metric!r}, whose d(a, b) and d(b, a) differ by up to {gap:.3g}"
            raise must_be("metric", "symmetric", Got(got), "(d(a, b) + d(b, a)) / 2 is.")

    def between(self, X: Any, centers: Any, workers: Workers) -> tuple[Floats, float]:
        """Return doubles (n, k) and their unit; X is dense or sparse as the centers are."""
        if self.is_cosine:
            return cosine_distances(X, centers, workers), 1.0
        if not self.plain or sp.issparse(X):
            with one_blas_thread():
                values = self.measure(self._ready(X), self._ready(centers))
            check_dissimilarities(values)
            return values, 1.0
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
            "metric='mahalanobis' needs the inverse of the covariance of X, which is singular. "
            "Pass metric_params={'VI': ...}, or remove features that others determine."
        ) from error


def match_sparsity(rows: Any, centers: Any) -> Any:
    """Return rows dense or sparse as the centers are."""
    if sp.issparse(centers):
        return rows if sp.issparse(rows) else sp.csr_array(rows)
    return rows.toarray() if sp.issparse(rows) else rows


def row_chunks(n: int, k: int) -> list[slice]:
    """Return n rows in chunks that are measured at once against k medoids."""
    step = max(1, CHUNK_VALUES // k)
    return [slice(i, min(n, i + step)) for i in range(0, n, step)]


# --- matrices ---------------------------------------------------------------------------------


def check_matrix(X: Any, workers: Workers) -> DissimilarityTable:
    """Return the table of a square matrix or its condensed triangle, checked."""
    values = as_matrix(X)
    if values.ndim == 1:
        return _check_condensed(values)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        _check_finite(values)
        wanted = "a square matrix, or its upper triangle as pdist returns it, with"
        raise must_be("X", f"{wanted} metric='precomputed'", Got(f"the shape {values.shape}"))
    if values.flags.f_contiguous and not values.flags.c_contiguous:
        values = values.T  # it is symmetric
    low, high, taint, diagonal, asymmetry = _summary(values, workers)
    _check_values(values, low, high, taint)
    tolerance = _tolerance(values, high)
    if asymmetry > tolerance:
        got = Got(f"d(i, j) and d(j, i) that differ by up to {asymmetry:.3g}")
        raise must_be("X", "a symmetric matrix", got, "(X + X.T) / 2 is symmetric.")
    if diagonal > tolerance:
        wanted = "a matrix with a diagonal of 0"
        raise must_be("X", wanted, Got(f"{diagonal:.3g}"), SIMILARITY_ADVICE)
    return DissimilarityMatrix(values, *_dtype_and_scale(values, high, len(values)))


def _summary(values: Array, workers: Workers) -> list[float]:
    if (
        values.dtype in validation.FLOAT_DTYPES
        and values.flags.c_contiguous
        and values.flags.aligned
    ):
        out = np.empty(5)
        kernels.summarise_matrix(values, out, workers.crew)
        return [float(value) for value in out]
    low, high, taint, asymmetry = 0.0, 0.0, 0.0, 0.0
    for span in row_chunks(*values.shape):  # other dtypes, and views
        block = np.ascontiguousarray(values[span], dtype=np.float64)
        across = np.ascontiguousarray(values[:, span].T, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            low, high = min(low, float(block.min())), max(high, float(block.max()))
            taint += float((block * 0).sum())
            asymmetry = max(asymmetry, float(np.abs(block - across).max()))
    return [low, high, taint, float(np.diagonal(values).max()), asymmetry]


def _check_condensed(values: Array) -> DissimilarityTable:
    n = (1 + math.isqrt(1 + 8 * len(values))) // 2
    if n * (n - 1) // 2 != len(values) or n < 2:
        lengths = f"{n * (n - 1) // 2} for {n} rows, {n * (n + 1) // 2} for {n + 1}"
        got = Got(f"the length {len(values)}")
        raise must_be("X", f"of the length n·(n - 1)/2 ({lengths})", got)
    with np.errstate(invalid="ignore"):
        low, high = float(values.min()), float(values.max())
        _check_values(values, low, high, float((values * 0.0).sum()))
    return CondensedMatrix(values, n, *_dtype_and_scale(values, high, n))


def as_matrix(X: Any) -> Array:
    """Return real numbers in any dtype, without a copy where possible."""
    if sp.issparse(X):
        raise TypeError(
            "Sparse data was passed, but dissimilarities that are not stored would be zero. `X` "
            "must be a dense matrix: use '.toarray()' to convert it."
        )
    if is_frame(X):
        X = from_frame(X) if type(X).__module__.partition(".")[0] != "pandas" else X.to_numpy()
    values = as_any_array("X", X, "a matrix of numbers")
    if values.dtype.kind == "c":
        raise ValueError(
            "Complex data not supported: `X` must be real, got complex dissimilarities."
        )
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise validation.not_a_table(X, error) from error
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    if values.size == 0:
        items = "sample(s)" if len(values) == 0 else "feature(s)"
        raise ValueError(
            f"Found array with 0 {items} (shape={values.shape}) while a minimum of 1 is required."
        )
    return values.view(np.uint8) if values.dtype == bool else values


def _check_finite(values: Array) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(
            f"Input X contains {validation.nonfinite_kinds(values)}: every "
            "dissimilarity must be finite. Impute missing values, and use a large number for "
            "unreachable rows."
        )


def _tolerance(values: Array, high: float) -> float:
    """Return the largest value that rounding may leave in place of 0."""
    return (1e-5 if values.dtype in (np.float32, np.float16) else 1e-8) * high


def _check_values(values: Array, low: float, high: float, taint: float) -> None:
    if taint != taint:
        _check_finite(values)
    if low < -_tolerance(values, high):
        raise ValueError(
            f"Negative values in data passed to X: dissimilarities must be >= 0, got {low:.3g}. "
            f"{SIMILARITY_ADVICE}"
        )


def _dtype_and_scale(values: Array, high: float, n: int) -> tuple[Any, float]:
    """A float dtype for values up to `high`, and a power of two that allows to add n of them."""
    single = high <= 2.0**24  # float32 holds integers up to 2^24 exactly
    if values.dtype.kind == "f":
        single = values.dtype.itemsize < 8
    return np.float32 if single else np.float64, 1.0 if high * n < 1e300 else 2.0**-100


def check_new_dissimilarities(model: Any, X: Any) -> Floats:
    """Return the dissimilarities (m, n) of new rows to the rows of the fit, checked."""
    values = as_matrix(X)
    if values.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {values.ndim}D array instead. Reshape your data: with "
            f"metric='precomputed', X must be the dissimilarities (m, {model.n_features_in_}) of "
            "new rows to those of the fit."
        )
    _check_finite(values)
    validate_data(model, X, reset=False, skip_check_array=True)
    _check_values(values, float(values.min()), float(values.max()), 0.0)
    return values
