"""The columns of a new table that a model was fitted to: by name, or by position without names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from partita._common.text import listed
from partita.tables import Table, TableError
from partita.tables.column_values import is_numeric_type


def match_columns(table: Table, fitted: Any, path: Path) -> tuple[Table, Sequence[str]]:
    """Return the table with columns named as in the model, and these names."""
    pipeline = fitted.saved_.pipeline
    expected = (pipeline and pipeline.n_features_in) or fitted.n_features_in_
    names = fitted.saved_.names or tuple(map(str, getattr(fitted, "feature_names_in_", ())))
    known = set(table.names)
    lacking = [name for name in names if name not in known]
    if names and not lacking:
        return table, names
    columns = None if names and table.named else _columns_by_position(table, expected)
    if columns is not None:
        return _named(table, columns, names)
    if not names:
        raise TableError(
            f"{table.name} must have {expected} columns of numbers like the data that {path} was "
            f"fitted to (which had no names), got {listed(table.names)}. Remove the other columns."
        )
    raise TableError(
        f"{table.name} lacks {listed(lacking)} of the {len(names)} columns that {path} was "
        f"fitted to; it has {listed(table.names)}"
    )


def _columns_by_position(table: Table, expected: int) -> tuple[str, ...] | None:
    """Return the columns, or those with numbers, if there are as many as expected."""
    numeric = tuple(name for name in table.names if is_numeric_type(table.data[name].type))
    return next((found for found in (table.names, numeric) if len(found) == expected), None)


def _named(
    table: Table, columns: tuple[str, ...], names: Sequence[str]
) -> tuple[Table, Sequence[str]]:
    """Rename the columns to `names`, if there are any, with a note."""
    if not names:
        return table, columns
    new_name = dict(zip(columns, names, strict=True))
    taken = set(names)
    for other in set(table.names) - set(columns):
        while (free := new_name.get(other, other)) in taken:
            new_name[other] = f"{free}_"
        taken.add(free)
    which = "they" if len(columns) == len(table.names) else "those of its columns with numbers"
    note = f"the file has no column names; {which} are taken to be {listed(names)}"
    renamed = table.renamed(tuple(new_name.get(name, name) for name in table.names))
    return replace(renamed, notes=(*table.notes, note)), names
