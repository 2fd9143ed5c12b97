"""Numbers of bytes, as people write them."""

from __future__ import annotations

import re
from typing import Any

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY_UNITS = {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


def bytes_in(text: str) -> float | None:
    """Return the number of bytes that a text stands for, None if it stands for none.

    >>> bytes_in("2GiB"), bytes_in("1.5 MB"), bytes_in("lots")
    (2147483648.0, 1500000.0, None)
    """
    match = _SIZE.fullmatch(text)
    unit = match and ({**_UNITS, **_BINARY_UNITS}).get(match[2].lower())
    return float(match[1]) * unit if match and unit else None


def as_bytes(value: Any) -> float:
    """Return a checked size, a number or a text, in bytes."""
    size = bytes_in(value) if isinstance(value, str) else float(value)
    assert size is not None
    return size
