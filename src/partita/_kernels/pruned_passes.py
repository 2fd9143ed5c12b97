"""The pruned passes as NumPy text: the same labels, without leaving anything out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.assignment import Codebook, assign, d64
from partita._kernels.crew import Crew
from partita._kernels.exact_sums import Sums

MAX_LOWER_BOUND = 65535  # the largest lower bound
UNBOUNDED = 1 << 29  # an upper bound that no lower bound exceeds
LEAVES_PER_NODE = 16
MAX_STALE_QUANTA = (
    32  # quanta a center may move before distances between centers are measured again
)
MAX_TRAVEL_QUANTA = 1 << 14  # travel after which bounds are brought up to date


def bounds_stride(groups: int) -> int:
    """Length of a row of bounds: more than four groups are rounded up to a multiple of 8."""
    return groups if groups <= 4 else -(-groups // 8) * 8


@dataclass(frozen=True)
class Target:
    """Centers (k, d) relative to `origin` (d), for D64."""

    centers: Floats
    origin: Floats


class Motion:
    """How far centers have come since bounds counted from zero, in quanta.

    What is remembered is how far each center (`own`), the farthest of each group (`come`) and the
    farthest of all (`all`) have come; and, with `geometry`, how far centers are from each other.
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
        self.own: Floats = np.zeros(k)
        self.come: Floats = np.zeros(stride)
        self.all = 0.0
        self._since: Floats = np.zeros(k)  # moved since distances between centers were measured
        self._least: Floats | None = None  # (k, groups) of those distances, in quanta
        self.near: Ints = np.zeros((k, stride), np.uint16)  # the same from below
        self.alone: Ints = np.full(k, -1, np.int32)  # an upper bound up to here proves a label

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
        """Take note of where the centers are now; bring up to date what has come too far."""
        shift = self._shift(centers, origin) / self.quantum
        farthest = np.maximum.reduceat(shift[self._members], self._heads)
        count = len(farthest)
        if self.all + farthest.max() > MAX_TRAVEL_QUANTA:
            far = np.uint16(_ceil(np.array(self.all), MAX_LOWER_BOUND))
            np.subtract(np.maximum(other, far), far, out=other)
            self.all = 0.0
        for g in np.flatnonzero(self.come[:count] + farthest > MAX_TRAVEL_QUANTA):
            column, up = lower[:, g], np.uint16(_ceil(self.come[g : g + 1], MAX_LOWER_BOUND)[0])
            np.subtract(np.maximum(column, up), up, out=column)
            self.come[g] = 0.0
        self.own = self.own + shift
        lost = self.own > UNBOUNDED >> 1
        upper[lost[labels]] = UNBOUNDED  # farther than can be counted: know nothing of their rows
        self.own[lost] = 0.0
        self.come[:count] += farthest
        self.all += float(farthest.max())
        if self._geometry:
            self._look_around(centers, shift, farthest)

    def _shift(self, centers: Floats, origin: Floats) -> Floats:
        """How far each center moved (k,), from above."""
        gap, size = centers - self._centers, np.zeros(len(centers))
        if (origin != self._origin).any():
            gap = gap + (origin - self._origin)
            for part in (self._centers, centers, self._origin[None], origin[None]):
                size = size + np.sqrt(np.einsum("kd,kd->k", part, part))
        self._centers, self._origin = centers.copy(), origin.copy()
        with np.errstate(over="ignore"):
            moved = np.sqrt(np.einsum("kd,kd->k", gap, gap))
        return np.asarray(moved * (1 + 2.0**-40) + 2.0**-50 * size)

    def _look_around(self, centers: Floats, shift: Floats, farthest: Floats) -> None:
        """How far the nearest other center of each group is, in quanta, from below."""
        self._since = self._since + shift
        if self._least is None or self._since.max() > MAX_STALE_QUANTA:
            apart = np.sqrt(d64(centers, centers)) * (1 - 2.0**-22)
            np.fill_diagonal(apart, np.inf)
            least = np.minimum.reduceat(apart[:, self._members], self._heads, axis=1)
            self._least = np.asarray(least * ((1 - 2.0**-40) / self.quantum))
            self._since = np.zeros(len(shift))
        else:
            self._least = self._least - (shift[:, None] + farthest)
        quanta = np.clip(np.floor(self._least), 0, MAX_LOWER_BOUND)
        self.near[:, : len(farthest)] = quanta.astype(np.uint16)
        self.alone = ((quanta.min(axis=1) - 2) // 2).astype(np.int32)

    # what a pass compares bounds with

    @property
    def up(self) -> Ints:
        """The travel of each center, rounded up."""
        return _ceil(self.own, UNBOUNDED).astype(np.int32)

    @property
    def down(self) -> Ints:
        """And down."""
        return np.floor(np.minimum(self.own, UNBOUNDED)).astype(np.int32)

    @property
    def group_up(self) -> Ints:
        """The travel of the farthest of each group, rounded up."""
        return _ceil(self.come, MAX_LOWER_BOUND).astype(np.uint16)

    @property
    def group_down(self) -> Ints:
        """And down."""
        return np.floor(np.minimum(self.come, MAX_LOWER_BOUND)).astype(np.uint16)

    @property
    def all_down(self) -> int:
        """The travel of the farthest of all, rounded down."""
        return int(min(self.all, MAX_LOWER_BOUND))


def _ceil(travel: Floats, most: int) -> Floats:
    return np.asarray(np.minimum(np.ceil(travel * (1 + 2.0**-40)), most))


def bounded(
    filter: Codebook,
    target: Target | None,
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
    """Label every row, bring its bounds up to date; rows moved, measured, met; pairs met, left."""
    del filter_rows
    target = target or Target(filter.centers, filter.origin)
    book = Codebook(target.centers, target.origin)
    if whole:
        open_rows = np.ones(len(rows), bool)
    else:
        left = np.maximum(lower.astype(np.int64) - motion.group_up, 0)
        at_most = (upper + motion.up[labels])[:, None]
        open_rows = ((left <= at_most + 1) & (motion.near[labels] <= 2 * at_most + 1)).any(axis=1)
        open_rows &= at_most[:, 0] > motion.alone[labels]
    before = labels.copy()
    moved, _ = assign(book, rows, labels, sums, times, weight)
    assert (labels == before)[~open_rows].all()  # what the bounds promise
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
    met = int(open_rows.sum())
    return [moved, met, met, met * len(target.centers), moved]


class Leaves:
    """Rows in the order of the data, in leaves of which nothing is known."""

    def __init__(self, n: int) -> None:
        self.order: Ints = np.arange(n, dtype=np.int32)
        self.nodes = max(1, -(-n // (64 * LEAVES_PER_NODE)))

    def forget(self) -> None:
        """Nothing is remembered."""


@dataclass(frozen=True)
class TreeBook:
    """Centers (k, d) relative to the origin of a tree."""

    centers: Floats
    scale: float
    moved: Ints


def plant(rows: Floats, origin: Floats, scale: float, crew: Crew | None = None) -> Leaves:
    """A tree over (rows − origin)·scale."""
    del origin, scale
    return Leaves(len(rows))


def assign_leaves(
    leaves: Leaves,
    first: int,
    last: int,
    book: TreeBook,
    target: Target,
    rows: Floats,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> list[int]:
    """Label the rows of nodes first…last; rows moved, visited, met; pairs met, left to D64."""
    del book
    each = 64 * LEAVES_PER_NODE
    part = slice(first * each, last * each if last < leaves.nodes else len(rows))
    moved, _ = assign(
        Codebook(target.centers, target.origin), rows[part], labels[part], sums,
        None if times is None else times[part], None if weight is None else weight[part],
    )  # fmt: skip
    seen = len(rows[part])
    return [moved, seen, seen, seen * len(target.centers), 0]
