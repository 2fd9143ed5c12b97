"""`read_table`: read files, a folder, a pattern or standard input into one table."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from partita._common.data_files import expand_path
from partita._common.errors import TableError
from partita._common.parameters import check_path
from partita._common.text import listed, quoted
from partita.tables import cell_types
from partita.tables.arrow_files import read_arrow
from partita.tables.cell_options import CellOptions
from partita.tables.compression import decompress
from partita.tables.file_formats import detect_format, read_bytes
from partita.tables.file_options import FileOptions, missing_markers
from partita.tables.json_files import read_json
from partita.tables.number_notes import number_notes
from partita.tables.number_styles import NumberStyle
from partita.tables.numpy_files import read_numpy
from partita.tables.table import Table, arrow, first_line
from partita.tables.text_files import read_text
from partita.tables.workbook_files import read_workbook

STDIN = "-"
STDIN_CHUNK_BYTES = 1 << 20
_READERS = {"parquet": read_arrow, "feather": read_arrow, "npy": read_numpy, "npz": read_numpy}


def read_table(
    path: str | Path | Sequence[str | Path],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    na: str | Sequence[str] = (),
    skip_rows: int | None = None,
    sheet: str | int | None = None,
    source: str | None = None,
) -> Table:
    """Read a file or several, all files of a folder or pattern, or standard input ("-").

    The format is detected by content, for text by suffix: CSV, TSV, .xlsx, .json (an array of
    objects), .jsonl, Parquet, Feather, .npy and .npz, also compressed by gzip, bzip2 or xz. Several
    files must have the same format and columns. Files are read as a whole. In a folder, .txt, .dat,
    .data, .json and .xlsx files are read only if there are no others.

    Parameters
    ----------
    path : str or Path, or a sequence of them
    delimiter, encoding : str or None, default=None
        Of text; None: detected, and reported in the notes.
    header : bool or None, default=None
        Whether the first line of text has the column names; None: yes, unless it has only numbers
        and gaps.
    decimal : {".", ","} or None, default=None
        The decimal separator of text; None: detected for each column.
    thousands : {",", ".", " ", "'"} or None, default=None
        The thousands separator of text; None: detected for each column.
    na : str or sequence of str, default=()
        Texts and numbers that mean "missing", in addition to the usual ones.
    skip_rows : int or None, default=None
        Lines above the header; None: title lines are detected, and reported in the notes.
    sheet : str, int or None, default=None
        The name of a workbook's sheet, or its number from 1; None: the first that has a table.
    source : str or None, default=None
        The name of a column to add, with the file of each row.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "two.csv"
    >>> _ = file.write_text("name;x\\na;1,5\\nb;2,5\\n")
    >>> table = read_table(file)
    >>> table.data["x"].to_pylist(), table.delimiter
    ([1.5, 2.5], ';')
    """
    cells = CellOptions(decimal, thousands, missing_markers(na))
    options = FileOptions(delimiter, encoding, header, skip_rows, sheet, cells)
    paths = checked_paths(path)
    if STDIN in map(str, paths):
        if len(paths) > 1:
            raise TableError(f"{STDIN} (standard input) cannot be combined with files.")
        name = "standard input"
        tables = [_read_file(_standard_input(), name, None, options)]
    else:
        name = f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else str(paths[0])
        files = [file for place in paths for file in expand_path(place)]
        tables = [_read_file(read_bytes(file), str(file), file, options) for file in files]
    if source is not None:
        tables = [_with_source(table, source) for table in tables]
    return with_inferred_types(replace(_concatenate(tables, name), cells=cells))


def _standard_input() -> bytes:
    """Return all of standard input, read in parts: between them, signals are handled."""
    return b"".join(iter(lambda: sys.stdin.buffer.read(STDIN_CHUNK_BYTES), b""))


def checked_paths(path: Any) -> list[str]:
    """The paths as texts; an integer would be a file descriptor."""
    several = isinstance(path, Iterable) and not isinstance(path, str | bytes | os.PathLike)
    paths = list(path) if several and getattr(path, "ndim", 1) == 1 else [path]
    if not paths:
        raise TableError("`path` must name at least one file, got none.", parameter="path")
    if any(isinstance(one, str) and not one for one in paths):
        raise TableError("The path of the data is empty. Give the path of a file.")
    return [check_path("path", one) for one in paths]


def _read_file(raw: bytes, name: str, file: Path | None, options: FileOptions) -> Table:
    raw = decompress(raw, name)
    format = detect_format(raw, name, file)
    check_layout(format, name, options)
    if format in _READERS:
        table = _READERS[format](raw, name, format)
    elif format in ("json", "jsonl"):
        table = read_json(raw, name, options)
    elif format == "xlsx":
        table = read_workbook(raw, name, options)
    else:
        if options.delimiter is None and format == "tsv":
            options = replace(options, delimiter="\t")
        table = read_text(raw, name, options)
        table = replace(table, named_as=None if file is None else format)
    if table.data.num_columns == 0:
        raise TableError(f"{name} has no columns.")
    if table.data.num_rows == 0:
        raise TableError(f"{name} has columns, but no rows. A table needs at least one row.")
    return table


def check_layout(format: str, name: str, options: FileOptions) -> None:
    """Refuse options that only other formats have: they would have no effect."""
    if options.sheet is not None and format != "xlsx":
        raise TableError(
            f"`sheet` must not be given for {name}, which is no workbook, got {options.sheet!r}. "
            "Leave it out.",
            parameter="sheet",
        )
    if options.skip_rows and format not in ("csv", "tsv", "xlsx"):
        raise TableError(
            f"`skip_rows` must not be given for {name}, which is neither text nor a workbook, got "
            f"{options.skip_rows}. Leave it out.",
            parameter="skip_rows",
        )


def _with_source(table: Table, column: str) -> Table:
    if column in table.names:
        raise TableError(
            f"{table.name} already has a column {quoted(column)}. Choose another name."
        )
    names = arrow().array([table.name] * table.data.num_rows)
    text = None if table.text is None else table.text.append_column(column, names)
    return replace(table, data=table.data.append_column(column, names), text=text, kept=None)


def _concatenate(tables: list[Table], name: str) -> Table:
    """Return one table with all rows, in the order of the files."""
    first = tables[0]
    if len(tables) == 1:
        return replace(first, name=name)
    formats = sorted({table.format for table in tables})
    if len(formats) > 1:
        raise TableError(
            f"{name} has files of several formats ({', '.join(formats)}). Use a pattern for files "
            f"of one format, like '*.{formats[0]}'."
        )
    notes = [f"{len(tables)} files: {listed([Path(table.name).name for table in tables])}"]
    for table in tables[1:]:
        check_same_columns(first, table)
        if table.names != first.names:
            notes.append(f"{table.name} has its columns in another order; they are matched by name")
    notes += [note for table in tables for note in table.notes]
    data, text = _concatenate_columns(tables, name)
    return replace(
        first,
        data=data,
        name=name,
        notes=tuple(dict.fromkeys(notes)),
        parts=tuple(file for table in tables for file in table.parts),
        text=text,
        kept=None,
    )


def _concatenate_columns(tables: list[Table], name: str) -> tuple[Any, Any]:
    """Return the columns of all tables, and their text if they have one.

    A column that has numbers in one sheet and text in another is text.
    """
    pa, names = arrow(), list(tables[0].names)
    text = None
    if tables[0].text is not None:
        text = pa.concat_tables([table.text.select(names) for table in tables])
    parts = [table.data.select(names) for table in tables]
    try:
        return pa.concat_tables(parts, promote_options="permissive"), text
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        if text is None:
            reason = first_line(error)
            raise TableError(
                f"{name}: a column has different types in its files: {reason}"
            ) from None
    for i, column in enumerate(names):
        if len({part.schema.field(i).type for part in parts}) > 1:
            parts = [
                part.set_column(i, column, table.text[column])
                for part, table in zip(parts, tables, strict=True)
            ]
    return pa.concat_tables(parts), text


def check_same_columns(first: Table, other: Table) -> None:
    """Refuse files that are read together, but have other columns."""
    lacking, more = set(first.names) - set(other.names), set(other.names) - set(first.names)
    if lacking or more:
        faults = [f"lacks {listed(sorted(lacking))}"] if lacking else []
        faults += [f"has {listed(sorted(more))} in addition"] if more else []
        raise TableError(
            f"{other.name} {' and '.join(faults)}, compared with {first.name}. Files that are read "
            "together must have the same columns."
        )


def with_inferred_types(table: Table) -> Table:
    """Convert columns of text that hold numbers, once the rows of all files are together."""
    if table.text is None:
        return replace(table, data=without_markers(table.data, table.cells.missing))
    return infer_text_types(table)[0]


def infer_text_types(table: Table) -> tuple[Table, dict[str, NumberStyle]]:
    """Convert columns of text that hold numbers; return the styles of those not written plainly."""
    decimal = cell_types.decimal_of_file(table.data, table.delimiter or ",", table.cells)
    inferred = cell_types.infer_types(table.data, decimal, table.cells)
    has_comma = decimal == "," and cell_types.use_decimal_comma(table.data, inferred)
    notes = (*table.notes, "numbers have a decimal comma") if has_comma else table.notes
    notes = (*notes, *number_notes(table.text, *inferred, table.cells.missing))
    return replace(table, data=inferred.data, decimal=decimal, notes=notes), inferred.styles


def without_markers(data: Any, missing: Sequence[str]) -> Any:
    """Replace numbers by null that the user called missing."""
    if not missing:
        return data
    columns = [cell_types.mask_missing_numbers(column, missing) for column in data.columns]
    return arrow().table(columns, names=data.column_names, metadata=data.schema.metadata)
