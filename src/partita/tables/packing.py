"""Packed files: gzip, bzip2 and xz, as `wine.csv.gz`."""

from __future__ import annotations

import bz2
import functools
import gzip
import lzma
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from partita.tables.record import TableError


class _Packing(NamedTuple):
    kind: str
    begins: bytes  # as a pattern
    unpack: Callable[[bytes], bytes]
    pack: Callable[..., Any]  # takes a file, gives one that packs what is written to it


_PACKINGS = {
    ".gz": _Packing(
        "gzip",
        rb"\x1f\x8b",
        gzip.decompress,
        # without name and time, so that the same rows are the same bytes
        lambda file: gzip.GzipFile("", "wb", fileobj=file, mtime=0),
    ),
    ".bz2": _Packing(
        "bzip2", rb"BZh[1-9]1AY&SY", bz2.decompress, functools.partial(bz2.BZ2File, mode="wb")
    ),
    ".xz": _Packing(
        "xz", rb"\xfd7zXZ\0", lzma.decompress, functools.partial(lzma.LZMAFile, mode="wb")
    ),
}
_ZSTD = b"\x28\xb5\x2f\xfd"


def unpacked(raw: bytes, name: str) -> bytes:
    """What is in a packed file; other files as they are."""
    if raw.startswith(_ZSTD):
        raise TableError(f"{name} is packed by zstd; unpack it first, or pack it by gzip")
    for packing in _PACKINGS.values():
        if not re.match(packing.begins, raw):
            continue
        try:
            return packing.unpack(raw)
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
            raise TableError(
                f"{name} is packed by {packing.kind}, but cannot be unpacked ({error}); write it "
                "anew"
            ) from None
    return raw


def inner_name(path: str | Path) -> Path:
    """The name without what says that it is packed: wine.csv of wine.csv.gz."""
    file = Path(path)
    return file.with_suffix("") if file.suffix.lower() in _PACKINGS else file


def packed(path: str | Path, writer: Callable[[BinaryIO], object]) -> Callable[[BinaryIO], object]:
    """A writer that packs, if the name of the file asks for it."""
    packing = _PACKINGS.get(Path(path).suffix.lower())
    if packing is None:
        return writer

    def packer(file: BinaryIO) -> None:
        with tempfile.TemporaryFile() as plain:  # some formats go back, which no packing can
            writer(plain)
            plain.seek(0)
            with packing.pack(file) as inner:
                shutil.copyfileobj(plain, inner)

    return packer
