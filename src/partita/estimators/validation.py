"""Checks of user input: rows, weights, centers and threads in the form that the engine takes.

scikit-learn is imported by the checks that need it: rows of a file are labelled without it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Array, Floats, Ints
from partita._common.errors import ParameterError
from partita._common.number_arrays import as_float_array
from partita._common.parameters import MAX_REASON_LENGTH, Got, check, describe_value, must_be
from partita._common.sparse_format import canonical_csr, check_sparse, is_sparse
from partita._common.text import listed, one_line
from partita._common.threads import MAX_THREADS, Workers, default_threads
from partita.estimators.gaps import COUNTING_ADVICE, check_gaps
from partita.estimators.scanned_rows import (
    is_scanned,
    rows_like_fit,
    scanned_array,
    scanned_features,
)
from partita.exact_weights import Weights
from partita.scanning.scan import OpenedRows
from partita.scanning.stored_rows import StoredRows
from partita.source.blocks import kernel_type
from partita.source.dask_rows import is_dask
from partita.source.dataframes import from_frame, is_frame
from partita.source.dense import DenseSource
from partita.source.partial_rows import PartialSource, RowsWithGaps
from partita.source.protocol import Source
from partita.source.raw_rows import row_slices
from partita.source.spark_frames import is_spark
from partita.source.sparse import SparseSource

FLOAT_DTYPES = [np.float64, np.float32]
# converted block by block instead of copied whole
SMALL_DTYPES = {np.dtype(np.uint8), np.dtype(np.float16)}
FEATURE_ATTRIBUTES = ("n_features_in_", "feature_names_in_")
NEEDS_ALL_PAIRS = ("KMedoids", "KernelKMeans")
MIN_WEIGHT, MAX_TOTAL_WEIGHT = 1e-290, 1e306
N_THREADS = accept.optional(accept.integer(1), "None uses all cores available to this process.")
MIN_EXTENT, MAX_EXTENT = 1e-140, 1e140  # of values that are squared and added
LIGHTEST, HEAVIEST = 1e-70, 1e70  # weights of these squares


def check_fit_rows(estimator: Any, X: Any, memory: float = math.inf) -> tuple[Any, dict[str, Any]]:
    """Return rows to fit as an array or canonical CSR, and the attributes of features.

    An array that would have to be copied stays as it is if the copy takes more than `memory` bytes;
    `DenseSource` then converts it block by block. The estimator itself is not changed, so that a
    fit that fails leaves an earlier one intact.
    """
    if _is_ready(X):
        return X, {"n_features_in_": X.shape[1]}
    if isinstance(X, OpenedRows):
        return X.rows, scanned_features(X)
    return as_rows(X, type(estimator).__name__, memory=memory), feature_attributes(X)


def copied_bytes(X: Any, rows: Any) -> int:
    """Return the bytes of checked rows that are a copy of X, 0 if they are X itself."""
    is_copy = isinstance(rows, np.ndarray) and rows is not X and rows.flags.owndata
    return int(rows.nbytes) if is_copy else 0


def feature_attributes(X: Any) -> dict[str, Any]:
    """Return the number of features of X, and their names if it has names."""
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import validate_data

    probe = BaseEstimator()  # receives the attributes in place of the model
    validate_data(probe, X, reset=True, skip_check_array=True)
    return {name: value for name, value in vars(probe).items() if name in FEATURE_ATTRIBUTES}


def check_new_rows(estimator: Any, X: Any, parameter: str = "X") -> Any:
    """Return rows for a fitted estimator; they must have the features it was fitted with."""
    # blocks of rows in partitions have no names: those of all rows were compared
    named = hasattr(estimator, "feature_names_in_") and not hasattr(estimator, "_reads_blocks")
    if _is_ready(X) and not named and X.shape[1] == estimator.n_features_in_:
        return X
    from sklearn.utils.validation import validate_data

    if is_scanned(X):
        return rows_like_fit(estimator, X, parameter)
    rows = as_rows(X, type(estimator).__name__, parameter)
    if not hasattr(estimator, "_reads_blocks"):
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return rows


def _is_ready(X: Any) -> bool:
    """Return whether the kernels can read X as it is; checks would cost more than a small fit."""
    return (
        type(X) is np.ndarray
        and X.dtype in FLOAT_DTYPES
        and X.ndim == 2
        and X.flags.c_contiguous
        and X.flags.aligned
        and X.size > 0
    )


def as_rows(X: Any, name: str = "partita", parameter: str = "X", memory: float = math.inf) -> Any:
    """Return X as an array or canonical CSR; `check_finite` comes later.

    `name` is the estimator or function, `parameter` the argument that errors are about. Arrays are
    in C order unless the copy would take more than `memory` bytes.
    """
    from sklearn.utils import check_array

    if X is None:
        raise must_be(parameter, "a table of numbers with one row per sample", X)
    if is_scanned(X):
        return scanned_array(X, parameter)
    if isinstance(X, StoredRows):
        return X
    refuse_lazy(X, name, parameter)
    if is_sparse(X):
        check_sparse(X, parameter)  # before compiled code reads it
    if is_frame(X) and not _is_plain_pandas(X):
        X = from_frame(X)
    if isinstance(X, np.ma.MaskedArray):
        masked = int(np.ma.getmaskarray(X).sum())
        if masked:
            got = Got(f"a masked array with {masked} masked values")
            raise must_be(
                parameter, "complete", got, "Fill them (X.filled(...)) or drop their rows."
            )
        X = np.asarray(X.data)
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        advice = "Convert times first, for example (X - X.min()) / np.timedelta64(1, 's')."
        raise must_be(parameter, "numeric", Got(f"times ({X.dtype})"), advice)
    if is_frame(X) and 8 * X.size > memory and _is_wide_numeric(X):
        X = X.to_numpy()  # no copy if the columns are in one block, one instead of two if not
    as_is = _is_converted_in_blocks(X, memory)
    try:
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=None if as_is else FLOAT_DTYPES,
            order=None if as_is else "C",
            ensure_all_finite=False,
            estimator=name,
            input_name=parameter,
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise not_a_table(X, error, parameter) from error
    return canonical_csr(X) if is_sparse(X) else X


def refuse_lazy(X: Any, name: str, parameter: str) -> None:
    """Raise an error for rows that are not in memory; `name` is the estimator or function."""
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise must_be(parameter, "computed", Got(f"a {type(X).__name__}"), "Pass X.collect().")
    if is_dask(X) or is_spark(X) or hasattr(X, "__partita_partitions__"):
        got = Got(f"a {type(X).__name__}")
        raise must_be(parameter, "rows in memory", got, in_memory_advice(name, X))


def in_memory_advice(name: str, X: Any) -> str:
    """Return what to do where an estimator or function takes no rows in partitions."""
    sample = "X.limit(m).toPandas()" if is_spark(X) else "X[:m].compute()"
    if name in NEEDS_ALL_PAIRS:
        return f"{name} needs pairs of rows: pass a sample, for example {sample}."
    return f"Pass a sample or all rows as an array, for example {sample}."


def not_a_table(X: Any, error: Exception, parameter: str = "X") -> Exception:
    """Return the error about X that a user sees: scikit-learn's own about shapes, else in words."""
    reason = one_line(error, MAX_REASON_LENGTH).rstrip(".")
    if isinstance(error, OverflowError):
        return must_be(parameter, "numbers up to 1.8e308", Got(f"a larger one ({reason})"))
    holds_text = _holds_text(X)
    if not holds_text and not reason.startswith(("float()", "setting an array element")):
        return error
    if holds_text:
        text = (
            f"`{parameter}` must be numeric, got text: {reason}. Drop it or encode it as numbers."
        )
    else:
        wanted = "a table of numbers with one row per sample"
        text = f"`{parameter}` must be {wanted}, got {describe_value(X)} ({reason})."
    # scikit-learn's checks demand a TypeError for objects that are not numbers
    if isinstance(error, TypeError):
        return TypeError(text)
    return ParameterError(text, parameter=parameter)


