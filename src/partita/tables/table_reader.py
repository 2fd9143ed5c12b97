"""`read_table`: from paths, a folder, a pattern or standard input to one table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from partita._common.text import listed
from partita.tables import arrow_files, cell_types, numpy_files, text_files
from partita.tables.compression import decompress
from partita.tables.file_formats import detect_format
from partita.tables.file_patterns import expand_path, read_bytes
from partita.tables.table import Table, TableError, TableFile, arrow

STDIN = "-"
_READERS: dict[str, Callable[[bytes, str], Table]] = {
    "parquet": arrow_files.read_parquet,
    "feather": arrow_files.read_feather,
    "npy": numpy_files.read_npy,
    "npz": numpy_files.read_npz,
}


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What the user said about text."""

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None


def read_table(
    path: str | Path | Sequence[str | Path],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    source: str | None = None,
) -> Table:
    """Read a file or several, all files of a folder or of a pattern, or standard input ("-").

    The format is known by what is in a file, text by its name: CSV, TSV, Parquet, Feather, .npy and
    .npz, also packed by gzip, bzip2 or xz. Several files must have one format and the same columns.
    They are read whole. In a folder, .txt, .dat and .data are read only if there is nothing else.

    Parameters
    ----------
    path : str or Path, or a sequence of them
    delimiter, encoding : str or None, default=None
        Of text; None: detected, and said in the notes.
    header : bool or None, default=None
        Whether the first line of text holds names; None: yes, unless it holds numbers and perhaps
        gaps only.
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
    ask = TextOptions(_checked(delimiter), encoding, header)
    paths = [path] if isinstance(path, (str, Path)) else list(path)
    if not paths:
        raise TableError("no file was given; at least one is expected")
    if STDIN in map(str, paths):
        if len(paths) > 1:
            raise TableError(f"{STDIN} (standard input) was given beside files; give it alone")
        name = "standard input"
        tables = [_read(sys.stdin.buffer.read(), name, None, ask)]
    else:
        name = f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else str(paths[0])
        files = [file for place in paths for file in expand_path(place)]
        tables = [_read(read_bytes(file), str(file), file, ask) for file in files]
    if source is not None:
        tables = [_with_source(table, source) for table in tables]
    return _typed(_together(tables, name))


def _checked(delimiter: str | None) -> str | None:
    if delimiter is None or (
        len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0'
    ):
        return delimiter
    raise TableError(f"delimiter={delimiter!r} was given; a single ASCII character is expected")


# --- one file -------------------------------------------------------------------------------------


def _read(raw: bytes, name: str, file: Path | None, ask: TextOptions) -> Table:
    raw = decompress(raw, name)
    kind = detect_format(raw, name, file)
    if kind in _READERS:
        table = _READERS[kind](raw, name)
    else:
        table = _read_text(raw, name, kind, ask)
        table = replace(table, named_as=None if file is None else kind)
    if table.data.num_columns == 0:
        raise TableError(f"{name} has no columns")
    if table.data.num_rows == 0:
        raise TableError(f"{name} has columns, but no rows; at least one is expected")
    return table


def _read_text(raw: bytes, name: str, kind: str, ask: TextOptions) -> Table:
    delimiter = ask.delimiter or ("\t" if kind == "tsv" else None)
    found = text_files.read_cells(raw, name, delimiter, ask.encoding, ask.header)
    layout = found.layout
    return Table(
        data=found.columns,
        name=name,
        format="tsv" if layout.delimiter == "\t" else "csv",
        delimiter=layout.delimiter,
        encoding=layout.encoding,
        newline=layout.newline,
        notes=found.notes,
        parts=(TableFile(name, found.columns.num_rows, found.line),),
        text=found.columns,
        named=layout.header,
    )


# --- several files --------------------------------------------------------------------------------


def _with_source(table: Table, column: str) -> Table:
    pa = arrow()
    if column in table.names:
        raise TableError(f"{table.name} has a column {column!r} already; give another name")
    names = pa.array([table.name] * table.data.num_rows)
    text_files = None if table.text is None else table.text.append_column(column, names)
    data = table.data.append_column(column, names)
    return replace(table, data=data, text=text_files, kept=None)


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
    notes += [note for table in tables for note in table.notes]
    data = _concatenated([table.data.select(list(first.names)) for table in tables], name)
    return replace(
        first,
        data=data,
        name=name,
        notes=tuple(dict.fromkeys(notes)),
        parts=tuple(part for table in tables for part in table.parts),
        text=data if first.text is not None else None,
        kept=None,
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
    comma = cell_types.has_decimal_comma(table.text, table.delimiter or ",")
    return replace(
        table,
        data=cell_types.infer_types(table.text, comma),
        decimal="," if comma else ".",
        notes=(*table.notes, "numbers have a decimal comma") if comma else table.notes,
    )
