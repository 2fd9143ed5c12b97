"""The kernels of sparse rows in NumPy: labels are the argmin of D64."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.assignment import Codebook, assign, own_distance
from partita._kernels.exact_sums import Sums, move_rows
from partita._kernels.twofold import Twofold, add, quiet, two_prod

DENSE_VALUES = 1 << 20  # of rows that are made dense at a time
# Twofold sums have the same bits with fused operations and without, within these bounds.
MIN_TWOFOLD_SQUARE, MAX_TWOFOLD_SQUARE = 2.0**-900, 2.0**990
MIN_TWOFOLD_PRODUCT = 2.0**-960  # below it, the rounding error is left out
MIN_TWOFOLD_SHARE = 2.0**-40  # of ‖c‖²: below it, too many digits cancel
MIN_SEED_SHARE = 1e-6  # of the squared lengths: the same in plain doubles


@dataclass(frozen=True)
class SparseCodebook:
    """Centers (k, d) for sparse rows of at most `longest` stored values; without an origin."""

    centers: Floats
    longest: int


SparseCodebook32 = SparseCodebook64 = SparseCodebook


@dataclass(frozen=True)
class Csr:
    """Rows in compressed sparse form; `start` may begin anywhere in `column` and `value`."""

    start: Ints
    column: Ints
    value: Floats
    d: int

    def __post_init__(self) -> None:
        if len(self.start) == 0 or (np.diff(self.start) < 0).any():
            raise ValueError("csr: start must not decrease")
        used = self.column[self.start[0] : self.start[-1]]
        if used.size and not (used.min() >= 0 and used.max() < self.d):
            raise ValueError("csr: a column index is out of range")

    def dense(self, rows: Ints) -> Floats:
        """Return some rows as a dense array of doubles."""
        count = np.diff(self.start)[rows]
        which = np.repeat(np.arange(len(rows)), count)
        place = np.arange(count.sum()) + np.repeat(
            self.start[rows] - np.cumsum(count) + count, count
        )
        out = np.zeros((len(rows), self.d))
        out[which, self.column[place]] = self.value[place]
        return out

    def dense_blocks(self, rows: Ints | None = None) -> Iterator[tuple[Ints, Floats]]:
        """Yield all rows, or some, a few at a time: their indices and dense values."""
        rows = np.arange(len(self.start) - 1) if rows is None else rows
        step = max(1, DENSE_VALUES // self.d)
        for i in range(0, len(rows), step):
            yield rows[i : i + step], self.dense(rows[i : i + step])

    def stored(self) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yield the first stored value of all rows that have one, then the second, and so on.

        Indices of these rows, columns, and values as doubles.
        """
        count = np.diff(self.start)
        for p in range(count.max(initial=0)):
            rows = np.flatnonzero(count > p)
            place = self.start[rows] + p
            yield rows, self.column[place], self.value[place].astype(np.float64)


Csr32 = Csr64 = Csr


def _of(values: Any, rows: Ints) -> Any:
    return None if values is None else values[rows]


def assign_sparse(
    book: SparseCodebook,
    rows: Csr,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
) -> tuple[int, int]:
    """`assign` for sparse rows."""
    dense, moved = Codebook(book.centers, np.zeros(rows.d)), 0
    for which, block in rows.dense_blocks():
        label = labels[which]
        moved += assign(dense, block, label, sums, _of(times, which), _of(weight, which))[0]
        labels[which] = label
    return moved, 0


def move_sparse(
    sums: Sums,
    rows: Csr,
    before: Ints,
    after: Ints,
    times: Ints | None = None,
    weight: Floats | None = None,
) -> None:
    """`move_rows` for sparse rows."""
    for which, block in rows.dense_blocks():
        weights = _of(times, which), _of(weight, which)
        move_rows(sums, block, before[which], after[which], *weights)


def _product(a: Floats, b: Floats) -> Twofold:
    head, tail = two_prod(a, b)
    return head, np.where(np.abs(head) < MIN_TWOFOLD_PRODUCT, 0.0, tail)


@quiet
def square_norms(centers: Floats, out: Floats) -> None:
    """Set out (k, 2) to the head and tail of ‖c‖² of each center."""
    total: Twofold = (np.zeros(len(centers)), np.zeros(len(centers)))
    for t in range(centers.shape[1]):
        total = add(total, _product(centers[:, t], centers[:, t]))
    out[:, 0], out[:, 1] = total


@quiet
def own_distance_sparse(
    rows: Csr, centers: Floats, squares: Floats, labels: Ints, out: Floats
) -> None:
    """Set out_i to ‖x_i − centers[label_i]‖², from stored values and `square_norms`.

    It is ‖c‖² + Σ x² − 2·x·c in twofold arithmetic, rounded once. If even that cancels, D64.
    """
    head, tail = squares[labels].T.copy()
    for which, column, x in rows.stored():
        c = centers[labels[which], column]
        term = add(_product(x, x), _product(-2.0 * x, c))
        head[which], tail[which] = add((head[which], tail[which]), term)
    norm = squares[labels, 0]
    in_range = (head > MIN_TWOFOLD_SQUARE) & (head < MAX_TWOFOLD_SQUARE)
    clear = in_range & (norm < MAX_TWOFOLD_SQUARE) & (head > MIN_TWOFOLD_SHARE * norm)
    out[:] = head
    for which, block in rows.dense_blocks(np.flatnonzero(~clear)):
        distance = np.empty(len(which))
        own_distance(block, centers, np.zeros(rows.d), labels[which], distance)
        out[which] = distance


@quiet
def square_lengths(rows: Csr, scale: float, out: Floats) -> None:
    """Set out_i to ‖x_i·scale‖², stored values in order: D64 of dense rows to 0."""
    out[:] = 0.0
    for which, _, x in rows.stored():
        y = x * scale
        out[which] += y * y


@quiet
def seed_distances_sparse(
    rows: Csr,
    scale: float,
    squares: Floats,
    candidates: Csr,
    by_feature: Floats,
    lengths: Floats,
    out: Floats,
) -> None:
    """Set out (n, m) to squared distances of scaled rows to m candidates of k-means++.

    They are ‖x‖² + ‖c‖² − 2·x·c with stored values in order. Where that cancels, by differences: a
    duplicate is at exactly 0. `by_feature` (d, m) holds the candidates too, `lengths` their squared
    lengths.
    """
    inner = np.zeros_like(out)
    for which, column, x in rows.stored():
        inner[which] += (x * scale)[:, None] * by_feature[column]
    both = squares[:, None] + lengths
    out[:] = both - 2.0 * inner
    close = ~(out > MIN_SEED_SHARE * both)
    for which, block in rows.dense_blocks(np.flatnonzero(close.any(axis=1))):
        for j in range(len(lengths)):
            distance = np.zeros(len(which))
            for t in range(rows.d):
                gap = block[:, t] * scale - by_feature[t, j]
                distance += gap * gap
            out[which, j] = np.where(close[which, j], distance, out[which, j])
