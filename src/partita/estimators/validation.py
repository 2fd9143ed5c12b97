"""Friendly outside: what a user gives becomes exactly what the engine takes, or a clear error."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from partita._threads import Workers, default_threads
from partita._typing import Array, Floats
from partita.source.blocks import Source
from partita.source.frames import from_frame, is_frame, listed
from partita.source.memory import MemorySource
from partita.source.sparse import SparseSource
from partita.weights import Weights

FLOATS = [np.float64, np.float32]
BY_BLOCK = (np.uint8, np.float16)  # converted block by block instead of copied whole


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as a C-ordered array or canonical CSR; names and number of features are checked or kept."""
    if _is_ready(X) and not hasattr(estimator, "feature_names_in_"):
        if reset:
            estimator.n_features_in_ = X.shape[1]
            return X
        if X.shape[1] == estimator.n_features_in_:
            return X
    rows = as_rows(X, name=type(estimator).__name__)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
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
    if is_frame(X) and not _is_plain_pandas(X):
        X = from_frame(X)
    if isinstance(X, np.ma.MaskedArray):
        masked = int(np.ma.getmaskarray(X).sum())
        if masked:
            raise ValueError(
                f"X is a masked array with {masked} masked values; fill them "
                "(X.filled(...)) or drop their rows first"
            )
        X = X.data
    as_is = isinstance(X, np.ndarray) and X.dtype in BY_BLOCK
    X = check_array(
        X,
        accept_sparse="csr",
        dtype=None if as_is else FLOATS,
        order=None if as_is else "C",
        ensure_all_finite=False,
        estimator=name,
        input_name="X",
    )
    return _canonical(X) if sp.issparse(X) else X


def _is_plain_pandas(X: Any) -> bool:
    """A pandas frame of NumPy numbers goes straight through: no detour for the common case."""
    if type(X).__module__.partition(".")[0] != "pandas" or not X.columns.is_unique:
        return False
    return all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in X.dtypes)


def _canonical(X: Any) -> Any:
    """CSR with sorted indices, no duplicates, and column indices that fit 32 bits."""
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"X has {X.shape[1]} features; at most 2^31 − 1 are supported")
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
        missing = bool(np.isnan(X.data).any())
    else:
        assert isinstance(source, MemorySource)
        columns = source.extent()[2]
        if columns.size == 0:
            return
        part = X[:, columns]
        rows, missing = int((~np.isfinite(part)).any(axis=1).sum()), bool(np.isnan(part).any())
    what = "NaN" if missing else "infinity"
    labels = columns if names is None else np.asarray(names)[columns]
    raise ValueError(
        f"Input X contains {what}: {rows} of {X.shape[0]} rows, in "
        f"column{'s' * (len(columns) > 1)} {listed(labels.tolist())}. K-means needs finite "
        "numbers: drop those rows (X[np.isfinite(X).all(axis=1)]) or impute them, for example "
        "with sklearn.impute.SimpleImputer."
    )


def check_weights(sample_weight: Any, n: int) -> Floats | None:
    """Weights (n,) as doubles, or None if every row counts once."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n, sample_weight, dtype=np.float64)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
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


def check_start(init: Any, X: Any, k: int) -> Array:
    """Given centers as doubles (k, d), or an error that says what does not fit."""
    try:
        centers = np.array(init.toarray() if sp.issparse(init) else init, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init must be an array of {k} centers: {error}") from error
    if centers.ndim != 2 or centers.shape[0] != k:
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match the number of "
            f"clusters {k}."
        )
    if centers.shape[1] != X.shape[1]:
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match the number of "
            f"features of the data {X.shape[1]}."
        )
    if not np.isfinite(centers).all():
        raise ValueError(
            f"Input init contains NaN or infinity, in {int((~np.isfinite(centers)).any(1).sum())} "
            f"of {k} centers; every center must be finite"
        )
    return centers
