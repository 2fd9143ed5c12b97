"""Rows with gaps (NaN) for models with `missing="partial"`: only values that are there count."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Ints
from partita._common.errors import ParameterError
from partita._common.parameters import Got, choice, must_be
from partita._common.sparse_format import is_sparse
from partita._common.text import listed
from partita.estimators.scanned_rows import is_scanned
from partita.scanning.stored_rows import StoredRows
from partita.source.partial_rows import PartialSource, RowsWithGaps

COUNTING_ADVICE = "KMeans(missing='partial') counts only the values that are there"
MISSING_RULE = choice("error", "partial")
SPARSE_ADVICE = (
    "Zeros that are not stored are values, not gaps: pass an array with NaN where a value is "
    "missing, or set missing='error'."
)
ELSEWHERE_ADVICE = "Pass a sample in memory, or impute the missing values and set missing='error'."
SEARCH_ADVICE = "The search needs complete rows: raise n_init, or impute the missing values."


def takes_gaps(model: Any) -> bool:
    """Return whether a model counts only the values that rows have."""
    return getattr(model, "missing", "error") == "partial"


def gaps_as_nan(model: Any, X: Any) -> Any:
    """Return X with NaN in place of masked values, if the model takes gaps."""
    if takes_gaps(model) and isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "fiub":
        floating: Any = X if X.dtype.kind == "f" else X.astype(np.float64)
        return floating.filled(np.nan)
    return X


def mark_gaps(model: Any, X: Any) -> Any:
    """Return checked rows, as `RowsWithGaps` if the model takes gaps and there are some."""
    if not takes_gaps(model) or isinstance(X, StoredRows):
        return X
    if is_sparse(X):
        raise must_be("X", "dense with missing='partial'", Got("a sparse matrix"), SPARSE_ADVICE)
    has_gaps = X.dtype.kind == "f" and X.size > 0 and bool(np.isnan(X.min()))
    return RowsWithGaps(X) if has_gaps else X


def refuse_gaps_elsewhere(model: Any, X: Any, is_partitioned: bool) -> None:
    """Raise an error if a model that takes gaps is fitted to rows that are not in memory."""
    if takes_gaps(model) and (is_partitioned or is_scanned(X)):
        got = Got("a file" if is_scanned(X) else f"a {type(X).__name__}")
        raise must_be("X", "rows in memory with missing='partial'", got, ELSEWHERE_ADVICE)


def check_gaps(source: PartialSource, names: Any) -> None:
    """Raise an error if a row has no value at all, or an infinite one."""
    counts, n = source.counts, source.n
    if counts.infinite.size:
        raise ParameterError(
            f"Input X contains infinity: {counts.infinite_rows} of {n} rows, in "
            f"{_columns(counts.infinite, names)}. With missing='partial' NaN is a missing value, "
            "but infinity is not: drop those rows, or replace infinity by NaN.",
            parameter="X",
        )
    if counts.empty_rows:
        raise ParameterError(
            f"`X` must have at least one value in every row, got {counts.empty_rows} of {n} rows "
            "without any. Drop them: they are as near to one cluster as to another.",
            parameter="X",
        )


def check_columns(source: PartialSource, names: Any) -> None:
    """Raise an error if no row has a value in a column: it would have no mean."""
    empty = np.flatnonzero(source.observed_weight == 0)
    if empty.size:
        raise ParameterError(
            "`X` must have at least one value in every column, got none in "
            f"{_columns(empty, names)}. Drop columns without values.",
            parameter="X",
        )


def _columns(columns: Ints, names: Any) -> str:
    labels = columns if names is None else np.asarray(names)[columns]
    return f"column{'s' * (len(columns) > 1)} {listed(labels.tolist())}"
