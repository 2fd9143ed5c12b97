"""Numbers as offices write them: $1,234.50, 30.785,12 €, 12 %, (1.5), 1.5-.

A column is read in one style. It is numeric only if all its cells fit that style.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from partita.tables.cell_options import SEPARATORS, CellOptions
from partita.tables.plain_numbers import EXPONENT, matches, to_numbers
from partita.tables.table import arrow

MAX_STYLED_CHARACTERS = 100  # of a cell with a number
SAMPLE_ROWS = 1000  # matched first
# Python matches these patterns with single cells, RE2 with columns.
_SPACES = " \u00a0\u202f\u2009"
_GAP = f"[{_SPACES}]*"
_MINUS = "[-−–]"
_SIGN = "[-+−–]"
_CURRENCY = (
    "(?:(?:US|NZ|HK|MX|[ACRS])?[$]|[€£¥₹₽₺₩₪₫₴₦₱฿₡₲₸₼₾¢¤]"
    "|USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|TRY|RUB|UAH|BRL"
    "|MXN|ARS|CLP|COP|ZAR|KRW|SGD|HKD|TWD|THB|IDR|MYR|PHP|VND|ILS|AED|SAR|EGP"
    "|SFr[.]?|Fr[.]?|kr[.]?|Rs[.]?|zł|Kč|Ft|lei)"
)
_GROUPS = f"(?:[{_SPACES}][0-9]{{3}})+(?:[.,][0-9]*)?"  # after a space
_BODY = rf"(?:[0-9][0-9.,'’]*(?:{_GROUPS})?|[.,][0-9]+){EXPONENT}"
_AFTER = f"(?:{_GAP}%)?(?:{_GAP}{_CURRENCY})?"
_BEFORE = f"(?:{_CURRENCY}{_GAP}{_SIGN}{_GAP}|(?:{_SIGN}{_GAP})?(?:(?:{_CURRENCY}|%){_GAP})?)"
_STYLED = "|".join(
    (
        f"{_BEFORE}{_BODY}{_AFTER}",
        f"(?:{_CURRENCY}{_GAP})?{_BODY}{_AFTER}{_GAP}{_MINUS}",  # 1.5-
        rf"(?:{_CURRENCY}{_GAP})?\({_GAP}(?:{_CURRENCY}{_GAP})?{_BODY}{_AFTER}{_GAP}\)"
        rf"(?:{_GAP}(?:%|{_CURRENCY}))?",  # (1.5), of accountants
    )
)
_START = rf"^(?:(?:{_SIGN}|{_CURRENCY}|%|\(){_GAP})+"
_END = rf"(?:{_GAP}(?:{_MINUS}|{_CURRENCY}|%|\)))+$"
_NEGATIVE = rf"^[^0-9]*(?:{_MINUS}|\()|{_MINUS}$"
_ZERO = "[^1-9%]*"


class NumberStyle(NamedTuple):
    """The way in which the numbers of a column are written."""

    decimal: str
    thousands: str = ""  # "" if no cell has such a separator
    is_percent: bool = False
    has_signs: bool = False  # currencies, parentheses, a minus after the number, …
    is_ambiguous: bool = False  # as 1,234: another reading fits all cells too

    @property
    def is_plain(self) -> bool:
        """True for 1.5 and 1,5: there is nothing to say about these numbers."""
        return not (self.thousands or self.is_percent or self.has_signs or self.is_ambiguous)


def is_styled_number(cell: str) -> bool:
    """Return whether a cell is a number in any style; its separators may be in wrong places."""
    return len(cell) <= MAX_STYLED_CHARACTERS and re.fullmatch(_STYLED, cell) is not None


def are_styled_numbers(values: Any) -> Any:
    """Return which cells are numbers in any style; null for missing ones."""
    return matches(values, _STYLED)


def read_styled_numbers(
    values: Any, file_decimal: str, options: CellOptions
) -> tuple[Any, NumberStyle] | None:
    """Return trimmed cells as numbers, with their style; None if no style fits all of them.

    Where two styles fit, as for 1,234, the decimal separator of the file decides. But there are
    thousands in columns with a currency, because amounts have two decimals, and in those that mix
    850 and 1,200: no program writes one number without decimals and another one with a last 0.
    """
    signs = _signs_of(values)
    if signs is None:
        return None
    bodies = _bodies(values, signs)
    readings = _fitting_readings(bodies, options, "+" not in signs.all)
    if not readings:
        return None
    if signs.currency or (len(readings) > 1 and _mix_bare_and_grouped(bodies)):
        best = max(readings, key=lambda reading: bool(reading.thousands))
    else:
        best = next((r for r in readings if r.decimal == file_decimal), readings[0])
    has_signs = bool(signs.currency or signs.is_percent or signs.all & set("()−–") or signs.trail)
    style = NumberStyle(
        best.decimal, best.thousands, signs.is_percent, has_signs, len(readings) > 1
    )
    return best.numbers, style


def have_thousands_points(values: Any) -> bool:
    """Return whether a column of plain decimals, by its look, has thousands: 850, 1.200."""
    return have_groups(values, ".", ",") and _mix_bare_and_grouped(values)


def _mix_bare_and_grouped(bodies: Any) -> bool:
    """Return whether there are numbers below 1000 without separators, and some like 1.200."""
    pc = arrow(".compute")
    below, above, grouped = "-?[0-9]{1,3}", "-?[0-9]{4,}", "-?[0-9]{1,3}[.,][0-9]{2}0"
    found = [bool(pc.any(matches(bodies, shape)).as_py()) for shape in (below, above, grouped)]
    return found == [True, False, True]


def read_decimal_commas(values: Any) -> Any:
    """Return numbers like 1,5 and 7; None if a cell is none, or if all may have thousands."""
    pc = arrow(".compute")
    may_be_thousands = have_groups(values, ",", ".") and _has(values, ",")
    if may_be_thousands or _has(values, "."):
        return None
    return to_numbers(pc.replace_substring(values, ",", ".", max_replacements=1))


# --- signs around the digits ----------------------------------------------------------------------


class _Signs(NamedTuple):
    all: set[str]  # characters
    currency: str = ""
    is_percent: bool = False
    trail: bool = False  # a minus after the number


def _signs_of(values: Any) -> _Signs | None:
    """Return what surrounds the digits; None unless it is the same for all cells.

    Percentages and other numbers, or two currencies, are not of one unit. 0 needs no unit.
    """
    pc = arrow(".compute")
    around = pc.unique(pc.replace_substring_regex(values, _BODY, "0")).drop_null().to_pylist()
    if not all(map(is_styled_number, around)):
        return None
    found = set("".join(around)) - {"0"}
    if not found:
        return _Signs(found)
    is_percent = "%" in found
    if is_percent and not pc.all(matches_percent_or_zero(values)).as_py():
        return None
    currencies = {re.sub(f"[-+−–()%0{_SPACES}]", "", text).rstrip(".") for text in around} - {""}
    if len(currencies) > 1:
        return None
    trail = any(text.endswith(("-", "−", "–")) for text in around)
    return _Signs(found, next(iter(currencies), ""), is_percent, trail)


def matches_percent_or_zero(values: Any) -> Any:
    """Return which cells have a percent sign or are 0; null for missing ones."""
    pc = arrow(".compute")
    return pc.or_(pc.match_substring(values, "%"), matches(values, _ZERO))


def _bodies(values: Any, signs: _Signs) -> Any:
    """Return the digits and separators of the cells, with a minus in front of negative ones."""
    pc = arrow(".compute")
    bodies = values
    if signs.all:
        bodies = pc.replace_substring_regex(bodies, _START, "")
        bodies = pc.replace_substring_regex(bodies, _END, "")
        negative = pc.match_substring_regex(values, _NEGATIVE)
        bodies = pc.if_else(negative, pc.binary_join_element_wise("-", bodies, ""), bodies)
    for letter, plain in (*((space, " ") for space in _SPACES[1:]), ("’", "'")):
        if _has(bodies, letter):
            bodies = pc.replace_substring(bodies, letter, plain)
    return bodies


def _has(values: Any, text: str) -> bool:
    pc = arrow(".compute")
    return bool(pc.any(pc.match_substring(values, text)).as_py())


# --- separators among the digits ------------------------------------------------------------------


class _Reading(NamedTuple):
    decimal: str
    thousands: str
    numbers: Any


def _fitting_readings(bodies: Any, options: CellOptions, may_have_spaces: bool) -> list[_Reading]:
    """Return the readings that fit all cells: one at most, except for cells like 1,234."""
    used = {mark for mark in SEPARATORS if _has(bodies, mark)}
    if " " in used and not may_have_spaces:  # +43 664 123 456
        return []
    readings: list[_Reading] = []
    for decimal in (".", ","):
        others = used - {decimal}
        thousands = "".join(others)
        if len(others) > 1 or not options.allow(decimal, thousands):
            continue
        if decimal not in used and readings and readings[0].thousands == thousands:
            break  # without a decimal separator both are the same
        numbers = _read(bodies, decimal, thousands)
        if numbers is not None:
            readings.append(_Reading(decimal, thousands, numbers))
    return readings


def _read(bodies: Any, decimal: str, thousands: str) -> Any:
    """Return the numbers if all cells fit these separators, else None."""
    pc = arrow(".compute")
    if thousands:
        if not have_groups(bodies, thousands, decimal) or _are_codes(bodies, thousands):
            return None
        bodies = pc.replace_substring(bodies, thousands, "")
    if decimal == ",":
        bodies = pc.replace_substring(bodies, ",", ".", max_replacements=1)
    return to_numbers(bodies)


def have_groups(bodies: Any, thousands: str, decimal: str) -> bool:
    """Return whether all cells are digits in groups of three, or without separators."""
    mark, point = re.escape(thousands), re.escape(decimal)
    groups = rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+"
    if thousands == ",":
        groups += "|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"  # 12,34,567 in India
    return _all_match(bodies, f"-?(?:(?:{groups}|[0-9]+)(?:{point}[0-9]*)?|{point}[0-9]+)")


def _are_codes(bodies: Any, thousands: str) -> bool:
    """Return whether all cells are like 732 829 320: numbers of companies, not amounts."""
    mark = re.escape(thousands)
    pattern = f"[0-9]{{3}}(?:{mark}[0-9]{{3}}){{2,}}"
    return thousands in (" ", ".") and _all_match(bodies, pattern)


def _all_match(values: Any, pattern: str) -> bool:
    """Return whether all cells match; most columns that do not show it in their first rows."""
    pc = arrow(".compute")
    parts = (values.slice(0, SAMPLE_ROWS), values)
    return all(pc.all(matches(part, pattern)).as_py() is not False for part in parts)
