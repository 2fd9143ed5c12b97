"""Policies for clusters without points: relocate, keep, drop, or fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.text import listed
from partita.centers import Centers


class EmptyClusterError(ValueError):
    """A cluster lost all its weight and the policy was to fail."""


class Assignment(Protocol):
    """The state of a fit that a policy may read and change."""

    @property
    def labels(self) -> Ints:
        """The label (n,) of every row."""

    def distances(self, centers: Centers) -> Floats:
        """Return the squared distance (n,) of every row to its own center."""

    def rows(self, which: Ints) -> Floats:
        """Return some rows (m, d)."""

    def counted(self) -> Ints | None:
        """Return 1 for rows of positive weight, 0 for others; None if all are positive."""

    def move(self, rows: Ints, to: Ints) -> None:
        """Move rows to other clusters."""

    def drop(self, clusters: Ints) -> None:
        """Remove clusters that hold no rows of any weight."""


# Repairs an assignment that leaves clusters empty; returns the centers that they keep
EmptyPolicy = Callable[[Assignment, Centers, Ints], Centers]


def keep(state: Assignment, centers: Centers, empty: Ints) -> Centers:
    """Leave the center where it is."""
    return centers


def drop(state: Assignment, centers: Centers, empty: Ints) -> Centers:
    """Go on with fewer clusters."""
    state.drop(empty)
    return Centers(np.delete(centers.values, empty, axis=0), centers.origin)


def fail(state: Assignment, centers: Centers, empty: Ints) -> Centers:
    """Raise an error."""
    raise EmptyClusterError(
        f"{len(empty)} of {len(centers.values)} clusters became empty "
        f"({listed(empty.tolist(), str)}). Lower n_clusters, try other starting centers, or "
        "use empty='relocate'."
    )


def relocate(state: Assignment, centers: Centers, empty: Ints) -> Centers:
    """Give each empty cluster the point farthest from its center, and its duplicates.

    Ties go to the row whose values come first in lexicographic order, so the order of the rows
    does not matter; duplicates move together, so repeats and weights mean the same. A cluster for
    which no point is left keeps its center.
    """
    groups = _farthest(state, centers, len(empty))
    for cluster, rows in zip(empty, groups, strict=False):
        state.move(rows, np.full(len(rows), cluster, np.int32))
    return centers


def _farthest(state: Assignment, centers: Centers, wanted: int) -> list[Ints]:
    """Return groups of equal rows, farthest first; no group is a whole cluster."""
    distance = state.distances(centers)
    counted = state.counted()
    if counted is not None:
        distance = np.where(counted > 0, distance, 0.0)
    count_of = np.bincount(state.labels, weights=counted, minlength=len(centers.values))
    members = count_of.astype(np.float64)
    n, count = len(distance), 4 * wanted + 16
    while True:
        count = min(count, n)
        threshold = np.partition(distance, n - count)[n - count]
        farthest = np.flatnonzero((distance >= threshold) & (distance > 0))
        groups = _choose(state, farthest, distance, members.copy(), wanted)
        if len(groups) == wanted or count == n:
            return groups
        count *= 4


def _choose(
    state: Assignment, rows: Ints, distance: Floats, members: Floats, wanted: int
) -> list[Ints]:
    values = state.rows(rows)
    order = np.lexsort((*values.T[::-1], -distance[rows]))
    rows, values = rows[order], values[order]
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (values[1:] != values[:-1]).any(axis=1)
    groups: list[Ints] = []
    for group in np.split(rows, np.flatnonzero(is_new)[1:]):
        if len(groups) == wanted or len(group) == 0:
            break
        cluster = state.labels[group[0]]
        if members[cluster] > len(group):
            members[cluster] -= len(group)
            groups.append(group)
    return groups


POLICIES = {"relocate": relocate, "keep": keep, "drop": drop, "fail": fail}