def _is_converted_in_blocks(X: Any, memory: float) -> bool:
    """Return whether an array is left to `DenseSource` instead of copied whole."""
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "fiub":
        return False
    copy_bytes = X.size * kernel_type(X.dtype).itemsize
    return X.dtype in SMALL_DTYPES or (not _is_ready(X) and copy_bytes > memory)


def _holds_text(X: Any) -> bool:
    if isinstance(X, str | bytes):
        return True
    try:
        values = np.asarray(X)
    except ValueError:  # rows of different lengths
        return False
    return values.dtype.kind in "US" or any(
        isinstance(value, (str, bytes)) for value in values.flat
    )


def _is_plain_pandas(X: Any) -> bool:
    """Return whether X is a pandas frame of NumPy numbers, which scikit-learn reads."""
    if type(X).__module__.partition(".")[0] != "pandas" or not X.columns.is_unique:
        return False
    kinds = [getattr(kind, "subtype", kind) for kind in X.dtypes]
    plain = [isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in kinds]
    return len(plain) > 0 and all(plain)


def _is_wide_numeric(X: Any) -> bool:
    """Return whether pandas makes an array of numbers of a frame, of a type that is not small."""
    kinds = list(X.dtypes)
    numeric = all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in kinds)
    return numeric and np.result_type(*kinds) not in SMALL_DTYPES


