"""Checks of the rows and columns of a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Floats, Ints
from partita._common.number_arrays import as_any_array
from partita._common.parameters import Got, must_be
from partita.estimators import validation
from partita.estimators.fitted_models import capabilities_of, complete_rows
from partita.estimators.table_rows import rows_for
from partita.source.category_column import CategoryColumn
from partita.source.column_table import ColumnTable
from partita.source.mixed_rows import MixedView
from partita.tables.category_columns import encode_categories


def checked_rows(model: Any, X: Any, original: Any, is_matrix: bool) -> tuple[Any, Any, Any]:
    """The rows as given, without gaps, and in the user's units; a matrix is that of the fit."""
    rows = validation.as_rows(X, "a report")
    n = len(model.labels_) if is_matrix and hasattr(model, "labels_") else None
    if n not in (None, rows.shape[0]):
        wanted = f"the matrix of shape ({n}, {n}) that the model was fitted to"
        raise must_be("X", wanted, Got(f"an array of shape {rows.shape}"))
    given, rows = rows, complete_rows(model, rows)
    if original is None:
        return given, rows, given
    original = validation.as_rows(original, "a report", "original")
    if original.shape != rows.shape:
        raise ValueError(
            f"`original` must have the shape of X, {rows.shape}, got {original.shape}. It "
            "holds the same rows in other units."
        )
    return given, rows, original


def checked_table(model: Any, X: Any, original: Any) -> tuple[ColumnTable, Floats, MixedView]:
    """The rows as clustered, their numbers in the user's units, and both kinds of columns."""
    table = rows_for(model, X, "a report")
    mixed = capabilities_of(model).mixed
    assert mixed is not None
    view = mixed(table)
    if original is None or view.numbers.shape[1] == 0:
        return table, view.numbers, view
    original = validation.as_rows(original, "a report", "original")
    if original.shape != view.numbers.shape:
        got, wanted = original.shape, view.numbers.shape
        raise ValueError(
            f"`original` must have the shape of the numbers in X, {wanted}, got {got}. It holds "
            "the same numbers in other units."
        )
    return table, original, view


def checked_labels(model: Any, rows: Any, given: Any, k: int) -> Ints:
    """Return the cluster of every row, -1 where it is none of the model's."""
    labels = check_numbers("labels", model.predict(rows) if given is None else given, rows.shape[0])
    return np.where((labels >= 0) & (labels < k), labels, -1).astype(np.intp)


def check_numbers(name: str, value: Any, n: int) -> Ints:
    """Return integers (n,), or raise an error that names them."""
    wanted = f"{n} integers, one for each row"
    numbers = as_any_array(name, value, wanted)
    if numbers.shape != (n,) or numbers.dtype.kind not in "iu":
        raise must_be(name, wanted, Got(f"shape {numbers.shape} and dtype {numbers.dtype}"))
    return numbers


def checked_numbers(name: str, values: Any, n: int) -> Floats:
    """Return a column of numbers (n,) that is not a feature."""
    wanted = f"{n} numbers, one for each row"
    numbers = as_any_array(f"unused[{name!r}]", values, wanted)
    if numbers.shape != (n,) or numbers.dtype.kind not in "iuf":
        got = Got(f"shape {numbers.shape} and dtype {numbers.dtype}")
        raise must_be(f"unused[{name!r}]", wanted, got)
    return numbers.astype(np.float64)


def checked_categories(name: str, values: Any, n: int) -> CategoryColumn:
    """Return a column of categories (n,) that is not a feature."""
    encoded = isinstance(values, CategoryColumn)
    items = values.codes if encoded else as_sequence(values)
    items = accept.check_items(f"categories[{name!r}]", items, n, "values, one for each row")
    return values if encoded else encode_categories(items)


def as_sequence(ids: Any) -> Any:
    """Ids by position: pyarrow's arrays hold wrappers, those of pandas have an index."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(ids, method):
            return getattr(ids, method)()
    return ids
