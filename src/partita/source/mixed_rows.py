"""Rows of numbers and categories, and what a fit learns of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import Got, must_be
from partita.source.category_column import CategoryColumn
from partita.source.column_table import ColumnTable, category_text
from partita.source.dataframes import is_frame
from partita.source.mixed_columns import (
    MISSING,
    Category,
    Factor,
    array_columns,
    frame_columns,
)


@dataclass(frozen=True, slots=True, eq=False)
class MixedRows:
    """Rows as numbers and codes of categories.

    The code of a missing category is −1, that of a category which the fit did not see the number
    of known ones.
    """

    numbers: Floats  # (n, p) doubles in C order, NaN where missing
    codes: Ints  # (n, q) int32 in C order

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.codes)

    def take(self, rows: Any) -> MixedRows:
        """Return some rows, by numbers, flags or a slice."""
        parts = self.numbers[rows], self.codes[rows]
        return MixedRows(*(np.ascontiguousarray(part) for part in parts))


@dataclass(frozen=True, slots=True, eq=False)
class MixedView:
    """A mixed table as descriptions and displays need it."""

    numbers: Floats  # (n, p)
    number_names: tuple[str, ...]
    categories: Mapping[str, CategoryColumn]  # by name, in the order of the table
    embedded: Floats | None = None  # (n, m) rows in a Euclidean space, if the model has one


@dataclass(frozen=True, slots=True)
class MixedFeatures:
    """The columns of the rows of a fit: numbers, and categories with their levels."""

    names: tuple[str, ...]  # of all columns, in their order
    # (d,) the levels of a column of categories, in the order of their codes; None for numbers
    levels: tuple[tuple[Category, ...] | None, ...]
    ordered: tuple[bool, ...]  # (d,) whether the type of a column declares the order of its levels

    @property
    def number_columns(self) -> Ints:
        """The positions (p,) of columns of numbers."""
        return np.array([t for t, known in enumerate(self.levels) if known is None], np.intp)

    @property
    def category_columns(self) -> Ints:
        """The positions (q,) of columns of categories."""
        return np.array([t for t, known in enumerate(self.levels) if known is not None], np.intp)

    @property
    def number_names(self) -> tuple[str, ...]:
        """The names (p,) of columns of numbers."""
        return tuple(self.names[t] for t in self.number_columns)

    @property
    def category_names(self) -> tuple[str, ...]:
        """The names (q,) of columns of categories."""
        return tuple(self.names[t] for t in self.category_columns)

    @property
    def categories(self) -> tuple[tuple[Category, ...], ...]:
        """The levels of the columns of categories (q,)."""
        return tuple(known for known in self.levels if known is not None)

    @property
    def counts(self) -> Ints:
        """The number of levels (q,) of each column of categories."""
        return np.array([len(known) for known in self.categories], np.intp)

    def encode(self, X: Any) -> MixedRows:
        """Return new rows with the codes of the fit; X has the columns of the fit, in order."""
        chosen = set(self.category_columns.tolist())
        columns = read_columns(X, chosen)
        for name, known, column in zip(self.names, self.levels, columns, strict=True):
            _check_kind(name, known, column)
        return _rows(columns, self.levels)

    def decode(self, rows: MixedRows) -> Array:
        """Return rows as a table of their own: floats, or objects where there are categories."""
        if not len(self.category_columns):
            return rows.numbers.copy()
        out = np.empty((rows.n, len(self.names)), dtype=object)
        out[:, self.number_columns] = rows.numbers
        for i, t in enumerate(self.category_columns):
            known = [*self.categories[i], None]  # None is missing
            out[:, t] = [known[code] for code in rows.codes[:, i]]
        return out

    def view(self, rows: MixedRows, embedded: Floats | None = None) -> MixedView:
        """Return rows with the names of their columns and categories."""
        pairs = zip(self.category_names, self.categories, rows.codes.T, strict=True)
        categories = {
            name: CategoryColumn(
                tuple(map(category_text, known)),
                np.where(codes < len(known), codes, MISSING).astype(np.intp),
            )
            for name, known, codes in pairs
        }
        return MixedView(rows.numbers, self.number_names, categories, embedded)


def learn_features(
    X: Any, chosen: set[int], names: tuple[str, ...]
) -> tuple[MixedRows, MixedFeatures]:
    """Read the rows of a fit; `chosen` columns are categories whatever they hold."""
    columns = read_columns(X, chosen)
    levels = tuple(c.levels if isinstance(c, Factor) else None for c in columns)
    ordered = tuple(isinstance(c, Factor) and c.is_ordered for c in columns)
    return _rows(columns, levels), MixedFeatures(names, levels, ordered)


def read_columns(X: Any, chosen: set[int]) -> list[Floats | Factor]:
    """Read the columns of a dataframe, of an array (n, d), or of a `ColumnTable`."""
    if isinstance(X, ColumnTable):
        return X.read(chosen)
    return frame_columns(X, chosen) if is_frame(X) else array_columns(X, chosen)


def _check_kind(name: str, known: tuple[Category, ...] | None, column: Floats | Factor) -> None:
    """Require numbers where the fit saw numbers, and texts where it saw texts."""
    if known is None or not isinstance(column, Factor):
        if known is None and isinstance(column, Factor):
            got = Got("categories" if column.levels else "no value at all")
            raise must_be(f"X[{name!r}]", "numbers, as in the fit", got)
        return
    had, has = ({isinstance(v, str) for v in levels} for levels in (known, column.levels))
    if had and has and had != has:
        wanted, given = _kind_of(known), Got(_kind_of(column.levels))
        raise must_be(f"X[{name!r}]", f"categories that are {wanted}, as in the fit", given)


def _kind_of(levels: tuple[Category, ...]) -> str:
    """Return what categories are, in words."""
    kinds: dict[str, Any] = {"texts": str, "booleans": bool, "numbers": (int, float)}
    return next(
        (name for name, kind in kinds.items() if all(isinstance(v, kind) for v in levels)),
        "of several kinds",
    )


def _rows(
    columns: list[Floats | Factor], levels: tuple[tuple[Category, ...] | None, ...]
) -> MixedRows:
    n = max((len(c.codes if isinstance(c, Factor) else c) for c in columns), default=0)
    numbers = [c for c in columns if not isinstance(c, Factor)]
    pairs = zip(columns, levels, strict=True)
    codes = [_codes(c, known) for c, known in pairs if isinstance(c, Factor) and known is not None]
    return MixedRows(_in_columns(numbers, n, np.float64), _in_columns(codes, n, np.int32))


def _codes(column: Factor, known: tuple[Category, ...]) -> Ints:
    """Return codes (n,) in the levels of the fit; their number stands for levels unseen there."""
    if column.levels == known:
        return column.codes
    index = {level: code for code, level in enumerate(known)}
    renumbered = [index.get(level, len(known)) for level in column.levels] + [MISSING]
    return np.array(renumbered, np.int32)[column.codes]


def _in_columns(columns: list[Array], n: int, dtype: Any) -> Array:
    out = np.empty((n, len(columns)), dtype)
    for t, column in enumerate(columns):
        out[:, t] = column
    return out