def check_squares(rows: Floats, weight: Floats) -> None:
    """Raise an error for finite rows or weights > 0 whose sums of squares leave the doubles."""
    with np.errstate(over="ignore"):
        extent = float(np.ptp(rows, axis=0).max(initial=0.0))
    if extent > 0 and not MIN_EXTENT <= extent <= MAX_EXTENT:
        raise ParameterError(
            f"The extent of `X` must be between {MIN_EXTENT:g} and {MAX_EXTENT:g}, got "
            f"{extent:.3g}. Rescale X: squares would leave the range of doubles.",
            parameter="X",
        )
    low, high = (float(weight.min()), float(weight.max())) if len(weight) else (1.0, 1.0)
    if low < LIGHTEST or high > HEAVIEST:
        raise ParameterError(
            f"`sample_weight` must be between {LIGHTEST:g} and {HEAVIEST:g} here, got {low:.3g} to "
            f"{high:.3g}. Rescale the weights, or leave out the lightest rows.",
            parameter="sample_weight",
        )


def check_finite(source: Source | PartialSource, X: Any, names: Any = None) -> None:
    """Raise an error that names the columns with NaN or infinity, and counts the rows."""
    if isinstance(source, PartialSource):
        check_gaps(source, names)
        return
    if isinstance(source, SparseSource):
        if np.isfinite(X.data).all():
            return
        bad = X.copy()
        bad.data = ~np.isfinite(X.data)
        bad.eliminate_zeros()
        columns, rows = np.unique(bad.indices), int((np.diff(bad.indptr) > 0).sum())
        values = X.data
    else:
        assert isinstance(source, DenseSource)
        columns = source.extent()[2]
        if columns.size == 0:
            return
        values = X[:, columns] if isinstance(X, np.ndarray) else _columns_of(X, columns)
        rows = int((~np.isfinite(values)).any(axis=1).sum())
    raise not_finite(nonfinite_kinds(values), rows, X.shape[0], columns, names)


def not_finite(kinds: str, rows: int, n: int, columns: Ints, names: Any) -> ParameterError:
    """Return the error about some of n rows, in some columns."""
    labels = columns if names is None else np.asarray(names)[columns]
    more = f", or leave gaps: {COUNTING_ADVICE}" if kinds == "NaN" else ""
    advice = "drop those rows or impute them, for example with sklearn.impute.SimpleImputer" + more
    return not_finite_but(advice, kinds, rows, n, labels)


def not_finite_but(advice: str, kinds: str, rows: int, n: int, labels: Any) -> ParameterError:
    """Return that error with advice of the caller's, on columns by their names or positions."""
    return ParameterError(
        f"Input X contains {kinds}: {rows} of {n} rows, in "
        f"column{'s' * (len(labels) > 1)} {listed(labels.tolist())}. Clustering needs finite "
        f"numbers: {advice}.",
        parameter="X",
    )


def _columns_of(X: Any, columns: Ints) -> Array:
    """Some columns of rows that are read when needed."""
    return np.concatenate([X[rows][:, columns] for rows in row_slices(*X.shape)])


def nonfinite_kinds(values: Array) -> str:
    """Return "NaN", "infinity" or "NaN and infinity": what the values contain."""
    return kinds_of_counts(np.isnan(values).any(), np.isinf(values).any())


def kinds_of_counts(nans: Any, infinities: Any) -> str:
    """Return the same by their numbers."""
    kinds = {"NaN": nans, "infinity": infinities}
    return " and ".join(kind for kind, present in kinds.items() if present)


def check_weights(sample_weight: Any, n: int, parameter: str = "sample_weight") -> Floats | None:
    """Return weights (n,) as doubles, or None if every row counts once."""
    if sample_weight is None:
        return None
    weight = as_float_array(parameter, sample_weight, "numeric")
    if weight.ndim == 0:
        weight = np.full(n, weight)
    if weight.ndim != 1:
        raise must_be(parameter, "a 1D array or scalar", Got(f"a {weight.ndim}D array"))
    if len(weight) != n:
        wanted = f"of shape ({n},), one number for each row"
        raise must_be(parameter, wanted, Got(f"an array of shape {weight.shape}"))
    _check_weight_values(weight, parameter)
    return weight


