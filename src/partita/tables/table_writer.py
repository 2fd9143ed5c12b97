"""`write_table`: write a table in any of the formats, atomically."""

from __future__ import annotations

import codecs
import re
import zipfile
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from partita._common.array_types import Array
from partita._common.atomic_write import write_atomically
from partita._common.data_files import FORMAT_OF_SUFFIX, format_from_name
from partita._common.errors import TableError
from partita._common.text import quoted
from partita.tables.arrow_files import plain_values
from partita.tables.column_values import first_inexact, is_integer_type, is_numeric_type, to_floats
from partita.tables.compression import compressing_writer
from partita.tables.encodings import codec_name
from partita.tables.file_formats import READ_ONLY_FORMATS, SUFFIXES_WRITTEN
from partita.tables.json_files import write_json
from partita.tables.table import arrow

FORMATS = tuple(dict.fromkeys(FORMAT_OF_SUFFIX[suffix] for suffix in SUFFIXES_WRITTEN))
ROWS_PER_CHUNK = 1 << 16  # of text, encoded and written at once


def format_of(path: str | Path, otherwise: str) -> str:
    """Return the format that the suffix of a file stands for, else `otherwise`.

    A workbook can be read, but not written: CSV takes its place.
    """
    format = format_from_name(path) or otherwise
    return "csv" if format in READ_ONLY_FORMATS else format


def write_table(
    data: Any,
    path: str | Path,
    format: str | None = None,
    *,
    force: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    newline: str | None = None,
) -> None:
    """Write a pyarrow table. An existing file is replaced only with `force`.

    Parameters
    ----------
    data : pyarrow.Table
    path : str or Path
    format : {"csv", "tsv", "json", "jsonl", "parquet", "feather", "npy", "npz"} or None
        None: by the suffix of the file; a second suffix .gz, .bz2 or .xz compresses it. "npy" holds
        only numbers; "npz" holds them as X with their names, and every other column by itself.
        Integers that would change there, because no double holds them, are an error.
    force : bool, default=False
        Whether an existing file may be replaced.
    delimiter, encoding, newline : str or None
        Of text. None: a comma (a tab for "tsv"), UTF-8, and a line feed.

    Examples
    --------
    >>> import pyarrow, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> write_table(pyarrow.table({"x": [1.5, 2.0], "who": ["a", "b, c"]}), file)
    >>> print(file.read_text().strip())
    x,who
    1.5,a
    2,"b, c"
    """
    format = format or format_from_name(path) or "csv"
    if format not in FORMATS:
        formats = ", ".join(map(repr, FORMATS))
        raise TableError(
            f"`format` must be one of {formats}, got {format!r}. Spreadsheets open .csv files.",
            parameter="format",
        )

    def writer(file: BinaryIO) -> None:
        if format in ("csv", "tsv"):
            default = "\t" if format == "tsv" else ","
            write_text(data, file, delimiter or default, encoding or "utf-8", newline or "\n")
        elif format == "parquet":
            arrow(".parquet").write_table(data, file)
        elif format == "feather":
            arrow(".feather").write_feather(data, file)
        elif format in ("json", "jsonl"):
            write_json(data, file, format)
        elif format == "npy":
            np.save(file, as_matrix(data, path), allow_pickle=False)
        else:
            _write_npz(data, file, path)

    write_atomically(path, compressing_writer(path, writer), force=force)


def write_text(
    data: Any, file: BinaryIO, delimiter: str = ",", encoding: str = "utf-8", newline: str = "\n"
) -> None:
    """Write rows as text; cells are quoted only where necessary."""
    TextWriter(file, delimiter, encoding, newline).write(data)


