"""Rows that are made when they are read, where a copy of all of them would not fit."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from partita._common.array_types import Array, Ints


class RowView(Protocol):
    """Rows (n, d), read like those of an array."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and features."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""

    def __getitem__(self, rows: slice | Ints) -> Array:
        """Some rows (m, d)."""


def are_far(rows: RowView) -> bool:
    """Return whether a pass over the rows costs more than work on them: they are in a file."""
    return bool(getattr(rows, "are_far", False))


class SelectedRows:
    """Some rows of others, in the order of `index`."""

    def __init__(self, rows: RowView, index: Ints) -> None:
        self._rows, self._index = rows, index
        self.shape = len(index), rows.shape[1]
        self.dtype = rows.dtype

    def __getitem__(self, rows: slice | Ints) -> Array:
        return self._rows[self._index[rows]]
