"""Columns of categories: text, yes or no, and numbers of few values that are not features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from partita._common.array_types import Ints
from partita._common.text import format_number
from partita.source.category_column import MANY_CATEGORIES, MAX_CATEGORIES, CategoryColumn
from partita.tables import cell_types
from partita.tables.arrow_files import plain_values
from partita.tables.date_cells import are_dates
from partita.tables.table import Table, arrow

MAX_COLUMNS = 200  # that are examined
SAMPLE_ROWS = 20_000  # enough to see that a column has too many values
_MISSING = -1


def encode_categories(values: Iterable[Any]) -> CategoryColumn:
    """Encode the categories of rows; None, NaN and markers of missing values are missing."""
    index: dict[str, int] = {}
    codes = [
        _MISSING if (text := _text(v)) is None else index.setdefault(text, len(index))
        for v in values
    ]
    return CategoryColumn(tuple(index), np.array(codes, dtype=np.intp))


def _text(value: Any) -> str | None:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    text = str(value).strip()
    return None if cell_types.is_missing(text) or text == "NaT" else text


def category_columns(table: Table, names: Iterable[str], rows: Ints) -> dict[str, CategoryColumn]:
    """Return the named columns that hold categories, for these rows of the table."""
    pa = arrow()
    found = {}
    for name in list(names)[:MAX_COLUMNS]:
        column = _as_text(table, name)
        if column is None:
            continue
        encoded = column.take(pa.array(rows)).combine_chunks().dictionary_encode()
        if len(encoded.dictionary) > MAX_CATEGORIES:
            continue
        codes = encoded.indices.fill_null(_MISSING).to_numpy(zero_copy_only=False)
        categories = CategoryColumn(tuple(encoded.dictionary.to_pylist()), codes.astype(np.intp))
        if categories.are_categories:
            found[name] = categories
    return found


def _as_text(table: Table, name: str) -> Any:
    """Return the cells of a column as text, null where missing; None for other types."""
    pa, pc, column = arrow(), arrow(".compute"), plain_values(table.data[name])
    types = pa.types
    if types.is_string(column.type) or types.is_large_string(column.type):
        if len(column.slice(0, SAMPLE_ROWS).unique()) > MAX_CATEGORIES:
            return None
        values = cell_types.without_missing(column, table.cells.missing)
        return None if are_dates(values) else pc.cast(values, pa.string())
    if types.is_boolean(column.type):
        return pc.if_else(column, "yes", "no")
    if types.is_integer(column.type) or types.is_floating(column.type):
        return _numbers_as_text(column)
    return None


def _numbers_as_text(column: Any) -> Any:
    """Return numbers as text if they have few values."""
    pa = arrow()
    values = column.unique()
    if len(values) > MANY_CATEGORIES:
        return None
    encoded = column.combine_chunks().dictionary_encode()
    texts = [
        None if v is None or v != v else format_number(v) for v in encoded.dictionary.to_pylist()
    ]
    return pa.chunked_array([pa.array(texts, pa.string()).take(encoded.indices)])
