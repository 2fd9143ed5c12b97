"""The Python processes of Spark: what one does when Spark gives it a task, and what it keeps.

Spark gives a task to any free process of an executor, but the state beside a partition is in one of
them. So a Spark task is a turn: the process works on the partitions that it holds itself, which the
driver's plan names. What no process has done is done by ticket: each task has a given partition.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from partita.source.partitions import Part
from partita.source.spark_rows import folder_of, process_of, remove_folder

Process = tuple[str, int]  # the folder of its executor, and its number there

# The partitions that this process holds, with their state, by fit; and its last turn
_HELD: dict[str, dict[int, Part]] = {}
_LAST_TURN: dict[str, int] = {}


class Report(NamedTuple):
    """The result of a Spark task."""

    process: Process
    done: tuple[int, ...]  # the partitions that it worked on
    results: list[Any]  # one for each, or the sum of all


@dataclass(frozen=True, slots=True)
class Turn:
    """Runs a task beside partitions: those of a plan, or the one of the ticket."""

    fit: str
    number: int  # of the turn
    task: Callable[[Part], Any]
    add: Callable[[Any, Any], Any] | None  # adds up the results of a process
    pieces: Any  # a broadcast list of `Piece`
    which: frozenset[int]  # the partitions in question
    plan: dict[Process, list[int]] | None  # all that each process holds
    by_ticket: dict[int, int]  # partitions by blocks, where there is no plan

    def __call__(self, block: int, ticket: Iterator[Any]) -> Iterator[Report]:
        for _ in ticket:  # Spark ends a process that leaves rows unread
            pass
        process = process_of(self.fit)
        wanted = [self.by_ticket[block]] if self.plan is None else self._planned(process)
        held = _HELD.setdefault(self.fit, {})
        done, results = [], []
        for i in wanted:
            part = held.get(i) or self.pieces.value[i].open(process[0])
            if part is not None:
                held[i] = part
                results.append(self.task(part))
                done.append(i)
        if self.add is not None and results:
            results = [reduce(self.add, results)]
        yield Report(process, tuple(done), results)

    def _planned(self, process: Process) -> list[int]:
        """Return what to do; forget partitions that another process holds now."""
        assert self.plan is not None
        _forget_old_fits()
        mine = self.plan.get(process, [])
        held = _HELD.get(self.fit, {})
        for i in set(held).difference(mine):
            del held[i]
        if _LAST_TURN.get(self.fit) == self.number:  # a second task of the same turn
            return []
        _LAST_TURN[self.fit] = self.number
        return [i for i in mine if i in self.which]


def _forget_old_fits() -> None:
    for fit in [fit for fit in _HELD if not os.path.isdir(folder_of(fit))]:
        del _HELD[fit]
        _LAST_TURN.pop(fit, None)


@dataclass(frozen=True, slots=True)
class Release:
    """Removes the rows and states of a fit from an executor and a process of it."""

    fit: str

    def __call__(self, block: int, ticket: Iterator[Any]) -> Iterator[None]:
        for _ in ticket:
            pass
        _HELD.pop(self.fit, None)
        _LAST_TURN.pop(self.fit, None)
        remove_folder(self.fit)
        yield None


class Holders:
    """The driver's plan: which process holds which partition."""

    def __init__(self) -> None:
        self._process_of: dict[int, Process] = {}
        self._seen: set[Process] = set()
        self.misses = 0  # turns in a row after which something was left to do

    def plan(self) -> dict[Process, list[int]]:
        """Return the partitions of every process."""
        plan: dict[Process, list[int]] = {}
        for i, process in self._process_of.items():
            plan.setdefault(process, []).append(i)
        return plan

    def record(self, reports: Sequence[Report]) -> None:
        """Learn from a turn who holds what."""
        for report in reports:
            self._process_of.update(dict.fromkeys(report.done, report.process))
        self._seen = {report.process for report in reports}
        self._balance()

    def _balance(self) -> None:
        """Give partitions to processes of the same executor that have fewer, by two at least."""
        held: dict[Process, list[int]] = {process: [] for process in self._seen}
        for i, process in self._process_of.items():
            held.setdefault(process, []).append(i)
        for folder in {process[0] for process in held}:
            group = [process for process in held if process[0] == folder]
            while True:
                fewest = min(group, key=lambda process: len(held[process]))
                most = max(group, key=lambda process: len(held[process]))
                if len(held[most]) < len(held[fewest]) + 2:
                    break
                moved = held[most].pop()
                held[fewest].append(moved)
                self._process_of[moved] = fewest