def _check_weight_values(weight: Floats, name: str) -> None:
    wrong, negative = int((~np.isfinite(weight)).sum()), int((weight < 0).sum())
    check_weight_facts(len(weight), wrong, negative, float(weight.max()), name)


def check_weight_facts(n: int, wrong: int, negative: int, largest: float, name: str) -> None:
    """Require valid weights, by how many of n are not finite or negative, and the largest."""
    if wrong:
        raise must_be(name, "finite", Got(f"NaN or infinity in {wrong} of {n} rows"))
    if negative:
        text = f"Negative values in data passed to `{name}`: {negative} of {n} weights."
        raise ParameterError(f"{text} Every weight must be >= 0.", parameter=name)
    if largest == 0:
        raise must_be(name, "> 0 for at least one row", Got("zero for every row"))
    if not MIN_WEIGHT < largest < MAX_TOTAL_WEIGHT / n:
        wanted = f"between {MIN_WEIGHT:g} and {MAX_TOTAL_WEIGHT:g} / n_samples at its largest"
        advice = "Only ratios of weights matter: divide all of them by one number."
        raise must_be(name, wanted, Got(f"{largest:.3g}"), advice)


def check_threads(n_threads: int | None) -> int:
    """Return how many threads to use."""
    check("n_threads", n_threads, N_THREADS)
    return default_threads() if n_threads is None else min(int(n_threads), MAX_THREADS)


def make_source(X: Any, weight: Floats | None, workers: Workers) -> DenseSource | SparseSource:
    """Return the source of checked rows."""
    weights = Weights.of(weight, X.shape[0])
    return (SparseSource if is_sparse(X) else DenseSource)(X, weights, workers)


def source_of(X: Any, weight: Floats | None, workers: Workers) -> Any:
    """Return the source of checked rows, a `PartialSource` if they are `RowsWithGaps`."""
    if isinstance(X, RowsWithGaps):
        return PartialSource(X.rows, Weights.of(weight, X.shape[0]), workers)
    return make_source(X, weight, workers)


def as_centers(given: Any, name: str, k: int | str, d: int | str) -> Floats:
    """Return centers as doubles, from an array or a fitted model."""
    wanted = f"centers of shape ({k}, {d})"
    if hasattr(given, "get_params") and getattr(given, "cluster_centers_", None) is None:
        state = "without centers in the space of X" if hasattr(given, "labels_") else "not fitted"
        raise must_be(name, f"{wanted} or a fitted model", Got(f"a {type(given).__name__} {state}"))
    given = getattr(given, "cluster_centers_", given)
    if is_sparse(given):
        check_sparse(given, name)
    dense = given.toarray() if is_sparse(given) else given
    centers = np.array(as_float_array(name, dense, wanted))
    if centers.ndim != 2:
        raise must_be(name, wanted, Got(f"an array of shape {centers.shape}"))
    wrong = int((~np.isfinite(centers)).any(axis=1).sum())
    if wrong:
        raise must_be(name, "finite", Got(f"NaN or infinity in {wrong} of {len(centers)} centers"))
    return centers


def check_initial_centers(init: Any, X: Any, k: int) -> Floats:
    """Return given centers as doubles (k, d)."""
    d = X.shape[1]
    centers = as_centers(init, "init", k, d)
    if centers.shape != (k, d):
        features = f"features of the data {d}"
        raise ParameterError(
            f"The shape of the initial centers {centers.shape} does not match the number of "
            f"{f'clusters {k}' if len(centers) != k else features}: `init` must have the shape "
            f"({k}, {d}).",
            parameter="init",
        )
    return centers


def check_temperature(temperature: Any, auto: float) -> float:
    """Return the temperature of soft memberships."""
    check("temperature", temperature, accept.either(accept.number(0), accept.choice("auto")))
    return auto if isinstance(temperature, str) else float(temperature)


def check_row_count(n: int, k: int) -> None:
    """Require at least as many rows as clusters."""
    if n < k:
        raise ParameterError(
            f"n_samples={n} should be >= n_clusters={describe_value(k)}. Lower n_clusters or pass "
            "more rows.",
            parameter="n_clusters",
        )
