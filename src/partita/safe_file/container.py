"""The container of a file: a zip of plain arrays and one JSON header, read defensively.

Members are stored, not compressed, so nothing that is read can be larger than the file.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from partita._common.array_types import Array
from partita._common.atomic_write import write_atomically
from partita._common.parameters import check_path

HEADER = "header.json"
MAX_HEADER_BYTES = 1 << 24  # parsed, it takes many times as many
MAX_MEMBERS = 256
MAX_DIRECTORY_BYTES = 1000 * MAX_MEMBERS
DTYPES = ("<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
READ_CHUNK_BYTES = 1 << 20
TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # constant, so that the same content gives the same bytes

_MEMBER_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*\.npy", re.ASCII)
_ARRAY_HEADER = re.compile(
    r"\{'descr': '(..{1,3})', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,100})\), \} *\n",
    re.ASCII,
)


class ModelFileError(ValueError):
    """A file is not a model, is damaged, or needs another version of partita."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """The words of error messages for a kind of file."""

    content: str
    name: str
    written_by: str
    error: type[ValueError]


MODEL = FileKind("model", "model file", "`partita fit --model` or `partita.save`", ModelFileError)


def write_container(
    path: str | Path, header: dict[str, Any], arrays: dict[str, Array], force: bool
) -> None:
    """Write the header and the arrays atomically."""
    text = json.dumps(header, allow_nan=False).encode()
    if len(text) > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"{path} cannot be written: the header would have {len(text)} bytes, at most "
            f"{MAX_HEADER_BYTES} are allowed. The feature names or the trace are too long."
        )

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            with archive.open(_member(HEADER, len(text)), "w") as member:
                member.write(text)
            for name, values in arrays.items():
                with archive.open(_member(f"{name}.npy", values.nbytes + 128), "w") as member:
                    np.lib.format.write_array(member, values, (1, 0), allow_pickle=False)

    write_atomically(path, write, force=force)


def _member(name: str, size: int) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, TIMESTAMP)
    member.create_system = 3
    member.external_attr = 0o644 << 16
    member.file_size = size  # decides whether 32 bits are enough
    return member


def as_storable(values: Any) -> Array | None:
    """Return an array as it is written, None if its dtype cannot be stored."""
    values = np.asarray(values)
    dtype = values.dtype.newbyteorder("<")
    if dtype.str not in DTYPES:
        return None
    if not values.flags.c_contiguous and not values.flags.f_contiguous:
        values = np.ascontiguousarray(values)
    return np.asarray(values, dtype=dtype)


class Container:
    """A file open for reading. Every fault in it raises the error of its kind."""

    def __init__(self, path: str | Path, kind: FileKind = MODEL) -> None:
        self.kind, self.path = kind, check_path("path", path)
        path = self.path
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            raise FileNotFoundError(f"There is no file {path}.") from None
        except OSError as error:
            raise OSError(error.errno, f"{path} cannot be read: {error.strerror}.") from None
        if stat.S_ISDIR(mode):
            raise self.error(f"is a folder, not a {kind.name}")
        if not stat.S_ISREG(mode):
            raise self.error("is not a regular file")
        self._file = open(path, "rb")  # noqa: SIM115, closed by __exit__
        try:
            self._size = os.fstat(self._file.fileno()).st_size
            self._check_zip_ends()
            self._zip = self._guard(lambda: zipfile.ZipFile(self._file))
            self._members = self._check_members()
            self._arrays_read: set[str] = set()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def error(self, fault: str) -> ValueError:
        """Return an error that names the file."""
        return self.kind.error(f"{self.path} {fault}")

    @property
    def array_names(self) -> list[str]:
        """The names of the arrays, in their order."""
        return [name.removesuffix(".npy") for name in self._members if name != HEADER]

    def header(self) -> dict[str, Any]:
        """Return the header as it is in the file."""
        member = self._find(HEADER)
        if member.file_size > MAX_HEADER_BYTES:
            raise self.error(
                f"has a header of {member.file_size} bytes; at most {MAX_HEADER_BYTES} are allowed"
            )
        text = self._guard(lambda: self._zip.read(member))
        try:
            header = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise self.error(f"has a header that is not JSON: {error}") from error
        if not isinstance(header, dict):
            raise self.error("has a header that is not a JSON object")
        return header

    def array(self, name: str) -> Array:
        """Return an array, only once: a header cannot multiply it to fill the memory."""
        member = self._find(f"{name}.npy")
        if name in self._arrays_read:
            raise self.error(f"uses its array {name} more than once")
        self._arrays_read.add(name)
        return np.asarray(self._guard(lambda: self._read_array(member)))

    def _read_array(self, member: zipfile.ZipInfo) -> Array:
        with self._zip.open(member) as file:
            start = file.read(10)
            if start[:8] != b"\x93NUMPY\x01\x00" or len(start) < 10:
                raise self.error(f"has a member {member.filename} that is not an .npy file")
            header_size = int.from_bytes(start[8:], "little")
            header = _ARRAY_HEADER.fullmatch(file.read(header_size).decode("latin-1"))
            if header is None or header[1] not in DTYPES:
                raise self.error(f"has a member {member.filename} that is not a plain array")
            shape = tuple(int(n) for n in header[3].replace(" ", "").split(",") if n)
            dtype = np.dtype(header[1])
            size = dtype.itemsize * math.prod(shape)
            if len(shape) > 2 or size != member.file_size - 10 - header_size:
                raise self.error(
                    f"has a member {member.filename} of shape {shape}, which does not match its "
                    f"{member.file_size} bytes"
                )
            values = np.empty(shape, dtype, order="F" if header[2] == "True" else "C")
            self._fill(values, file)
        return values.astype(dtype.newbyteorder("="), order="K", copy=False)

    def _fill(self, values: Array, file: Any) -> None:
        buffer, position = values.ravel(order="K").view(np.uint8), 0
        assert values.size == 0 or np.shares_memory(buffer, values)
        while position < len(buffer):
            count = file.readinto(buffer[position : position + READ_CHUNK_BYTES])
            if not count:
                raise self.error("ends too early")
            position += count
        file.read(1)  # at the end, zipfile compares the checksum

    def _find(self, name: str) -> zipfile.ZipInfo:
        if name not in self._members:
            raise self.error(f"lacks the member {name}")
        return self._members[name]

    def _check_zip_ends(self) -> None:
        """Refuse a file that is not a zip of ours before its directory is read."""
        self._file.seek(0)
        if self._size < 22 or self._file.read(4) != b"PK\x03\x04":
            raise self.error(
                f"is not a {self.kind.name}: it does not begin like one. Give a file written by "
                f"{self.kind.written_by}."
            )
        self._file.seek(max(0, self._size - 98))
        tail = self._file.read(98).rjust(98, b"\x00")
        if tail[-22:-18] != b"PK\x05\x06" or tail[-2:] != b"\x00\x00":
            raise self.error(f"is damaged or truncated: it does not end like a {self.kind.name}")
        n_members, directory_bytes = struct.unpack("<HL", tail[-12:-6])
        if tail[-42:-38] == b"PK\x06\x07":  # zip64 has a second record, with wider numbers
            (position,) = struct.unpack("<Q", tail[-34:-26])
            if tail[:4] != b"PK\x06\x06" or position != self._size - 98:
                raise self.error("is damaged: its directory is not where it should be")
            n_members, directory_bytes = struct.unpack("<QQ", tail[32:48])
        if n_members > MAX_MEMBERS or directory_bytes > MAX_DIRECTORY_BYTES:
            raise self.error(f"has {n_members} members, more than any {self.kind.content}")

    def _check_members(self) -> dict[str, zipfile.ZipInfo]:
        """Return the members by name. Names, compression and sizes are checked."""
        members: dict[str, zipfile.ZipInfo] = {}
        for member in self._zip.infolist():
            name = member.filename
            if name != HEADER and not _MEMBER_NAME.fullmatch(name):
                raise self.error(f"has a member {name!r}, which no {self.kind.content} has")
            if name in members:
                raise self.error(f"has two members called {name}")
            stored = member.compress_type == zipfile.ZIP_STORED
            if not stored or member.file_size != member.compress_size:
                raise self.error(f"has a compressed member, {name}; {self.kind.content}s have none")
            members[name] = member
        if sum(member.file_size for member in members.values()) > self._size:
            raise self.error("is damaged: its members are larger than the file")
        return members

    def _guard(self, action: Any) -> Any:
        """Run an action of zipfile, whose errors on damaged files are of many types."""
        try:
            return action()
        except (self.kind.error, MemoryError):
            raise
        except Exception as error:
            raise self.error(f"is damaged: {error}") from error


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
