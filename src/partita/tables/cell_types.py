"""Types of text cells: missing, integers, floats, booleans, dates, text."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from partita.tables.table import arrow

MISSING_MARKERS = ("", "na", "n/a", "#n/a", "nan", "-nan", "+nan", "null", "none", "?")
DECIMAL_SAMPLE_ROWS = 1000  # rows searched for decimal commas
MAX_NUMBER_CHARACTERS = 1077  # length of -5e-324 written out, the longest double
MAX_EXACT_INTEGER = 2**53  # every integer up to this is a double

# Python matches these with single cells, RE2 with columns. No two adjacent parts match the same
# digits, otherwise Python's backtracking would be exponential.
_EXPONENT = r"([eE][+-]?\d+)?"
_NUMBER = rf"[+-]?(\d+(\.\d*)?|\.\d+){_EXPONENT}"
_INTEGER = r"[+-]?\d+"
_INFINITY = r"[+-]?(?i:inf|infinity)"
_DECIMAL_COMMA = rf"[+-]?\d*,\d+{_EXPONENT}"
_DECIMAL_POINT = rf"[+-]?(\d+\.\d*|\.\d+){_EXPONENT}"
_WITH_THOUSANDS = "[+-]?\\d{1,3}([,.'’ \u00a0\u202f]\\d{3})+([.,]\\d+)?"
_AMBIGUOUS_COMMA = r"[+-]?[1-9]\d{0,2},\d{3}"  # decimal, or a thousands separator
_THOUSANDS_POINT = r"[+-]?[1-9]\d{0,2}(\.\d{3})+"
_LEADING_ZERO = r"\s*0\d+\s*"


def is_missing(cell: str) -> bool:
    """Return whether a cell stands for a missing value."""
    return cell.strip().lower() in MISSING_MARKERS


def is_number(cell: str, delimiter: str = ",") -> bool:
    """Return whether a cell is a number; unless commas are delimiters, 1,5 is one too."""
    cell = cell.strip()
    if len(cell) > MAX_NUMBER_CHARACTERS:
        return False
    patterns = (_NUMBER, _INFINITY) if delimiter == "," else (_NUMBER, _INFINITY, _DECIMAL_COMMA)
    return any(re.fullmatch(pattern, cell, re.ASCII) for pattern in patterns)


def has_decimal_comma(columns: Any, delimiter: str) -> bool:
    """Return whether some cells are like 1,5 and none is like 1.5.

    If the delimiter is a semicolon, 1,234 counts as decimal. Otherwise it may be above a thousand,
    so another cell must show that commas are decimal.
    """
    if delimiter == ",":
        return False
    pa, pc = arrow(), arrow(".compute")
    head = columns.slice(0, DECIMAL_SAMPLE_ROWS)
    chunks = [chunk for column in head.columns for chunk in column.chunks]
    cells = pc.utf8_trim_whitespace(pa.chunked_array(chunks))
    with_comma = cells.filter(_matches(cells, _DECIMAL_COMMA))
    if delimiter != ";":
        with_comma = with_comma.filter(pc.invert(_matches(with_comma, _AMBIGUOUS_COMMA)))
    with_point = cells.filter(_matches(cells, _DECIMAL_POINT))
    # next to 1,5 the point of 1.000 is a thousands separator
    no_decimal_point = pc.all(_matches(with_point, _THOUSANDS_POINT)).as_py() is not False
    return len(with_comma) > 0 and no_decimal_point


def infer_types(columns: Any, decimal_comma: bool = False) -> Any:
    """Convert columns of text whose cells are all numbers, or all booleans."""
    converted = [_infer_type(column, decimal_comma) for column in columns.columns]
    return arrow().table(converted, names=columns.column_names)


def _infer_type(column: Any, decimal_comma: bool) -> Any:
    pa, pc = arrow(), arrow(".compute")
    if not decimal_comma and len(column) and is_number(column[0].as_py()):
        numbers = _to_numbers(column)  # most columns hold only numbers and need no trimming
        if numbers is not None:
            return numbers
    values = without_missing(column)
    known = values.drop_null()
    if len(known) == 0:
        return pa.chunked_array([pa.nulls(len(values))])
    first = known[0].as_py()
    if first.lower() in ("true", "false"):
        return _to_booleans(values, column)
    if not is_number(first, ";" if decimal_comma else ","):
        return column
    if decimal_comma:
        if pc.any(pc.match_substring(values, ".")).as_py():
            return column
        values = pc.replace_substring(values, ",", ".", max_replacements=1)
    numbers = _to_numbers(values)
    return column if numbers is None else numbers


def _to_numbers(values: Any) -> Any:
    """Return cells as integers or floats, None if they are neither or would change."""
    pa, pc = arrow(), arrow(".compute")
    try:
        floats = pc.cast(values, pa.float64())
    except pa.ArrowInvalid:
        return None
    try:
        return pc.cast(values, pa.int64())  # alone, this would accept 0x1F too
    except pa.ArrowInvalid:
        pass
    if pc.any(pc.is_nan(floats)).as_py():  # nan(7), and markers of missing values
        return None
    largest = pc.min_max(pc.abs(floats)).as_py()["max"] or 0.0
    return floats if largest <= MAX_EXACT_INTEGER or first_inexact_cell(values) is None else None


def first_inexact_cell(values: Any) -> int | None:
    """Return the first row whose integer is not a double; None if some cells are not integers."""
    pc = arrow(".compute")
    if not pc.all(_matches(values, _INTEGER)).as_py():
        return None  # with 1e20 or 1.5 in the column, all of it is doubles
    min_length = len(str(MAX_EXACT_INTEGER))
    is_long = pc.fill_null(pc.greater_equal(pc.utf8_length(values), min_length), False)
    rows = np.flatnonzero(is_long.to_numpy(zero_copy_only=False)).tolist()
    return next((row for row in rows if not _is_exact(values[row].as_py())), None)


def _is_exact(cell: str) -> bool:
    is_finite = len(cell) <= MAX_NUMBER_CHARACTERS and math.isfinite(float(cell))
    return is_finite and int(float(cell)) == int(cell)


def without_missing(column: Any) -> Any:
    """Trim the cells, and replace markers of missing values by null."""
    pa, pc = arrow(), arrow(".compute")
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(MISSING_MARKERS, trimmed.type))
    return pc.if_else(missing, pa.scalar(None, trimmed.type), trimmed)


def _to_booleans(values: Any, column: Any) -> Any:
    pa, pc = arrow(), arrow(".compute")
    lower = pc.utf8_lower(values)
    is_boolean = pc.is_in(lower, value_set=pa.array(["true", "false", None], lower.type))
    return pc.equal(lower, "true") if pc.all(is_boolean).as_py() else column


def are_numbers(values: Any, decimal: str, with_thousands: bool = False) -> Any:
    """Return which cells are numbers, perhaps like 82,652.19 or 1 000; null for missing ones."""
    number = _NUMBER if decimal == "." else f"{_INTEGER}{_EXPONENT}|{_DECIMAL_COMMA}"
    return _matches(values, f"{number}|{_INFINITY}{f'|{_WITH_THOUSANDS}' * with_thousands}")


def has_leading_zeros(column: Any) -> bool:
    """Return whether a cell is an integer like 01003."""
    return bool(arrow(".compute").any(_matches(column, _LEADING_ZERO)).as_py())


def are_dates(values: Any) -> bool:
    """Return whether all cells that are not null are like 2024-05-01 or 2024-05-01 12:00."""
    pa, pc = arrow(), arrow(".compute")
    known = values.drop_null()
    if len(known) == 0 or not re.match(r"^\d{4}-\d\d-\d\d", known[0].as_py()):
        return False
    try:
        pc.cast(known, pa.timestamp("us"))
    except pa.ArrowInvalid:
        return False
    return True


def _matches(values: Any, pattern: str) -> Any:
    return arrow(".compute").match_substring_regex(values, f"^(?:{pattern})$")
