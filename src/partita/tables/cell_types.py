"""What the cells of a text column mean: whole numbers, numbers, booleans, or text."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from partita.tables.table import arrow

# what stands for a value that is missing, in lower case
MISSING_MARKERS = ("", "na", "n/a", "#n/a", "nan", "-nan", "+nan", "null", "none", "?")
# Python tries these on single cells, RE2 on columns. No two parts in a row can take the same
# digits, else Python would try every way to share them.
_EXPONENT = r"([eE][+-]?\d+)?"
_NUMBER = rf"[+-]?(\d+(\.\d*)?|\.\d+){_EXPONENT}"
_WHOLE = r"[+-]?\d+"
_INFINITY = r"[+-]?(?i:inf|infinity)"
_COMMA = rf"[+-]?\d*,\d+{_EXPONENT}"
_POINT = rf"[+-]?(\d+\.\d*|\.\d+){_EXPONENT}"
_PARTED = "[+-]?\\d{1,3}([,.'’ \u00a0\u202f]\\d{3})+([.,]\\d+)?"
_EITHER = r"[+-]?[1-9]\d{0,2},\d{3}"  # a decimal comma, or one between thousands
_THOUSANDS = r"[+-]?[1-9]\d{0,2}(\.\d{3})+"
_CODE = r"\s*0\d+\s*"
_SOME = 1000  # rows that say whether numbers have a decimal comma
_LONGEST = 1077  # characters of -5e-324 written out, more than of any other double
_EXACT = 2**53  # whole numbers up to this are doubles


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a value that is missing."""
    return cell.strip().lower() in MISSING_MARKERS


def is_number(cell: str, delimiter: str = ",") -> bool:
    """Whether a cell is a number by itself; without commas between cells, 1,5 is one too."""
    cell = cell.strip()
    if len(cell) > _LONGEST:
        return False
    kinds = (_NUMBER, _INFINITY) if delimiter == "," else (_NUMBER, _INFINITY, _COMMA)
    return any(re.fullmatch(kind, cell, re.ASCII) for kind in kinds)


def has_decimal_comma(columns: Any, delimiter: str) -> bool:
    """Whether some cells are like 1,5 and none is like 1.5.

    Between semicolons, 1,234 is such a number; elsewhere it may be above a thousand, so another
    cell must show that commas are decimal.
    """
    if delimiter == ",":
        return False
    pa, pc = arrow(), arrow(".compute")
    head = columns.slice(0, _SOME)
    chunks = [chunk for column in head.columns for chunk in column.chunks]
    cells = pc.utf8_trim_whitespace(pa.chunked_array(chunks))
    with_comma = cells.filter(_like(cells, _COMMA))
    if delimiter != ";":
        with_comma = with_comma.filter(pc.invert(_like(with_comma, _EITHER)))
    points = cells.filter(_like(cells, _POINT))
    # beside 1,5 the point of 1.000 is one between thousands
    return len(with_comma) > 0 and pc.all(_like(points, _THOUSANDS)).as_py() is not False


def infer_types(columns: Any, comma: bool = False) -> Any:
    """The same table with columns of numbers as numbers."""
    pa = arrow()
    found = [_typed(column, comma) for column in columns.columns]
    return pa.table(found, names=columns.column_names)


def _typed(column: Any, comma: bool) -> Any:
    pa, pc = arrow(), arrow(".compute")
    if not comma and len(column) and is_number(column[0].as_py()):
        plain = _numbers(column)  # most columns hold nothing but numbers: no need to trim them
        if plain is not None:
            return plain
    values = without_missing(column)
    known = values.drop_null()
    if len(known) == 0:
        return pa.chunked_array([pa.nulls(len(values))])
    head = known[0].as_py()
    if head.lower() in ("true", "false"):
        return _booleans(values, column)
    if not is_number(head, ";" if comma else ","):
        return column
    if comma:
        point = pc.fill_null(pc.match_substring(values, "."), False)
        if pc.any(point).as_py():
            return column
        values = pc.replace_substring(values, ",", ".", max_replacements=1)
    found = _numbers(values)
    return column if found is None else found


def _numbers(values: Any) -> Any:
    """Cells as whole numbers, or as numbers; None if they are neither, or would change."""
    pa, pc = arrow(), arrow(".compute")
    try:
        found = pc.cast(values, pa.float64())
    except pa.ArrowInvalid:
        return None
    try:
        return pc.cast(values, pa.int64())  # alone, this would take 0x1F too
    except pa.ArrowInvalid:
        pass
    if pc.any(pc.is_nan(found)).as_py():  # nan(7), and what is missing
        return None
    farthest = pc.min_max(pc.abs(found)).as_py()["max"] or 0.0
    return found if farthest <= _EXACT or first_inexact(values) is None else None


def first_inexact(values: Any) -> int | None:
    """The first row of a column of whole numbers that no double holds."""
    pc = arrow(".compute")
    if not pc.all(_like(values, _WHOLE)).as_py():
        return None  # 1e20 or 1.5 besides: these are doubles
    long = pc.fill_null(pc.greater_equal(pc.utf8_length(values), len(str(_EXACT))), False)
    for row in np.flatnonzero(long.to_numpy(zero_copy_only=False)):
        if not _is_exact(values[int(row)].as_py()):
            return int(row)
    return None


def _is_exact(cell: str) -> bool:
    if len(cell) > _LONGEST:
        return False
    value = float(cell)
    return math.isfinite(value) and int(value) == int(cell)


def without_missing(column: Any) -> Any:
    """The cells without spaces around them; null where a value is missing."""
    pa, pc = arrow(), arrow(".compute")
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(MISSING_MARKERS, trimmed.type))
    return pc.if_else(missing, pa.scalar(None, trimmed.type), trimmed)


def _booleans(values: Any, column: Any) -> Any:
    pa, pc = arrow(), arrow(".compute")
    lower = pc.utf8_lower(values)
    known = pc.is_in(lower, value_set=pa.array(["true", "false"]))
    if not pc.all(pc.or_(known, pc.is_null(lower))).as_py():
        return column
    return pc.equal(lower, "true")


def are_numbers(values: Any, decimal: str) -> Any:
    """Which cells are numbers; null where one is missing."""
    return _like(values, _number(decimal))


def are_nearly_numbers(values: Any, decimal: str) -> Any:
    """Which cells are numbers, or are like 82,652.19 or 1 000: with separators of thousands."""
    return _like(values, f"{_number(decimal)}|{_PARTED}")


def _number(decimal: str) -> str:
    return f"{_NUMBER if decimal == '.' else f'{_WHOLE}{_EXPONENT}|{_COMMA}'}|{_INFINITY}"


def has_leading_zeros(column: Any) -> bool:
    """Whether a cell is a whole number like 01003."""
    return bool(arrow(".compute").any(_like(column, _CODE)).as_py())


def are_dates(values: Any) -> bool:
    """Whether cells, without those that are missing, are like 2024-05-01 or 2024-05-01 12:00."""
    pa, pc = arrow(), arrow(".compute")
    known = values.drop_null()
    if len(known) == 0 or not re.match(r"^\d{4}-\d\d-\d\d", known[0].as_py()):
        return False
    try:
        pc.cast(known, pa.timestamp("us"))
    except pa.ArrowInvalid:
        return False
    return True


def _like(values: Any, kind: str) -> Any:
    return arrow(".compute").match_substring_regex(values, f"^(?:{kind})$")
