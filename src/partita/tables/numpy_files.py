"""NumPy's files: .npy with one array, .npz with an array and perhaps the names of its columns.

Headers are read first, and of an .npz only what is needed: other arrays may hold anything.
"""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TypeVar

import numpy as np

from partita._common.array_types import Array
from partita.tables.compression import check_unpacked_size
from partita.tables.file_formats import EXCEL_ERROR
from partita.tables.table import Table, TableError, TableFile, arrow
from partita.tables.text_files import unique_names

_T = TypeVar("_T")
_DAMAGED = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    MemoryError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
_END = ".npy"
_BEGIN = 1 << 16  # bytes that are enough for any header
_NUMBERS = "fiub"  # kinds of dtypes
# members of a zip that tell what it is, if it is no .npz
_OTHERS = {
    "xl/workbook.xml": EXCEL_ERROR,
    "xl/workbook.bin": EXCEL_ERROR,
    "header.json": "is a model of partita; a table is expected here",
    "content.xml": "is an OpenDocument file; save the sheet as CSV",
}


@dataclass(frozen=True, slots=True)
class _Header:
    """What an array says of itself before its values."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize  # of Python's integers: no overflow


def read_npy(raw: bytes, name: str) -> Table:
    """The columns of a two-dimensional array, called c0, c1, …"""
    fault = f"{name} ({len(raw)} bytes) is not a .npy file that can be read"
    X = _guarded(lambda: _array(io.BytesIO(raw), len(raw)), fault)
    return _table(X, None, name, "npy")


def read_npz(raw: bytes, name: str) -> Table:
    """The array X, or the only one of two dimensions; names from `names` or `columns`."""
    fault = f"{name} ({len(raw)} bytes) is not a .npz file that can be read"
    archive = _guarded(lambda: zipfile.ZipFile(io.BytesIO(raw)), fault)
    with archive:
        members = archive.namelist()
        for member, why in _OTHERS.items():
            if member in members:
                raise TableError(f"{name} {why}")
        headers = {m.removesuffix(_END): _try_header(archive, m) for m in members if _is_array(m)}
        if not headers:
            raise TableError(f"{name} is a zip, but holds no arrays; a .npz file is expected")
        key = _choose(headers, name)
        named = next((k for k in ("names", "columns") if k in headers and k != key), None)
        X = _member(archive, key, len(raw), name)
        names = None if named is None else _member(archive, named, len(raw), name)
    if names is not None and (names.ndim != 1 or X.ndim != 2 or len(names) != X.shape[1]):
        raise TableError(
            f"{name}: {named} has the shape {names.shape}, but {key} has {X.shape}; one name for "
            "every column is expected"
        )
    return _table(X, None if names is None else _texts(names), name, "npz")


# --- what is in a file ----------------------------------------------------------------------------


def _is_array(member: str) -> bool:
    return member.endswith(_END) and not member.startswith("__MACOSX/")


def _choose(headers: dict[str, _Header | None], name: str) -> str:
    """The array that is the table."""
    if "X" in headers:
        return "X"
    flat = {key: h for key, h in headers.items() if h is not None and len(h.shape) == 2}
    numbers = [key for key, header in flat.items() if header.dtype.kind in _NUMBERS]
    if len(numbers) == 1 or len(flat) == 1:
        return (numbers or list(flat))[0]
    raise TableError(
        f"{name} holds {', '.join(sorted(headers))}; one array of two dimensions, or one that is "
        "called X, is expected"
    )


def _try_header(archive: zipfile.ZipFile, member: str) -> _Header | None:
    """The header of a member; None if it has none, which matters only if it is needed."""
    try:
        with archive.open(member) as file:
            return _header(file)
    except _DAMAGED:
        return None


def _header(file: IO[bytes]) -> _Header:
    begin = io.BytesIO(file.read(_BEGIN))
    version = np.lib.format.read_magic(begin)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:  # made for names of fields, which arrays of numbers do not have
        raise ValueError(f"its version is {version}")
    shape, _, dtype = read(begin)
    return _Header(shape, dtype)


def _array(file: IO[bytes], size: int) -> Array:
    """The array of a file of this size, if it says the same of itself."""
    header = _header(file)
    if header.dtype.hasobject:
        raise ValueError("it holds Python objects, which are not loaded")
    if header.nbytes > size:
        raise ValueError(f"it says that its values take {header.nbytes} bytes, but has {size}")
    file.seek(0)
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _member(archive: zipfile.ZipFile, key: str, packed: int, name: str) -> Array:
    info = archive.getinfo(f"{key}{_END}")
    check_unpacked_size(info.file_size, packed, f"{name}, array {key}")

    def load() -> Array:
        with archive.open(info) as file:
            return _array(file, info.file_size)

    return _guarded(load, f"{name}: the array {key} of this .npz file cannot be read")


def _guarded(load: Callable[[], _T], fault: str) -> _T:
    try:
        return load()
    except _DAMAGED as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(f"{fault}: {first}; write it anew, with numbers only") from None


def _texts(names: Array) -> list[str]:
    if names.dtype.kind == "S":
        names = np.char.decode(names, "utf-8", "replace")
    return [str(name) for name in names.tolist()]


# --- as a table -----------------------------------------------------------------------------------


def _table(X: Array, names: list[str] | None, name: str, kind: str) -> Table:
    pa = arrow()
    if X.ndim != 2:
        raise TableError(
            f"{name} holds an array of shape {X.shape}; rows and columns, so two dimensions, are "
            "expected"
        )
    if X.dtype.kind not in _NUMBERS:
        raise TableError(f"{name} holds an array of {X.dtype}; numbers are expected")
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:
        X = X.astype(np.float64)
    native = X.astype(X.dtype.newbyteorder("="), copy=False)
    labels, notes = unique_names([f"c{i}" for i in range(X.shape[1])] if names is None else names)
    columns = [pa.array(np.ascontiguousarray(native[:, i])) for i in range(X.shape[1])]
    return Table(
        pa.table(columns, names=labels),
        name,
        kind,
        notes=notes,
        parts=(TableFile(name, len(X)),),
        named=names is not None,
    )
