"""Text from outside, made safe to look at: short, on one line, without characters that hide."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any

from partita._common import text
from partita._common.text import format_number, one_line

_OFF = 0.02  # steps by which a number along an axis may be wrong
_MISSING = "(no name)"
_EXACT = 1e15  # below it, a double is a whole number to the last digit
_LONG = 1e9  # from here on a number has four digits and a power of ten


def shown(text: Any, most: int = 48) -> str:
    """Return a name as one safe line of at most so many characters."""
    return one_line(text, most) or _MISSING


def number(value: float | None) -> str:
    """A number with as many digits as a reader needs; a true minus sign."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= _LONG:
        return _grouped(f"{value:.4g}")
    if abs(value) >= 1e3:
        return _grouped(f"{value:,.0f}")
    return _grouped(format_number(value + 0.0))  # no −0


def ticks(values: Sequence[float]) -> list[str]:
    """The numbers along an axis, with as many digits as say where they are."""
    long = max(map(abs, values), default=0.0) >= _LONG
    steps = [abs(b - a) for a, b in pairwise(values)]
    slack = min(steps, default=0.0) * _OFF or math.inf  # nothing tells equal values apart
    for digits in range(4, 17):
        exact = [float(f"{found:.{digits}g}") for found in values]
        if all(abs(x - found) <= slack for x, found in zip(exact, values, strict=True)):
            break
    if digits == 4:
        return [number(x) for x in exact]
    return [_grouped(f"{x:.{digits - 1}e}" if long else f"{x:,}") for x in exact]


def value(found: float) -> str:
    """A value of the data: whole numbers in full, others with the digits that they have, up to six.

    >>> value(1234567.0), value(0.1 + 0.2)
    ('1\\u202f234\\u202f567', '0.3')
    """
    if not math.isfinite(found):
        return "missing" if math.isnan(found) else number(found)
    if abs(found) < _EXACT and found == int(found):
        return _grouped(f"{int(found):,}")
    size = abs(found)
    return _grouped(f"{found:{',.0f' if 1e5 <= size < _EXACT else ',.6g'}}")


def rounded(found: float) -> str:
    """A mean of values: four digits are enough."""
    return value(float(f"{found:.4g}"))


def _grouped(text: str) -> str:
    """With a true minus sign, and narrow spaces between thousands."""
    return text.replace("-", "−").replace(",", "\u202f").replace(" ", "\u202f")


def signed(value: float) -> str:
    """A deviation with its sign: +1.1, −0.3, 0.0."""
    if not math.isfinite(value) or abs(value) < 0.05:
        return "0.0"
    return f"{value:+.1f}".replace("-", "−")


def percent(share: float) -> str:
    """A share: 45 %, 0.3 %; all and nothing are said only of all and of nothing."""
    if not math.isfinite(share):
        return "–"
    scaled = 100 * share
    if 0 < scaled < 0.05:
        return "<0.1\u202f%"
    if 99.95 <= scaled < 100:
        return ">99.9\u202f%"
    digits = 1 if 0.05 <= abs(scaled) < 9.95 or 99 < scaled < 100 else 0
    return f"{_unsigned(f'{scaled:.{digits}f}')}\u202f%".replace("-", "−")


def _unsigned(text: str) -> str:
    return "0" if text == "-0" else text


def plural(count: int, what: str) -> str:
    """1 row, 2 rows."""
    return text.plural(count, what, number)


def with_code(text: str) -> str:
    """HTML of a sentence, in which what one types is set apart: `words`, and --options.

    >>> with_code("use `a b` or --scale none, not <b>")
    'use <code>a b</code> or <code>--scale</code> none, not &lt;b&gt;'
    """
    return re.sub(
        r"`([^`]+)`|(?<!\S)(--[a-z][a-z-]*)",
        lambda found: f"<code>{found[1] or found[2]}</code>",
        escape(text),
    )


def in_script(data: Any) -> str:
    """JSON that can stand inside a script element: nothing in it ends the element or a line."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
