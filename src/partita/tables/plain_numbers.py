"""Plain numbers: 1.5, -2e3, 7."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from partita.tables.table import arrow

MAX_NUMBER_CHARACTERS = 1077  # length of -5e-324 written out, the longest double
MAX_EXACT_INTEGER = 2**53  # every integer up to this is a double

# Python matches these with single cells, RE2 with columns. No two adjacent parts match the same
# digits, otherwise Python's backtracking would be exponential.
EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
NUMBER = rf"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+){EXPONENT}"
INTEGER = r"[+-]?[0-9]+"
INFINITY = r"[+-]?(?i:inf|infinity)"


def matches(values: Any, pattern: str) -> Any:
    """Return which cells match a pattern as a whole; null for missing ones."""
    return arrow(".compute").match_substring_regex(values, f"^(?:{pattern})$")


def to_numbers(values: Any) -> Any:
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
    if not pc.all(matches(values, INTEGER)).as_py():
        return None  # with 1e20 or 1.5 in the column, all of it is doubles
    min_length = len(str(MAX_EXACT_INTEGER))
    is_long = pc.fill_null(pc.greater_equal(pc.utf8_length(values), min_length), False)
    rows = np.flatnonzero(is_long.to_numpy(zero_copy_only=False)).tolist()
    return next((row for row in rows if not _is_exact(values[row].as_py())), None)


def _is_exact(cell: str) -> bool:
    is_finite = len(cell) <= MAX_NUMBER_CHARACTERS and math.isfinite(float(cell))
    return is_finite and int(float(cell)) == int(cell)
