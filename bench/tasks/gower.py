"""Medoids of a table of numbers and categories, by Gower's dissimilarity: whole fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from harness.generated_data import Array
from harness.markdown_table import Table, verdict
from harness.peer_process import FailedError, PeerProcess
from harness.timing import BestTime, rotated
from peers.gower_peers import OURS, GowerTask, first_category

ROUNDS = 3  # as many seeds
CALL_LIMIT_SECONDS = 120.0  # for one fit
TARGET_RATIO = 5.0


@dataclass(slots=True)
class GowerMedoids:
    """One task by every library."""

    task: GowerTask
    best: dict[str, BestTime] = field(default_factory=dict)
    losses: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, processes: Mapping[str, PeerProcess]) -> None:
        """Fit from a seed after the other; of times the best counts, of losses the mean."""
        rows = self.task.rows()
        for process in processes.values():
            process.call("load", self.task)
        self.best = {name: BestTime() for name in processes}
        self.losses = {name: [] for name in processes}
        for seed in range(ROUNDS):
            for name in rotated(list(processes), seed):
                try:
                    run = processes[name].call("fit", seed, seconds=CALL_LIMIT_SECONDS)
                except FailedError:
                    continue
                self.best[name].add(run.seconds)
                self.losses[name].append(gower_loss(rows, np.asarray(run.centers)))


def gower_loss(rows: Array, medoids: Array) -> float:
    """The sum of dissimilarities to the nearest of these rows, in double."""
    p = first_category(rows)
    reach = np.ptp(rows[:, :p], axis=0)
    lowest = np.full(len(rows), np.inf)
    for medoid in rows[medoids.astype(int)]:
        numbers = (np.abs(rows[:, :p] - medoid[:p]) / reach).sum(axis=1)
        differ = (rows[:, p:] != medoid[p:]).sum(axis=1)
        np.minimum(lowest, (numbers + differ) / rows.shape[1], out=lowest)
    return float(lowest.sum())


def gower_table(done: Sequence[GowerMedoids], names: Sequence[str]) -> Table:
    """Times and losses of all libraries."""

    def cell(fit: GowerMedoids, name: str) -> str:
        if not fit.best.get(name):
            return "–"
        return f"{fit.best[name].seconds:.3g} (loss {np.mean(fit.losses[name]):.6g})"

    return Table(
        "Medoids by Gower's dissimilarity, seconds",
        "Whole fits from the table, from random rows, the best time of three seeds; in parentheses "
        "the mean loss,\nrecomputed in double. The peer makes the matrix with the gower package, "
        "in single precision, and searches it by\nkmedoids' FasterPAM.",
        ["n, numbers, categories, K", *names, "ratio", "target", "verdict"],
        [
            [
                str(fit.task),
                *(cell(fit, name) for name in names),
                *verdict({n: b.seconds for n, b in fit.best.items() if b}, OURS, TARGET_RATIO),
            ]
            for fit in done
        ],
    )
