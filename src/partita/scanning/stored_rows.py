"""Rows that are stored one after the other in a file of numbers."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from partita._common.array_types import Array, Ints
from partita._common.errors import TableError

MAX_READ_BYTES = 1 << 30  # in one call: some systems read no more than 2 GiB at once
MAX_GAP_BYTES = 1 << 12  # between wanted rows, that are read with them: a call costs more
MAX_SPAN_BYTES = 1 << 17  # of rows that are read with gaps
_ONE_READER = threading.Lock()


class StoredRows:
    """Rows (n, d) of a file, read like those of an array.

    They are read by their position, not mapped into memory: pages of the file belong to the
    system, not to the process. Threads may read at the same time. The file stays open as long as
    the rows exist. `bytes_read` counts what was read so far.
    """

    are_far = True  # a pass over the rows costs more than work on them

    def __init__(
        self, file: BinaryIO, shape: tuple[int, int], dtype: np.dtype[Any], first_byte: int = 0
    ) -> None:
        self._descriptor, self._first_byte = os.dup(file.fileno()), first_byte
        weakref.finalize(self, os.close, self._descriptor)
        self.shape, self.dtype = shape, dtype
        self._row_bytes = shape[1] * dtype.itemsize
        self.bytes_read, self._lock = 0, threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.shape[0] * self._row_bytes

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Array:
        n = self.shape[0]
        if isinstance(rows, slice):
            start, stop, step = rows.indices(n)
            if step == 1:
                return self._read(start, max(start, stop))
            return self._gather(np.arange(start, stop, step))
        index = np.asarray(rows)
        if index.ndim == 0:
            i = range(n)[int(index)]
            return np.asarray(self._read(i, i + 1)[0])
        index = np.flatnonzero(index) if index.dtype == bool else index
        return self._gather(np.where(index < 0, index + n, index))

    def _read(self, start: int, stop: int) -> Array:
        out = np.empty((stop - start, self.shape[1]), self.dtype)
        if out.size == 0:
            return out
        self._read_into(out, start)
        self._prefetch(stop, 2 * stop - start)
        return out

    def _gather(self, index: Ints) -> Array:
        """Read some rows in the order of the file, neighbours at once, through small gaps."""
        if index.size and not 0 <= index.min() <= index.max() < self.shape[0]:
            raise IndexError(f"rows must be from 0 to {self.shape[0] - 1}, got {index.max()}")
        if index.size == 0:
            return np.empty((0, self.shape[1]), self.dtype)
        wanted, place = index, None
        if not (np.diff(index) > 0).all():
            wanted, place = np.unique(index, return_inverse=True)
        out = np.empty((len(wanted), self.shape[1]), self.dtype)
        for start, stop in self._runs(wanted):
            first, last = int(wanted[start]), int(wanted[stop - 1])
            if last - first == stop - 1 - start:
                self._read_into(out[start:stop], first)
            else:
                span = np.empty((last + 1 - first, self.shape[1]), self.dtype)
                self._read_into(span, first)
                out[start:stop] = span[wanted[start:stop] - first]
        return out if place is None else out[place]

    def _runs(self, wanted: Ints) -> Iterator[tuple[int, int]]:
        """Yield the ranges of ascending rows that are read at once."""
        max_step = 1 + MAX_GAP_BYTES // max(1, self._row_bytes)
        step = np.diff(wanted)
        ends = [*(np.flatnonzero(step > max_step) + 1).tolist(), len(wanted)]
        max_rows = max(1, MAX_SPAN_BYTES // max(1, self._row_bytes))
        start = 0
        for end in ends:
            while start < end:
                if wanted[end - 1] - wanted[start] == end - 1 - start:
                    stop = end  # no gaps
                else:
                    stop = int(np.searchsorted(wanted[:end], wanted[start] + max_rows))
                yield start, stop
                start = stop

    def _read_into(self, out: Array, first_row: int) -> None:
        view = memoryview(out.reshape(-1).view(np.uint8).data)
        position, done = self._first_byte + first_row * self._row_bytes, 0
        while done < len(view):
            got = self._read_at(position + done, view[done : done + MAX_READ_BYTES])
            if got == 0:
                raise TableError("The file of the rows became shorter while it was read.")
            done += got
        with self._lock:
            self.bytes_read += done

    def _read_at(self, position: int, out: memoryview) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._descriptor, [out], position)
        with _ONE_READER:  # where reading moves the position, which all threads share
            os.lseek(self._descriptor, position, os.SEEK_SET)
            read = os.read(self._descriptor, len(out))
        out[: len(read)] = read
        return len(read)

    def _prefetch(self, start: int, stop: int) -> None:
        """Let the system read some rows ahead, while others are worked on."""
        if hasattr(os, "posix_fadvise") and start < self.shape[0]:
            first = self._first_byte + start * self._row_bytes
            length = (stop - start) * self._row_bytes
            os.posix_fadvise(self._descriptor, first, length, os.POSIX_FADV_WILLNEED)
