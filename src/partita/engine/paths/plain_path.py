"""The plain path: every row is compared with every center."""

from __future__ import annotations

from abc import ABC, abstractmethod

from partita._common.array_types import Ints
from partita.centers import Centers
from partita.engine.paths.path import PathKind, PathPass
from partita.moments import Moments
from partita.source.blocks import is_small
from partita.source.pass_price import plain_cost
from partita.source.protocol import PrunableRows, Source

MAX_TREE_FEATURES = 4  # beyond, boxes of rows are large, and a tree may cost more than it saves
MIN_PRUNED_NANOSECONDS = 3e5  # of a plain pass, by one core: below, bounds cost more than they save


class UnprunedPath(ABC):
    """Passes that compare every row with every center: labels are all that they keep."""

    name: str
    note = ""

    def __init__(self, labels: Ints) -> None:
        self.labels = labels

    @abstractmethod
    def assign(self, centers: Centers, sums: Moments | None) -> PathPass: ...

    def forget(self, rows: Ints) -> None:
        return  # nothing is known of single rows

    def relabel(self, labels: Ints) -> bool:
        self.labels = labels
        return True

    def grow(self, source: PrunableRows) -> bool:
        return False  # the scheduler makes another


class PlainPath(UnprunedPath):
    """Passes by the source itself, which may use `memory` bytes to make them faster."""

    name = "plain"

    def __init__(self, source: Source, labels: Ints, memory: float) -> None:
        super().__init__(labels)
        self._source, self._memory = source, memory

    def expect_end(self) -> None:
        """Pack no rows any more."""
        self._memory = 0.0

    def assign(self, centers: Centers, sums: Moments | None) -> PathPass:
        moved = self._source.assign(centers, self.labels, sums, self._memory)
        rows, k = self._source.prunable_rows, len(centers.values)
        in_double = rows is not None and rows.scores_in_double
        recheck_cost = plain_cost(rows.n, k, rows.d) if rows is not None and in_double else 0.0
        return PathPass(moved, recheck_cost=recheck_cost)


def why_plain(source: PrunableRows, k: int) -> str | None:
    """The reason why pruning would not pay, if there is one."""
    n, d = source.n, source.d
    if is_small(n, (8 if d <= MAX_TREE_FEATURES else 1) * k * d):
        return "the problem is so small that a plain pass is over at once"
    if d > MAX_TREE_FEATURES and plain_cost(n, k, d) < MIN_PRUNED_NANOSECONDS:
        return "a plain pass takes no longer than the bookkeeping of bounds"
    return None


PLAIN = PathKind(
    "plain",
    suits=lambda source, k: "few centers, and the rows would have to be copied",
    memory=lambda source, k: 0.0,
    start=lambda start: PlainPath(start.source, start.labels, 0.0),
    needs_labels=False,
    needs_trial=False,
)
