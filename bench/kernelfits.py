"""Kernel K-means: whole fits of an RBF kernel, the same number of iterations by everybody.

J is that of the partition each ended with, recomputed from the kernel in double.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from kernelists import OURS, KernelTask, gamma_of
from measure import Best, in_turn
from shapes import Array
from stands import FailedError, Stand
from tables import Table, verdict

_ROUNDS = 3
_LIMIT = 600.0  # seconds for one fit
_LONG = 60.0  # seconds: what took longer is not repeated
_TARGET = 5.0


@dataclass(slots=True)
class KernelRow:
    """One task by everybody."""

    task: KernelTask
    best: dict[str, Best] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)  # iterations, J and memory, or the trouble

    def measure(self, stands: Mapping[str, Stand]) -> None:
        rows = self.task.rows()
        for stand in stands.values():
            stand.ask("load", self.task)
        self.best = {name: Best() for name in stands}
        for number in range(_ROUNDS):
            for name in in_turn(list(stands), number):
                self._ask(stands[name], rows)

    def _ask(self, stand: Stand, rows: Array) -> None:
        best = self.best[stand.name]
        if (best and best.seconds > _LONG) or (stand.name in self.said and not best):
            return
        try:
            run = stand.ask("fit", self.task.iterations, seconds=_LIMIT)
        except FailedError as error:
            self.said[stand.name] = str(error)
            return
        if not best:
            memory = "?" if run.memory is None else f"{run.memory / 1e9:.1f} GB"
            cost = kernel_objective(rows, run.centers)
            self.said[stand.name] = f"{run.iterations} it., J {cost:.6g}, {memory}"
        best.add(run.seconds)


def kernel_objective(rows: Array, labels: Array) -> float:
    """Σ ‖φ − mean‖² of a partition: n − Σ_j (sum of K within j) / n_j."""
    from sklearn.metrics.pairwise import rbf_kernel

    gamma, cost = gamma_of(rows), float(len(rows))
    for j in np.unique(labels):
        mine = rows[labels == j]
        inside = sum(
            float(rbf_kernel(mine[i : i + 1024], mine, gamma=gamma).sum())
            for i in range(0, len(mine), 1024)
        )
        cost -= inside / len(mine)
    return cost


def kernel_table(done: Sequence[KernelRow], names: Sequence[str]) -> Table:
    def cell(row: KernelRow, name: str) -> str:
        said = row.said.get(name, "–")
        return f"{row.best[name].seconds:.2f} ({said})" if row.best.get(name) else said

    return Table(
        "Kernel K-means, seconds",
        "Whole fits of an RBF kernel, doubles, from a random partition of the library's own; in "
        "parentheses iterations, J, and memory\nbeyond the rows. Both hold the n × n matrix.",
        ["n, d, K", *names, "ratio", "target", "verdict"],
        [
            [
                str(row.task),
                *(cell(row, name) for name in names),
                *verdict({n: b.seconds for n, b in row.best.items() if b}, OURS, _TARGET),
            ]
            for row in done
        ],
    )
