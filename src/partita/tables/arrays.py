"""NumPy's files: .npy with one array, .npz with an array and perhaps the names of its columns."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from partita._typing import Array
from partita.tables.record import Part, Table, TableError, arrow
from partita.tables.text import unique

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
    zipfile.BadZipFile,
    zlib.error,
)


def read_npy(raw: bytes, name: str) -> Table:
    """The columns of a two-dimensional array, called c0, c1, …"""
    found = _guarded(lambda: np.load(io.BytesIO(raw), allow_pickle=False), name, "npy", len(raw))
    return _table(found, None, name, "npy")


def read_npz(raw: bytes, name: str) -> Table:
    """The array X, or the only one of two dimensions; names from `names` or `columns`."""

    def load() -> dict[str, Array]:
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            return {key: file[key] for key in file.files}

    found: dict[str, Array] = _guarded(load, name, "npz", len(raw))
    flat = {key: array for key, array in found.items() if array.ndim == 2}
    if "X" in found:
        X = found["X"]
    elif len(flat) == 1:
        X = next(iter(flat.values()))
    else:
        raise TableError(
            f"{name} holds {', '.join(sorted(found)) or 'nothing'}; one array of two dimensions, "
            "or one that is called X, is expected"
        )
    names = next((found[key] for key in ("names", "columns") if key in found), None)
    if names is not None and (names.ndim != 1 or X.ndim != 2 or len(names) != X.shape[1]):
        raise TableError(
            f"{name}: names has the shape {names.shape}, but X has {X.shape}; one name for every "
            "column is expected"
        )
    return _table(X, None if names is None else [str(n) for n in names.tolist()], name, "npz")


def _guarded(load: Callable[[], Any], name: str, kind: str, size: int) -> Any:
    try:
        return load()
    except _DAMAGED as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        if "allow_pickle" in str(error):
            first = "it holds Python objects, which are not loaded"
        raise TableError(
            f"{name} ({size} bytes) is not a .{kind} file that can be read: {first}; write it "
            "anew, with numbers only"
        ) from None


def _table(X: Array, names: list[str] | None, name: str, kind: str) -> Table:
    pa = arrow()
    if X.ndim != 2:
        raise TableError(
            f"{name} holds an array of shape {X.shape}; rows and columns, so two dimensions, are "
            "expected"
        )
    if X.dtype.kind not in "fiub":
        raise TableError(f"{name} holds an array of {X.dtype}; numbers are expected")
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:
        X = X.astype(np.float64)
    native = X.astype(X.dtype.newbyteorder("="), copy=False)
    labels, notes = unique([f"c{i}" for i in range(X.shape[1])] if names is None else names)
    columns = [pa.array(np.ascontiguousarray(native[:, i])) for i in range(X.shape[1])]
    return Table(
        pa.table(columns, names=labels),
        name,
        kind,
        notes=notes,
        parts=(Part(name, len(X)),),
        named=names is not None,
    )
