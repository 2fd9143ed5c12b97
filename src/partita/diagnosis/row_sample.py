"""Some rows to look at, where all would be too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita._common.array_types import Floats, Ints
from partita.source.plain_rows import doubles


@dataclass(frozen=True, slots=True)
class Sample:
    """Some of the distinct rows; the weight of a row is that of all its copies."""

    rows: Any
    weight: Floats
    labels: Ints
    index: Ints  # which rows of X they are
    whole: bool  # whether these are all

    def dense(self, about: Floats) -> Floats:
        """The rows as doubles, less an origin amid them: an offset costs no digits."""
        return doubles(self.rows) - about

    @property
    def told(self) -> str:
        """The end of a sentence about them."""
        return "" if self.whole else f" (in a sample of {len(self.weight)} rows)"
