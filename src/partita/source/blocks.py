"""What every place of data offers the engine, and the walk over blocks that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita._kernels import compiled
from partita.centers import Centers
from partita.moments import Moments
from partita.source.survey import Survey
from partita.stats import ClusterStats
from partita.weights import Weights

PARTS = 4  # blocks for each thread: enough that none waits long for another
ALIGN = 256  # rows: the seeding leaf
# Multiply-adds in a block: some hundredths of a second, so that Ctrl-C is heard.
_WORK = 1 << (29 if compiled() else 24)
_INLINE = 1 << 21  # below this a second thread costs more than it brings
_AT_ONCE = 1 << 18  # and a thread of a crew, which is awake
_STRETCH = 4  # blocks of each thread that a crew shares in one call
PAIR = 0.07, 0.0125  # nanoseconds of a pair in the tiles: once, and per feature


@dataclass(frozen=True, slots=True)
class Assigned:
    """What one pass over the rows did."""

    moved: int
    rechecked: int


@dataclass(frozen=True, slots=True)
class Pruned:
    """What one pruned pass did."""

    moved: int
    measured: int  # rows that were looked at: by bounds, measured to their own center
    met: int  # rows that met other centers
    scanned: int  # pairs of rows and centers that met
    candidates: int  # what that left open: pairs by bounds, rows by leaves


class Seeding(Protocol):
    """The state of k-means++: how far every row is from the nearest chosen one."""

    def at_once(self, j: int, uniform: Floats, which: Ints) -> bool:
        """Run all rounds from the j-th and say which rows were chosen, if they are short enough."""

    def draw(self, uniform: Floats) -> Ints:
        """Rows in proportion to weight times squared distance; at first to weight."""

    def gains(self, rows: Floats) -> Floats:
        """How much each of some candidates (count, d) would lower the sum of these."""

    def choose(self, which: int) -> None:
        """Make one of the candidates a chosen row."""


class Source(Protocol):
    """Rows that can be summarised, labelled and picked from; the loop knows no more about them."""

    n: int
    d: int
    dtype: np.dtype[Any]  # of the centers that go back to the user
    weights: Weights
    workers: Workers
    dense: bool  # whether it is a DenseSource
    in_place: bool  # whether the kernels read the rows where they are
    spare: float  # bytes it may take to keep rows as the kernels take them

    def survey(self) -> Survey:
        """Extent, origin and total of the data."""

    def survey_from_sample(self, rows: Ints) -> None:
        """A survey that takes the mean and the spread of some rows for those of all."""

    def assign(self, centers: Centers, labels: Ints, moments: Moments | None) -> Assigned:
        """Label every row in place; bring `moments` up to date with the changes."""

    def move(self, rows: Ints, to: Ints, labels: Ints, moments: Moments) -> None:
        """Move a few rows to other clusters, in the labels and in the moments."""

    def own_distances(self, centers: Centers, labels: Ints) -> Floats:
        """D64 (n,) of every row to the center of its label."""

    def ordered_stats(self, labels: Ints, k: int, origin: Floats) -> ClusterStats:
        """Summaries by float sums in the order of the rows."""

    def take_rows(self, rows: Ints) -> Floats:
        """Some rows, dense, as doubles."""

    def subset(self, rows: Ints, weight: Floats | None = None) -> Source:
        """A source of some of the rows, with weights of their own (or none)."""

    def part(self, rows: Ints) -> Source:
        """A source of some of the rows with their weights, on the grid of all."""

    def box(self) -> tuple[Floats, Floats]:
        """Lowest and highest value (d,) of each feature, over rows of weight."""

    def seeding(self, k: int, trials: int) -> Seeding:
        """The state of k-means++ before the first row is chosen."""


class DenseSource(Source, Protocol):
    """What pruned passes need: see engine/."""

    def assign_bounded(
        self, centers: Centers, bounds: Any, labels: Ints, moments: Moments | None
    ) -> Pruned:
        """As `assign`, by bounds, which are brought up to date."""

    def assign_leaves(
        self, leaves: Any, centers: Centers, moved: Ints, moments: Moments | None
    ) -> Pruned:
        """As `assign`, by the leaves of a tree; labels are those of the leaves."""

    def subset(self, rows: Ints, weight: Floats | None = None) -> DenseSource:
        """A source of some of the rows, with weights of their own (or none)."""

    def plant(self, origin: Floats, scale: float) -> Any:
        """A k-d tree over the rows (x − origin)·scale."""

    def project(self, origin: Floats, basis: Floats) -> Floats:
        """(y', ‖y − Qy'‖) of every row y = x − origin, with Q the basis and y' = Qᵀy."""


