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
    if not table.named or not names:
        whole = _columns_of_fit(fitted, names)
        if len(whole) == len(table.names):
            return _named(table, table.names, whole), names
        columns = _columns_by_position(table, expected)
        if columns is not None:
            return (_named(table, columns, names), names) if names else (table, columns)
    if not names:
        raise TableError(
            f"{table.name} must have {expected} columns of numbers like the data that {path} was "
            f"fitted to (which had no names), got {listed(table.names)}. Remove the other columns."
        )
    raise TableError(
        f"{table.name} lacks {listed(lacking)} of the {len(names)} columns that {path} was "
        f"fitted to; it has {listed(table.names)}.{_header_hint(table)}"
    )


def _header_hint(table: Table) -> str:
    """Return advice if names of columns are numbers: then the first line may be data."""
    is_number = any(name.strip().replace(".", "", 1).isdecimal() for name in table.names)
    return " If its first line is data, use --no-header." if table.named and is_number else ""


def _columns_of_fit(fitted: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Return all columns of the table of the fit, if the file has a list with the features."""
    columns = (fitted.saved_.plan or {}).get("columns")
    columns = tuple(columns) if isinstance(columns, list) else ()
    is_whole = all(isinstance(name, str) for name in columns) and set(names) <= set(columns)
    return columns if names and is_whole and len(set(columns)) == len(columns) else ()


def _columns_by_position(table: Table, expected: int) -> tuple[str, ...] | None:
    """Return the columns, or those with numbers, if there are as many as expected."""
    numeric = tuple(name for name in table.names if is_numeric_type(table.data[name].type))
    return next((found for found in (table.names, numeric) if len(found) == expected), None)


def _named(table: Table, columns: tuple[str, ...], names: Sequence[str]) -> Table:
    """Rename the columns to `names`, with a note."""
    new_name = dict(zip(columns, names, strict=True))
    taken = set(names)
    for other in set(table.names) - set(columns):
        while (free := new_name.get(other, other)) in taken:
            new_name[other] = f"{free}_"
        taken.add(free)
    which = "they" if len(columns) == len(table.names) else "those of its columns with numbers"
    note = f"the file has no column names; {which} are taken to be {listed(names)}"
    renamed = table.renamed(tuple(new_name.get(name, name) for name in table.names))
    return replace(renamed, notes=(*table.notes, note))
