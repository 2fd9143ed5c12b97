"""What every place of data offers the engine, and the walk over blocks that they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from partita._kernels import kernels
from partita._threads import Workers
from partita._typing import Array, Floats, Ints
from partita.progress import Centers
from partita.stats import ClusterStats, Grid, Moments
from partita.weights import Weights

ALIGN = 512  # rows: a multiple of every kernel's block and of the seeding leaf
_WORK = 1 << 27  # multiply-adds in a block: some milliseconds, so that Ctrl-C and balance are fine
_INLINE = 1 << 21  # below this a second thread costs more than it brings


@dataclass(frozen=True, slots=True)
class Survey:
    """The first look at the data: the grid for its sums, and its summary as one cluster."""

    grid: Grid
    whole: ClusterStats  # one cluster, mean in the coordinates of the data


@dataclass(frozen=True, slots=True)
class Assigned:
    """What one pass over the rows did."""

    moved: int
    rechecked: int


class Source(Protocol):
    """Rows that can be summarised, labelled and picked from; the loop knows no more about them."""

    n: int
    d: int
    dtype: np.dtype[Any]  # of the centers that go back to the user
    weights: Weights

    def survey(self) -> Survey:
        """Extent, origin and total of the data."""

    def assign(
        self, centers: Centers, labels: Ints, moments: Moments | None, expected: int | None = None
    ) -> Assigned:
        """Label every row in place; bring `moments` up to date with the changes.

        `expected` says how many rows will probably move (None: no idea).
        """

    def move(self, rows: Ints, to: Ints, labels: Ints, moments: Moments) -> None:
        """Move a few rows to other clusters, in the labels and in the moments."""

    def own_distances(self, centers: Centers, labels: Ints) -> Floats:
        """D64 (n,) of every row to the center of its label."""

    def ordered_stats(self, labels: Ints, k: int, origin: Floats) -> ClusterStats:
        """Summaries by float sums in the order of the rows."""

    def take(self, rows: Ints) -> Floats:
        """Some rows, dense, as doubles."""

    def box(self) -> tuple[Floats, Floats]:
        """Lowest and highest value (d,) of each feature, over rows of weight."""

    def seed_at_once(self, k: int, trials: int, uniform: Floats) -> Ints | None:
        """The rows that k-means++ chooses, if the data is small enough for one call."""

    def far_away(self) -> Floats:
        """Infinity (n,), in the type that seeding distances have."""

    def distances_to(self, candidates: Floats, closest: Floats, update: bool) -> Floats:
        """Seeding: Σ w·min(closest, distance) for each leaf of 256 rows and each candidate."""


def block_rows(work_per_row: int) -> int:
    """How many rows make a block, given the multiply-adds that each costs."""
    rows = _WORK // max(1, work_per_row)
    return max(ALIGN, min(1 << 16, rows // ALIGN * ALIGN))


def is_small(n: int, work_per_row: int) -> bool:
    """Whether one call by one thread is the fastest way."""
    return n * work_per_row < _INLINE


def walk(
    workers: Workers,
    n: int,
    work_per_row: int,
    begin: Callable[[], Callable[[slice], None]],
) -> None:
    """Cut n rows into blocks and share them among threads; each thread calls begin() once.

    Blocks begin at multiples of `ALIGN` whatever the number of threads.
    """
    if is_small(n, work_per_row):
        begin()(slice(0, n))
        return
    step = block_rows(work_per_row)
    if workers.n > 1:
        step = max(ALIGN, min(step, -(-n // (8 * workers.n * ALIGN)) * ALIGN))

    def work(numbers: Iterator[int]) -> None:
        run = begin()
        for number in numbers:
            run(slice(number * step, min(n, (number + 1) * step)))

    workers.share(-(-n // step), work)


def exact_total(values: Floats) -> float:
    """Σ of doubles, rounded once: the same bits in any order, for any blocks."""
    if not np.isfinite(values).all():
        return float(np.sum(values))
    if len(values) < 4096:
        return math.fsum(values.tolist())
    digits = np.zeros(68, np.int64)
    kernels.exact_sum(values, digits)
    whole = sum(int(digit) << (32 * place) for place, digit in enumerate(digits))
    return whole / (1 << 1088)


def survey_from(
    low: Floats, high: Floats, weights: Weights, sum_up: Callable[[Moments], None], centred: bool
) -> Survey:
    """Origin and grid from the extent of the data and one exact total of it.

    The origin is the mean, rounded to a coarse step above the lowest value: near the data, and
    moved along exactly when the data is moved. Sparse data keeps the origin 0.
    """
    # Next to the largest doubles a difference would overflow; there the origin stays 0 too.
    centred = centred and float(low.min()) > -1e307 and float(high.max()) < 1e307
    first = low if centred else np.zeros_like(low)
    grid = Grid.of_extent(low, high, first, weights)
    moments = Moments.zero(1, grid)
    sum_up(moments)
    whole = moments.stats()
    if centred:
        step = np.ldexp(1.0, np.maximum(np.frexp(high - first)[1] - 6, -1060))
        origin = first + step * np.rint(whole.mean[0] / step)
        grid = Grid.of_extent(low, high, origin, weights)
    return Survey(grid, whole.moved(first))


def ordered_stats(
    blocks: Iterator[tuple[slice, Floats]], weight: Floats, labels: Ints, k: int, d: int
) -> ClusterStats:
    """Summaries by plain float sums in the order of the rows.

    For weights so unequal that no integer grid holds them all. Slower, and every pass anew, but
    still the same bits for any number of threads.
    """
    parts = list(blocks)
    total, mean, sse = np.zeros(k), np.zeros((k, d)), np.zeros(k)
    np.add.at(total, labels, weight)
    for rows, y in parts:
        np.add.at(mean, labels[rows], weight[rows, None] * y)
    np.divide(mean, total[:, None], out=mean, where=total[:, None] > 0)
    for rows, y in parts:
        gap = y - mean[labels[rows]]
        np.add.at(sse, labels[rows], weight[rows] * np.einsum("nd,nd->n", gap, gap))
    return ClusterStats(total, mean, sse)


def as_kernel_type(block: Array) -> Array:
    """A block the kernels take as it is: float32 or float64, rows one after the other."""
    single = block.dtype in (np.float32, np.float16, np.uint8)
    return np.ascontiguousarray(block, dtype=np.float32 if single else np.float64)
