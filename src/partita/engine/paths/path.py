"""A path: one way to label every row by its nearest center.

Every path gives the labels of the plain pass, bit for bit; paths differ in what they leave out. A
new path is a module with a `PathKind`, and a line in the table of choice.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from partita._common.array_types import Ints
from partita.centers import Centers
from partita.engine.paths.center_groups import CenterGroups
from partita.moments import Moments
from partita.source.protocol import PrunableRows

T = TypeVar("T")

MAX_MOVED_SHARE = 0.2  # of the rows: bounds are tried when fewer change their label
MAX_PATIENCE_PASSES = 16  # between two trials of bounds
MAX_SETTLING_PASSES = 12  # before bounds are tried where they save little
ROWS_PER_SETTLING_PASS = 40_000  # on fewer rows, preparing centers for a trial is much of a pass


@dataclass(frozen=True, slots=True)
class BoundScales:
    """Groups and quantum of the bounds of a trial; they serve all rows, and later trials."""

    path: str
    groups: CenterGroups
    quantum: float


@dataclass(frozen=True, slots=True)
class PathPass:
    """One pass over all rows; costs in nanoseconds of one core, 0 if later passes will differ."""

    moved: int  # rows that changed their label
    compared: float = 1.0  # share of the n·k pairs of rows and centers
    row_cost: float = 0.0  # grows with the number of rows
    fixed_cost: float = 0.0
    candidates: float = 0.0  # centers that a filter left a row, on average
    recheck_cost: float = 0.0  # the part of `row_cost` that float32 scores leave to float64
    scales: BoundScales | None = None  # of a pass by bounds


class Path(Protocol):
    """One way to make passes, with the labels of the last one."""

    name: str
    note: str  # remarks of the path on the data; may be empty

    @property
    def labels(self) -> Ints:
        """The label (n,) of every row, -1 before the first pass."""

    def assign(self, centers: Centers, sums: Moments | None) -> PathPass:
        """Label every row by `centers`, and update `sums` by the rows that moved."""

    def forget(self, rows: Ints) -> None:
        """Accept labels that were changed in place, those of `rows`."""

    def relabel(self, labels: Ints) -> bool:
        """Replace all labels; False if the path cannot go on from them."""

    def grow(self, source: PrunableRows) -> bool:
        """Go on with more rows, the present ones first; False if the path cannot."""


@dataclass(frozen=True, slots=True)
class PathPlan:
    """The name of a path, and the reason for it."""

    path: str
    why: str
    forced: bool = False  # it must not be left for another
    spare: float = 0.0  # bytes beyond those that the path needs, which plain passes may use
    bytes_after: int | None = None  # plain passes, before passes over bytes take their place
    lean: bool = False  # a run must give up its bounds before the next one begins
    wait: int = 0  # plain passes before the path is tried

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


@dataclass(slots=True)
class PathCache:
    """Objects that runs on the same rows share, such as a tree."""

    _made: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned at the first call for `key`."""
        if key not in self._made:
            self._made[key] = make()
        return cast("T", self._made[key])


@dataclass(frozen=True, slots=True)
class PathStart:
    """The state of a run between two passes, from which a path is made."""

    source: PrunableRows
    plan: PathPlan
    cache: PathCache
    centers: Centers  # of the pass to come
    labels: Ints  # (n,) of the last pass
    before: Centers | None  # centers of the last pass
    rows: Ints | None = None  # for a trial: the path is for these rows only
    scales: BoundScales | None = None  # of the last trial, whether it paid or not
    has_bytes: bool = False  # passes over bytes are in use, or will be

    @property
    def k(self) -> int:
        """Number of centers."""
        return len(self.centers.values)


def byte_copy(cache: PathCache, make: Callable[[], Any]) -> Any:
    """Return all rows as bytes, made by `make` unless they are: once for all runs."""
    return cache.once("bytes", make)


def settling_passes(source: PrunableRows, k: int) -> int:
    """Plain passes in which centers come to rest, so that bounds may pay."""
    return min(MAX_SETTLING_PASSES, ROWS_PER_SETTLING_PASS // source.n)


@dataclass(frozen=True, slots=True)
class PathKind:
    """A row of the table of paths."""

    name: str
    suits: Callable[[PrunableRows, int], str | None]  # why "auto" takes it, where pruning pays
    memory: Callable[[PrunableRows, int], float]  # bytes beyond the data, for k centers
    start: Callable[[PathStart], Path | PathPlan]  # or the plan to follow instead
    needs_labels: bool = True  # of a plain pass before
    needs_trial: bool = True  # on a few rows, unless the plan is forced
    wait: Callable[[PrunableRows, int], int] = settling_passes  # plain passes before it is tried
    instead: Callable[[int, str], PathPlan] | None = None  # (k, why) once it costs more than plain


def with_more_rows(labels: Ints, n: int) -> Ints:
    """The labels of n rows, of which those after the present ones have none."""
    return np.concatenate([labels, np.full(n - len(labels), -1, np.int32)])
