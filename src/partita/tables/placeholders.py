"""Numbers that may stand for missing values, like -999 far below all other temperatures."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Array
from partita._common.text import format_number
from partita.tables.feature_selection import Selection

MIN_ROWS_WITH_PLACEHOLDER = 2
MIN_OTHER_VALUES = 3  # distinct ones, which show where the others are
_NINES = re.compile("-?9{2,}")


class Placeholder(NamedTuple):
    """A number that is far from all other values of a feature, and in how many rows it is."""

    value: int
    n_rows: int

    @property
    def why(self) -> str:
        """The reason to doubt the number."""
        return f"{self.value} is in {format_number(self.n_rows)} rows, far from all other values"


def placeholders_of(selection: Selection) -> dict[str, Placeholder]:
    """Return the features with a number that may mean "missing"."""
    found = {}
    for name, values in zip(selection.names, selection.X.T, strict=True):
        for end in (float(values.min()), float(values.max())):
            if _NINES.fullmatch(f"{end:.17g}") and (count := _count_apart(values, end)):
                found[name] = Placeholder(int(end), count)
    return found


def _count_apart(values: Array, end: float) -> int:
    """Return in how many rows a value is, 0 if it is nearer to others than these are spread."""
    others = np.unique(values[values != end])
    count = len(values) - int((values != end).sum())
    if count < MIN_ROWS_WITH_PLACEHOLDER or len(others) < MIN_OTHER_VALUES:
        return 0
    gap = np.abs(others[[0, -1]] - end).min()
    return count if gap > others[-1] - others[0] else 0
