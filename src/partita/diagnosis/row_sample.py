"""Samples of rows, for checks that would take too long on all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita._common.array_types import Floats, Ints
from partita.source.raw_rows import as_doubles


@dataclass(frozen=True, slots=True)
class RowSample:
    """Some of the distinct rows; each has the weight of all its copies."""

    rows: Any
    weight: Floats
    labels: Ints
    index: Ints  # row numbers in X
    complete: bool  # whether these are all distinct rows

    def dense(self, origin: Floats) -> Floats:
        """Return the rows as doubles relative to an origin, so that an offset costs no digits."""
        return as_doubles(self.rows) - origin

    @property
    def note(self) -> str:
        """Text to append to the evidence: the size of the sample, if it is one."""
        return "" if self.complete else f" (in a sample of {len(self.weight)} rows)"
