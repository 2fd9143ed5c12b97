"""Friendly outside: what a user gives becomes exactly what the engine takes, or a clear error."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from partita._common.array_types import Array, Floats
from partita._common.text import listed
from partita._common.threads import Workers, default_threads
from partita.source.blocks import Source
from partita.source.dataframes import from_frame, is_frame
from partita.source.dense import MemorySource
from partita.source.sparse import SparseSource
from partita.weights import Weights

FLOATS = [np.float64, np.float32]
BY_BLOCK = (np.uint8, np.float16)  # converted block by block instead of copied whole
FEATURES = ("n_features_in_", "feature_names_in_")


def check_new(estimator: Any, X: Any) -> tuple[Any, dict[str, Any]]:
    """Rows to fit: a C-ordered array or canonical CSR, and what the fit will know of its features.

    The estimator itself is left alone, so that a fit that fails leaves an earlier one as it was.
    """
    if _is_ready(X):
        return X, {"n_features_in_": X.shape[1]}
    rows = as_rows(X, name=type(estimator).__name__)
    return rows, features_of(X)


def features_of(X: Any) -> dict[str, Any]:
    """How many features X has, and their names where it has names."""
    probe = _Probe()
    validate_data(probe, X, reset=True, skip_check_array=True)
    return {name: value for name, value in vars(probe).items() if name in FEATURES}


class _Probe(BaseEstimator):  # type: ignore[misc]
    """Learns the features of X in the place of an estimator that has not been fitted yet."""


def check_again(estimator: Any, X: Any) -> Any:
    """Rows for a fitted estimator: they must have the features it was fitted with."""
    named = hasattr(estimator, "feature_names_in_")
    if _is_ready(X) and not named and X.shape[1] == estimator.n_features_in_:
        return X
    rows = as_rows(X, name=type(estimator).__name__)
    validate_data(estimator, X, reset=False, skip_check_array=True)
    return rows


def _is_ready(X: Any) -> bool:
    """Whether X is what the kernels read; scikit-learn's checks cost more than a small fit."""
    return (
        type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.ndim == 2
        and X.flags.c_contiguous
        and X.flags.aligned
        and X.size > 0
    )


def as_rows(X: Any, name: str = "partita") -> Any:
    """X as a C-ordered array or canonical CSR; whether it is finite is checked later."""
    if X is None:
        raise ValueError("X is None; a table of numbers with one row per sample is expected")
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise ValueError(f"X is a {type(X).__name__}, not computed yet; give X.collect()")
    if is_frame(X) and not _is_plain_pandas(X):
        X = from_frame(X)
    if isinstance(X, np.ma.MaskedArray):
        X = _unmasked(X)
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise ValueError(
            f"X holds times ({X.dtype}), not numbers; subtract a date and divide by a unit first, "
            "for example (X - X.min()) / np.timedelta64(1, 's')"
        )
    as_is = isinstance(X, np.ndarray) and X.dtype in BY_BLOCK
    try:
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=None if as_is else FLOATS,
            order=None if as_is else "C",
            ensure_all_finite=False,
            estimator=name,
            input_name="X",
        )
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"X holds text: {error}; drop it or encode it as numbers") from error
    return _canonical(X) if sp.issparse(X) else X


def _unmasked(X: Any) -> Array:
    masked = int(np.ma.getmaskarray(X).sum())
    if masked:
        raise ValueError(
            f"X is a masked array with {masked} masked values; fill them (X.filled(...)) or drop "
            "their rows first"
        )
    return np.asarray(X.data)


def _is_plain_pandas(X: Any) -> bool:
    """A pandas frame of NumPy numbers goes straight through: no detour for the common case.

    So do sparse columns, which scikit-learn knows how to read.
    """
    if type(X).__module__.partition(".")[0] != "pandas" or not X.columns.is_unique:
        return False
    kinds = [getattr(kind, "subtype", kind) for kind in X.dtypes]
    return len(kinds) > 0 and all(
        isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in kinds
    )


def _canonical(X: Any) -> Any:
    """CSR with sorted indices in range, no duplicates, and column indices that fit 32 bits."""
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"X has {X.shape[1]} features; at most 2^31 − 1 are supported")
    if X.nnz and not (X.indices.min() >= 0 and X.indices.max() < X.shape[1]):
        raise ValueError(
            f"X has a column index out of range: {X.indices.min()} to {X.indices.max()}, but only "
            f"{X.shape[1]} features"
        )
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_finite(source: Source, X: Any, names: Any = None) -> None:
    """Raise an error that says which columns hold NaN or infinity, and in how many rows."""
    if isinstance(source, SparseSource):
        if np.isfinite(X.data).all():
            return
        bad = X.copy()
        bad.data = ~np.isfinite(X.data)
        bad.eliminate_zeros()
        columns, rows = np.unique(bad.indices), int((np.diff(bad.indptr) > 0).sum())
        part = X.data
    else:
        assert isinstance(source, MemorySource)
        columns = source.extent()[2]
        if columns.size == 0:
            return
        part = X[:, columns]
        rows = int((~np.isfinite(part)).any(axis=1).sum())
    kinds = {"NaN": np.isnan(part).any(), "infinity": np.isinf(part).any()}
    what = " and ".join(kind for kind, found in kinds.items() if found)
    labels = columns if names is None else np.asarray(names)[columns]
    raise ValueError(
        f"Input X contains {what}: {rows} of {X.shape[0]} rows, in "
        f"column{'s' * (len(columns) > 1)} {listed(labels.tolist())}. Clustering needs finite "
        "numbers: drop those rows or impute them, for example with sklearn.impute.SimpleImputer."
    )


