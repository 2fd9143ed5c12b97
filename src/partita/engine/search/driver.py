"""A fit by search: the fast fit, a search from its result, and a last exact run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from partita._common.array_types import Floats
from partita.engine.lloyd import LloydOptions
from partita.engine.lloyd_step import LloydStep
from partita.engine.restarts import LabelledRun, best_fit, label_and_summarise
from partita.engine.search.breathing import breathe
from partita.engine.search.monitor import SearchEnded, SearchLimits, SearchMonitor
from partita.engine.search.optimum_1d import centers_1d
from partita.engine.search.population import evolve
from partita.engine.search.search_options import OPTIMUM, STAGNATION, SearchedRun, SearchOptions
from partita.engine.search.search_problem import SearchProblem, Solution
from partita.engine.search.search_rows import SearchRows
from partita.engine.search.swaps import swap
from partita.geometry import EUCLIDEAN
from partita.halting import Deadline, StopReason
from partita.init.plusplus import plusplus
from partita.observers import is_requested
from partita.run_record import Fit
from partita.source.protocol import Source

MAX_REFINED = 4  # solutions of a sample that are improved on all rows
RESTARTS = {"balanced": 4, "best": 16}  # for rows that no search can hold


def best_by_search(
    source: Source,
    starts: Sequence[Callable[[], Floats]],
    options: LloydOptions,
    search: SearchOptions,
    rng: np.random.Generator,
) -> SearchedRun:
    """Fit as `best_of` does, search from the result, and run the loop from what was found.

    If nothing better was found, the result is that of the fast fit: J is never above its J.
    """
    budget, begin = search.time_budget, time.perf_counter()
    halt = options.halt if budget is None else options.halt | Deadline(budget)
    fit, step = best_fit(source, starts, replace(options, halt=halt))
    first = _labelled(fit, step)
    del step  # it may hold bounds
    monitor = SearchMonitor(SearchLimits(begin, budget, options.halt, options.callbacks))
    monitor.record("start", first.inertia)
    if is_requested(fit.stopped_by) or halt.is_over(fit.trace):
        return _ended(first, monitor, fit.stopped_by)
    if first.inertia == 0 or len(first.centers) == 1:
        return _ended(first, monitor, OPTIMUM)
    found, reason = _Searches(source, options, search, monitor, rng).run(first.centers)
    again = replace(options, k=len(first.centers), recorder=None, resumed=None)
    last = _labelled(*best_fit(source, [partial(np.asarray, one) for one in found], again))
    if not last.inertia < first.inertia:
        return _ended(first, monitor, reason)
    monitor.forget_best()
    monitor.record("result", last.inertia)
    return _ended(last, monitor, reason)


def _labelled(fit: Fit, step: LloydStep) -> LabelledRun:
    centers = fit.centers.plain.astype(step.source.dtype)
    return LabelledRun(centers, *label_and_summarise(centers, step), fit)


def _ended(run: LabelledRun, monitor: SearchMonitor, reason: StopReason) -> SearchedRun:
    """Return the result of a search that ended for a reason, unless a limit cut the run."""
    reason = run.fit.stopped_by if run.fit.stopped_by.is_limit else reason
    first, count = monitor.records[0].cost, monitor.evaluations
    note = f"search: local searches: {count}, J from {first:.6g} to {run.inertia:.6g}"
    fit = replace(run.fit, stopped_by=reason, paths=(*run.fit.paths, note))
    return SearchedRun(replace(run, fit=fit), tuple(monitor.records))


class _Searches:
    """Independent searches of one problem; the best centers of all."""

    def __init__(
        self,
        source: Source,
        options: LloydOptions,
        search: SearchOptions,
        monitor: SearchMonitor,
        rng: np.random.Generator,
    ) -> None:
        self._source, self._options, self._search = source, options, search
        self._monitor, self._rng = monitor, rng
        self._rows = SearchRows(source, options, search.quality, rng)

    def run(self, centers: Floats) -> tuple[list[Floats], StopReason]:
        """Return centers (k, d) to run the loop from, and why the search ended."""
        k, d = centers.shape
        if d == 1 and self._options.geometry is EUCLIDEAN:
            optimum, is_proven = centers_1d(self._source, k)
            return [optimum], OPTIMUM if is_proven else STAGNATION
        problem = self._rows.to_search(k)
        if problem is None:
            return self._restarts(centers), STAGNATION
        start = problem.scaled(np.asarray(centers, dtype=np.float64))
        found: list[Solution] = []
        try:
            for number in range(self._search.searches):
                found += self._solutions(
                    problem, start if number == 0 else problem.seeds(self._rng)
                )
            reason = STAGNATION
        except SearchEnded as ended:
            reason = ended.reason
        best = self._monitor.best
        found = sorted([*found, *([] if best is None else [best])], key=lambda one: one.cost)
        return self._refined(problem, found), reason

    def _solutions(self, problem: SearchProblem, start: Floats) -> list[Solution]:
        """Search once; return solutions, the best first."""
        (best,) = problem.descend(start[None])
        self._monitor.note("hartigan", problem, [best])
        best = breathe(problem, best, self._monitor, self._rng)
        best = swap(problem, best, self._monitor, self._rng)
        if self._search.quality == "balanced":
            return [best]
        return evolve(problem, best, self._monitor, self._rng)

    def _refined(self, problem: SearchProblem, found: list[Solution]) -> list[Floats]:
        """Return centers for all rows, from solutions that may be those of a sample."""
        if not problem.is_sample:
            return [problem.plain(found[0].centers)]
        centers = [problem.plain(one.centers) for one in found[:MAX_REFINED]]
        whole = self._rows.to_polish(problem.k)
        if whole is None:
            return centers
        self._monitor.forget_best()
        try:
            for one in centers:
                self._monitor.note("hartigan", whole, whole.descend(whole.scaled(one)[None]))
        except SearchEnded:
            pass
        best = self._monitor.best
        return centers[:1] if best is None else [whole.plain(best.centers)]

    def _restarts(self, centers: Floats) -> list[Floats]:
        """Return other starts, for rows of which too few fit memory to be searched."""
        count = RESTARTS[self._search.quality] * self._search.searches
        k, memory = len(centers), self._options.memory
        return [plusplus(self._source, k, self._rng, memory=memory)[0] for _ in range(count)]
