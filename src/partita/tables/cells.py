"""What the cells of a text column mean: whole numbers, numbers, booleans, or text."""

from __future__ import annotations

import re
from typing import Any

from partita.tables.record import arrow

# what stands for a value that is missing, in lower case
MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "none", "?")
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_INFINITY = r"^[+-]?(?i:inf|infinity)$"
_COMMA = r"^[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?$"
_POINT = r"^[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?$"
_SOME = 1000  # rows that say whether numbers have a decimal comma


def is_number(cell: str, delimiter: str = ",") -> bool:
    """Whether a cell is a number by itself; with semicolons between cells, 1,5 is one too."""
    cell = cell.strip()
    kinds = (_NUMBER, _INFINITY, _COMMA) if delimiter == ";" else (_NUMBER, _INFINITY)
    return any(re.match(kind, cell) for kind in kinds)


def has_decimal_comma(columns: Any) -> bool:
    """Whether some cells are like 1,5 and none is like 1.5."""
    pc = arrow(".compute")
    head = columns.slice(0, _SOME)

    def any_like(kind: str) -> bool:
        return any(
            pc.any(pc.match_substring_regex(pc.utf8_trim_whitespace(column), kind)).as_py()
            for column in head.columns
        )

    return any_like(_COMMA) and not any_like(_POINT)


def typed(columns: Any, comma: bool = False) -> Any:
    """The same table with columns of numbers as numbers."""
    pa = arrow()
    found = [_typed(column, comma) for column in columns.columns]
    return pa.table(found, names=columns.column_names)


def _typed(column: Any, comma: bool) -> Any:
    pa, pc = arrow(), arrow(".compute")
    if not comma and len(column) and is_number(column[0].as_py()):
        plain = _numbers(column)  # most columns hold nothing but numbers: no need to trim them
        if plain is not None and not pc.any(pc.is_nan(plain)).as_py():
            return plain
    values = without_missing(column)
    known = values.drop_null()
    if len(known) == 0:
        return pa.chunked_array([pa.nulls(len(values))])
    head = pc.utf8_lower(known.slice(0, 1))[0].as_py()
    if head in ("true", "false"):
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
    """Cells as whole numbers, or as numbers; None if they are neither."""
    pa, pc = arrow(), arrow(".compute")
    for kind in (pa.int64(), pa.float64()):
        try:
            return pc.cast(values, kind)
        except pa.ArrowInvalid:
            continue
    return None


def without_missing(column: Any) -> Any:
    """The cells without spaces around them; null where a value is missing."""
    pa, pc = arrow(), arrow(".compute")
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, trimmed.type), trimmed)


def _booleans(values: Any, column: Any) -> Any:
    pa, pc = arrow(), arrow(".compute")
    lower = pc.utf8_lower(values)
    known = pc.is_in(lower, value_set=pa.array(["true", "false"]))
    if not pc.all(pc.or_(known, pc.is_null(lower))).as_py():
        return column
    return pc.equal(lower, "true")


def first_text(column: Any) -> tuple[int, str] | None:
    """The first cell of a column of text that is no number: its row, and what is in it."""
    pc = arrow(".compute")
    values = without_missing(column)
    number = pc.match_substring_regex(values, _NUMBER)
    row = pc.index(pc.fill_null(number, True), False).as_py()
    return None if row < 0 else (row, str(values[row]))


def are_dates(column: Any) -> bool:
    """Whether a column of text holds dates, like 2024-05-01 or 2024-05-01 12:00."""
    pa, pc = arrow(), arrow(".compute")
    values = without_missing(column)
    known = values.drop_null()
    if len(known) == 0 or not re.match(r"^\d{4}-\d\d-\d\d", known[0].as_py()):
        return False
    try:
        pc.cast(known, pa.timestamp("us"))
    except pa.ArrowInvalid:
        return False
    return True