def check_weights(sample_weight: Any, n: int) -> Floats | None:
    """Weights (n,) as doubles, or None if every row counts once."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n, sample_weight, dtype=np.float64)
    sample_weight = np.asarray(sample_weight)
    if sample_weight.dtype.kind == "c":
        raise ValueError("sample_weight is complex; one real number per row is expected")
    try:
        weight: Floats = sample_weight.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers: {error}") from error
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weight.ndim}D array.")
    if len(weight) != n:
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n,)}: one per row")
    wrong = ~np.isfinite(weight)
    if wrong.any():
        raise ValueError(
            f"Input sample_weight contains NaN or infinity in {int(wrong.sum())} of {n} rows; "
            "every weight must be a finite number"
        )
    if (weight < 0).any():
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: {int((weight < 0).sum())} of {n} "
            "weights are below 0; a weight says how often a row counts"
        )
    if not (weight > 0).any():
        raise ValueError("sample_weight is zero for every row; at least one row must count")
    if not 1e-290 < weight.max() < 1e306 / n:
        size = "large" if weight.max() > 1 else "small"
        raise ValueError(
            f"sample_weight reaches {weight.max():.3g}, too {size} for the sums; only ratios of "
            "weights matter for the clustering, so divide all of them by one number"
        )
    return weight


def check_threads(n_threads: int | None) -> int:
    """How many threads to use."""
    if n_threads is None:
        return default_threads()
    if not isinstance(n_threads, numbers.Integral) or isinstance(n_threads, bool) or n_threads < 1:
        raise ValueError(
            f"n_threads={n_threads!r} was given; a whole number of at least 1 is expected, or None "
            "for all the cores this process may use"
        )
    return int(n_threads)


def make_source(X: Any, weight: Floats | None, workers: Workers) -> MemorySource | SparseSource:
    """The source for checked rows."""
    weights = Weights.of(weight, X.shape[0])
    return (SparseSource if sp.issparse(X) else MemorySource)(X, weights, workers)


def centers_of(given: Any, what: str, k: int | str, d: int | str) -> Floats:
    """Centers as doubles, from an array or a fitted model; or an error that says why not."""
    if hasattr(given, "get_params") and getattr(given, "cluster_centers_", None) is None:
        fitted = hasattr(given, "labels_")
        why = "has no centers among the rows" if fitted else "is not fitted; fit it first"
        raise ValueError(f"{what} is a {type(given).__name__} that {why}")
    given = getattr(given, "cluster_centers_", given)
    wanted = f"centers of shape ({k}, {d}) are expected"
    if np.iscomplexobj(given):
        raise ValueError(f"{what} is complex; real {wanted}")
    try:
        centers = np.array(given.toarray() if sp.issparse(given) else given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} holds what is not a number ({error}); {wanted}") from error
    if centers.ndim != 2:
        raise ValueError(f"{what} has the shape {centers.shape}; {wanted}")
    if not np.isfinite(centers).all():
        raise ValueError(
            f"{what} contains NaN or infinity, in {int((~np.isfinite(centers)).any(1).sum())} of "
            f"{len(centers)} centers; every center must be finite"
        )
    return centers


def check_start(init: Any, X: Any, k: int) -> Floats:
    """Given centers as doubles (k, d), or an error that says what does not fit."""
    d = X.shape[1]
    centers = centers_of(init, "init", k, d)
    fault = "number of clusters " + str(k) if len(centers) != k else ""
    fault = fault or (f"number of features of the data {d}" if centers.shape[1] != d else "")
    if fault:
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match the {fault}: "
            f"({k}, {d}) is expected."
        )
    return centers


def whole(name: str, value: Any, least: int = 1, instead: str = "") -> int:
    """A parameter that must be a whole number of at least `least`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(
            f"{name}={value!r} was given; a whole number of at least {least} is expected{instead}"
        )
    return int(value)


def is_amount(value: Any) -> bool:
    """Whether it is a number that is not negative."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and float(value) >= 0


def check_temperature(temperature: Any, auto: float) -> float:
    """How soft memberships are: a number of at least 0."""
    if isinstance(temperature, str) and temperature == "auto":
        return auto
    if not is_amount(temperature):
        raise ValueError(
            f"temperature={temperature!r} was given; a number that is not negative is expected, "
            "or 'auto'"
        )
    return float(temperature)


def check_enough(n: int, k: int) -> None:
    """There must be as many rows as clusters."""
    if n < k:
        raise ValueError(
            f"n_samples={n} should be >= n_clusters={k}; lower n_clusters or give more rows"
        )
