"""Policies for clusters without points: relocate, keep, drop, or fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.text import listed
from partita.centers import Centers


class EmptyClusterError(ValueError):
    """A cluster lost all its weight and the policy was to fail."""


class Assignment(Protocol):
    """The state of a fit that a policy may read and change."""

    def members(self, k: int) -> Ints:
        """Return how many rows of positive weight (k,) every cluster has."""

    def farthest(self, centers: Centers, count: int) -> FarRows:
        """Return the `count` rows of weight that are farthest from their centers, and all ties.

        Rows at their centers are left out.
        """

    def rows(self, which: Ints) -> Floats:
        """Return some rows (m, d)."""

    def move(self, rows: Ints, to: Ints) -> int:
        """Move rows to other clusters; return how many labels changed."""

    def drop(self, clusters: Ints) -> int:
        """Remove clusters that hold no rows of any weight; return how many labels changed."""


class FarRows(NamedTuple):
    """Rows far from their centers."""

    numbers: Ints  # (m,)
    distance: Floats  # (m,), squared
    labels: Ints  # (m,)
    is_all: bool  # no other row of weight is away from its center


class Repair(NamedTuple):
    """The result of a policy for empty clusters."""

    centers: Centers  # that they keep
    moved: int  # rows whose label changed


# Repairs an assignment that leaves clusters empty
EmptyPolicy = Callable[[Assignment, Centers, Ints], Repair]


def keep(state: Assignment, centers: Centers, empty: Ints) -> Repair:
    """Leave the center where it is."""
    return Repair(centers, 0)


def drop(state: Assignment, centers: Centers, empty: Ints) -> Repair:
    """Go on with fewer clusters."""
    moved = state.drop(empty)
    return Repair(Centers(np.delete(centers.values, empty, axis=0), centers.origin), moved)


def fail(state: Assignment, centers: Centers, empty: Ints) -> Repair:
    """Raise an error."""
    raise EmptyClusterError(
        f"{len(empty)} of {len(centers.values)} clusters became empty "
        f"({listed(empty.tolist(), str)}). Lower n_clusters, try other starting centers, or "
        "use empty='relocate'."
    )


def relocate(state: Assignment, centers: Centers, empty: Ints) -> Repair:
    """Give each empty cluster the point farthest from its center, and its duplicates.

    Ties go to the row whose values come first in lexicographic order, so the order of the rows
    does not matter; duplicates move together, so repeats and weights mean the same. A cluster for
    which no point is left keeps its center.
    """
    groups = _farthest(state, centers, len(empty))
    if not groups:
        return Repair(centers, 0)
    to = np.repeat(empty[: len(groups)].astype(np.int32), [len(group) for group in groups])
    return Repair(centers, state.move(np.concatenate(groups), to))


def _farthest(state: Assignment, centers: Centers, wanted: int) -> list[Ints]:
    """Return groups of equal rows, farthest first; no group is a whole cluster."""
    members, count = state.members(len(centers.values)), 4 * wanted + 16
    while True:
        far = state.farthest(centers, count)
        groups = _choose(state.rows(far.numbers), far, members.copy(), wanted)
        if len(groups) == wanted or far.is_all:
            return groups
        count *= 4


def count_members(labels: Ints, counted: Ints | None, k: int) -> Ints:
    """Return `Assignment.members` of rows in memory; `counted` is 0 for rows without weight."""
    return np.bincount(labels, weights=counted, minlength=k).astype(np.int64)


def farthest_rows(distance: Floats, labels: Ints, counted: Ints | None, count: int) -> FarRows:
    """Return `Assignment.farthest` of rows in memory; `counted` is 0 for rows without weight."""
    if counted is not None:
        distance = np.where(counted > 0, distance, 0.0)
    n = len(distance)
    threshold = _threshold(distance, count)
    rows = np.flatnonzero((distance >= threshold) & (distance > 0))
    return FarRows(rows, distance[rows], labels[rows], count >= n)


def merge_far_rows(parts: Sequence[FarRows], count: int) -> FarRows:
    """Return the farthest of all rows, from the `count` farthest of each part with their ties."""
    numbers, distance, labels = (
        np.concatenate(part) for part in list(zip(*parts, strict=True))[:3]
    )
    kept = distance >= _threshold(distance, count)
    # a part that has fewer rows than `count` has returned all of them
    is_all = bool(kept.all()) and all(part.is_all for part in parts)
    return FarRows(numbers[kept], distance[kept], labels[kept], is_all)


def _threshold(distance: Floats, count: int) -> float:
    """Return the lowest of the `count` largest distances."""
    n = len(distance)
    if count >= n:
        return 0.0
    return float(np.partition(distance, n - count)[n - count])


def _choose(values: Floats, far: FarRows, members: Ints, wanted: int) -> list[Ints]:
    order = np.lexsort((*values.T[::-1], -far.distance))
    rows, labels, values = far.numbers[order], far.labels[order], values[order]
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (values[1:] != values[:-1]).any(axis=1)
    groups: list[Ints] = []
    firsts = np.flatnonzero(is_new)
    for first, group in zip(firsts, np.split(rows, firsts[1:]), strict=False):
        if len(groups) == wanted:
            break
        cluster = labels[first]
        if members[cluster] > len(group):
            members[cluster] -= len(group)
            groups.append(group)
    return groups


POLICIES = {"relocate": relocate, "keep": keep, "drop": drop, "fail": fail}
