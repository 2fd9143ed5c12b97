"""Passes beside a partition, and the state of a run that it keeps from one to the next.

A partition keeps its labels, its bounds and its sums. If they are lost, they are derived again: the
labels after a pass are a function of its centers, and of the few changes made after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import LongSums, PartialSums
from partita._common.row_squares import row_squares
from partita.centers import Centers
from partita.empty_clusters import FarRows
from partita.engine.lloyd_step import LloydStep
from partita.engine.partitioned_sums import PassSums, SumsChange
from partita.engine.paths.choice import plan_for
from partita.engine.paths.path import PathCache
from partita.engine.paths.scheduler import PassScheduler
from partita.geometry import EUCLIDEAN
from partita.source.blocks import LONG_SUM_VALUES
from partita.source.partition_tasks import SourceOf
from partita.source.partitions import Part

MIN_PATH_BYTES = 64  # beside a row, that a path may take if there is no limit


@dataclass(frozen=True, slots=True)
class MovedRows:
    """Rows that a policy moved to other clusters."""

    rows: Ints  # numbers among all
    to: Ints

    def apply(self, step: LloydStep, part: Part) -> None:
        places, rows = part.own(self.rows)
        if len(rows):
            step.move(rows, self.to[places])


@dataclass(frozen=True, slots=True)
class DroppedClusters:
    """Clusters that a policy removed."""

    clusters: Ints

    def apply(self, step: LloydStep, part: Part) -> None:
        step.drop(self.clusters)


@dataclass(frozen=True, slots=True)
class Mark:
    """A point in a run: after a pass, and some changes. It determines all labels."""

    run: int
    number: int  # of the pass
    centers: Centers  # of the pass
    changes: tuple[MovedRows | DroppedClusters, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The way in which partitions make their passes."""

    source: SourceOf
    algorithm: str
    memory_share: float | None  # bytes a row that paths may take; None: as many as the row itself

    def new_step(self, part: Part, k: int) -> LloydStep:
        source = self.source(part)
        cache = part.state.setdefault("paths", PathCache())
        width = max(MIN_PATH_BYTES, part.rows.nbytes / len(part.rows))
        memory = source.n * (width if self.memory_share is None else self.memory_share)
        plan = plan_for(source, k, self.algorithm, memory)
        return LloydStep(source, k, EUCLIDEAN, PassScheduler(source, plan, cache))


class _PartRun:
    """The state of a run beside one partition."""

    def __init__(self, step: LloydStep, run: int) -> None:
        self.step, self.run, self.number, self.changes = step, run, 0, 0

    def is_at(self, mark: Mark) -> bool:
        same = (self.run, self.number) == (mark.run, mark.number)
        return same and self.changes <= len(mark.changes)


def run_state(part: Part, options: RunOptions, mark: Mark) -> _PartRun:
    """Return the state at a mark, derived again if it is lost."""
    found = part.state.pop("run", None)  # half-changed if an error comes between
    if found is None or not found.is_at(mark):
        found = _PartRun(options.new_step(part, len(mark.centers.values)), mark.run)
        found.step.assign(mark.centers)
        found.number = mark.number
    for change in mark.changes[found.changes :]:
        change.apply(found.step, part)
        found.changes += 1
    part.state["run"] = found
    made: _PartRun = found
    return made


@dataclass(frozen=True, slots=True)
class MakePass:
    """Labels the rows of a partition by `mark.centers`, from those at the mark before."""

    options: RunOptions
    before: Mark | None
    mark: Mark
    exact: bool

    def __call__(self, part: Part) -> PassSums:
        state = self._begin(part)
        step = state.step
        before = None if self.before is None or not self.exact else _limbs(step)
        moved = step.assign(self.mark.centers)
        state.number, state.changes = self.mark.number, 0
        part.state["run"] = state
        n, last = len(part.rows), step.last
        return PassSums(
            SumsChange.between(before, step.moments) if self.exact else None,
            moved,
            {last.path: n},
            last.compared * n,
            last.candidates * n,
            tuple(step.notes),
        )

    def _begin(self, part: Part) -> _PartRun:
        if self.before is not None:
            state = run_state(part, self.options, self.before)
            part.state.pop("run")
            return state
        k = len(self.mark.centers.values)
        return _PartRun(self.options.new_step(part, k), self.mark.run)


@dataclass(frozen=True, slots=True)
class ApplyChanges:
    """Brings a partition to a mark; returns by how much its sums change from the mark before."""

    options: RunOptions
    before: Mark
    mark: Mark
    exact: bool

    def __call__(self, part: Part) -> SumsChange | None:
        before = _limbs(run_state(part, self.options, self.before).step)
        after = run_state(part, self.options, self.mark).step.moments
        return SumsChange.between(before, after) if self.exact else None


def _limbs(step: LloydStep) -> tuple[Ints, Ints]:
    """Copy the sums of a step."""
    return step.moments.hi.copy(), step.moments.lo.copy()


@dataclass(frozen=True, slots=True)
class FindFarthest:
    """Finds the rows of a partition that are farthest from their centers."""

    options: RunOptions
    mark: Mark
    centers: Centers
    count: int

    def __call__(self, part: Part) -> FarRows:
        step = run_state(part, self.options, self.mark).step
        far = step.farthest(self.centers, self.count)
        return far._replace(numbers=far.numbers + part.start)


@dataclass(frozen=True, slots=True)
class CountLabels:
    """Counts the rows of every label, of rows of weight only or of all."""

    options: RunOptions
    mark: Mark
    k: int
    weighted: bool

    def __call__(self, part: Part) -> Ints:
        step = run_state(part, self.options, self.mark).step
        if self.weighted:
            return step.members(self.k)
        return np.bincount(step.labels[step.labels >= 0], minlength=self.k)


@dataclass(frozen=True, slots=True)
class OwnCost:
    """Adds up the distances of the rows to the centers of a mark, times their weights."""

    options: RunOptions
    mark: Mark

    def __call__(self, part: Part) -> PartialSums:
        step = run_state(part, self.options, self.mark).step
        distance = step.source.own_distances(self.mark.centers, step.labels)
        return PartialSums.of(distance, weight=step.source.weights.unless_equal())


@dataclass(frozen=True, slots=True)
class LongSumsOf:
    """Adds up rows and weights, or squared distances from means, as long integers by label."""

    options: RunOptions
    mark: Mark
    k: int
    origin: Floats
    mean: Floats | None = None  # (k, d), for squares

    def __call__(self, part: Part) -> PartialSums:
        step = run_state(part, self.options, self.mark).step
        source, label = step.source, np.maximum(step.labels, 0)
        weight, d = source.weights.as_floats(source.n), source.d
        square, sums = np.zeros(source.n), LongSums(self.k, d if self.mean is None else 0)
        width = max(1, min(1 << 16, LONG_SUM_VALUES // d))
        for i in range(0, source.n, width):
            rows = slice(i, min(source.n, i + width))
            y = source.take_rows(np.arange(rows.start, rows.stop)) - self.origin
            if self.mean is None:
                sums.add(y, label[rows], weight[rows])
                continue
            with np.errstate(over="ignore"):
                square[rows] = row_squares(y - self.mean[label[rows]])
        if self.mean is not None:
            return PartialSums.of(square, label.astype(np.int32), self.k, weight)
        mass = PartialSums.of(weight, label.astype(np.int32), self.k)
        return mass.joined(sums.parts())


def at_changes(mark: Mark, *changes: MovedRows | DroppedClusters) -> Mark:
    """Return the mark after more changes."""
    return replace(mark, changes=(*mark.changes, *changes))
