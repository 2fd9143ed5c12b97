"""The pruned passes as NumPy text: the same labels, without leaving anything out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._kernels.crew import Crew
from partita._kernels.labels import Codebook, assign, d64
from partita._kernels.sums import Sums
from partita._typing import Floats, Ints

MOST = 65535  # the largest lower bound
NEVER = 1 << 29  # an upper bound that no lower bound exceeds
FAN = 16  # leaves of a node


@dataclass(frozen=True)
class Target:
    """Centers (k, d) relative to `origin` (d), for D64."""

    centers: Floats
    origin: Floats


@dataclass(frozen=True)
class Motion:
    """How far centers have come since bounds counted from zero, in quanta."""

    up: Ints  # (k,) each center, rounded up
    down: Ints  # (k,) and down
    group_up: Ints  # (stride,) the farthest of each group
    group_down: Ints
    all_up: int  # the farthest of all
    all_down: int
    place: Ints  # (k,) of each center in the book
    group: Ints  # (k,) of each center
    near: Ints  # (k, stride) from each center to the nearest other of each group, in quanta
    alone: Ints  # (k,) an upper bound up to here proves a label by `near` alone
    quantum: float
    blur: float


def bounded(
    filter: Codebook,
    target: Target,
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
    del filter, filter_rows
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
    upper[:] = np.minimum(np.floor(own * (1 + 2.0**-40) + 1), NEVER) - motion.down[labels]
    distance[np.arange(len(rows)), labels] = np.inf
    for g in range(int(motion.group.max()) + 1):
        nearest = distance[:, motion.group == g].min(axis=1)
        quanta = np.floor(np.minimum(nearest * (1 - 2.0**-40), MOST))
        lower[:, g] = np.minimum(quanta + motion.group_down[g], MOST)
    left = np.maximum(lower.astype(np.int64) - motion.group_up, 0).min(axis=1)
    other[:] = np.minimum(left + motion.all_down, MOST)
    met = int(open_rows.sum())
    return [moved, met, met, met * len(target.centers), moved]


class Leaves:
    """Rows in the order of the data, in leaves of which nothing is known."""

    def __init__(self, n: int) -> None:
        self.order: Ints = np.arange(n, dtype=np.int32)
        self.nodes = max(1, -(-n // (64 * FAN)))

    def forget(self) -> None:
        """Nothing is remembered."""


@dataclass(frozen=True)
class TreeBook:
    """Centers (k, d) relative to the origin of a tree."""

    centers: Floats
    scale: float
    moved: Ints


def plant(rows: Floats, origin: Floats, scale: float) -> Leaves:
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
    each = 64 * FAN
    part = slice(first * each, last * each if last < leaves.nodes else len(rows))
    moved, _ = assign(
        Codebook(target.centers, target.origin), rows[part], labels[part], sums,
        None if times is None else times[part], None if weight is None else weight[part],
    )  # fmt: skip
    seen = len(rows[part])
    return [moved, seen, seen, seen * len(target.centers), 0]
