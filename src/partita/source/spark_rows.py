"""Rows of a Spark dataframe beside the Python processes of its executors.

A partition of the dataframe is read once and becomes a file in the executor's own folder, which all
its Python processes map into memory: Spark sends a task to any of them. The file goes with the
executor; then Spark computes the partition again, and a hash tells if it has other rows.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats
from partita._kernels.weighted_draws import LEAF_ROWS
from partita.source.partitions import Part

MAX_BORROWED_ROWS = LEAF_ROWS - 1  # by the partition before


def folder_of(fit: str) -> str:
    """Return the folder of a fit on this executor; Spark removes it with the executor."""
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return os.path.join(folders[0] or tempfile.gettempdir(), f"partita-{fit}")


def process_of(fit: str) -> tuple[str, int]:
    """Return a name of this process among those of all executors."""
    return folder_of(fit), os.getpid()


class BlockFacts(NamedTuple):
    """Facts about a block, for the driver: a partition of the dataframe as it was read."""

    block: int  # its number
    rows: int
    shortest: int  # arrays of one length are wanted: the least and the greatest length
    longest: int
    nulls: int  # rows that are null
    digest: str  # a hash of rows and weights
    head: bytes  # the first rows, which the partition before may borrow
    head_weight: bytes


BLOCK_SCHEMA = (
    "block int, rows long, shortest int, longest int, nulls long, digest string, "
    "head binary, head_weight binary"
)


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """Reads a partition of a dataframe to a file; yields its facts, as Arrow."""

    fit: str
    dtype: str
    weighted: bool
    again: int = 0  # how many times before: Spark takes the same function for the same facts

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        facts = self.read(batches, context.partitionId() if context else 0)
        names = BlockFacts._fields
        types = ["int32", "int64", "int32", "int32", "int64", "string", "binary", "binary"]
        arrays = [pyarrow.array([v], kind) for v, kind in zip(facts, types, strict=True)]
        yield pyarrow.RecordBatch.from_arrays(arrays, names)

    def read(self, batches: Iterator[Any], block: int) -> BlockFacts:
        """Write a file of all batches, complete or absent."""
        folder = folder_of(self.fit)
        os.makedirs(folder, exist_ok=True)
        with (
            tempfile.NamedTemporaryFile(dir=folder, delete=False) as rows,
            tempfile.NamedTemporaryFile(dir=folder, delete=False) as weight,
        ):
            written = _Written(rows, weight)
            for batch in batches:
                weights = _numbers(batch.column(1), "float64") if self.weighted else None
                written.add(self._rows(batch.column(0), written), weights)
        path = block_path(folder, block, written.digest.hexdigest())
        os.replace(weight.name, path + ".weight")
        os.replace(rows.name, path)
        return BlockFacts(
            block, written.count, *written.lengths, written.nulls, written.digest.hexdigest(),
            bytes(written.head), bytes(written.head_weight),
        )  # fmt: skip

    def _rows(self, column: Any, written: _Written) -> Array:
        """Return arrays of one length as rows; none if they are not, which the driver will see."""
        import pyarrow.compute

        lengths = pyarrow.compute.list_value_length(column.drop_null()).to_numpy()
        written.nulls += column.null_count
        if len(lengths):
            low, high = written.lengths
            low = int(lengths.min()) if low < 0 else min(low, int(lengths.min()))
            written.lengths = low, max(high, int(lengths.max()))
        low, high = written.lengths
        if written.nulls or low != high or low <= 0:
            return np.empty((0, max(low, 0)), self.dtype)
        return _numbers(column.flatten(), self.dtype).reshape(-1, low)


@dataclass(slots=True)
class _Written:
    """A file that grows, and what is known of it."""

    rows: Any
    weight: Any
    count: int = 0
    lengths: tuple[int, int] = (-1, -1)
    nulls: int = 0
    head: bytearray = field(default_factory=bytearray)
    head_weight: bytearray = field(default_factory=bytearray)
    digest: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=16))

    def add(self, rows: Array, weight: Floats | None) -> None:
        wanted = max(0, MAX_BORROWED_ROWS - self.count)
        self._add(self.rows, rows, self.head, wanted)
        if weight is not None:
            self._add(self.weight, weight, self.head_weight, wanted)
        self.count += len(rows)

    def _add(self, file: BinaryIO, values: Array, head: bytearray, wanted: int) -> None:
        data = np.ascontiguousarray(values).data
        file.write(data)
        self.digest.update(data)
        head += values[:wanted].tobytes()


def _numbers(column: Any, dtype: str) -> Array:
    """Return a column of Arrow as an array; null becomes NaN."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=dtype)


def block_path(folder: str, block: int, digest: str) -> str:
    """Return the file of a block."""
    return os.path.join(folder, f"{block}-{digest}")


class Piece(NamedTuple):
    """A partition of a fit: a block without its first rows, and the first rows of those after."""

    block: int
    digest: str
    skipped: int  # rows that the partition before has borrowed
    rows: int  # of the block, without these
    borrowed: Array  # (b, d)
    borrowed_weight: Floats | None
    start: int

    def open(self, folder: str) -> Part | None:
        """Map the rows into memory; None if this executor does not have them."""
        path = block_path(folder, self.block, self.digest)
        try:
            rows = self._mapped(path, self.borrowed)
            weight = None
            if self.borrowed_weight is not None:
                weight = self._mapped(path + ".weight", self.borrowed_weight)
        except FileNotFoundError:
            return None
        return Part(rows, weight, self.start)

    def _mapped(self, path: str, borrowed: Array) -> Array:
        row_bytes = borrowed.dtype.itemsize * int(np.prod(borrowed.shape[1:]))
        own = self.skipped + self.rows
        if len(borrowed):
            with open(path, "r+b") as file:  # the same bytes, whoever writes them first
                file.seek(own * row_bytes)
                file.write(borrowed.tobytes())
        shape = (self.rows + len(borrowed), *borrowed.shape[1:])
        start = self.skipped * row_bytes
        return np.asarray(np.memmap(path, borrowed.dtype, "r", start, shape))


def remove_folder(fit: str) -> None:
    """Remove the files of a fit from this executor."""
    shutil.rmtree(folder_of(fit), ignore_errors=True)
