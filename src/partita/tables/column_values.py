"""Values of columns: numeric, nearly numeric, or not a feature, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita.tables import cell_types
from partita.tables.arrow_files import plain_values
from partita.tables.date_cells import are_dates, parse_dates
from partita.tables.plain_numbers import MAX_EXACT_INTEGER, first_inexact_cell
from partita.tables.table import Table, arrow

NEARLY_NUMERIC_SHARE = 0.9  # share of numbers from which text in a column is likely a mistake
MAX_CELL_CHARACTERS_SHOWN = 20
MICROSECONDS_PER_DAY = 24 * 60 * 60 * 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """The values of a numeric column, NaN where missing; or why the column is not numeric."""

    values: Array | None
    why: str = ""
    is_nearly_numeric: bool = False  # text, but almost all of it numbers
    first_text: str = ""  # the first cell that is no number, if most are
    is_empty: bool = False


_EMPTY = ColumnValues(None, "no value at all", is_empty=True)


def read_column(table: Table, name: str) -> ColumnValues:
    """Return a column as floats, or the reason why it cannot be a feature."""
    column = plain_values(table.data[name])
    column_type, types = column.type, arrow().types
    if types.is_null(column_type) or column.null_count == len(column):
        return _EMPTY
    if is_integer_type(column_type):
        row = first_inexact(column)
        if row is not None:
            return ColumnValues(None, _inexact_reason(table, row))
    if is_numeric_type(column_type):
        values = to_floats(column)
        return _EMPTY if np.isnan(values).all() else ColumnValues(values)
    if types.is_string(column_type) or types.is_large_string(column_type):
        return _read_text(table, column)
    if types.is_temporal(column_type):
        is_date = types.is_date(column_type) or types.is_timestamp(column_type)
        return ColumnValues(None, "dates" if is_date else "times")
    return ColumnValues(None, f"its type is {column_type}")


def read_days(table: Table, name: str) -> Array | None:
    """Return a column of dates or times as days since 1970, NaN where missing; else None."""
    pa, pc = arrow(), arrow(".compute")
    column = plain_values(table.data[name])
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = parse_dates(cell_types.without_missing(column, table.cells.missing))
        if column is None:
            return None
    elif not (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)):
        return None
    moments = pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64())
    return np.asarray(to_floats(moments)) / MICROSECONDS_PER_DAY


def to_floats(column: Any) -> Array:
    """Return numbers or booleans as doubles, or as float32 if they have no more digits."""
    pa, pc = arrow(), arrow(".compute")
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.int8())
    if pa.types.is_float16(column.type):  # which older pyarrow cannot cast
        return np.asarray(column.to_numpy(), dtype=np.float32)
    target = pa.float32() if pa.types.is_float32(column.type) else pa.float64()
    return np.asarray(pc.cast(column, target, safe=False).to_numpy())


def is_numeric_type(column_type: Any) -> bool:
    """Return whether a type holds numbers or booleans."""
    types = arrow().types
    tests = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    return any(test(column_type) for test in tests)


def is_integer_type(column_type: Any) -> bool:
    """Return whether a type holds only integers."""
    types = arrow().types
    is_whole_decimal = types.is_decimal(column_type) and column_type.scale <= 0
    return bool(types.is_integer(column_type) or is_whole_decimal)


def first_inexact(column: Any) -> int | None:
    """Return the first row of a column of integers whose value is not a double."""
    extremes = arrow(".compute").min_max(column).as_py()
    low, high = extremes["min"], extremes["max"]
    if low is None or (low >= -MAX_EXACT_INTEGER and high <= MAX_EXACT_INTEGER):
        return None
    rows = enumerate(column.to_pylist())
    return next((i for i, x in rows if x is not None and int(float(x)) != x), None)


def _inexact_reason(table: Table, row: int) -> str:
    return f"integers beyond 2^53, as in {table.where(row)}, which no double holds"


def _read_text(table: Table, column: Any) -> ColumnValues:
    """Return why text is no feature, and whether it is nearly numeric."""
    pc = arrow(".compute")
    values = cell_types.without_missing(column, table.cells.missing)
    n_known = len(values) - values.null_count
    if n_known == 0:
        return _EMPTY
    if are_dates(values):
        return ColumnValues(None, "dates")

    def cell(row: int) -> str:
        return f"{_shortened(values[row].as_py())} in {table.where(row)}"

    numbers = cell_types.are_numbers(values)
    n_numbers = pc.sum(numbers).as_py()
    first_text = pc.index(pc.fill_null(numbers, True), False).as_py()
    if n_numbers < NEARLY_NUMERIC_SHARE * n_known:
        return ColumnValues(None, f"text, as {cell(first_text)}")
    if n_numbers < n_known:
        why = f"{n_numbers} of {n_known} values are numbers, but not {cell(first_text)}"
        text = values[first_text].as_py()
        return ColumnValues(None, why, is_nearly_numeric=True, first_text=text)
    row = first_inexact_cell(values)
    if row is not None:
        return ColumnValues(None, _inexact_reason(table, row))
    row = cell_types.first_of_other_style(values, table.decimal, table.cells)
    if row is None:
        return ColumnValues(None, "numbers stored as text", is_nearly_numeric=True)
    if row == pc.index(pc.is_valid(values), True).as_py():
        return ColumnValues(None, f"text, as {cell(row)}")
    why = f"its numbers are written in several ways: {cell(row)} is unlike those above it"
    return ColumnValues(None, why, is_nearly_numeric=True)


def _shortened(cell: str) -> str:
    too_long = len(cell) > MAX_CELL_CHARACTERS_SHOWN
    return repr(f"{cell[: MAX_CELL_CHARACTERS_SHOWN - 1]}…" if too_long else cell)
