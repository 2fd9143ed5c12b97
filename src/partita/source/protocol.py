"""The protocols of sources: the access of the engine to rows, in memory or elsewhere."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita.centers import Centers
from partita.exact_weights import Weights
from partita.moments import Moments
from partita.source.survey import Survey


class Source(Protocol):
    """Rows in memory, in files or on other machines.

    Rows are numbered globally, and labels are arrays over all rows. How the rows are cut into
    blocks, and in which order blocks are read, changes no result (see blocked_rows.py).
    """

    n: int
    d: int
    dtype: np.dtype[Any]  # of the centers that are returned to the user
    weights: Weights
    workers: Workers

    @property
    def prunable_rows(self) -> PrunableRows | None:
        """The rows for paths that need all of them in memory, dense; None if they are not."""

    def survey(self) -> Survey:
        """Extent, origin and grid of the data; computed once."""

    def assign(
        self, centers: Centers, labels: Ints, moments: Moments | None, memory: float = 0.0
    ) -> int:
        """Label every row in place, update `moments` by the rows that moved; return their number.

        `memory` bytes may be used to make later calls faster.
        """

    def move(self, rows: Ints, to: Ints, labels: Ints, moments: Moments) -> None:
        """Move some rows to other clusters, in the labels and in the moments."""

    def own_distances(self, centers: Centers, labels: Ints) -> Floats:
        """Squared distance D64 (n,) of every row to the center of its label."""

    def squares(self, centers: Centers, out: Floats) -> None:
        """Set out (n, k) to squared distances D64 of every row to every center."""

    def lower_distances(self, centers: Centers, first: int, closest: Floats, labels: Ints) -> None:
        """Lower `closest` (n,) to D64 of the nearest center, in place, in one pass.

        Where that is lower, the label becomes the number of the center, counted from `first`.
        """

    def own_cost(self, centers: Centers, labels: Ints) -> float:
        """Σ w·‖x − c‖² over all rows, rounded once; without w if all weights are equal."""

    def take_rows(self, rows: Ints) -> Floats:
        """Some rows (m, d), dense, as doubles."""

    def subset(self, rows: Ints, weights: Weights, survey: Survey | None = None) -> Source:
        """Copy some rows to memory, as a source with these weights, and this survey if given."""

    def seeding(self, k: int, trials: int, memory: float = math.inf) -> SeedingState:
        """The state of k-means++ before the first row is chosen.

        `memory` bytes may be used to make the rounds faster.
        """


class PrunableRows(Source, Protocol):
    """Dense rows in memory, as pruned passes need them."""

    row_bytes: int  # of one row, in the type of the data
    copy_bytes: int  # that `kernel_rows` takes; 0 if it is the data itself
    narrow: Array | None  # all rows as bytes, or as the bits of halves, if these are the data

    @property
    def kernel_rows(self) -> Array:
        """All rows in a type that kernels read."""

    @property
    def scores_in_double(self) -> bool:
        """True if float32 scores leave too many rows to float64."""

    def subset(
        self, rows: Ints, weights: Weights, survey: Survey | None = None
    ) -> PrunableRows: ...

    def round_to_bytes(self) -> Any:
        """A copy of all rows in bytes, for `assign_bytes`."""

    def round_and_assign(
        self, centers: Centers, labels: Ints, moments: Moments | None
    ) -> tuple[Any, tuple[int, int, int]]:
        """Make such a copy and the first pass over it; return the copy and what the pass did."""

    def assign_bytes(
        self, copy: Any, centers: Centers, labels: Ints, moments: Moments | None
    ) -> tuple[int, int, int]:
        """Label every row in place, update `moments`; return the counts of `kernels.assign_bytes`.

        These are: rows that moved, rows with several candidates, candidates of these.
        """

    def selection(self, rows: Ints, weights: Weights, survey: Survey | None = None) -> PrunableRows:
        """Some rows like `subset`, but without a copy: they are read again in every pass."""


class SeedingState(Protocol):
    """The state of k-means++: the distance of every row to the nearest chosen one."""

    def at_once(self, j: int, uniform: Floats, which: Ints) -> bool:
        """Run all rounds from the j-th and fill `which`, if they are short enough; else False."""

    def draw(self, uniform: Floats) -> Ints:
        """Draw rows in proportion to weight times squared distance; at first to weight."""

    def gains(self, rows: Floats) -> Floats:
        """Decrease of the sum of these by each of the candidates (count, d)."""

    def choose(self, which: int) -> None:
        """Make one of the candidates a chosen row."""


def batch_of(source: Source, rows: Ints) -> Source:
    """Copy some rows to memory with their weights, on the grid of all rows."""
    return source.subset(rows, source.weights.subset(rows), source.survey())


def batch_within(source: Source, rows: Ints, memory: float) -> tuple[Source, float]:
    """Return `batch_of`, and the bytes it leaves of `memory`.

    Dense rows that do not fit are not copied, but read again in every pass.
    """
    dense = source.prunable_rows
    if dense is None:
        return batch_of(source, rows), memory
    left = memory - len(rows) * dense.row_bytes
    if left >= 0:
        return batch_of(source, rows), left
    return dense.selection(rows, source.weights.subset(rows), source.survey()), memory
