"""Columns of a table that can be clustered as categories, and their cells as texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.errors import TableError
from partita._common.text import format_number, quoted
from partita.source.category_column import MANY_CATEGORIES
from partita.source.mixed_columns import MISSING, Factor
from partita.tables import cell_types
from partita.tables.arrow_files import plain_values
from partita.tables.column_values import read_column
from partita.tables.date_cells import are_dates
from partita.tables.table import Table, arrow

MIN_ROWS_PER_LEVEL = 2  # on average: a column of more levels names its rows
SAMPLE_ROWS, SAMPLE_MAX_VALUES = 5000, 100  # more are no categories, however they are written
# the kinds of reasons for which a column is no measurement, but may be a category
CATEGORY_REASONS = ("text", "two values only")


def category_candidates(table: Table, left_out: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns, left out of the measurements, that are categories.

    Text and columns of two values, with 2 to 20 different values that repeat.
    """
    names = [
        name
        for name, why in left_out.items()
        if why.partition(":")[0].partition(",")[0] in CATEGORY_REASONS
    ]
    return tuple(name for name in names if _are_categories(table, name))


def _are_categories(table: Table, name: str) -> bool:
    if len(plain_values(table.data[name]).slice(0, SAMPLE_ROWS).unique()) > SAMPLE_MAX_VALUES:
        return False
    texts = _texts(table, name)
    if texts is None:
        return False
    count, known = len(texts.drop_null().unique()), len(texts) - texts.null_count
    return 2 <= count <= MANY_CATEGORIES and MIN_ROWS_PER_LEVEL * count <= known


def named_categories(table: Table, names: Iterable[str]) -> list[str]:
    """Return those of the named columns that are categories by their type: text, yes or no."""
    return [name for name in names if _is_text(plain_values(table.data[name]).type, table, name)]


def _is_text(column_type: Any, table: Table, name: str) -> bool:
    types = arrow().types
    if types.is_boolean(column_type):
        return True
    return (types.is_string(column_type) or types.is_large_string(column_type)) and (
        read_column(table, name).why.partition(",")[0] == "text"
    )


def read_categories(table: Table, names: Iterable[str]) -> dict[str, Factor]:
    """Return the cells of columns as categories, for all rows of the table.

    A column of dates is no category, nor one that has no value at all, unless the table is a block.
    """
    return {name: _read(table, name) for name in names}


def _read(table: Table, name: str) -> Factor:
    texts = _texts(table, name)
    if texts is None:
        kind = table.data[name].type
        what = "it has dates" if arrow().types.is_string(kind) else f"its type is {kind}"
        raise TableError(
            f"{table.name}: column {quoted(name)} cannot be a category: {what}. Leave it out."
        )
    encoded = texts.combine_chunks().dictionary_encode()
    levels = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False)
    order = sorted(range(len(levels)), key=levels.__getitem__)
    rank = np.full(len(levels) + 1, MISSING, np.int32)
    rank[order] = np.arange(len(levels))
    return Factor(tuple(levels[i] for i in order), rank[codes])


def _texts(table: Table, name: str) -> Any:
    """Return the cells of a column as texts, null where missing; None for other types."""
    pa, pc, column = arrow(), arrow(".compute"), plain_values(table.data[name])
    types = pa.types
    if types.is_null(column.type):
        return pc.cast(column, pa.string())
    if types.is_string(column.type) or types.is_large_string(column.type):
        values = cell_types.without_missing(column, table.cells.missing)
        return None if are_dates(values) else pc.utf8_trim_whitespace(pc.cast(values, pa.string()))
    if types.is_boolean(column.type):
        return pc.cast(pc.if_else(column, "yes", "no"), pa.string())
    if types.is_integer(column.type) or types.is_floating(column.type):
        encoded = column.combine_chunks().dictionary_encode()
        if hasattr(encoded, "combine_chunks"):
            encoded = encoded.combine_chunks()
        texts = [_number_text(v) for v in encoded.dictionary.to_pylist()]
        taken = pa.array(texts, pa.string()).take(encoded.indices)
        return pa.chunked_array([taken])
    return None


def _number_text(value: float | None) -> str | None:
    return None if value is None or value != value else format_number(value)


def footing_of_categories(
    columns: Iterable[Factor], numbers: Floats, weight: Floats | None
) -> float:
    """Return the cost of two different categories that puts them on one footing with numbers.

    A column of categories then adds as much to the mean cost between two rows as a column of
    numbers to their squared distance: twice its variance. 1 without numbers or categories.
    """
    w = np.ones(len(numbers)) if weight is None else weight
    differ = [_share_of_different_pairs(column, w) for column in columns]
    known = np.isfinite(numbers)
    share = known * w[:, None] / np.maximum((known * w[:, None]).sum(axis=0), 1e-300)
    values = np.where(known, numbers, 0.0)
    mean = (share * values).sum(axis=0)
    variance = (share * (values - mean) ** 2).sum(axis=0)
    if not (any(differ) and variance.any()):
        return 1.0
    return float(2 * variance[variance > 0].mean() / np.mean([x for x in differ if x > 0]))


def _share_of_different_pairs(column: Factor, weight: Floats) -> float:
    """Return how likely two rows with known values have different ones."""
    known = column.codes != MISSING
    counts = np.bincount(column.codes[known], weight[known])
    total = float(counts.sum())
    return 1 - float(((counts / total) ** 2).sum()) if total > 0 else 0.0


def missing_categories(columns: Iterable[Factor], n: int) -> Ints:
    """Return the gaps (n, q) of columns of categories."""
    gaps = [column.codes == MISSING for column in columns]
    return np.stack(gaps, axis=1) if gaps else np.zeros((n, 0), bool)
