"""Compressed files: gzip, bzip2 and xz, as in `wine.csv.gz`.

All by the standard library: pyarrow is a little faster, but it refuses zero padding, fails on an
empty bzip2 stream, and has no xz.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from partita._common.errors import TableError

# A few bytes can decompress to more than any memory holds. Tables of constants compress well too,
# but not beyond these limits.
UNPACKED_BYTES_ALLOWED = 1 << 30  # for a file of any size
MAX_UNPACKED_RATIO = 200  # for larger files
CHUNK_BYTES = 1 << 20  # decompressed at once
MAGIC_BYTES = 16  # by which a compression is recognised
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class _Compression(NamedTuple):
    name: str
    magic: bytes  # regular expression of the first bytes
    open: Callable[..., Any]  # takes a file and a mode


_COMPRESSIONS = {
    ".gz": _Compression(
        "gzip",
        rb"\x1f\x8b",
        # without file name and time, so that the same rows give the same bytes
        lambda file, mode: gzip.GzipFile("", mode, fileobj=file, mtime=0),
    ),
    ".bz2": _Compression("bzip2", rb"BZh[1-9]1AY&SY", bz2.BZ2File),
    ".xz": _Compression("xz", rb"\xfd7zXZ\0", lzma.LZMAFile),
}


def decompress(raw: bytes, name: str) -> bytes:
    """Return the content of a compressed file, and any other file unchanged.

    Files of several streams are read to the end. A truncated file is an error.
    """
    if raw.startswith(_ZSTD_MAGIC):
        raise TableError(
            f"{name} is compressed by zstd, which is not supported. Decompress it, or use gzip."
        )
    for compression in _COMPRESSIONS.values():
        if re.match(compression.magic, raw):
            try:
                return _read_all(compression, raw, name)
            except TableError:
                raise
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                raise TableError(
                    f"{name} is compressed by {compression.name}, but cannot be decompressed "
                    f"({error}). Write the file again."
                ) from None
    return raw


@contextmanager
def open_decompressed(file: Path) -> Iterator[BinaryIO]:
    """Open a file for reading by parts; what is compressed is decompressed on the way."""
    with open(file, "rb") as stream:
        start = stream.read(MAGIC_BYTES)
        stream.seek(0)
        for compression in _COMPRESSIONS.values():
            if re.match(compression.magic, start):
                with compression.open(stream, "rb") as unpacked:
                    yield unpacked
                return
        yield stream


def is_compressed(file: Path) -> bool:
    """Return whether a file begins like a compressed one."""
    with open(file, "rb") as stream:
        start = stream.read(MAGIC_BYTES)
    return any(re.match(compression.magic, start) for compression in _COMPRESSIONS.values())


def _read_all(compression: _Compression, raw: bytes, name: str) -> bytes:
    content = io.BytesIO()
    with compression.open(io.BytesIO(raw), "rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            content.write(chunk)
            check_unpacked_size(content.tell(), len(raw), name)
    return content.getvalue()


def check_unpacked_size(size: int, packed_size: int, name: str) -> None:
    """Refuse a decompressed size that no table has."""
    limit = max(UNPACKED_BYTES_ALLOWED, MAX_UNPACKED_RATIO * packed_size)
    if size > limit:
        raise TableError(
            f"{name}: {packed_size} compressed bytes become more than {limit}, which is unlikely "
            "for a table. If it is one, decompress it first."
        )


def compressing_writer(
    path: str | Path, writer: Callable[[BinaryIO], object]
) -> Callable[[BinaryIO], object]:
    """Return a writer that compresses if the suffix of the path is that of a compression."""
    compression = _COMPRESSIONS.get(Path(path).suffix.lower())
    if compression is None:
        return writer

    def write(file: BinaryIO) -> None:
        with tempfile.TemporaryFile() as plain:  # some formats seek, which no compressed file can
            writer(plain)
            plain.seek(0)
            with compression.open(file, "wb") as compressed:
                shutil.copyfileobj(plain, compressed)

    return write
