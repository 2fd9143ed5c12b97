"""What was read from files: a table, where its rows are, and what to say of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from partita._common.errors import PartitaError
from partita._common.optional_imports import require


class TableError(PartitaError):
    """Something is wrong with a file; the text says which, where in it, and what to do."""


@functools.cache  # asked for with every column
def arrow(part: str = "") -> ModuleType:
    """pyarrow, or a part of it."""
    return require(f"pyarrow{part}", "reading and writing of files", "cli")


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file of a table."""

    name: str
    rows: int
    line: Callable[[int], int] | None = None  # row (from 0) -> line of the file (from 1), of text


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """All columns of a file, or of several.

    Attributes
    ----------
    data : pyarrow.Table
        The columns in the order of the file. Cells of text files are whole numbers, numbers or
        booleans where a whole column is; else they are text.
    name : str
        What to call it in messages: the path.
    format : {"csv", "tsv", "parquet", "feather", "npy", "npz"}
    delimiter, encoding, newline : str or None
        Of text; newline is what lines end in.
    decimal : {".", ","}
        What is before the fraction of a number, in text.
    notes : tuple of str
        What was detected, and what is worth saying.
    parts : tuple of Part
        The files.
    text : pyarrow.Table or None
        The cells of a text file as they are written: what a copy must not change.
    named : bool
        False if the file has no names for its columns, which are called c0, c1, …
    kept : pyarrow.Table or None
        The columns of a file of Arrow's as it has them, categories and all; for copies.
    named_as : str or None
        The format that the name of a text file tells, whatever is between its cells.
    index : tuple of str
        Columns that are the index of a pandas frame, so no features unless they are named.
    """

    data: Any
    name: str
    format: str
    delimiter: str | None = None
    encoding: str | None = None
    notes: tuple[str, ...] = ()
    parts: tuple[TableFile, ...] = ()
    text: Any = None
    named: bool = True
    newline: str | None = None
    decimal: str = "."
    index: tuple[str, ...] = ()
    named_as: str | None = None
    kept: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.data.column_names)

    def renamed(self, names: tuple[str, ...]) -> Table:
        """The same columns under other names."""
        text = None if self.text is None else self.text.rename_columns(list(names))
        new = dict(zip(self.names, names, strict=True))
        return replace(
            self,
            data=self.data.rename_columns(list(names)),
            text=text,
            kept=None,
            named=True,
            index=tuple(new[name] for name in self.index),
        )

    def where(self, row: int) -> str:
        """Where a row is, in words: its line in a text file, else its number, from 1."""
        several = len(self.parts) > 1
        for part in self.parts:
            if row < part.rows:
                place = f"row {row + 1}" if part.line is None else f"line {part.line(row)}"
                return f"{place} of {part.name}" if several else place
            row -= part.rows
        return f"row {row + 1}"

    def copy_as(self, format: str) -> Any:
        """The columns for a copy in that format: as little as possible is changed."""
        if format in ("csv", "tsv") and self.text is not None:
            return self.text
        return (
            self.kept if format in ("parquet", "feather") and self.kept is not None else self.data
        )

    def layout(self, format: str) -> dict[str, str | None]:
        """How `write_table` lays out a copy as text, so that it is read like this table."""
        own = self.delimiter
        if format not in (self.format, self.named_as):
            # between commas, 1,5 would have to be quoted, and be text
            own = ";" if format == "csv" and self.decimal == "," else None
        return {"delimiter": own, "encoding": self.encoding, "newline": self.newline}
