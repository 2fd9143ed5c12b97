"""What to do with a cluster that no point chose: relocate it, keep it, drop it, or fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers


class EmptyClusterError(ValueError):
    """A cluster lost all its weight and the policy was to fail."""


class Assignment(Protocol):
    """The state of a fit that a policy may look at and change."""

    @property
    def labels(self) -> Ints:
        """The label (n,) of every row."""

    def distances(self, centers: Centers) -> Floats:
        """Squared distance (n,) of every row to its own center."""

    def rows(self, which: Ints) -> Floats:
        """Some rows (m, d)."""

    def counted(self) -> Ints | None:
        """1 for rows of positive weight, 0 for others; None if all count."""

    def move(self, rows: Ints, to: Ints) -> None:
        """Move rows to other clusters."""

    def drop(self, clusters: Ints) -> None:
        """Remove clusters that hold no rows of any weight."""


class EmptyPolicy(ABC):
    """How to repair an assignment that leaves clusters empty."""

    @abstractmethod
    def repair(self, state: Assignment, centers: Centers, empty: Ints) -> Centers:
        """Mend `state`; the centers that clusters without members keep are returned."""


class Keep(EmptyPolicy):
    """Leave the center where it is."""

    def repair(self, state: Assignment, centers: Centers, empty: Ints) -> Centers:
        """Nothing changes."""
        return centers


class Drop(EmptyPolicy):
    """Go on with fewer clusters."""

    def repair(self, state: Assignment, centers: Centers, empty: Ints) -> Centers:
        """The empty clusters disappear, the others close ranks."""
        state.drop(empty)
        return Centers(np.delete(centers.values, empty, axis=0), centers.origin)


class Fail(EmptyPolicy):
    """Raise an error."""

    def repair(self, state: Assignment, centers: Centers, empty: Ints) -> Centers:
        """Never returns."""
        listed = ", ".join(map(str, empty[:5])) + ", …" * (len(empty) > 5)
        raise EmptyClusterError(
            f"{len(empty)} of {len(centers.values)} clusters became empty (cluster {listed}); "
            "lower n_clusters, try other starting centers, or allow empty='relocate'"
        )


class Relocate(EmptyPolicy):
    """Give each empty cluster the point that is farthest from its center, and its duplicates.

    Ties go to the row that comes first in lexicographic order of its values, so the order of the
    rows does not matter; duplicates move together, so repeats and weights mean the same.
    """

    def repair(self, state: Assignment, centers: Centers, empty: Ints) -> Centers:
        """Points move; a cluster for which none is left keeps its center."""
        groups = _farthest(state, centers, len(empty))
        for cluster, rows in zip(empty, groups, strict=False):
            state.move(rows, np.full(len(rows), cluster, np.int32))
        return centers


def _farthest(state: Assignment, centers: Centers, wanted: int) -> list[Ints]:
    """Groups of equal rows, farthest first, none of which is all that its cluster has."""
    distance = state.distances(centers)
    counted = state.counted()
    if counted is not None:
        distance = np.where(counted > 0, distance, 0.0)
    held = np.bincount(state.labels, weights=counted, minlength=len(centers.values))
    members = held.astype(np.float64)
    n, look = len(distance), 4 * wanted + 16
    while True:
        look = min(look, n)
        bar = np.partition(distance, n - look)[n - look]
        near_top = np.flatnonzero((distance >= bar) & (distance > 0))
        groups = _choose(state, near_top, distance, members.copy(), wanted)
        if len(groups) == wanted or look == n:
            return groups
        look *= 4


def _choose(
    state: Assignment, rows: Ints, distance: Floats, members: Floats, wanted: int
) -> list[Ints]:
    values = state.rows(rows)
    order = np.lexsort((*values.T[::-1], -distance[rows]))
    rows, values = rows[order], values[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (values[1:] != values[:-1]).any(axis=1)
    groups: list[Ints] = []
    for group in np.split(rows, np.flatnonzero(new)[1:]):
        if len(groups) == wanted or len(group) == 0:
            break
        cluster = state.labels[group[0]]
        if members[cluster] > len(group):
            members[cluster] -= len(group)
            groups.append(group)
    return groups


POLICIES: dict[str, EmptyPolicy] = {
    "relocate": Relocate(),
    "keep": Keep(),
    "drop": Drop(),
    "fail": Fail(),
}
