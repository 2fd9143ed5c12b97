"""`ColumnTable`: a table of numbers and categories that is sliced by rows, as arrays are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.text import format_number
from partita.source.dataframes import is_frame, names_of
from partita.source.mixed_columns import (
    MISSING,
    Category,
    Factor,
    array_columns,
    as_factor,
    frame_columns,
)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTable:
    """Columns of numbers (NaN where missing) and of categories, under names.

    What members that take categories accept, and what is left of a dataframe once it was read.

    >>> table = column_table([[1, "a"], [2, "b"], [3, "a"]])
    >>> table.shape, table[[0, 2]].columns[1].codes.tolist()
    ((3, 2), [0, 0])
    """

    columns: tuple[Floats | Factor, ...]
    names: tuple[str, ...]  # empty if there are none

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        first = self.columns[0]
        return len(first.codes if isinstance(first, Factor) else first), len(self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> ColumnTable:
        """Return some rows, by numbers, flags or a slice."""
        rows = rows if isinstance(rows, slice) else np.asarray(rows)
        taken = [
            column._replace(codes=column.codes[rows])
            if isinstance(column, Factor)
            else column[rows]
            for column in self.columns
        ]
        return ColumnTable(tuple(taken), self.names)

    def read(self, chosen: Any = ()) -> list[Floats | Factor]:
        """Return the columns; those `chosen` by position are categories, whatever they hold."""
        return [
            as_factor(column) if t in chosen and not isinstance(column, Factor) else column
            for t, column in enumerate(self.columns)
        ]

    def as_objects(self) -> Array:
        """Return the cells (n, d) as Python values, None where a category is missing."""
        out = np.empty(self.shape, dtype=object)
        for t, column in enumerate(self.columns):
            if isinstance(column, Factor):
                out[:, t] = [(*column.levels, None)[code] for code in column.codes]
            else:
                out[:, t] = column
        return out


def as_texts(column: Factor) -> Factor:
    """Return categories as texts: yes and no, and numbers as people write them."""
    texts = [category_text(level) for level in column.levels]
    levels = sorted(set(texts))
    rank = np.array([*(levels.index(text) for text in texts), MISSING], dtype=np.int32)
    return Factor(tuple(levels), rank[column.codes], column.is_ordered)


def category_text(value: Category | None) -> str:
    """Return a category as it is shown.

    >>> category_text("red"), category_text(True), category_text(3), category_text(None)
    ('red', 'yes', '3', 'missing')
    """
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else format_number(value)


def column_table(X: Any) -> ColumnTable:
    """Return a dataframe, an array (n, d) or nested lists as a table of columns."""
    if isinstance(X, ColumnTable):
        return X
    if is_frame(X):
        return ColumnTable(tuple(frame_columns(X)), tuple(map(str, names_of(X))))
    rows = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    return ColumnTable(tuple(array_columns(rows)), ())
