"""Cut rows into blocks, and share blocks among threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import LongSums, exact_totals
from partita._common.row_squares import row_squares
from partita._common.threads import Workers
from partita._kernels import compiled
from partita.moments import Moments
from partita.source.protocol import Source
from partita.stats import ClusterStats

BLOCKS_PER_THREAD = 4  # at least, so that no thread waits long for another
ALIGN = 256  # rows: blocks start at multiples of a leaf of the seeding
# Multiply-adds in a block: some hundredths of a second, so that Ctrl-C is handled.
MAX_BLOCK_WORK = 1 << (29 if compiled() else 24)
MIN_THREADED_WORK = 1 << 21  # multiply-adds: below, a second thread costs more than it saves
MIN_CREW_WORK = 1 << 20  # the same for the threads of a crew
MIN_AWAKE_CREW_WORK = 1 << 18  # the same for one of many passes: it is started once
CREW_BLOCKS_PER_THREAD = 4  # that a crew shares in one call
LONG_SUM_VALUES = 1 << 18  # read at a time for long sums
LONG_SUMS = 1 << 16  # kept at a time: 70 MB
CONVERTED_BYTES = 1 << 20  # of rows that a thread converts at a time: they stay in its cache

RunBlock = Callable[[slice, Array], None]  # (which rows, their values)


def block_rows(work_per_row: int) -> int:
    """Number of rows in a block, given the multiply-adds of a row."""
    rows = MAX_BLOCK_WORK // max(1, work_per_row)
    return max(ALIGN, min(1 << 16, rows // ALIGN * ALIGN))


def converted_rows(d: int, dtype: np.dtype[Any]) -> int:
    """Number of rows that a thread converts at a time: at least one leaf of the seeding."""
    return max(ALIGN, CONVERTED_BYTES // (d * dtype.itemsize) // ALIGN * ALIGN)


def split_slice(rows: slice, step: int) -> Iterator[slice]:
    """Cut consecutive rows into slices of `step` rows."""
    for i in range(rows.start, rows.stop, step):
        yield slice(i, min(i + step, rows.stop))


def is_small(n: int, work_per_row: int) -> bool:
    """Return whether one call by one thread is the fastest."""
    return n * work_per_row < MIN_THREADED_WORK


def work_in_tiles(k: int, d: int) -> int:
    """Work of a row compared with k centers in the tiles, where a multiply-add is cheap."""
    return max(d, k * d // 4)


def walk_blocks(
    workers: Workers, n: int, work_per_row: int, begin: Callable[[], Callable[[slice], None]]
) -> None:
    """Cut n rows into blocks and share them among threads; each thread calls begin() once.

    Blocks start at multiples of `ALIGN` for any number of threads.
    """
    if is_small(n, work_per_row):
        begin()(slice(0, n))
        return
    step = block_rows(work_per_row)
    if workers.n > 1:
        step = max(ALIGN, min(step, -(-n // (BLOCKS_PER_THREAD * workers.n * ALIGN)) * ALIGN))

    def work(numbers: Iterator[int]) -> None:
        run = begin()
        for number in numbers:
            run(slice(number * step, min(n, (number + 1) * step)))

    workers.share(-(-n // step), work)


def add_up_blocks(
    walk: Callable[[Callable[[], Callable[..., None]]], None],
    run: Callable[..., None],
    moments: Moments | None,
    threaded: bool,
) -> None:
    """Call run(*block, moments) for all blocks of a walk; each thread has moments of its own."""
    if moments is None or not threaded:
        walk(lambda: lambda *block: run(*block, moments))
        return
    parts: list[Moments] = []

    def begin() -> Callable[..., None]:
        part = Moments.zero(len(moments.hi), moments.grid)
        parts.append(part)
        return lambda *block: run(*block, part)

    walk(begin)
    for part in parts:
        moments.add(part)


def lower_where_nearer(closest: Floats, labels: Ints, distance: Floats, others: Ints) -> None:
    """Replace, in place, distances and labels of rows that are nearer to others."""
    nearer = distance < closest
    np.copyto(labels, others, where=nearer)
    np.copyto(closest, distance, where=nearer)


def crew_slices(workers: Workers, n: int, work_per_row: int) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of one call after the other, and the crew to share them (None: too few)."""
    if n * work_per_row < (MIN_AWAKE_CREW_WORK if workers.many_passes else MIN_CREW_WORK):
        yield slice(0, n), None
        return
    step = CREW_BLOCKS_PER_THREAD * workers.n * block_rows(work_per_row)
    for i in range(0, n, step):
        yield slice(i, min(n, i + step)), workers.crew


def stats_by_long_sums(source: Source, labels: Ints, k: int, origin: Floats) -> ClusterStats:
    """Summaries by sums of long integers, means relative to `origin`.

    For data or weights so unequal that no grid holds them all. Slower, and from scratch in every
    pass, but as independent of order, blocks and threads as sums on a grid.
    """
    n, d, weight = source.n, source.d, source.weights.as_floats(source.n)
    label = np.maximum(labels, 0)  # rows without a label have no weight
    mass, mean, square = exact_totals(weight, label, k), np.empty((k, d)), np.zeros(n)
    step = max(1, min(1 << 16, LONG_SUM_VALUES // d))

    def blocks() -> Iterator[tuple[slice, Floats]]:
        for i in range(0, n, step):
            rows = np.arange(i, min(n, i + step))
            yield slice(i, i + step), source.take_rows(rows) - origin

    width = max(1, LONG_SUMS // k)
    for first in range(0, d, width):
        features = slice(first, first + width)
        sums = LongSums(k, min(width, d - first))
        for rows, y in blocks():
            sums.add(y[:, features], label[rows], weight[rows])
        mean[:, features] = sums.totals()
    np.divide(mean, mass[:, None], out=mean, where=mass[:, None] > 0)
    with np.errstate(over="ignore"):
        for rows, y in blocks():
            square[rows] = row_squares(y - mean[label[rows]])
    return ClusterStats(mass, mean, exact_totals(square, label, k, weight))


def kernel_type(dtype: Any) -> np.dtype[Any]:
    """The type in which kernels read values of a dtype: float32 if it holds them exactly."""
    return np.dtype(np.float32 if dtype in (np.float32, np.float16, np.uint8) else np.float64)


def as_kernel_type(block: Array) -> Array:
    """Convert a block for the kernels: float32 or float64, rows one after the other."""
    return np.ascontiguousarray(block, dtype=kernel_type(block.dtype))
