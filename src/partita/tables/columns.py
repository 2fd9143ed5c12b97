"""One column of a table: its numbers, or why it is not a feature."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from partita._typing import Array
from partita.tables import cells
from partita.tables.record import Table, arrow

_FEW = 10  # rows below which a column that counts them may be chance
_EXACT = 2**53  # whole numbers up to this are doubles


def numbers_of(table: Table, name: str) -> tuple[str, Array | None]:
    """The values of a column, NaN where one is missing; or why it is not a feature."""
    pa, pc = arrow(), arrow(".compute")
    column = table.data[name]
    kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        return "no value at all", None
    if pa.types.is_integer(kind):
        inexact = _inexact(column)
        if inexact is not None:
            at = table.where(inexact)
            return f"whole numbers beyond 2^53, as in {at}, which no double holds", None
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        small = pa.types.is_float32(kind) or pa.types.is_float16(kind)
        target = pa.float32() if small else pa.float64()
        if pa.types.is_boolean(kind):
            column = pc.cast(column, pa.int8())
        values = pc.cast(column, target, safe=False).to_numpy()
        return ("no value at all", None) if np.isnan(values).all() else ("", np.asarray(values))
    if pa.types.is_decimal(kind):
        return "", np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy())
    return _why_not(table, name), None


def is_like_ids(name: str, values: Array) -> bool:
    """Whether whole numbers count the rows, or are all different and called an id."""
    if len(values) < _FEW or not (values == np.rint(values)).all():
        return False
    if (np.diff(values) == 1).all():
        return True
    called = re.search(r"(^|[\W_])(id|Id|ID)$|[a-z]I[dD]$", name) is not None
    return called and len(np.unique(values)) == len(values)


def _inexact(column: Any) -> int | None:
    """The first row whose whole number is not a double."""
    pc = arrow(".compute")
    ends = pc.min_max(column).as_py()
    if ends["min"] >= -_EXACT and ends["max"] <= _EXACT:
        return None
    for row, value in enumerate(column.to_pylist()):
        if value is not None and int(float(value)) != value:
            return row
    return None


def _why_not(table: Table, name: str) -> str:
    pa = arrow()
    column = table.data[name]
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if cells.are_dates(column):
            return "dates"
        first = cells.first_text(column)
        if first is None:
            return "text"
        return f"text, as {_short(first[1])} in {table.where(first[0])}"
    if pa.types.is_temporal(kind):
        return "dates" if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else "times"
    return f"it holds {kind}"


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 20 else cell[:19] + "…")
