"""Types of text cells: missing, integers, floats, booleans, dates, text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from partita._common.spaced_rows import evenly_spaced
from partita.tables.cell_options import CellOptions
from partita.tables.number_styles import (
    NumberStyle,
    are_styled_numbers,
    have_groups,
    have_thousands_points,
    is_styled_number,
    read_decimal_commas,
    read_styled_numbers,
)
from partita.tables.plain_numbers import (
    INFINITY,
    MAX_NUMBER_CHARACTERS,
    NUMBER,
    matches,
    to_numbers,
)
from partita.tables.table import arrow

MISSING_MARKERS = (
    "", "na", "n/a", "n.a.", "n.a", "nan", "-nan", "+nan", "null", "none", "?", "<na>", "nil",
    "-", "–", "—", "−", "--", "---", ".", "..", "...", "…", "k.a.", "k. a.",
    "$-", "$ -", "€-", "€ -", "-€", "- €", "£-", "£ -",  # in Excel's format for accounts
    # errors of spreadsheets, in several languages
    "#div/0!", "#n/a", "#n/a!", "#name?", "#null!", "#num!", "#ref!", "#value!", "#spill!",
    "#calc!", "#error!", "#getting_data", "#nv", "#wert!", "#bezug!", "#zahl!", "#valeur!", "#nom?",
    "#nombre!", "#nul!", "#¡div/0!", "#¡ref!", "#¡valor!", "#¡num!", "#¿nombre?", "#rif!",
    "#valore!", "#nome?", "#valor!", "#núm!", "err:502", "1.#qnan", "1.#ind", "-1.#ind",
)  # fmt: skip
DECIMAL_SAMPLE_ROWS = 1000  # rows searched for decimal commas
FEW_ROWS = 20  # that show of most columns that they have decimals
THOUSANDS_SAMPLE_ROWS = 1000  # rows compared with 850 and 1.200

# of cells that are numbers with signs around them
_DECIMAL_COMMA = r"[^,]*,[0-9]+[^0-9,]*"
_DECIMAL_POINT = r"[^.]*\.[0-9]+[^0-9.]*"
_AMBIGUOUS_COMMA = r"[^0-9.,]*[1-9][0-9]{0,2},[0-9]{3}[^0-9.,]*"  # decimal, or thousands
_AMBIGUOUS_POINT = r"[^0-9.,]*[1-9][0-9]{0,2}\.[0-9]{3}[^0-9.,]*"
_LEADING_ZERO = r"\s*0\d+\s*"
_PLAIN = f"{NUMBER}|{INFINITY}"
_PLAIN_CELL = re.compile(_PLAIN)


def is_missing(cell: str) -> bool:
    """Return whether a cell stands for a missing value."""
    return cell.strip().lower() in MISSING_MARKERS


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, plain or in the style of an office."""
    cell = cell.strip()
    if len(cell) > MAX_NUMBER_CHARACTERS:
        return False
    return bool(_PLAIN_CELL.fullmatch(cell)) or is_styled_number(cell)


def _is_plain_number(cell: str) -> bool:
    return len(cell) <= MAX_NUMBER_CHARACTERS and bool(_PLAIN_CELL.fullmatch(cell.strip()))


def decimal_of_file(columns: Any, delimiter: str, options: CellOptions) -> str:
    """Return the decimal separator that most likely holds where a column leaves it open."""
    if options.decimal is not None:
        return options.decimal
    if options.thousands in (",", "."):
        return "." if options.thousands == "," else ","
    return "," if has_decimal_comma(columns, delimiter) else "."


def has_decimal_comma(columns: Any, delimiter: str) -> bool:
    """Return whether some cells are like 1,5 and none is like 1.5.

    If the delimiter is a semicolon, 1,234 counts as decimal. Otherwise it may be above a thousand,
    so another cell must show that commas are decimal.
    """
    pa, pc = arrow(), arrow(".compute")
    head = columns.slice(0, DECIMAL_SAMPLE_ROWS)
    texts = [column for column in head.columns if pa.types.is_string(column.type)]
    cells = pa.chunked_array([chunk for column in texts for chunk in column.chunks], pa.string())
    with_comma = _numbers_with(cells, ",")
    with_comma = with_comma.filter(matches(with_comma, _DECIMAL_COMMA))
    if delimiter != ";":
        with_comma = with_comma.filter(pc.invert(matches(with_comma, _AMBIGUOUS_COMMA)))
    if len(with_comma) == 0:
        return False
    with_point = _numbers_with(cells, ".")
    with_point = with_point.filter(matches(with_point, _DECIMAL_POINT))
    # next to 1,5 the point of 1.000 is a thousands separator
    return pc.all(matches(with_point, _AMBIGUOUS_POINT)).as_py() is not False


def _numbers_with(cells: Any, mark: str) -> Any:
    """Return the cells that are numbers with this separator."""
    pc = arrow(".compute")
    marked = pc.utf8_trim_whitespace(cells.filter(pc.match_substring(cells, mark)))
    return marked.filter(are_styled_numbers(marked))


