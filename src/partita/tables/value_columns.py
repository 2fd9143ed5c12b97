"""Columns of Python values, as workbooks and JSON have them: typed where they are of one type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple

from partita.tables.plain_numbers import MAX_EXACT_INTEGER
from partita.tables.table import arrow

_NUMBERS = {int, float}
_DATES = {dt.date, dt.datetime}


class ValueColumn(NamedTuple):
    """A column with the type of its values, text if they have several, and its cells as text."""

    typed: Any
    text: Any


def value_column(values: Sequence[Any]) -> ValueColumn:
    """Return numbers, booleans or dates as such, and any other values as their texts.

    None is a missing value, and an empty text.
    """
    pa, pc = arrow(), arrow(".compute")
    typed = _typed(values)
    if typed is not None and (pa.types.is_integer(typed.type) or pa.types.is_floating(typed.type)):
        text = pc.fill_null(pc.cast(typed, pa.string()), "")
    else:
        text = pa.array([value_text(value) for value in values], pa.string())
    text = pa.chunked_array([text])
    return ValueColumn(text if typed is None else pa.chunked_array([typed]), text)


def _typed(values: Sequence[Any]) -> Any:
    """Return values of one type as an array, else None."""
    pa, kinds = arrow(), set(map(type, values)) - {type(None)}
    try:
        if kinds and kinds <= _NUMBERS:
            return _numbers(values)
        if kinds == {bool}:
            return pa.array(values, pa.bool_())
        if kinds and kinds <= _DATES:
            return pa.array(map(_moment, values), pa.timestamp("us"))
    except (pa.ArrowInvalid, OverflowError, pa.ArrowTypeError):
        pass  # an integer of many digits
    return None


def _numbers(values: Sequence[Any]) -> Any:
    pa = arrow()
    known = [value for value in values if value is not None]
    if all(type(value) is int or value.is_integer() for value in known) and (
        max(map(abs, known)) <= MAX_EXACT_INTEGER
    ):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    if all(type(value) is int for value in known):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _moment(value: dt.date | None) -> dt.datetime | None:
    """Return a date as the first moment of its day."""
    is_day = value is not None and type(value) is dt.date
    return dt.datetime(*value.timetuple()[:3]) if is_day else value  # type: ignore


def value_text(value: Any) -> str:
    """Return a value as a cell of a text file has it."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_EXACT_INTEGER:
        return str(int(value))
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    return str(value)
