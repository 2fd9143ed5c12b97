"""Gaps and levels in percent. Gaps are rounded up: a text promises no more than the bound."""

from __future__ import annotations

import math

from partita._common.text import NARROW_SPACE

GAP_DIGITS = 2  # of a percentage
MIN_GAP_PERCENT = 1e-4  # smaller gaps are shown as this one


def gap_percent(gap: float) -> str:
    """Return a gap from 0 to 1 in percent, with two digits, rounded up.

    >>> [gap_percent(x).replace(NARROW_SPACE, " ") for x in (0.0, 0.04201, 0.000081, 0.99999, 1e-9)]
    ['0 %', '4.3 %', '0.0081 %', '100 %', '0.0001 %']
    """
    percent = 100 * gap
    if percent <= 0:
        return f"0{NARROW_SPACE}%"
    percent = max(percent, MIN_GAP_PERCENT)
    decimals = max(0, GAP_DIGITS - 1 - math.floor(math.log10(percent)))
    # what double rounding added to the product does not count
    up = math.ceil(percent * 10**decimals * (1 - 1e-12)) / 10**decimals
    return f"{_plain(up, decimals)}{NARROW_SPACE}%"


def level_percent(level: float) -> str:
    """Return a confidence level in percent.

    >>> level_percent(0.95).replace(NARROW_SPACE, " ")
    '95 %'
    """
    return f"{100 * level:.6g}{NARROW_SPACE}%"


def _plain(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
