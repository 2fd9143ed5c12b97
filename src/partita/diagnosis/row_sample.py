"""Samples of rows, for checks that would take too long on all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from partita._common.array_types import Floats, Ints


class RowSample(NamedTuple):
    """Some of the distinct rows; each has the weight of all its copies."""

    rows: Any
    weight: Floats
    labels: Ints
    note: str = ""  # to append to the evidence: the size, unless these are all distinct rows
    table: Any = None  # the rows as the model takes them, if `rows` are not

    @property
    def to_fit(self) -> Any:
        """The rows that the model can be fitted to."""
        return self.rows if self.table is None else self.table
