"""`read_table`: from a path, a folder, a pattern or standard input to one table."""

from __future__ import annotations

import glob
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from partita.source.frames import listed
from partita.tables import arrays, cells, text
from partita.tables.packing import inner_name, unpacked
from partita.tables.record import Part, Table, TableError, arrow

STDIN = "-"
SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".data": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".npy": "npy",
    ".npz": "npz",
}
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
}


@dataclass(frozen=True, slots=True)
class Ask:
    """What the user said about text."""

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    source: str | None = None,
) -> Table:
    """Read a file, all files of a folder or of a pattern, or standard input ("-").

    The format is known by what is in a file, text by its name: CSV, TSV, Parquet, Feather, .npy and
    .npz, also packed by gzip, bzip2 or xz. Several files must have one format and the same columns.
    They are read whole.

    Parameters
    ----------
    path : str or Path
    delimiter, encoding : str or None, default=None
        Of text; None: detected, and said in the notes.
    header : bool or None, default=None
        Whether the first line of text holds names; None: yes, unless it holds numbers only.
    source : str or None, default=None
        The name of a column to add that says which file a row is from.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "two.csv"
    >>> _ = file.write_text("name;x\\na;1,5\\nb;2,5\\n")
    >>> table = read_table(file)
    >>> table.data["x"].to_pylist(), table.delimiter
    ([1.5, 2.5], ';')
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise TableError(f"delimiter={delimiter!r} was given; a single character is expected")
    ask = Ask(delimiter, encoding, header)
    if str(path) == STDIN:
        tables = [_read(sys.stdin.buffer.read(), "standard input", None, ask)]
    else:
        tables = [_read(_bytes(file), str(file), file, ask) for file in _files(path)]
    if source is not None:
        tables = [_with_source(table, source) for table in tables]
    name = "standard input" if str(path) == STDIN else str(path)
    return _typed(_together(tables, name))


# --- which files ----------------------------------------------------------------------------------


def _files(path: str | Path) -> list[Path]:
    place = Path(path)
    if place.is_dir():
        files = [
            file
            for file in sorted(place.iterdir())
            if _kind(file) is not None and file.name[0] not in "._"
        ]
        what = "the folder"
    elif not place.exists() and glob.has_magic(str(path)):
        files = [Path(file) for file in sorted(glob.glob(str(path), recursive=True))]
        files, what = [file for file in files if file.is_file()], "the pattern"
    else:
        return [place]
    if not files:
        raise TableError(
            f"{what} {path} has no files to read; files that end in {', '.join(SUFFIXES)} are "
            "expected"
        )
    return files


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        near = [other.name for other in sorted(file.parent.glob("*")) if other.suffix in SUFFIXES]
        there = f"; there are {listed(near)}" if near else ""
        raise TableError(f"there is no file {file}{there}") from None
    except OSError as error:
        raise TableError(f"{file} cannot be read: {error.strerror or error}") from None


# --- one file -------------------------------------------------------------------------------------


def _read(raw: bytes, name: str, file: Path | None, ask: Ask) -> Table:
    raw = unpacked(raw, name)
    kind = _format(raw, name, file)
    if kind in ("csv", "tsv"):
        table = _read_text(raw, name, kind, ask)
    else:
        readers: dict[str, Callable[[bytes, str], Table]] = {
            "parquet": _read_parquet,
            "feather": _read_feather,
            "npy": arrays.read_npy,
            "npz": arrays.read_npz,
        }
        table = readers[kind](raw, name)
    if table.data.num_columns == 0:
        raise TableError(f"{name} has no columns")
    if table.data.num_rows == 0:
        raise TableError(f"{name} has columns, but no rows; at least one is expected")
    return table


def _kind(path: str | Path) -> str | None:
    """The format that a name tells."""
    return SUFFIXES.get(inner_name(path).suffix.lower())


def _format(raw: bytes, name: str, file: Path | None) -> str:
    by_name = None if file is None else _kind(file)
    for magic, kind in _MAGIC.items():
        if raw.startswith(magic):
            return kind
    if by_name not in (None, "csv", "tsv"):
        fault = "is empty" if not raw else f"is not a {by_name} file: its first bytes are wrong"
        raise TableError(f"{name} {fault}; write it anew, or give it the name of what it is")
    return by_name or "csv"


def _read_text(raw: bytes, name: str, kind: str, ask: Ask) -> Table:
    delimiter = ask.delimiter or ("\t" if kind == "tsv" else None)
    found = text.read_cells(raw, name, delimiter, ask.encoding, ask.header)
    layout = found.layout
    return Table(
        data=found.columns,
        name=name,
        format="tsv" if layout.delimiter == "\t" else "csv",
        delimiter=layout.delimiter,
        encoding=layout.encoding,
        notes=found.notes,
        parts=(Part(name, found.columns.num_rows, found.line),),
        text=found.columns,
        named=layout.header,
    )


def _read_parquet(raw: bytes, name: str) -> Table:
    pa, parquet = arrow(), arrow(".parquet")
    return _arrow_table(lambda: parquet.ParquetFile(pa.BufferReader(raw)).read(), name, "parquet")


def _read_feather(raw: bytes, name: str) -> Table:
    pa, feather = arrow(), arrow(".feather")
    return _arrow_table(lambda: feather.read_table(pa.BufferReader(raw)), name, "feather")


def _arrow_table(read: Callable[[], Any], name: str, kind: str) -> Table:
    pa = arrow()
    try:
        data = read()
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(
            f"{name} is not a {kind} file that can be read ({first}); write it anew"
        ) from None
    names, notes = text.unique([str(column) for column in data.column_names])
    rows = data.num_rows
    return Table(data.rename_columns(names), name, kind, notes=notes, parts=(Part(name, rows),))


# --- several files --------------------------------------------------------------------------------


def _with_source(table: Table, column: str) -> Table:
    pa = arrow()
    if column in table.names:
        raise TableError(f"{table.name} has a column {column!r} already; give another name")
    names = pa.array([table.name] * table.data.num_rows)
    text = None if table.text is None else table.text.append_column(column, names)
    return replace(table, data=table.data.append_column(column, names), text=text)


def _together(tables: list[Table], name: str) -> Table:
    """One table of all rows, in the order of the files."""
    first = tables[0]
    if len(tables) == 1:
        return replace(first, name=name)
    kinds = sorted({table.format for table in tables})
    if len(kinds) > 1:
        raise TableError(
            f"{name} has files of several formats ({', '.join(kinds)}); give a pattern that takes "
            f"those of one, like '*.{kinds[0]}'"
        )
    notes = [f"{len(tables)} files: {listed([Path(table.name).name for table in tables])}"]
    for table in tables[1:]:
        _check_columns(first, table)
        if table.names != first.names:
            notes.append(f"{table.name} has its columns in another order; names were followed")
    data = _concatenated([table.data.select(list(first.names)) for table in tables], name)
    return replace(
        first,
        data=data,
        name=name,
        notes=(*notes, *(note for table in tables for note in table.notes[:1])),
        parts=tuple(part for table in tables for part in table.parts),
        text=data if first.text is not None else None,
    )


def _check_columns(first: Table, other: Table) -> None:
    lacking, more = set(first.names) - set(other.names), set(other.names) - set(first.names)
    if lacking or more:
        parts = [f"lacks {listed(sorted(lacking))}"] if lacking else []
        parts += [f"has {listed(sorted(more))} besides"] if more else []
        raise TableError(
            f"{other.name} {' and '.join(parts)}, compared with {first.name}; files that are read "
            "together need the same columns"
        )


def _concatenated(parts: list[Any], name: str) -> Any:
    pa = arrow()
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise TableError(f"the files of {name} have columns of several types: {first}") from None


def _typed(table: Table) -> Table:
    """Columns of text that hold numbers become numbers, once all files are together."""
    if table.text is None:
        return table
    comma = table.delimiter == ";" and cells.has_decimal_comma(table.text)
    notes = (*table.notes, "numbers have a decimal comma") if comma else table.notes
    return replace(table, data=cells.typed(table.text, comma), notes=notes)
