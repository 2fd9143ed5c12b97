"""Numbers of clusters to try, as users write them: a range, a list, "2:20", or the largest.

>>> numbers_to_try("ks", "2:5"), numbers_to_try("ks", 4), numbers_to_try("ks", [8, 3, 3])
((2, 3, 4, 5), (2, 3, 4), (3, 8))
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from partita._common.parameters import check_integer, is_integer, must_be

MAX_NUMBERS = 1_000_000  # of an iterable, which may have no end
SMALLEST_CHOICE = 2  # an integer n stands for 2 to n
_ADVICE = "Give several as range(2, 6), [2, 3, 5] or '2:5' (both ends included)."


def read_range(text: str) -> range | None:
    """Read "LOW:HIGH", both ends included; None if the text is anything else.

    >>> read_range("2:20"), read_range("20"), read_range("5:2")
    (range(2, 21), None, None)
    """
    match = re.fullmatch(r"\s*(\d{1,9})\s*:\s*(\d{1,9})\s*", text)
    if match is None:
        return None
    low, high = int(match[1]), int(match[2])
    return range(low, high + 1) if 1 <= low < high else None


def numbers_to_try(
    name: str, value: Any, smallest: int = 1, rows: int | None = None
) -> tuple[int, ...]:
    """Return numbers of clusters in order, each once, from `smallest` to the number of rows.

    `value` is an iterable of integers (a range, a list, an array, a set), a text "LOW:HIGH", or an
    integer n, which stands for 2 to n.
    """
    if isinstance(value, str):
        several: Iterable[Any] | None = read_range(value)
    elif is_integer(value):
        checked = _checked(name, value, smallest, rows)
        several = range(min(SMALLEST_CHOICE, checked), checked + 1)
    else:
        several = _iterable(value)
    if several is None:
        wanted = "numbers of clusters: a range, a list, a text such as '2:20', or the largest"
        raise must_be(name, wanted, value, _ADVICE)
    numbers = [_checked(name, k, smallest, rows) for k in islice(several, MAX_NUMBERS + 1)]
    if not 0 < len(numbers) <= MAX_NUMBERS:
        raise must_be(name, f"1 to {MAX_NUMBERS} numbers of clusters", value, _ADVICE)
    return tuple(sorted(set(numbers)))


def _iterable(value: Any) -> Iterable[Any] | None:
    if isinstance(value, bytes | dict) or getattr(value, "ndim", 1) == 0:
        return None  # iter() of an array without dimensions fails late
    return value if isinstance(value, Iterable) else None


def _checked(name: str, k: Any, smallest: int, rows: int | None) -> int:
    if check_integer(name, k, smallest, advice=_ADVICE) > (k if rows is None else rows):
        advice = f"Try up to {max(2, (rows or 0) - 1)} clusters."
        raise must_be(name, f"at most {rows}, the number of rows", k, advice)
    return int(k)