def use_decimal_comma(columns: Any, inferred: InferredColumns) -> bool:
    """Return whether a column of text became numbers whose commas are decimal."""
    pa, pc = arrow(), arrow(".compute")
    for name, text in zip(columns.column_names, columns.columns, strict=True):
        style, is_float = inferred.styles.get(name), pa.types.is_floating
        may_have = pa.types.is_string(text.type) and is_float(inferred.data[name].type)
        may_have = may_have and (style is None or style.decimal == ",")
        if may_have and pc.any(pc.match_substring(text, ",")).as_py():
            return True
    return False


class InferredColumns(NamedTuple):
    """Columns of text, converted where all cells are numbers or booleans."""

    data: Any
    styles: dict[str, NumberStyle]  # of the numbers that are not written plainly


def infer_types(columns: Any, decimal: str, options: CellOptions) -> InferredColumns:
    """Convert columns of text whose cells are all numbers, or all booleans."""
    converted, styles = [], {}
    for name, column in zip(columns.column_names, columns.columns, strict=True):
        is_text = arrow().types.is_string(column.type)
        values, style = _infer_type(column, decimal, options) if is_text else (column, None)
        converted.append(mask_missing_numbers(values, options.missing))
        if style is not None and not style.is_plain:
            styles[name] = style
    return InferredColumns(arrow().table(converted, names=columns.column_names), styles)


def _infer_type(column: Any, decimal: str, options: CellOptions) -> tuple[Any, NumberStyle | None]:
    pa, pc = arrow(), arrow(".compute")
    is_plain = len(column) > 0 and _is_plain_number(column[0].as_py())
    if is_plain and decimal == ",":  # the points may separate thousands
        is_plain = not pc.any(pc.match_substring(column, ".")).as_py()
    if is_plain:
        numbers = to_numbers(column)  # most columns hold only numbers and need no trimming
        if numbers is not None and not _may_have_thousands(column, numbers, options):
            return numbers, None
    values = without_missing(column, options.missing)
    known = values.drop_null()
    if len(known) == 0:
        return pa.chunked_array([pa.nulls(len(values))]), None
    first = known[0].as_py()
    if first.lower() in ("true", "false"):
        return _to_booleans(values, column), None
    if not is_number(first):
        return column, None
    if decimal == ",":
        numbers = read_decimal_commas(values)
    else:
        numbers = to_numbers(values) if _is_plain_number(first) else None
    may_be_styled = numbers is None or _may_have_thousands(values, numbers, options)
    if numbers is not None and not (may_be_styled and have_thousands_points(values)):
        return numbers, None
    return read_styled_numbers(values, decimal, options) or (column, None)


def _may_have_thousands(column: Any, numbers: Any, options: CellOptions) -> bool:
    """Return whether a sample of the cells is like 850 and 1.200; few columns of decimals are."""
    if options.decimal == "." or not arrow().types.is_floating(numbers.type):
        return False
    if not have_groups(without_missing(column.slice(0, FEW_ROWS)), ".", ","):
        return False
    rows = arrow().array(evenly_spaced(len(column), THOUSANDS_SAMPLE_ROWS))
    return have_thousands_points(without_missing(column.take(rows)))


def first_of_other_style(values: Any, decimal: str, options: CellOptions) -> int | None:
    """Return the first row whose number does not fit the style of the rows above it."""
    fitting, failing = 0, len(values) + 1
    while failing - fitting > 1:  # what fits all rows fits the first ones too
        middle = (fitting + failing) // 2
        head = values.slice(0, middle)
        fits = to_numbers(head) is not None
        if fits or read_styled_numbers(head, decimal, options) is not None:
            fitting = middle
        else:
            failing = middle
    return None if failing > len(values) else failing - 1


def mask_missing_numbers(column: Any, missing: Sequence[str]) -> Any:
    """Replace numbers by null that the user called missing, like -999."""
    pa, pc = arrow(), arrow(".compute")
    if not missing or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return column
    numbers = [float(text) for text in missing if _PLAIN_CELL.fullmatch(text)]
    floats = pc.cast(column, pa.float64(), safe=False)
    is_marker = pc.is_in(floats, value_set=pa.array(numbers, pa.float64()))
    return pc.if_else(is_marker, pa.scalar(None, column.type), column) if numbers else column


def without_missing(column: Any, more_markers: Sequence[str] = ()) -> Any:
    """Trim the cells, and replace markers of missing values by null."""
    pa, pc = arrow(), arrow(".compute")
    trimmed = pc.utf8_trim_whitespace(column)
    markers = pa.array([*MISSING_MARKERS, *more_markers], trimmed.type)
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=markers)
    return pc.if_else(missing, pa.scalar(None, trimmed.type), trimmed)


def _to_booleans(values: Any, column: Any) -> Any:
    pa, pc = arrow(), arrow(".compute")
    lower = pc.utf8_lower(values)
    is_boolean = pc.is_in(lower, value_set=pa.array(["true", "false", None], lower.type))
    return pc.equal(lower, "true") if pc.all(is_boolean).as_py() else column


def are_numbers(values: Any) -> Any:
    """Return which cells are numbers, plain or in any style; null for missing ones."""
    return arrow(".compute").or_(matches(values, _PLAIN), are_styled_numbers(values))


def has_leading_zeros(column: Any) -> bool:
    """Return whether a cell is an integer like 01003."""
    return bool(arrow(".compute").any(matches(column, _LEADING_ZERO)).as_py())
