"""K-prototypes: whole fits from the same rows, until no label changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from harness.generated_data import Array
from harness.markdown_table import Table, verdict
from harness.peer_process import FailedError, PeerProcess
from harness.timing import BestTime, rotated
from peers.prototype_peers import GAMMA, OURS, TEN_STARTS, MixedTask, count_numbers

_ROUNDS = 2  # as many starts
_CALL_LIMIT_SECONDS = 120.0  # seconds for one fit
_TARGET_RATIO = 5.0


@dataclass(slots=True)
class Prototypes:
    """One task by every library."""

    task: MixedTask
    best: dict[str, BestTime] = field(default_factory=dict)
    costs: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, processes: Mapping[str, PeerProcess]) -> None:
        rows = self.task.rows()
        for process in processes.values():
            process.call("load", self.task)
        self.best = {name: BestTime() for name in processes}
        self.costs = {name: [] for name in processes}
        for number in range(_ROUNDS):
            for name in rotated(list(processes), number):
                try:
                    run = processes[name].call("fit", number, seconds=_CALL_LIMIT_SECONDS)
                except FailedError:
                    continue
                self.best[name].add(run.seconds)
                self.costs[name].append(mixed_objective(rows, run.centers))


def mixed_objective(rows: Array, prototypes: Array) -> float:
    """J at these prototypes, in double."""
    p, lowest = count_numbers(rows), np.full(len(rows), np.inf)
    for prototype in prototypes:
        squares = ((rows[:, :p] - prototype[:p]) ** 2).sum(axis=1)
        differ = (rows[:, p:] != prototype[p:]).sum(axis=1)
        np.minimum(lowest, squares + GAMMA * differ, out=lowest)
    return float(lowest.sum())


def prototypes_table(done: Sequence[Prototypes], names: Sequence[str]) -> Table:
    def seconds(fit: Prototypes) -> dict[str, float]:
        return {n: best.seconds for n, best in fit.best.items() if best and n != TEN_STARTS}

    def cell(fit: Prototypes, name: str) -> str:
        if not fit.best.get(name):
            return "–"
        return f"{fit.best[name].seconds:.3g} (J {np.mean(fit.costs[name]):.6g})"

    return Table(
        "K-prototypes, seconds",
        "Whole fits from the same rows until no label changes, the better time of two starts; in "
        "parentheses the mean of J,\nrecomputed from the prototypes. kmodes, which has one thread "
        "and moves prototypes after every row, comes to other\nlocal minima. Without numbers it "
        "is its KModes. The default of partita is the best of ten starts of its own.",
        ["n, numbers, categories, K", *names, "ratio", "target", "verdict"],
        [
            [
                str(fit.task),
                *(cell(fit, name) for name in names),
                *verdict(seconds(fit), OURS, _TARGET_RATIO),
            ]
            for fit in done
        ],
    )
