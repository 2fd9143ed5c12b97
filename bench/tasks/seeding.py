"""Greedy k-means++, by the two that offer it as a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.generated_data import Array, Shape
from harness.markdown_table import Table, milliseconds, verdict
from harness.objective import objective
from harness.peer_process import FailedError, PeerProcess
from harness.real_data import Real
from harness.timing import BestTime, rotated
from peers.kmeans_peers import LLOYD, OURS

_SEEDERS = (OURS, LLOYD)
_SEED = 0
_CALL_LIMIT_SECONDS = 120.0  # seconds for one call
_MAX_REPEATED_SECONDS = 10.0  # seconds: what took longer is not repeated
_ROUNDS = 3
_TARGET_RATIO, _TARGET_MIN_PAIRS = 5.0, 10**7  # wanted where n·K is that large


class Seeding:
    """Both on the same rows."""

    def __init__(self, task: Real | Shape) -> None:
        self._task = task
        self._best = {name: BestTime() for name in _SEEDERS}
        self._costs: dict[str, float] = {}
        self._size = 0

    def measure(self, processes: Mapping[str, PeerProcess]) -> None:
        rows = self._task.rows()
        self._size = len(rows) * self._task.k
        for name in _SEEDERS:
            processes[name].call("load", self._task)
        for number in range(_ROUNDS):
            for name in rotated(_SEEDERS, number):
                if not (self._best[name] and self._best[name].seconds > _MAX_REPEATED_SECONDS):
                    self._seed(processes[name], rows)

    def _seed(self, process: PeerProcess, rows: Array) -> None:
        try:
            run = process.call("seed", self._task.k, _SEED, seconds=_CALL_LIMIT_SECONDS)
        except FailedError:
            return
        self._best[process.name].add(run.seconds)
        self._costs[process.name] = objective(rows, run.centers)

    def row(self) -> list[str]:
        times = {name: best.seconds for name, best in self._best.items() if best}
        wanted = _TARGET_RATIO if self._size >= _TARGET_MIN_PAIRS else None
        return [
            str(self._task),
            *(milliseconds(times.get(name)) for name in _SEEDERS),
            *verdict(times, OURS, wanted),
            *(f"{self._costs.get(name, float('nan')):.4g}" for name in _SEEDERS),
        ]


def seeding_table(seedings: Sequence[Seeding]) -> Table:
    return Table(
        "Seeding by greedy k-means++, milliseconds",
        "The same number of candidates per center, the best of up to three calls; a target where "
        "n·K is at least 1e7.\nJ is of the seeds themselves: the random choices differ, so a few "
        "per cent either way is chance.",
        [
            "data",
            *_SEEDERS,
            "ratio",
            "target",
            "verdict",
            *(f"J {name}" for name in _SEEDERS),
        ],
        [seeding.row() for seeding in seedings],
    )
