"""One column of a table: its numbers, or why it is not a feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita.tables import cell_types
from partita.tables.arrow_files import plain_values
from partita.tables.table import Table, arrow

NO_VALUE = "no value at all"
_NEARLY = 0.9  # share of numbers from which text is a mistake
_EXACT = 2**53  # whole numbers up to this are doubles


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """The values of a column, NaN where one is missing; or why it is not a feature."""

    values: Array | None
    why: str = ""
    nearly: bool = False  # whether it is text, but nearly all of that numbers


def read_column(table: Table, name: str) -> ColumnValues:
    """What a column is."""
    pa, pc = arrow(), arrow(".compute")
    column = plain_values(table.data[name])
    kind, types = column.type, pa.types
    if types.is_null(kind) or column.null_count == len(column):
        return ColumnValues(None, NO_VALUE)
    if is_integer_type(kind):
        row = first_inexact(column)
        if row is not None:
            return ColumnValues(None, _inexact(table, row))
    if types.is_boolean(kind):
        column = pc.cast(column, pa.int8())
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        small = types.is_float32(kind) or types.is_float16(kind)
        target = pa.float32() if small else pa.float64()
        values = np.asarray(pc.cast(column, target, safe=False).to_numpy())
        return ColumnValues(None, NO_VALUE) if np.isnan(values).all() else ColumnValues(values)
    if types.is_decimal(kind):
        return ColumnValues(np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy()))
    if types.is_string(kind) or types.is_large_string(kind):
        return _of_text(table, column)
    if types.is_temporal(kind):
        dates = types.is_date(kind) or types.is_timestamp(kind)
        return ColumnValues(None, "dates" if dates else "times")
    return ColumnValues(None, f"it holds {kind}")


def is_integer_type(kind: Any) -> bool:
    """Whether a type holds whole numbers only."""
    types = arrow().types
    return bool(types.is_integer(kind) or (types.is_decimal(kind) and kind.scale <= 0))


def first_inexact(column: Any) -> int | None:
    """The first row of whole numbers whose value no double holds."""
    pc = arrow(".compute")
    ends = pc.min_max(column).as_py()
    if ends["min"] is None or (ends["min"] >= -_EXACT and ends["max"] <= _EXACT):
        return None
    for row, value in enumerate(column.to_pylist()):
        if value is not None and int(float(value)) != value:
            return row
    return None


def _inexact(table: Table, row: int) -> str:
    return f"whole numbers beyond 2^53, as in {table.where(row)}, which no double holds"


def _of_text(table: Table, column: Any) -> ColumnValues:
    """Why text is not a feature: it is text, or something else that numbers might have been."""
    pc = arrow(".compute")
    values = cell_types.without_missing(column)
    known = len(values) - values.null_count
    if known == 0:
        return ColumnValues(None, NO_VALUE)
    if cell_types.are_dates(values):
        return ColumnValues(None, "dates")

    def first(which: Any) -> str:
        row = pc.index(which, True).as_py()
        return f"{_short(values[row].as_py())} in {table.where(row)}"

    near = cell_types.are_nearly_numbers(values, table.decimal)
    if pc.sum(near).as_py() < _NEARLY * known:
        return ColumnValues(None, f"text, as {first(pc.invert(near))}")
    numbers = cell_types.are_numbers(values, table.decimal)
    count = pc.sum(numbers).as_py()
    if count == known:
        row = cell_types.first_inexact(values)
        if row is not None:
            return ColumnValues(None, _inexact(table, row))
        return ColumnValues(None, "numbers that are kept as text", nearly=True)
    parted = pc.and_not(near, numbers)
    if pc.any(parted).as_py():
        why = f"numbers with separators of thousands, as {first(parted)}"
    else:
        why = f"{count} of {known} values are numbers, but not {first(pc.invert(numbers))}"
    return ColumnValues(None, why, nearly=True)


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 20 else cell[:19] + "…")
