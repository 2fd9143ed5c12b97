"""`write_table`: a table into a file of any of the formats, whole or not at all."""

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
from partita.tables.arrow_files import plain_values
from partita.tables.column_values import first_inexact, is_integer_type
from partita.tables.compression import compressing_writer
from partita.tables.encodings import codec_name
from partita.tables.file_formats import format_from_name
from partita.tables.table import TableError, arrow

FORMATS = ("csv", "tsv", "parquet", "feather", "npy", "npz")
_ROWS = 1 << 16  # rows of text that are joined at once


def format_of(path: str | Path, otherwise: str) -> str:
    """The format that the name of a file asks for."""
    return format_from_name(path) or otherwise


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
    """Write a pyarrow table. A file that exists is kept, unless `force`.

    Parameters
    ----------
    data : pyarrow.Table
    path : str or Path
    format : {"csv", "tsv", "parquet", "feather", "npy", "npz"} or None
        None: by the name of the file, which may end in .gz, .bz2 or .xz besides. "npy" holds
        numbers only; "npz" holds them as X with their names, and every other column by itself.
        Whole numbers that would change there, because they are too long for doubles, are an error.
    force : bool, default=False
        Whether a file of that name may be replaced.
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
    kind = format or format_of(path, "csv")
    if kind not in FORMATS:
        raise TableError(f"format={kind!r} was given; one of {', '.join(FORMATS)} is expected")
    between = delimiter or ("\t" if kind == "tsv" else ",")

    def writer(file: BinaryIO) -> None:
        if kind in ("csv", "tsv"):
            write_text(data, file, between, encoding or "utf-8", newline or "\n")
        elif kind == "parquet":
            arrow(".parquet").write_table(data, file)
        elif kind == "feather":
            arrow(".feather").write_feather(data, file)
        elif kind == "npy":
            np.save(file, _matrix(data, path), allow_pickle=False)
        else:
            _write_npz(data, file, path)

    write_atomically(path, compressing_writer(path, writer), force=force)


def write_text(
    data: Any,
    file: BinaryIO,
    delimiter: str = ",",
    encoding: str = "utf-8",
    newline: str = "\n",
) -> None:
    """The rows as text; cells are quoted only where they must be."""
    pa = arrow()
    codec = codec_name(encoding, "text")
    codec = {"utf-16": "utf-16-le"}.get(codec, codec)  # the same bytes on every machine
    encoder = codecs.getincrementalencoder(codec)()  # writes a mark once, if it writes one
    if codec in ("utf-16-le", "utf-16-be"):
        file.write(encoder.encode("\ufeff"))  # else nobody knows
    head = pa.table([pa.array([name]) for name in data.column_names], names=data.column_names)
    for rows in (head, *(data.slice(i, _ROWS) for i in range(0, data.num_rows, _ROWS))):
        text = _joined(rows, delimiter, newline)
        try:
            file.write(encoder.encode(text))
        except UnicodeEncodeError as error:
            raise TableError(
                f"{text[error.start]!r} cannot be written as {encoding}; choose another format"
            ) from None


def _joined(rows: Any, delimiter: str, newline: str) -> str:
    pa, pc = arrow(), arrow(".compute")
    columns = [_quoted(column, delimiter) for column in rows.columns]
    if len(columns) == 1:  # an empty cell alone would be an empty line, which is no row
        columns = [pc.if_else(pc.equal(columns[0], ""), '""', columns[0])]
    lines = pc.binary_join_element_wise(*columns, pa.scalar(delimiter))
    return "".join(f"{line}{newline}" for line in lines.to_pylist())


def _quoted(column: Any, delimiter: str) -> Any:
    pa, pc = arrow(), arrow(".compute")
    column = plain_values(column)
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    try:
        text = pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists and the like
        text = pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
    text = pc.fill_null(text, "")
    must = pc.match_substring_regex(text, f'["\\r\\n{re.escape(delimiter)}]')
    if delimiter == " ":  # several spaces are one
        must = pc.or_(must, pc.equal(text, ""))
    if not pc.any(must).as_py():
        return text
    inner = pc.replace_substring(text, '"', '""')
    return pc.if_else(must, pc.binary_join_element_wise('"', inner, '"', ""), text)


def _is_number(kind: Any) -> bool:
    types = arrow().types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def _matrix(data: Any, path: str | Path) -> Array:
    """All columns side by side; a single one of whole numbers as it is."""
    text = [name for name in data.column_names if not _is_number(data[name].type)]
    if text:
        raise TableError(
            f"{path}: a .npy file holds numbers only, but {text[0]!r} is not; choose .npz, .csv or "
            ".parquet"
        )
    columns = _side_by_side(data, path)
    return columns[:, 0] if columns.shape[1] == 1 else columns


def _side_by_side(data: Any, path: str | Path) -> Array:
    """Columns of numbers as one array, if its dtype holds the whole numbers among them."""
    columns = [_values(data[name]) for name in data.column_names]
    X = np.column_stack(columns)
    if X.dtype.kind != "f":
        return X
    for name in data.column_names:
        if is_integer_type(data[name].type) and first_inexact(data[name]) is not None:
            raise TableError(
                f"{path}: the array would be of doubles, which do not hold the whole numbers of "
                f"{name!r}: some are beyond 2^53; choose .csv or .parquet"
            )
    return X


def _values(column: Any) -> Array:
    pa, pc = arrow(), arrow(".compute")
    whole = pa.types.is_integer(column.type) and column.null_count == 0
    if whole or pa.types.is_float32(column.type):
        return np.asarray(column.to_numpy())
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.int8())
    return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy())


def _write_npz(data: Any, file: BinaryIO, path: str | Path) -> None:
    numbers = [name for name in data.column_names if _is_number(data[name].type)]
    arrays = {}
    if numbers:
        arrays["X"] = _side_by_side(data.select(numbers), path)
        arrays["names"] = np.array(numbers)
    taken = {"X", "names", *data.column_names}
    for name in data.column_names:
        if _is_number(data[name].type):
            continue
        key = name
        if name in ("X", "names"):  # which are taken, as X_2 may be
            key = next(new for i in count(2) if (new := f"{name}_{i}") not in taken)
        texts = ["" if v is None else str(v) for v in data[name].to_pylist()]
        arrays[key] = np.array(texts)
    with zipfile.ZipFile(file, "w") as archive:
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