def block_rows(work_per_row: int) -> int:
    """How many rows make a block, given the multiply-adds that each costs."""
    rows = _WORK // max(1, work_per_row)
    return max(ALIGN, min(1 << 16, rows // ALIGN * ALIGN))


def is_small(n: int, work_per_row: int) -> bool:
    """Whether one call by one thread is the fastest way."""
    return n * work_per_row < _INLINE


def tile_work(k: int, d: int) -> int:
    """The work of a row that meets k centers in the tiles, where a multiply-add is cheap."""
    return max(d, k * d // 4)


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
        step = max(ALIGN, min(step, -(-n // (PARTS * workers.n * ALIGN)) * ALIGN))

    def work(numbers: Iterator[int]) -> None:
        run = begin()
        for number in numbers:
            run(slice(number * step, min(n, (number + 1) * step)))

    workers.share(-(-n // step), work)


def reduce_blocks(
    workers: Workers,
    n: int,
    work_per_row: int,
    moments: Moments | None,
    run: Callable[[slice, Any], None],
) -> None:
    """Call run(rows, sums) for all blocks; each thread has sums of its own, added up at the end."""
    own: list[Moments] = []
    alone = workers.n == 1 or is_small(n, work_per_row)

    def begin() -> Callable[[slice], None]:
        if moments is None or alone:
            return lambda rows: run(rows, moments)
        mine = Moments.zero(len(moments.hi), moments.grid)
        own.append(mine)
        return lambda rows: run(rows, mine)

    walk(workers, n, work_per_row, begin)
    if moments is not None:
        for each in own:
            moments.add(each)


def stretches(workers: Workers, n: int, work_per_row: int) -> Iterator[tuple[slice, Any]]:
    """The rows of one call after the other, each with the crew to share them (None: too few)."""
    if n * work_per_row < _AT_ONCE:
        yield slice(0, n), None
        return
    step = _STRETCH * workers.n * block_rows(work_per_row)
    for i in range(0, n, step):
        yield slice(i, min(n, i + step)), workers.crew


def ordered_stats(
    blocks: Callable[[], Iterator[tuple[slice, Floats]]],
    weight: Floats,
    labels: Ints,
    k: int,
    d: int,
) -> ClusterStats:
    """Summaries by plain float sums in the order of the rows.

    For data or weights so unequal that no integer grid holds them all. Slower, and every pass anew,
    but still the same bits for any number of threads.
    """
    mass, mean, sse = np.zeros(k), np.zeros((k, d)), np.zeros(k)
    np.add.at(mass, labels, weight)
    for rows, y in blocks():
        np.add.at(mean, labels[rows], weight[rows, None] * y)
    np.divide(mean, mass[:, None], out=mean, where=mass[:, None] > 0)
    with np.errstate(over="ignore"):
        for rows, y in blocks():
            gap = y - mean[labels[rows]]
            np.add.at(sse, labels[rows], weight[rows] * np.einsum("nd,nd->n", gap, gap))
    return ClusterStats(mass, mean, sse)


def as_kernel_type(block: Array) -> Array:
    """A block the kernels take as it is: float32 or float64, rows one after the other."""
    single = block.dtype in (np.float32, np.float16, np.uint8)
    return np.ascontiguousarray(block, dtype=np.float32 if single else np.float64)
