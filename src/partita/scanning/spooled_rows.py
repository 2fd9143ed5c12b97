"""Blocks of rows, collected in memory as far as they fit, else in a temporary file."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.errors import TableError
from partita.scanning.stored_rows import StoredRows


def collect_rows(
    blocks: Iterable[Array], d: int, dtype: np.dtype[Any], memory: float
) -> Array | StoredRows:
    """Return the rows of all blocks: an array if that takes no more than `memory` bytes.

    Otherwise they are stored in a temporary file without a name, which is gone when the rows are,
    even if the process is killed.
    """
    kept: list[Array] = []
    kept_bytes, blocks = 0, iter(blocks)
    for block in blocks:
        kept.append(np.ascontiguousarray(block, dtype))
        kept_bytes += kept[-1].nbytes
        if 2 * kept_bytes > memory:  # both the blocks and the array that they become
            return _spool(_emptied(kept, blocks), d, dtype)
    return np.concatenate(kept) if kept else np.empty((0, d), dtype)


def _emptied(kept: list[Array], blocks: Iterator[Array]) -> Iterator[Array]:
    kept.reverse()
    while kept:
        yield kept.pop()  # which frees it
    yield from blocks


def _spool(blocks: Iterator[Array], d: int, dtype: np.dtype[Any]) -> StoredRows:
    n = 0
    try:
        with tempfile.TemporaryFile(prefix="partita-") as file:
            for block in blocks:
                file.write(np.ascontiguousarray(block, dtype).data)
                n += len(block)
            file.flush()
            return StoredRows(file, (n, d), dtype)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise TableError(
            f"The folder for temporary files, {tempfile.gettempdir()}, is full: rows that do not "
            f"fit memory are stored there, {n * d * dtype.itemsize / 1e9:.1f} GB so far. Set the "
            "environment variable TMPDIR to a folder with more room, or raise memory_limit."
        ) from error
