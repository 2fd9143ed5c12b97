"""Packed files: gzip, bzip2 and xz, as `wine.csv.gz`."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from partita.tables.table import TableError

# A few bytes can be made to unpack to more than any memory holds. Tables of constants pack well
# too, but not so many of them.
_ALWAYS = 1 << 30  # bytes that any file may unpack to
_TIMES = 200  # and a large one, that many times its size
_PIECE = 1 << 20  # bytes unpacked at once


class _Packing(NamedTuple):
    kind: str
    begins: bytes  # as a pattern
    open: Callable[..., Any]  # takes a file and a mode, gives one that packs or unpacks


_PACKINGS = {
    ".gz": _Packing(
        "gzip",
        rb"\x1f\x8b",
        # without name and time, so that the same rows are the same bytes
        lambda file, mode: gzip.GzipFile("", mode, fileobj=file, mtime=0),
    ),
    ".bz2": _Packing("bzip2", rb"BZh[1-9]1AY&SY", bz2.BZ2File),
    ".xz": _Packing("xz", rb"\xfd7zXZ\0", lzma.LZMAFile),
}
_ZSTD = b"\x28\xb5\x2f\xfd"


def decompress(raw: bytes, name: str) -> bytes:
    """What is in a packed file; other files as they are."""
    if raw.startswith(_ZSTD):
        raise TableError(f"{name} is packed by zstd; unpack it first, or pack it by gzip")
    for packing in _PACKINGS.values():
        if not re.match(packing.begins, raw):
            continue
        try:
            return _unpack(packing, raw, name)
        except TableError:
            raise
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
            raise TableError(
                f"{name} is packed by {packing.kind}, but cannot be unpacked ({error}); write it "
                "anew"
            ) from None
    return raw


def _unpack(packing: _Packing, raw: bytes, name: str) -> bytes:
    out = io.BytesIO()
    with packing.open(io.BytesIO(raw), "rb") as file:
        while piece := file.read(_PIECE):
            out.write(piece)
            check_unpacked_size(out.tell(), len(raw), name)
    return out.getvalue()


def check_unpacked_size(size: int, packed_size: int, name: str) -> None:
    """Refuse what unpacks to more than a table of this packed size would."""
    if size > max(_ALWAYS, _TIMES * packed_size):
        raise TableError(
            f"{name}: {packed_size} packed bytes become more than "
            f"{max(_ALWAYS, _TIMES * packed_size)}, which is not like a table; if it is "
            "one, unpack it first"
        )


def without_compression_suffix(path: str | Path) -> Path:
    """The name without what says that it is packed: wine.csv of wine.csv.gz."""
    file = Path(path)
    return file.with_suffix("") if file.suffix.lower() in _PACKINGS else file


def compressing_writer(
    path: str | Path, writer: Callable[[BinaryIO], object]
) -> Callable[[BinaryIO], object]:
    """A writer that packs, if the name of the file asks for it."""
    packing = _PACKINGS.get(Path(path).suffix.lower())
    if packing is None:
        return writer

    def packer(file: BinaryIO) -> None:
        with tempfile.TemporaryFile() as plain:  # some formats go back, which no packing can
            writer(plain)
            plain.seek(0)
            with packing.open(file, "wb") as inner:
                shutil.copyfileobj(plain, inner)

    return packer
