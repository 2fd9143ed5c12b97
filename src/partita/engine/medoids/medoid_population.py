"""The search beyond one local optimum: a population of them, crossed and changed.

Every child ends in a swap search of its own. The first member is the run that the search goes on
from, so the result is never worse.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from partita._common.array_types import Ints
from partita._common.text import plural
from partita.engine.medoids.descent import (
    MedoidOptions,
    MedoidRun,
    SearchEffort,
    run_from,
)
from partita.engine.medoids.medoid_sets import (
    Candidates,
    best_set,
    can_enumerate,
    cross,
    exchange,
)
from partita.engine.medoids.swap import MedoidProblem
from partita.halting import Halt, StopReason
from partita.observers import INTERRUPTED, is_requested
from partita.run_record import SearchRecord
from partita.source.dissimilarities import materialize

EFFORTS = {
    "fast": None,
    "balanced": SearchEffort(members=1, patience=40, enumerates=False),
    "best": SearchEffort(members=8, patience=400, enumerates=True),
}
MIN_PATIENCE = 20  # descents without success before a search of large data ends
READS_OF_PATIENCE = 4e9  # pairs that as many descents as the patience may read once
POOL_OF_CLUSTER = 100  # candidates for each medoid if the table of all does not fit
MIN_POOL = 2000  # candidates
MIN_POOL_OF_CLUSTER = 4  # candidates for each medoid: with fewer there is little to search
MAX_EXCHANGED_SHARE = 0.1  # of the medoids, at least two
ENDING_KINDS = frozenset({"callback", "interrupt", "deadline", "target"})

ALL_SETS_TRIED = StopReason("all sets of medoids were tried", "optimum")
NO_COST = StopReason("the cost is 0, and none is lower", "optimum")
ONE_PASS = StopReason("no other candidate has a lower sum", "optimum")
NO_MEMORY = StopReason(
    "the limit of memory leaves no room for a search beyond one descent", "memory_limit"
)


def reason_to_end(run: MedoidRun, halt: Halt) -> StopReason | None:
    """Return why nothing is to be tried after this run, or None."""
    if ENDING_KINDS.intersection(run.stopped_by.kinds):
        return run.stopped_by
    if halt.is_over(run.trace):
        return StopReason.of(halt.reason(run.trace) or run.stopped_by, "deadline")
    return None


def search_on(
    problem: MedoidProblem, first: MedoidRun, rng: np.random.Generator, options: MedoidOptions
) -> MedoidRun:
    """Search for a lower loss than that of a run; return the best run, with the search's record."""
    search = PopulationSearch(problem, first, rng, options)
    try:
        reason = search.run()
    except KeyboardInterrupt:
        reason = INTERRUPTED
    return search.result(reason)


