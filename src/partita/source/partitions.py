"""Partitions: rows in several places, worked on where they are.

An engine (Dask, Spark, a loop over a list) implements `Partitions`: it calls tasks beside the rows
and returns what they return. All else of a fit is written once, over this protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._kernels.weighted_draws import LEAF_ROWS

T = TypeVar("T")

KERNEL_READABLE = ("float32", "float64", "float16", "uint8")  # without a copy of all rows


@dataclass(frozen=True, slots=True)
class Part:
    """One partition, as a task sees it."""

    rows: Array  # (m, d), m > 0
    weight: Floats | None  # (m,)
    start: int  # the number of its first row among all
    # What earlier tasks left here. An engine may lose it at any time: a task derives it again.
    state: dict[str, Any] = field(default_factory=dict)

    def own(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return which of some row numbers are here: their places in `rows`, and in the part."""
        here = np.flatnonzero((rows >= self.start) & (rows < self.start + len(self.rows)))
        return here, rows[here] - self.start


Task = Callable[[Part], T]  # of a type that can be pickled


class Partitions(Protocol):
    """An engine: rows (n, d) in partitions, and a place for state beside each.

    Partitions begin at multiples of `LEAF_ROWS` rows and none is empty (see `aligned_pieces`), so
    that the sums of k-means++ are those of one array.
    """

    starts: Ints  # (count + 1,) first row of every partition, and the number of rows
    d: int
    dtype: np.dtype[Any]
    weighted: bool
    table: Any  # the rows as the user knows them, with a shape: a start may be a function of them
    names: Any  # (d,) of the features; None if they have no names

    def run(self, task: Task[T], which: Sequence[int] | None = None) -> list[T]:
        """Call the task beside all partitions, or some, in any order; return the results in order.

        A task may be called again for the same partition, here or elsewhere.
        """

    def total(self, task: Task[T], add: Callable[[Any, Any], Any]) -> T:
        """Call the task beside all partitions; add up the results, in any order."""

    def map_rows(self, function: Callable[[Array], Array], columns: int | None, dtype: Any) -> Any:
        """Return function(rows) of all rows, in the engine's own type and order of X; may be lazy.

        A row becomes one number, or `columns` numbers, of `dtype`.
        """

    def close(self) -> None:
        """Release all state."""


def aligned_pieces(sizes: Sequence[int]) -> Iterator[list[tuple[int, slice]]]:
    """Cut blocks of any sizes into partitions that begin at multiples of `LEAF_ROWS` rows.

    A partition is a list of (block, rows of it): all of one block but its first rows, which the
    partition before has borrowed, and the first rows of those that follow.

    >>> list(aligned_pieces([300, 0, 5, 300]))
    [[(0, slice(0, 300, None)), (2, slice(0, 5, None)), (3, slice(0, 207, None))], \
[(3, slice(207, 300, None))]]
    """
    first = np.cumsum([0, *sizes])
    n = int(first[-1])
    begins = np.unique(np.minimum(-(-first // LEAF_ROWS) * LEAF_ROWS, n))
    for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        pieces = []
        for block in range(int(np.searchsorted(first, begin, side="right")) - 1, len(sizes)):
            low, high = max(begin, int(first[block])), min(end, int(first[block + 1]))
            if low < high:
                pieces.append((block, slice(low - int(first[block]), high - int(first[block]))))
            if high >= end:
                break
        yield pieces


def aligned_sizes(sizes: Sequence[int]) -> list[int]:
    """Return the numbers of rows of `aligned_pieces`."""
    return [sum(rows.stop - rows.start for _, rows in part) for part in aligned_pieces(sizes)]


def readable_rows(block: Array) -> Array:
    """Return rows of a partition in a type and order that kernels read, as a fit in memory does."""
    rows = np.asarray(block)
    dtype = rows.dtype if rows.dtype.name in KERNEL_READABLE else np.dtype(np.float64)
    return np.ascontiguousarray(rows, dtype=dtype)
