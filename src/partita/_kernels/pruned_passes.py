"""The pruned passes in NumPy: the same labels, without pruning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._kernels.assignment import Codebook, assign, d64
from partita._kernels.byte_tiles import ByteBook, ByteRows, as_floats, score_bounds
from partita._kernels.crew import Crew
from partita._kernels.exact_sums import Sums

MAX_LOWER_BOUND = 65535  # the largest lower bound
UNBOUNDED = 1 << 29  # an upper bound that no lower bound exceeds
LEAVES_PER_NODE = 16
MAX_STALE_QUANTA = (
    32  # quanta a center may move before distances between centers are measured again
)
MAX_TRAVEL_QUANTA = 1 << 14  # travel after which bounds are rewritten


def bounds_stride(groups: int) -> int:
    """Length of a row of bounds: more than four groups are rounded up to a multiple of 8."""
    return groups if groups <= 4 else -(-groups // 8) * 8


@dataclass(frozen=True)
class ExactCenters:
    """Centers (k, d) relative to `origin` (d), for D64."""

    centers: Floats
    origin: Floats


class Motion:
    """Travel of the centers since the bounds were last set, in quanta.

    Of each center, of the farthest in each group, and of the farthest of all; and, with `geometry`,
    lower bounds of the distances between centers.
    """

    def __init__(
        self,
        members: Ints,
        sizes: Ints,
        centers: Floats,
        origin: Floats,
        quantum: float,
        blur: float,
        geometry: bool,
    ) -> None:
        k, groups = len(members), len(sizes)
        stride = bounds_stride(groups)
        self.quantum, self.blur, self._geometry = quantum, blur, geometry
        self._centers, self._origin = centers.copy(), origin.copy()
        self._members, self._heads = members, np.cumsum(sizes) - sizes
        self.group = np.empty(k, np.int32)  # of each center
        self.group[members] = np.repeat(np.arange(groups, dtype=np.int32), sizes)
        self.center_travel: Floats = np.zeros(k)
        self.group_travel: Floats = np.zeros(stride)
        self.total_travel = 0.0
        self._stale: Floats = np.zeros(k)  # travel since distances between centers were measured
        self._gap: Floats | None = None  # (k, groups) of those distances, in quanta
        self.near: Ints = np.zeros((k, stride), np.uint16)  # the same, rounded down
        self.safe_upper: Ints = np.full(k, -1, np.int32)  # upper bounds up to this prove a label

    def follow(
        self,
        centers: Floats,
        origin: Floats,
        labels: Ints,
        upper: Ints,
        other: Ints,
        lower: Ints,
        crew: Crew | None = None,
    ) -> None:
        """Record the new centers; rewrite bounds whose travel would become too large."""
        shift = self._shift(centers, origin) / self.quantum
        farthest = np.maximum.reduceat(shift[self._members], self._heads)
        count = len(farthest)
        if self.total_travel + farthest.max() > MAX_TRAVEL_QUANTA:
            far = np.uint16(_ceil(np.array(self.total_travel), MAX_LOWER_BOUND))
            np.subtract(np.maximum(other, far), far, out=other)
            self.total_travel = 0.0
        for g in np.flatnonzero(self.group_travel[:count] + farthest > MAX_TRAVEL_QUANTA):
            column, up = (
                lower[:, g],
                np.uint16(_ceil(self.group_travel[g : g + 1], MAX_LOWER_BOUND)[0]),
            )
            np.subtract(np.maximum(column, up), up, out=column)
            self.group_travel[g] = 0.0
        self.center_travel = self.center_travel + shift
        lost = self.center_travel > UNBOUNDED >> 1
        upper[lost[labels]] = UNBOUNDED  # moved too far to count
        self.center_travel[lost] = 0.0
        self.group_travel[:count] += farthest
        self.total_travel += float(farthest.max())
        if self._geometry:
            self._update_gaps(centers, shift, farthest)

    def _shift(self, centers: Floats, origin: Floats) -> Floats:
        """Movement of each center (k,), from above."""
        gap, size = centers - self._centers, np.zeros(len(centers))
        if (origin != self._origin).any():
            gap = gap + (origin - self._origin)
            for vectors in (self._centers, centers, self._origin[None], origin[None]):
                size = size + np.sqrt(np.einsum("kd,kd->k", vectors, vectors))
        self._centers, self._origin = centers.copy(), origin.copy()
        with np.errstate(over="ignore"):
            moved = np.sqrt(np.einsum("kd,kd->k", gap, gap))
        return np.asarray(moved * (1 + 2.0**-40) + 2.0**-50 * size)

    def _update_gaps(self, centers: Floats, shift: Floats, farthest: Floats) -> None:
        """Distance from each center to the nearest other of each group, in quanta, from below."""
        self._stale = self._stale + shift
        if self._gap is None or self._stale.max() > MAX_STALE_QUANTA:
            apart = np.sqrt(d64(centers, centers)) * (1 - 2.0**-22)
            np.fill_diagonal(apart, np.inf)
            least = np.minimum.reduceat(apart[:, self._members], self._heads, axis=1)
            self._gap = np.asarray(least * ((1 - 2.0**-40) / self.quantum))
            self._stale = np.zeros(len(shift))
        else:
            self._gap = self._gap - (shift[:, None] + farthest)
        quanta = np.clip(np.floor(self._gap), 0, MAX_LOWER_BOUND)
        self.near[:, : len(farthest)] = quanta.astype(np.uint16)
        self.safe_upper = ((quanta.min(axis=1) - 2) // 2).astype(np.int32)

    # what a pass adds to the bounds

    @property
    def up(self) -> Ints:
        """Travel of each center, rounded up."""
        return _ceil(self.center_travel, UNBOUNDED).astype(np.int32)

    @property
    def down(self) -> Ints:
        """Travel of each center, rounded down."""
        return np.floor(np.minimum(self.center_travel, UNBOUNDED)).astype(np.int32)

    @property
    def group_up(self) -> Ints:
        """Travel of the farthest of each group, rounded up."""
        return _ceil(self.group_travel, MAX_LOWER_BOUND).astype(np.uint16)

    @property
    def group_down(self) -> Ints:
        """Travel of the farthest of each group, rounded down."""
        return np.floor(np.minimum(self.group_travel, MAX_LOWER_BOUND)).astype(np.uint16)

    @property
    def all_down(self) -> int:
        """Travel of the farthest of all, rounded down."""
        return int(min(self.total_travel, MAX_LOWER_BOUND))


def _ceil(travel: Floats, most: int) -> Floats:
    return np.asarray(np.minimum(np.ceil(travel * (1 + 2.0**-40)), most))


def assign_bounded(
    filter: Codebook,
    target: ExactCenters | None,
    rows: Floats,
    labels: Ints,
    upper: Ints,
    other: Ints,
    lower: Ints,
    motion: Motion,
    whole: bool,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    filter_rows: Floats | None = None,
    crew: Crew | None = None,
) -> list[int]:
    """Label every row and update its bounds.

    Return the counts: rows moved, measured, scanned; pairs scanned; candidates.
    """
    del filter_rows
    target = target or ExactCenters(filter.centers, filter.origin)
    book = Codebook(target.centers, target.origin)
    if whole:
        open_rows = np.ones(len(rows), bool)
    else:
        left = np.maximum(lower.astype(np.int64) - motion.group_up, 0)
        at_most = (upper + motion.up[labels])[:, None]
        open_rows = ((left <= at_most + 1) & (motion.near[labels] <= 2 * at_most + 1)).any(axis=1)
        open_rows &= at_most[:, 0] > motion.safe_upper[labels]
    before = labels.copy()
    moved, _ = assign(book, rows, labels, sums, times, weight)
    assert (labels == before)[~open_rows].all()  # the bounds are valid
    distance = np.sqrt(d64(rows, target.centers, target.origin)) / motion.quantum
    own = distance[np.arange(len(rows)), labels]
    upper[:] = np.minimum(np.floor(own * (1 + 2.0**-40) + 1), UNBOUNDED) - motion.down[labels]
    distance[np.arange(len(rows)), labels] = np.inf
    for g in range(int(motion.group.max()) + 1):
        nearest = distance[:, motion.group == g].min(axis=1)
        quanta = np.floor(np.minimum(nearest * (1 - 2.0**-40), MAX_LOWER_BOUND))
        lower[:, g] = np.minimum(quanta + motion.group_down[g], MAX_LOWER_BOUND)
    left = np.maximum(lower.astype(np.int64) - motion.group_up, 0).min(axis=1)
    other[:] = np.minimum(left + motion.all_down, MAX_LOWER_BOUND)
    scanned = int(open_rows.sum())
    return [moved, scanned, scanned, scanned * len(target.centers), moved]


def assign_byte_bounded(
    bytes: ByteRows,
    book: ByteBook,
    rows: Array,
    base: int,
    labels: Ints,
    upper: Ints,
    other: Ints,
    lower: Ints,
    motion: Motion,
    whole: bool,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> list[int]:
    """Do the same as `assign_bounded` with open rows compared in bytes.

    `bytes` has all rows, of which these are those from row `base` on, of the types that
    `assign_bytes` reads.
    """
    if not (book.is_grouped and bytes.by_row):
        raise ValueError("assign_byte_bounded: codes laid out by row, centers in groups expected")
    if rows.dtype in (np.uint8, np.uint16):
        rows = as_floats(rows)
    before, order = labels.copy(), bytes.order
    counts = assign_bounded(
        Codebook(book.centers, book.origin), None, rows, labels, upper, other, lower, motion, whole,
        sums, times, weight,
    )  # fmt: skip
    low, high = score_bounds(bytes, book, slice(0, bytes.n))
    own = np.empty(bytes.n, np.int64)
    own[base : base + len(rows)] = before
    at = np.flatnonzero((order >= base) & (order < base + len(rows)))
    ruled_out = low[at] > high[at, own[order[at]]][:, None]
    assert not ruled_out[np.arange(len(at)), labels[order[at] - base]].any()  # bytes are a filter
    return counts


class RowTree:
    """Rows in the order of the data; the compiled one sorts them by a k-d tree."""

    def __init__(self, n: int) -> None:
        self.order: Ints = np.arange(n, dtype=np.int32)
        self.nodes = max(1, -(-n // (64 * LEAVES_PER_NODE)))

    def forget(self) -> None:
        """Discard the candidates of the last pass; there are none here."""


@dataclass(frozen=True)
class TreeCodebook:
    """Centers (k, d) relative to the origin of a tree."""

    centers: Floats
    scale: float
    moved: Ints


def build_tree(rows: Floats, origin: Floats, scale: float, crew: Crew | None = None) -> RowTree:
    """Build a tree over (rows − origin)·scale."""
    del origin, scale
    return RowTree(len(rows))


def assign_leaves(
    leaves: RowTree,
    first: int,
    last: int,
    book: TreeCodebook,
    target: ExactCenters,
    rows: Floats,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> list[int]:
    """Label the rows of nodes first…last−1.

    Return the counts: rows moved, visited, scanned; pairs scanned; rows decided by D64.
    """
    del book
    node_rows = 64 * LEAVES_PER_NODE
    part = slice(first * node_rows, last * node_rows if last < leaves.nodes else len(rows))
    moved, _ = assign(
        Codebook(target.centers, target.origin), rows[part], labels[part], sums,
        None if times is None else times[part], None if weight is None else weight[part],
    )  # fmt: skip
    visited = len(rows[part])
    return [moved, visited, visited, visited * len(target.centers), 0]
