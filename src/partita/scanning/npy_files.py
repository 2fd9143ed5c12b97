"""Arrays of numbers in .npy files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.errors import TableError
from partita._common.text import listed, one_line
from partita.scanning.stored_rows import StoredRows

NUMERIC_KINDS = "fiub"  # of dtypes
MAX_BLOCK_BYTES = 1 << 23
MAX_REASON_LENGTH = 200


class NpyFiles:
    """Some columns of two-dimensional arrays, one below the other."""

    def __init__(self, files: Sequence[Path], format: str, columns: Sequence[Any] | None) -> None:
        self._files, self._arrays = files, [_mapped(file) for file in files]
        widths = sorted({array.shape[1] for array in self._arrays})
        if len(widths) > 1:
            raise TableError(
                f"All files must have the same number of columns, got {listed(widths, str)}."
            )
        self.columns = list(range(widths[0])) if columns is None else list(columns)
        wrong = [c for c in self.columns if not isinstance(c, int) or not 0 <= c < widths[0]]
        if wrong:
            raise TableError(
                f"{files[0]} has the columns 0 to {widths[0] - 1}, but not {listed(wrong)}."
            )
        self.dtype = np.result_type(*(array.dtype for array in self._arrays))

    @property
    def n_values(self) -> int:
        """The number of values of all arrays."""
        return sum(array.size for array in self._arrays)

    def stored_rows(self) -> StoredRows | None:
        """Return the rows as they are stored; None if they must be brought into order first."""
        array = self._arrays[0]
        if len(self._arrays) > 1 or not array.flags.c_contiguous:
            return None
        with open(self._files[0], "rb") as file:
            return StoredRows(file, array.shape, array.dtype, array.offset)

    def blocks(self) -> Iterator[Array]:
        """Yield the values of the columns (m, d), in the order of the rows."""
        for array in self._arrays:
            step = max(1, MAX_BLOCK_BYTES // max(1, array.shape[1] * array.itemsize))
            for i in range(0, len(array), step):
                yield np.asarray(array[i : i + step])[:, self.columns]


def _mapped(file: Path) -> Any:
    """Map a file into memory; its pages are read when they are touched."""
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise TableError(f"{file}: {one_line(error, MAX_REASON_LENGTH)}") from error
    if array.ndim != 2 or array.dtype.kind not in NUMERIC_KINDS:
        raise TableError(
            f"{file} must hold a two-dimensional array of numbers, got one of shape {array.shape} "
            f"and type {array.dtype}."
        )
    if array.size == 0:
        raise TableError(f"{file} must have rows and columns, got the shape {array.shape}.")
    return array
