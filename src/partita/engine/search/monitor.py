"""`SearchMonitor`: the best so far, what was reached when, and why a search ends early."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from partita.engine.search.search_problem import SearchProblem, Solution
from partita.halting import Halt, StopReason
from partita.observers import requested_stop
from partita.run_record import SearchRecord
from partita.trace import Callback, Progress


class SearchEnded(Exception):
    """A limit or a callback ended the search; the monitor has the best so far."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The limits of a search: a time budget, the halting criterion of the fit, callbacks."""

    begin: float  # time.perf_counter() when the fit began
    seconds: float | None
    halt: Halt
    callbacks: Sequence[Callback]


@dataclass
class SearchMonitor:
    """The listener of a search."""

    limits: SearchLimits
    records: list[SearchRecord] = field(default_factory=list)
    evaluations: int = 0
    best: Solution | None = None  # of the present problem
    lowest: float = math.inf  # J of the records, by the rows of the present problem

    def note(self, phase: str, problem: SearchProblem, solutions: Sequence[Solution]) -> None:
        """Count local searches and keep the best solution; end the search if it is time to."""
        self.evaluations += len(solutions)
        for solution in solutions:
            if self.best is None or solution.cost < self.best.cost:
                self.best = solution
                sample = " (sample)" if problem.is_sample else ""
                self.record(phase + sample, solution.cost * problem.price)
        self.check()

    def forget_best(self) -> None:
        """Begin again: costs by other rows do not compare."""
        self.best, self.lowest = None, math.inf

    def record(self, phase: str, cost: float) -> None:
        """Keep a record if the cost is the lowest so far, or the first."""
        if cost < self.lowest or not self.records:
            self.lowest = cost
            seconds = time.perf_counter() - self.limits.begin
            self.records.append(SearchRecord(seconds, phase, cost, self.evaluations))

    def check(self) -> None:
        """Raise `SearchEnded` at a limit, or if a callback requests it."""
        limits = self.limits
        seconds, cost = time.perf_counter() - limits.begin, self.lowest
        progress = Progress(self.evaluations + 1, cost, cost, 0.0, 0, 0, seconds, "search", 0.0)
        for reason in [requested_stop(callback(progress)) for callback in limits.callbacks]:
            if reason is not None:
                raise SearchEnded(reason)
        if limits.seconds is not None and seconds >= limits.seconds:
            text = f"the time budget of {limits.seconds:.3g} s was used up"
            raise SearchEnded(StopReason(text, "time_budget"))
        if limits.halt.is_over([progress]):
            why = limits.halt.reason([progress]) or "the time limit was reached"
            raise SearchEnded(StopReason.of(why, "deadline"))
