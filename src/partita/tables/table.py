"""`Table`: the columns of one or several files, and where each row comes from."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from partita._common.optional_imports import require
from partita._common.text import quoted
from partita.tables.cell_options import CELLS_AS_DETECTED, CellOptions


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type."""
    return (str(error).splitlines() or [type(error).__name__])[0]


@functools.cache  # called for every column
def arrow(submodule: str = "") -> ModuleType:
    """Import pyarrow, or a submodule such as ".compute"."""
    return require(f"pyarrow{submodule}", "reading and writing of files", "cli")


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file that rows of a table come from."""

    name: str
    n_rows: int
    line_of_row: Callable[[int], int] | None = None  # of text: row from 0 -> line from 1
    line_word: str = "line"  # or "row", of a sheet


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """All columns of a file, or of several.

    Attributes
    ----------
    data : pyarrow.Table
        The columns in the order of the file. A column of a text file has integers, floats or
        booleans if all its cells do; otherwise it has text.
    name : str
        The path, for messages.
    format : {"csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "npy", "npz"}
    delimiter, encoding, newline : str or None
        Of text; newline is the line ending.
    decimal : {".", ","}
        The decimal separator, in text.
    notes : tuple of str
        Remarks for the user, for example on what was detected.
    parts : tuple of TableFile
        The files.
    text : pyarrow.Table or None
        The cells of a text file exactly as written, for copies; those of a sheet or of JSON as
        text.
    named : bool
        False if the file has no column names; they are c0, c1, … then.
    kept : pyarrow.Table or None
        The columns of a Parquet or Feather file with their original types, for copies.
    named_as : str or None
        The format that the suffix of a text file stands for, with any delimiter.
    index : tuple of str
        Columns that are the index of a pandas frame: features only if named explicitly.
    cells : CellOptions
        What the user said about separators and missing values.
    is_part : bool
        True for a block of rows of a larger table, all of which may be left out.
    sample_of : int or None
        The number of rows of the files, if the table is a sample of them.
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
    cells: CellOptions = CELLS_AS_DETECTED
    is_part: bool = False
    sample_of: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The column names."""
        return tuple(self.data.column_names)

    def renamed(self, names: tuple[str, ...]) -> Table:
        """Return the same columns under other names."""
        text = None if self.text is None else self.text.rename_columns(list(names))
        new_name = dict(zip(self.names, names, strict=True))
        return replace(
            self,
            data=self.data.rename_columns(list(names)),
            text=text,
            kept=None,
            named=True,
            index=tuple(new_name[name] for name in self.index),
        )

    def where(self, row: int) -> str:
        """Return the place of a row: its line in a text file, else its number, from 1."""
        file, place = self._place(row)
        return f"{place} of {file}" if len(self.parts) > 1 else place

    def locate(self, row: int, column: str) -> str:
        """Return file, place and column of a value, as the beginning of a message."""
        file, place = self._place(row)
        return f"{file}, {place}, column {quoted(column)}"

    def _place(self, row: int) -> tuple[str, str]:
        for file in self.parts:
            if row < file.n_rows:
                line_of_row = file.line_of_row
                place = f"row {row + 1}"
                if line_of_row is not None:
                    place = f"{file.line_word} {line_of_row(row)}"
                return file.name, place
            row -= file.n_rows
        return self.name, f"row {row + 1}"

    def copy_as(self, format: str) -> Any:
        """Return the columns for a copy in that format, changed as little as possible."""
        if format in ("csv", "tsv") and self.text is not None:
            return self.text
        if format in ("parquet", "feather", "json", "jsonl") and self.kept is not None:
            return self.kept
        return self.data

    def layout(self, format: str) -> dict[str, str | None]:
        """Return the arguments by which `write_table` writes a copy that is read like this."""
        delimiter = self.delimiter
        if format not in (self.format, self.named_as):
            # with commas as delimiters, 1,5 would be quoted, and read as text
            delimiter = ";" if format == "csv" and self.decimal == "," else None
        return {"delimiter": delimiter, "encoding": self.encoding, "newline": self.newline}
