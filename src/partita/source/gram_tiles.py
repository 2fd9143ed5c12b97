"""Pairs of rows under a kernel, tile by tile: all pairs, or those of some rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers
from partita.source.callable_kernel import takes_blocks
from partita.source.kernel_function import KernelFunction
from partita.source.kernel_rows import KernelRows

TILE_ROWS = 512  # and columns, a multiple of 64: a tile stays in cache
STRIP_COLUMNS = 64  # transposed at once, so that writes stay in cache


def gram_matrix(kernel: KernelFunction, rows: KernelRows, workers: Workers) -> Floats:
    """Return the closeness (n, n) of all pairs of rows, each computed once."""
    n = len(rows)
    out = np.empty((n, n))
    starts, mirrored = range(0, n, TILE_ROWS), not takes_blocks(kernel.metric)
    tiles = [(i, j) for i in starts for j in starts if i <= j or not mirrored]

    def fill(number: int) -> None:
        i, j = tiles[number]
        here, there = slice(i, i + TILE_ROWS), slice(j, j + TILE_ROWS)
        tile, some = out[here, there], rows.part(here)
        tile[:] = kernel.closeness(some, some if i == j else rows.part(there))
        if i == j or not mirrored:
            return
        for first in range(0, len(tile), STRIP_COLUMNS):
            strip = tile[first : first + STRIP_COLUMNS]
            out[there, i + first : i + first + len(strip)] = strip.T

    share_tiles(workers, len(tiles), fill)
    return out


def gram_rows(kernel: KernelFunction, which: Ints, rows: KernelRows, workers: Workers) -> Floats:
    """Return the closeness (m, n) of some rows to all, with the bits of `gram_matrix`."""
    return closeness_to(kernel, rows.take(which), rows, workers)


def closeness_to(
    kernel: KernelFunction, a: KernelRows, rows: KernelRows, workers: Workers | None = None
) -> Floats:
    """Return the closeness (len(a), n) of rows `a` to all; without workers in this thread."""
    n, m = len(rows), len(a)
    out = np.empty((m, n))
    tiles = [(i, j) for i in range(0, m, TILE_ROWS) for j in range(0, n, TILE_ROWS)]

    def fill(number: int) -> None:
        i, j = tiles[number]
        few = a if m <= TILE_ROWS else a.part(slice(i, i + TILE_ROWS))
        columns = slice(j, j + TILE_ROWS)
        out[i : i + len(few), columns] = kernel.closeness(few, rows.part(columns))

    share_tiles(workers, len(tiles), fill)
    return out


def share_tiles(workers: Workers | None, count: int, fill: Callable[[int], None]) -> None:
    """Call fill(number) for every tile, in several threads."""
    if workers is None:
        for number in range(count):
            fill(number)
        return

    def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            fill(number)

    workers.share(count, work)


def is_symmetric(kernel: KernelFunction, X: Any) -> bool:
    """Return whether a callable gives k(a, b) = k(b, a) on a few rows."""
    rows = X[evenly_spaced(X.shape[0], 8)]
    forward, backward = kernel.between(rows, rows[::-1]), kernel.between(rows[::-1], rows)
    gap = np.abs(forward - backward.T).max()
    return bool(gap <= 1e-8 * np.abs(forward).max())