class TextWriter:
    """Rows as text, one table after the other; the names of the columns come first, once."""

    def __init__(self, file: BinaryIO, delimiter: str, encoding: str, newline: str) -> None:
        codec = codec_name(encoding)
        codec = {"utf-16": "utf-16-le"}.get(codec, codec)  # the same bytes on every machine
        self._file, self._delimiter, self._newline = file, delimiter, newline
        self._encoding, self._is_begun = encoding, False
        self._encoder = codecs.getincrementalencoder(codec)()  # a byte order mark is written once
        if codec in ("utf-16-le", "utf-16-be"):
            file.write(self._encoder.encode("\ufeff"))  # otherwise no reader can tell

    def write(self, data: Any) -> None:
        """Write the rows of a table."""
        pa, names = arrow(), data.column_names
        if not self._is_begun:
            self._write_rows(pa.table([pa.array([name]) for name in names], names=names))
            self._is_begun = True
        for start in range(0, data.num_rows, ROWS_PER_CHUNK):
            self._write_rows(data.slice(start, ROWS_PER_CHUNK))

    def _write_rows(self, rows: Any) -> None:
        text = _join_cells(rows, self._delimiter, self._newline)
        try:
            self._file.write(self._encoder.encode(text))
        except UnicodeEncodeError as error:
            raise TableError(
                f"{text[error.start]!r} cannot be written in {self._encoding}. Choose another "
                "format."
            ) from None


def _join_cells(rows: Any, delimiter: str, newline: str) -> str:
    pa, pc = arrow(), arrow(".compute")
    columns = [_quote(column, delimiter) for column in rows.columns]
    if len(columns) == 1:  # an empty cell alone would be an empty line, which is skipped
        columns = [pc.if_else(pc.equal(columns[0], ""), '""', columns[0])]
    lines = pc.binary_join_element_wise(*columns, pa.scalar(delimiter))
    return "".join(f"{line}{newline}" for line in lines.to_pylist())


def _quote(column: Any, delimiter: str) -> Any:
    pa, pc = arrow(), arrow(".compute")
    column = plain_values(column)
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    try:
        text = pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists and the like
        text = pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
    text = pc.fill_null(text, "")
    needs_quotes = pc.match_substring_regex(text, f'["\\r\\n{re.escape(delimiter)}]')
    if delimiter == " ":  # readers take several spaces for one
        needs_quotes = pc.or_(needs_quotes, pc.equal(text, ""))
    if not pc.any(needs_quotes).as_py():
        return text
    escaped = pc.replace_substring(text, '"', '""')
    return pc.if_else(needs_quotes, pc.binary_join_element_wise('"', escaped, '"', ""), text)


def _is_numeric(column: Any) -> bool:
    return is_numeric_type(column.type) or bool(arrow().types.is_null(column.type))


def as_matrix(data: Any, path: str | Path) -> Array:
    """Return all columns as one array; a single column as a vector."""
    others = [name for name in data.column_names if not _is_numeric(data[name])]
    if others:
        raise TableError(
            f"{path}: a .npy file holds only numbers, but {others[0]!r} has others. Choose .npz, "
            ".csv or .parquet."
        )
    matrix = _stack(data, path)
    return matrix[:, 0] if matrix.shape[1] == 1 else matrix


def _stack(data: Any, path: str | Path) -> Array:
    """Return numeric columns as one array, if its dtype holds all their integers."""
    X = np.column_stack([_values(data[name]) for name in data.column_names])
    if X.dtype.kind != "f":
        return X
    for name in data.column_names:
        if is_integer_type(data[name].type) and first_inexact(data[name]) is not None:
            raise TableError(
                f"{path}: the array would have doubles, which do not hold the integers of "
                f"{quoted(name)} beyond 2^53. Choose .csv or .parquet."
            )
    return X


def _values(column: Any) -> Array:
    is_complete = arrow().types.is_integer(column.type) and column.null_count == 0
    return np.asarray(column.to_numpy()) if is_complete else to_floats(column)


def _write_npz(data: Any, file: BinaryIO, path: str | Path) -> None:
    numeric = [name for name in data.column_names if _is_numeric(data[name])]
    arrays = {}
    if numeric:
        arrays["X"] = _stack(data.select(numeric), path)
        arrays["names"] = np.array(numeric)
    taken = {"X", "names", *data.column_names}
    for name in data.column_names:
        if _is_numeric(data[name]):
            continue
        key = name
        if name in ("X", "names"):
            key = next(new for i in count(2) if (new := f"{name}_{i}") not in taken)
        texts = ["" if value is None else str(value) for value in data[name].to_pylist()]
        arrays[key] = np.array(texts)
    with zipfile.ZipFile(file, "w") as archive:
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
