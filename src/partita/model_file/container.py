"""The container of a model file: a zip of plain arrays and one header, read with suspicion.

Members are stored, not compressed, so nothing that is read can be larger than the file.
"""

from __future__ import annotations

import json
import os
import re
import stat
import struct
import zipfile
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from partita._common.array_types import Array

HEADER = "header.json"
MAX_HEADER_BYTES = 1 << 24  # bytes; what Python makes of it takes many times as many
MAX_MEMBERS = 256
DTYPES = ("<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")

_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*\.npy", re.ASCII)
_ARRAY = re.compile(
    r"\{'descr': '(..{1,3})', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,100})\), \} *\n",
    re.ASCII,
)
_PIECE = 1 << 20  # bytes read at once
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever they are written


class ModelFileError(ValueError):
    """A file that is no model, or is damaged, or needs another partita."""


# --- writing --------------------------------------------------------------------------------------


def write_container(
    path: str | Path, header: dict[str, Any], arrays: dict[str, Array], force: bool
) -> None:
    """Write the header and the arrays, all or nothing."""
    from partita._common.atomic_write import write_atomically

    text = json.dumps(header, allow_nan=False).encode()
    if len(text) > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"{path} cannot be written: the header would have {len(text)} bytes, and at most "
            f"{MAX_HEADER_BYTES} are read; the names of the features, or the trace, are too long"
        )

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as out:
            with out.open(_entry(HEADER, len(text)), "w") as member:
                member.write(text)
            for name, values in arrays.items():
                with out.open(_entry(f"{name}.npy", values.nbytes + 128), "w") as member:
                    np.lib.format.write_array(member, values, (1, 0), allow_pickle=False)

    write_atomically(path, write, force=force)


def _entry(name: str, size: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    entry.file_size = size  # says whether 32 bits are enough
    return entry


def as_storable(values: Any) -> Array | None:
    """The array as it is written, or None if it is none of numbers."""
    values = np.asarray(values)
    plain = values.dtype.newbyteorder("<")
    if plain.str not in DTYPES:
        return None
    if not values.flags.c_contiguous and not values.flags.f_contiguous:
        values = np.ascontiguousarray(values)
    return np.asarray(values, dtype=plain)


# --- reading --------------------------------------------------------------------------------------


class Container:
    """A model file that is open for reading; whatever is wrong with it is a ModelFileError."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise self.fault("is no regular file")
        self._file = open(path, "rb")  # noqa: SIM115, closed by __exit__
        try:
            self._size = os.fstat(self._file.fileno()).st_size
            self._look_at_ends()
            self._zip = self._guard(lambda: zipfile.ZipFile(self._file))
            self._entries = self._listed()
            self._taken: set[str] = set()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def fault(self, what: str) -> ModelFileError:
        """An error that names the file."""
        return ModelFileError(f"{self.path} {what}")

    def header(self) -> dict[str, Any]:
        """The header as it is in the file."""
        entry = self._entry(HEADER)
        if entry.file_size > MAX_HEADER_BYTES:
            raise self.fault(
                f"has a header of {entry.file_size} bytes; at most {MAX_HEADER_BYTES} are read"
            )
        text = self._guard(lambda: self._zip.read(entry))
        try:
            found = json.loads(text.decode("utf-8"), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise self.fault(f"has a header that is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise self.fault("has a header that is not a JSON object")
        return found

    def array(self, name: str) -> Array:
        """One of the arrays, once: a header that names one a thousand times fills no memory."""
        entry = self._entry(f"{name}.npy")
        if name in self._taken:
            raise self.fault(f"names its array {name} more than once")
        self._taken.add(name)
        return np.asarray(self._guard(lambda: self._read(entry)))

    def _read(self, entry: zipfile.ZipInfo) -> Array:
        with self._zip.open(entry) as member:
            start = member.read(10)
            if start[:8] != b"\x93NUMPY\x01\x00" or len(start) < 10:
                raise self.fault(f"has a member {entry.filename} that is not an .npy file")
            length = int.from_bytes(start[8:], "little")
            match = _ARRAY.fullmatch(member.read(length).decode("latin-1"))
            if match is None or match[1] not in DTYPES:
                raise self.fault(f"has a member {entry.filename} that is not a plain array")
            shape = tuple(int(n) for n in match[3].replace(" ", "").split(",") if n)
            kind = np.dtype(match[1])
            size = kind.itemsize
            for n in shape:
                size *= n
            if len(shape) > 2 or size != entry.file_size - 10 - length:
                raise self.fault(
                    f"has a member {entry.filename} of shape {shape}, which its "
                    f"{entry.file_size} bytes do not hold"
                )
            values = np.empty(shape, kind, order="F" if match[2] == "True" else "C")
            self._fill(values, member)
        return values.astype(kind.newbyteorder("="), order="K", copy=False)

    def _fill(self, values: Array, member: Any) -> None:
        into, at = values.ravel(order="K").view(np.uint8), 0
        assert values.size == 0 or np.shares_memory(into, values)
        while at < len(into):
            piece = member.read(min(_PIECE, len(into) - at))
            if not piece:
                raise self.fault("ends too early")
            into[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
        member.read(1)  # the end, where the checksum is compared

    def _entry(self, name: str) -> zipfile.ZipInfo:
        if name not in self._entries:
            raise self.fault(f"lacks the member {name}")
        return self._entries[name]

    def _look_at_ends(self) -> None:
        """Refuse what is no zip of ours before its directory is read."""
        self._file.seek(0)
        if self._size < 22 or self._file.read(4) != b"PK\x03\x04":
            raise self.fault("is not a model file: it does not begin like one")
        tail = self._tail(98)
        if tail[-22:-18] != b"PK\x05\x06" or tail[-2:] != b"\x00\x00":
            raise self.fault("is damaged or cut off: it does not end like a model file")
        count, size = struct.unpack("<HL", tail[-12:-6])
        if tail[-42:-38] == b"PK\x06\x07":  # of a file beyond 4 GB, which counts once more
            if tail[:4] != b"PK\x06\x06":
                raise self.fault("is damaged: its directory is not where it should be")
            (place,) = struct.unpack("<Q", tail[-34:-26])
            if place != self._size - 98:
                raise self.fault("is damaged: its directory is not where it should be")
            count, size = struct.unpack("<QQ", tail[32:48])
        if count > MAX_MEMBERS or size > 1000 * MAX_MEMBERS:
            raise self.fault(f"has {count} members, more than any model")

    def _tail(self, length: int) -> bytes:
        self._file.seek(max(0, self._size - length))
        return self._file.read(length).rjust(length, b"\x00")

    def _listed(self) -> dict[str, zipfile.ZipInfo]:
        entries = self._zip.infolist()
        found: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            name = entry.filename
            if name != HEADER and not _NAME.fullmatch(name):
                raise self.fault(f"has a member of the name {name!r}, which no model has")
            if name in found:
                raise self.fault(f"has two members of the name {name}")
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
                raise self.fault(f"has a compressed member, {name}; plain ones are expected")
            found[name] = entry
        if sum(entry.file_size for entry in entries) > self._size:
            raise self.fault("is damaged: its members are larger than the file")
        return found

    def _guard(self, action: Any) -> Any:
        """What damaged bytes make of a reader of zips is known only when it happens."""
        try:
            return action()
        except (ModelFileError, MemoryError):
            raise
        except Exception as error:
            raise self.fault(f"is damaged: {error}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
