"""The state of a fit between two iterations, from which it can go on to the same bits.

Given centers, a pass is deterministic, so labels and sums need not be kept: one assignment to the
centers of the last pass, and the repair that followed it, bring both back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.empty_clusters import Assignment, FarRows
from partita.run_record import Fit
from partita.trace import Progress


@dataclass(frozen=True, slots=True)
class RecordedRepair:
    """The changes by the policy for empty clusters after a pass."""

    dropped: Ints  # clusters
    rows: Ints  # that moved
    to: Ints  # their clusters

    @classmethod
    def none(cls) -> RecordedRepair:
        """Return the repair that changes nothing."""
        nothing = np.empty(0, np.int64)
        return cls(nothing, nothing, nothing.astype(np.int32))


class RestorableStep(Assignment, Protocol):
    """A step of the loop, as far as a restored run needs it."""

    def assign(self, centers: Centers) -> int:
        """Label every row by `centers`; return how many labels changed."""


class RecordingAssignment:
    """An assignment that a policy for empty clusters changes, and a record of the changes."""

    def __init__(self, state: Assignment) -> None:
        self._state, self.repair = state, RecordedRepair.none()

    def members(self, k: int) -> Ints:
        return self._state.members(k)

    def farthest(self, centers: Centers, count: int) -> FarRows:
        return self._state.farthest(centers, count)

    def rows(self, which: Ints) -> Floats:
        return self._state.rows(which)

    def move(self, rows: Ints, to: Ints) -> int:
        order = np.argsort(rows)
        self.repair = replace(self.repair, rows=rows[order].astype(np.int64), to=to[order])
        return self._state.move(rows, to)

    def drop(self, clusters: Ints) -> int:
        self.repair = replace(self.repair, dropped=clusters)
        return self._state.drop(clusters)


def restore(step: RestorableStep, assigned: Centers, repair: RecordedRepair) -> None:
    """Repeat the last pass of an earlier process, and the repair that followed it."""
    step.assign(assigned)
    if len(repair.dropped):
        step.drop(repair.dropped)
    elif len(repair.rows):
        step.move(repair.rows, repair.to)


@dataclass(frozen=True, slots=True)
class LoopState:
    """A run after some iterations. Before the first one, nothing is assigned."""

    centers: Centers  # of the pass to come
    trace: Sequence[Progress] = ()  # a list that grows; the first `iterations` are meant
    iterations: int = 0
    assigned: Centers | None = None  # centers of the last pass
    repair: RecordedRepair = field(default_factory=RecordedRepair.none)
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FitState:
    """A fit of several runs: those that ended, the best of them, and the present one."""

    ended: int  # number of runs
    best: Fit | None
    start: Floats | None  # of the present run; None: it has not begun
    loop: LoopState | None
    seconds: float  # since the fit began


class Recorder:
    """Receives every state of a fit, and saves one whenever that is due."""

    def __init__(
        self,
        save: Callable[[FitState], None],
        every_seconds: float | None,
        every_iterations: int | None,
    ) -> None:
        self._save, self._every_seconds = save, every_seconds
        self._every_iterations = every_iterations
        self._begin = self._saved_at = time.perf_counter()
        self._iterations = 0  # since the last one that was saved
        # replaced as one object, so that it is consistent whenever the fit is interrupted
        self._state = FitState(0, None, None, None, 0.0)
        self._saved: FitState | None = self._state

    def begin_fit(self, begin: float, ended: int, best: Fit | None) -> None:
        """Count seconds from `begin`; take over the runs that ended before."""
        self._begin = begin
        self._state = self._saved = FitState(ended, best, None, None, 0.0)

    def begin_run(self, start: Floats, loop: LoopState) -> None:
        """Note the start of a run, which may have taken long."""
        self._state = replace(self._state, start=start, loop=loop)
        self._save_if_due()

    def note(self, loop: LoopState) -> None:
        """Note the state after an iteration."""
        self._state = replace(self._state, loop=loop)
        self._iterations += 1
        self._save_if_due()

    def end_run(self, ended: int, best: Fit) -> None:
        """Note the end of a run, and the best so far."""
        self._state = FitState(ended, best, None, None, 0.0)
        self._iterations += 1  # the last one of the run
        self._save_if_due()

    def save(self) -> None:
        """Save the last state, unless it is saved."""
        state = self._state
        if state is not self._saved:
            self._save(replace(state, seconds=time.perf_counter() - self._begin))
            self._saved, self._iterations = state, 0
            self._saved_at = time.perf_counter()

    def _save_if_due(self) -> None:
        by_count = self._every_iterations is not None and (
            self._iterations >= self._every_iterations
        )
        by_time = self._every_seconds is not None and (
            time.perf_counter() - self._saved_at >= self._every_seconds
        )
        if by_count or by_time:
            self.save()