class PopulationSearch:
    """The state of a search: the best run, which an interrupt leaves whole, and the record."""

    def __init__(
        self,
        problem: MedoidProblem,
        first: MedoidRun,
        rng: np.random.Generator,
        options: MedoidOptions,
    ) -> None:
        assert options.effort is not None
        self._problem, self._rng, self._options = problem, rng, options
        self._effort: SearchEffort = options.effort
        self.best, self._descents = first, 0
        self._steps: list[SearchRecord] = []
        self._note(first, "start")

    def _note(self, run: MedoidRun, phase: str) -> None:
        self.best = run
        seconds = time.perf_counter() - self._options.begin
        cost = self._problem.in_user_units(run.loss)
        self._steps.append(SearchRecord(seconds, phase, cost, self._descents))

    def keep(self, run: MedoidRun, phase: str) -> None:
        """Count a descent, and keep it if it is the best."""
        self._descents += 1
        if run.loss < self.best.loss:
            self._note(run, phase)

    def result(self, reason: StopReason) -> MedoidRun:
        """Return the best run, and why the search ended."""
        first, last = self._steps[0].cost, self._steps[-1].cost
        count = plural(self._descents, "descent")
        paths = (*self.best.paths, f"search: {count}, cost {first:.6g} to {last:.6g}")
        return replace(self.best, stopped_by=reason, paths=paths, search=tuple(self._steps))

    def _ended_by(self, run: MedoidRun) -> StopReason | None:
        return reason_to_end(run, self._options.halt)

    def run(self) -> StopReason:
        """Search until there is a reason to stop."""
        first, problem, k = self.best, self._problem, len(self.best.medoids)
        if ended := self._ended_by(first):
            return ended
        if first.loss == 0:
            return NO_COST
        if k == 1:
            return ONE_PASS if first.stopped_by.kind == "no_improvement" else first.stopped_by
        if self._effort.enumerates and can_enumerate(problem, k):
            found = run_from(best_set(problem, k), problem, self._rng, self._options)
            self.keep(found, "enumeration")
            return self._ended_by(found) or ALL_SETS_TRIED
        pool = self._pool()
        if pool is None:
            return NO_MEMORY
        candidates, rows = pool
        return self._search_pool(candidates, rows)

    def _pool(self) -> tuple[Candidates, Ints] | None:
        """Return candidates whose table fits in memory, and their numbers; None if too few do."""
        problem, table = self._problem, self._problem.table
        everyone = np.arange(table.candidates)
        if table.matrix is not None:
            return Candidates(problem, problem.places), everyone
        k = len(self.best.medoids)
        fitting = self._options.memory // (table.n * table.dtype.itemsize)
        size = int(min(fitting, table.candidates, max(MIN_POOL, POOL_OF_CLUSTER * k)))
        if size < min(MIN_POOL_OF_CLUSTER * k, table.candidates):
            return None
        rows = np.sort(self._rng.choice(everyone, size, replace=False))
        subproblem = problem.restrict(rows, np.arange(table.n))
        subproblem.table = materialize(subproblem.table, self._options.memory)
        return Candidates(subproblem, problem.places[rows]), rows

    def _search_pool(self, candidates: Candidates, rows: Ints) -> StopReason:
        """Search among the candidates; where these are not all, refine what was found among all."""
        k, is_whole = len(self.best.medoids), len(rows) == self._problem.table.candidates
        population = MedoidPopulation(candidates, k, self._rng, self._options)
        if is_whole:
            population.admit(replace(self.best, medoids=np.sort(self.best.medoids)))
        patience = self._patience(candidates.problem)
        idle = 0
        while idle < patience:
            lowest = population.lowest
            phase, run = population.grow()
            idle = 0 if run.loss < lowest else idle + 1
            self.keep(_renumbered(run, rows), phase)
            if ended := self._ended_by(run):
                return ended
            if run.loss == 0:
                return NO_COST
        for member in () if is_whole else population.members:
            medoids = rows[member.medoids]
            run = run_from(medoids, self._problem, self._rng, self._options)
            self.keep(run, "all rows")
            if ended := self._ended_by(run):
                return ended
        text = f"{patience} descents in a row found no lower cost"
        return StopReason(text, "stagnation")

    def _patience(self, problem: MedoidProblem) -> int:
        reads = problem.table.candidates * problem.table.n
        most = int(max(MIN_PATIENCE, READS_OF_PATIENCE // reads))
        return min(self._effort.patience, most)


def _renumbered(run: MedoidRun, rows: Ints) -> MedoidRun:
    start = None if run.start is None else rows[run.start]
    return replace(run, medoids=rows[run.medoids], start=start)


class MedoidPopulation:
    """The best local optima found, all different, and their children."""

    def __init__(
        self, candidates: Candidates, k: int, rng: np.random.Generator, options: MedoidOptions
    ) -> None:
        assert options.effort is not None
        self._candidates, self._k, self._rng, self._options = candidates, k, rng, options
        self._size, self._born = options.effort.members, 0
        self._members: list[MedoidRun] = []

    @property
    def members(self) -> list[MedoidRun]:
        """The members, the best first."""
        return sorted(self._members, key=lambda member: member.loss)

    @property
    def lowest(self) -> float:
        """The loss of the best member."""
        return min((member.loss for member in self._members), default=math.inf)

    def admit(self, run: MedoidRun) -> None:
        """Put a run in the place of the worst, unless that is better or the set is known."""
        if any((run.medoids == member.medoids).all() for member in self._members):
            return
        self._members.append(run)
        if len(self._members) > self._size:
            losses = [member.loss for member in self._members]
            del self._members[losses.index(max(losses))]  # the oldest on ties

    def grow(self) -> tuple[str, MedoidRun]:
        """Make a child, improve it by swaps, and admit it; return how it was made, and itself."""
        phase, first = self._child()
        run = run_from(first, self._candidates.problem, self._rng, self._options)
        run = replace(run, medoids=np.sort(run.medoids))
        if not is_requested(run.stopped_by):
            self.admit(run)
        return phase, run

    def _child(self) -> tuple[str, Ints]:
        rng, k = self._rng, self._k
        self._born += 1  # as many starts as members, with the run before the search
        if not self._members or self._born < self._size:
            return "start", np.sort(rng.choice(len(self._candidates.points), k, replace=False))
        if len(self._members) > 1 and rng.random() < 0.5:
            one, other = rng.choice(len(self._members), 2, replace=False)
            first, second = self._members[one].medoids, self._members[other].medoids
            child = cross(self._candidates, first, second, rng)
            return "crossover", exchange(self._candidates, child, 1, rng)
        best = min(reversed(self._members), key=lambda member: member.loss)  # newest
        most = min(k, max(2, int(MAX_EXCHANGED_SHARE * k)))
        count = int(rng.integers(1, most + 1))
        return "exchange", exchange(self._candidates, best.medoids, count, rng)
