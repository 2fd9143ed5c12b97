"""Numbers as pages and terminals write them.

Numbers have few digits, true minus signs, and narrow spaces between thousands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from partita._common.text import format_number, plural

_TICK_TOLERANCE = 0.02  # how wrong the number at a tick may be, in steps between ticks
_EXACT_INTEGERS = 1e15  # below it, doubles represent every integer
_STEPS_PER_SPREAD = 10  # steps of the last digit
_ROUNDED_FROM = 1e4  # larger numbers may lose digits before the point
_MAX_DECIMALS = 6
_SMALLEST_SPREAD = 1e-300  # less has no logarithm
_EXPONENT_FROM = 1e9  # larger numbers have four digits and a power of ten


def number_text(value: float | None) -> str:
    """Return a number with as many digits as a reader needs; "–" for none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= _EXPONENT_FROM:
        return _typeset(f"{value:.4g}")
    if abs(value) >= 1e3:
        return _typeset(f"{value:,.0f}")
    return _typeset(format_number(value + 0.0))  # no −0


def tick_texts(values: Sequence[float]) -> list[str]:
    """Return the numbers along an axis, with enough digits to tell them apart."""
    steps = [abs(b - a) for a, b in pairwise(values)]
    tolerance = min(steps, default=0.0) * _TICK_TOLERANCE or math.inf  # any, for equal values
    for digits in range(4, 17):
        rounded = [float(f"{value:.{digits}g}") for value in values]
        if all(abs(x - value) <= tolerance for x, value in zip(rounded, values, strict=True)):
            break
    if digits == 4:
        return [number_text(x) for x in rounded]
    if max(map(abs, values), default=0.0) >= _EXPONENT_FROM:
        return [_typeset(f"{x:.{digits - 1}e}") for x in rounded]
    return [_typeset(f"{x:,}") for x in rounded]


def value_text(value: float) -> str:
    """Return a value of the data: integers in full, others with up to six digits.

    >>> value_text(1234567.0), value_text(0.1 + 0.2)
    ('1\\u202f234\\u202f567', '0.3')
    """
    if not math.isfinite(value):
        return "missing" if math.isnan(value) else number_text(value)
    if abs(value) < _EXACT_INTEGERS and value == int(value):
        return _typeset(f"{int(value):,}")
    return _typeset(f"{value:{',.0f' if 1e5 <= abs(value) < _EXACT_INTEGERS else ',.6g'}}")


def mean_text(mean: float) -> str:
    """Return a mean of values, with four digits."""
    return value_text(float(f"{mean:.4g}"))


def rounded_text(value: float, spread: float) -> str:
    """Return a number with as many digits as tell values apart that vary by `spread`.

    >>> rounded_text(12.2531, 0.5), rounded_text(45678.9, 8000.0).replace("\u202f", " ")
    ('12.25', '45 700')
    """
    if not _SMALLEST_SPREAD < spread < math.inf or not math.isfinite(value):
        return mean_text(value)
    digits = -math.floor(math.log10(spread / _STEPS_PER_SPREAD))
    digits = max(digits, 0) if abs(value) < _ROUNDED_FROM else digits
    if digits > _MAX_DECIMALS or abs(value) >= _EXPONENT_FROM:
        return mean_text(value)
    return _typeset(f"{round(value, digits) + 0.0:,.{max(0, digits)}f}")  # no −0


def day_text(days: float) -> str:
    """Return a date, of days since 1970; the number if there is no such date.

    >>> day_text(19723.4), day_text(1e9)
    ('2024-01-01', '1\u202f000\u202f000\u202f000')
    """
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)).date().isoformat()
    except OverflowError:
        return value_text(days)


def score_text(score: float | None) -> str:
    """Return a score between −1 and 1 with two digits; "–" for none."""
    return "–" if score is None else _typeset(f"{score:.2f}")


def percent_text(share: float) -> str:
    """Return a share as 45 % or 0.3 %; 0 % and 100 % only for exactly none and all."""
    if not math.isfinite(share):
        return "–"
    percent = 100 * share
    if 0 < percent < 0.05:
        return "<0.1\u202f%"
    if 99.95 <= percent < 100:
        return ">99.9\u202f%"
    digits = 1 if 0.05 <= abs(percent) < 9.95 or 99 < percent < 100 else 0
    number = f"{percent:.{digits}f}"
    return _typeset(f"{'0' if number == '-0' else number} %")


def share_text(share: float) -> str:
    """Return the share of a group in whole percent; small ones as `percent_text` does.

    >>> share_text(0.0812), share_text(0.0047)
    ('8\u202f%', '0.5\u202f%')
    """
    if 0.01 <= share < 0.995:
        return _typeset(f"{100 * share:.0f} %")
    return percent_text(share)


def count_text(count: int, noun: str) -> str:
    """Return a count with its noun: 1 row, 2 rows."""
    return plural(count, noun, number_text)


def _typeset(number: str) -> str:
    """Replace hyphens by minus signs; commas and spaces by narrow no-break spaces."""
    return number.replace("-", "−").replace(",", "\u202f").replace(" ", "\u202f")
