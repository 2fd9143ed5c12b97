"""Read NumPy files: .npy with one array, .npz with an array and perhaps names of its columns.

Headers are read first. Of an .npz only the needed arrays are read: others may hold anything.
"""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, TypeVar

import numpy as np

from partita._common.array_types import Array
from partita._common.errors import TableError
from partita._common.text import listed, printable
from partita.tables.compression import check_unpacked_size
from partita.tables.table import Table, TableFile, arrow, first_line
from partita.tables.text_files import unique_names

MAX_HEADER_BYTES = 1 << 16
NUMERIC_KINDS = "fiub"  # of dtypes
_T = TypeVar("_T")
_Header = tuple[tuple[int, ...], np.dtype[np.generic]]  # shape and dtype
_READ_ERRORS = (
    ValueError, OSError, EOFError, LookupError, ArithmeticError, MemoryError, RuntimeError,
    SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_SUFFIX = ".npy"
# members that identify other kinds of zip files
_OTHER_ZIP_ERRORS = {
    "xl/workbook.bin": "is a binary Excel workbook. Save it as .xlsx, or the sheet as CSV.",
    "header.json": "is a partita model, not a table.",
    "content.xml": "is an OpenDocument file. Save it as .xlsx, or the sheet as CSV.",
}


def read_numpy(raw: bytes, name: str, format: str) -> Table:
    """Read the columns of a two-dimensional array in a file of the format "npy" or "npz".

    The columns of an .npy file are called c0, c1, …
    """
    fault = f"{name} ({len(raw)} bytes) is not a .{format} file that can be read"
    if format == "npz":
        return _read_npz(_guarded(lambda: zipfile.ZipFile(io.BytesIO(raw)), fault), len(raw), name)
    X = _guarded(lambda: _read_array(io.BytesIO(raw), len(raw)), fault)
    return _table(X, None, name, "npy")


def _read_npz(archive: zipfile.ZipFile, packed_size: int, name: str) -> Table:
    """Read the array X, or the only two-dimensional one; names from `names` or `columns`."""
    with archive:
        members = archive.namelist()
        for member, error in _OTHER_ZIP_ERRORS.items():
            if member in members:
                raise TableError(f"{name} {error}")
        headers = {
            member.removesuffix(_SUFFIX): _try_header(archive, member)
            for member in members
            if member.endswith(_SUFFIX) and not member.startswith("__MACOSX/")
        }
        if not headers:
            raise TableError(f"{name} is a zip file without arrays, so it is not a .npz file.")
        key = _choose_array(headers, name)
        names_key = next((k for k in ("names", "columns") if k in headers and k != key), None)
        X = _read_member(archive, key, packed_size, name)
        names = None if names_key is None else _read_member(archive, names_key, packed_size, name)
    if names is not None and (names.ndim != 1 or X.ndim != 2 or len(names) != X.shape[1]):
        raise TableError(
            f"{name}: {names_key} has the shape {names.shape}, but {key} has {X.shape}. There must "
            "be one name for every column."
        )
    if names is not None and names.dtype.kind == "S":
        names = np.char.decode(names, "utf-8", "replace")
    return _table(X, None if names is None else list(map(str, names.tolist())), name, "npz")


def _choose_array(headers: dict[str, _Header | None], name: str) -> str:
    """Return the key of the array that is the table."""
    if "X" in headers:
        return "X"
    flat = {key: h[1] for key, h in headers.items() if h is not None and len(h[0]) == 2}
    numeric = [key for key, dtype in flat.items() if dtype.kind in NUMERIC_KINDS]
    if len(numeric) == 1 or len(flat) == 1:
        return (numeric or list(flat))[0]
    raise TableError(
        f"{name} has the arrays {listed(sorted(headers), printable)}. There must be one two-"
        "dimensional array, or one called X."
    )


def _try_header(archive: zipfile.ZipFile, member: str) -> _Header | None:
    """Return the header of a member, None if it cannot be read: it may not be needed."""
    try:
        with archive.open(member) as file:
            return _read_header(file)
    except _READ_ERRORS:
        return None


def _read_header(file: IO[bytes]) -> _Header:
    start = io.BytesIO(file.read(MAX_HEADER_BYTES))
    version = np.lib.format.read_magic(start)
    read = getattr(np.lib.format, "read_array_header_{}_{}".format(*version), None)
    if read is None:  # 3.0 is for field names, which arrays of numbers do not have
        raise ValueError(f"its format version is {version}")
    shape, _, dtype = read(start)
    return shape, dtype


def _read_array(file: IO[bytes], size: int) -> Array:
    """Read the array of a file of this size, if its header claims no more."""
    shape, dtype = _read_header(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not loaded")
    claimed = math.prod(shape) * dtype.itemsize  # Python integers do not overflow
    if claimed > size:
        raise ValueError(f"its header claims {claimed} bytes of values, but it has {size}")
    file.seek(0)
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _read_member(archive: zipfile.ZipFile, key: str, packed_size: int, name: str) -> Array:
    info = archive.getinfo(f"{key}{_SUFFIX}")
    check_unpacked_size(info.file_size, packed_size, f"{name}, array {key}")

    def read() -> Array:
        with archive.open(info) as file:
            return _read_array(file, info.file_size)

    return _guarded(read, f"{name}, array {key}: it cannot be read")


def _guarded(read: Callable[[], _T], fault: str) -> _T:
    try:
        return read()
    except _READ_ERRORS as error:
        raise TableError(
            f"{fault}: {first_line(error)}. Write it again, with numbers only."
        ) from None


def _table(X: Array, names: list[str] | None, name: str, format: str) -> Table:
    pa = arrow()
    if X.ndim != 2:
        raise TableError(f"{name}: the array must have two dimensions, got the shape {X.shape}.")
    if X.dtype.kind not in NUMERIC_KINDS:
        raise TableError(f"{name}: the array must hold numbers, got the dtype {X.dtype}.")
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:
        X = X.astype(np.float64)
    native = X.astype(X.dtype.newbyteorder("="), copy=False)
    column_names, notes = unique_names(names or [f"c{i}" for i in range(X.shape[1])])
    columns = [pa.array(np.ascontiguousarray(native[:, i])) for i in range(X.shape[1])]
    data, file = pa.table(columns, names=column_names), TableFile(name, len(X))
    return Table(data, name, format, notes=notes, parts=(file,), named=names is not None)
