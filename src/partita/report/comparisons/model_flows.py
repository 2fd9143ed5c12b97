"""Two clusterings of the same rows: matched groups, and the rows that change their group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from partita._common.array_types import Array, Floats, Ints
from partita.metrics.criteria import adjusted_rand

NO_GROUP = -1


class Flow(NamedTuple):
    """The rows that one model has in group `left`, and the other in group `right`."""

    left: int  # NO_GROUP for none
    right: int
    rows: int
    weight: float
    is_move: bool  # whether the two groups do not match


@dataclass(frozen=True, slots=True, eq=False)
class ModelFlows:
    """Counts of rows by their groups in two models; the last row and column are "no group"."""

    rows: Ints  # (k + 1, m + 1)
    weight: Floats  # (k + 1, m + 1)
    match: Ints  # (k,) the group of the other model, NO_GROUP for none
    agreement: float  # adjusted Rand index

    @classmethod
    def of(cls, left: Ints, right: Ints, weight: Floats, sizes: tuple[int, int]) -> ModelFlows:
        """Cross two arrays of labels (n,); those outside the sizes (k, m) are no group."""
        left, right = (_known(labels, k) for labels, k in zip((left, right), sizes, strict=True))
        shape = sizes[0] + 1, sizes[1] + 1
        code = left * shape[1] + right
        cells = shape[0] * shape[1]
        rows = np.bincount(code, minlength=cells).reshape(shape)
        sums = np.bincount(code, weight, minlength=cells).reshape(shape)
        pairs = zip(*linear_sum_assignment(sums[:-1, :-1], maximize=True), strict=True)
        match = np.full(sizes[0], NO_GROUP)
        for j, other in pairs:
            match[j] = other if rows[j, other] else NO_GROUP
        return cls(rows, np.asarray(sums), match, adjusted_rand(left, right, weight))

    @property
    def flows(self) -> list[Flow]:
        """All pairs of groups that have rows in common, the heaviest first."""
        k, m = (size - 1 for size in self.rows.shape)
        found = [
            Flow(
                left=j if j < k else NO_GROUP,
                right=other if other < m else NO_GROUP,
                rows=int(self.rows[j, other]),
                weight=float(self.weight[j, other]),
                is_move=not (other == m if j == k else other == self.match[j]),
            )
            for j, other in np.argwhere(self.rows > 0).tolist()
        ]
        return sorted(found, key=lambda flow: (-flow.weight, -flow.rows, flow.left, flow.right))

    @property
    def moves(self) -> list[Flow]:
        """The flows between groups that do not match, the heaviest first."""
        return [flow for flow in self.flows if flow.is_move]

    @property
    def moved_rows(self) -> int:
        """The number of rows that change their group."""
        return sum(flow.rows for flow in self.moves)

    @property
    def moved_share(self) -> float:
        """The part of the weight that changes its group."""
        total = float(self.weight.sum())
        return sum(flow.weight for flow in self.moves) / total if total > 0 else 0.0

    @property
    def unmatched(self) -> tuple[list[int], list[int]]:
        """The groups of each model that have rows, but no counterpart in the other."""
        left = [j for j in np.flatnonzero(self.rows[:-1].any(axis=1)) if self.match[j] < 0]
        right = np.setdiff1d(np.flatnonzero(self.rows[:, :-1].any(axis=0)), self.match)
        return [int(j) for j in left], right.tolist()


def crossing_order(flows: Array, left: list[int], right: list[int]) -> list[int]:
    """Order the groups at the right by the mean position of their rows at the left.

    `flows` (k, m) are weights, `left` is the order of its rows, and `right` names its columns.
    """
    place = np.empty(len(left))
    place[:] = np.arange(len(left))
    weight = flows[np.ix_(left, right)]
    total = weight.sum(axis=0)
    mean = np.divide(place @ weight, total, out=np.full(len(right), np.inf), where=total > 0)
    return [right[i] for i in np.argsort(mean, kind="stable")]


def _known(labels: Ints, k: int) -> Ints:
    return np.where((labels >= 0) & (labels < k), labels, k).astype(np.int64)


def largest_groups(weight: Floats, max_count: int) -> Iterator[int]:
    """Yield the groups that have weight, the heaviest first, at most so many."""
    order = np.argsort(-weight, kind="stable")[:max_count]
    yield from (int(j) for j in order if weight[j] > 0)
