"""Greedy k-means++, by the two that offer it as a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contestants import LLOYD, OURS
from datasets import Real
from measure import Best, in_turn
from objective import objective
from shapes import Array, Shape
from stands import FailedError, Stand
from tables import Table, milliseconds, verdict

_SEEDERS = (OURS, LLOYD)
_SEED = 0
_LIMIT = 120.0  # seconds for one call
_LONG = 10.0  # seconds: what took longer is not repeated
_ROUNDS = 3
_TARGET, _LARGE = 5.0, 10**7  # wanted where n·K is that large


class Seeding:
    """Both on the same rows."""

    def __init__(self, task: Real | Shape) -> None:
        self._task = task
        self._best = {name: Best() for name in _SEEDERS}
        self._costs: dict[str, float] = {}
        self._size = 0

    def measure(self, stands: Mapping[str, Stand]) -> None:
        rows = self._task.rows()
        self._size = len(rows) * self._task.k
        for name in _SEEDERS:
            stands[name].ask("load", self._task)
        for number in range(_ROUNDS):
            for name in in_turn(_SEEDERS, number):
                if not (self._best[name] and self._best[name].seconds > _LONG):
                    self._seed(stands[name], rows)

    def _seed(self, stand: Stand, rows: Array) -> None:
        try:
            run = stand.ask("seed", self._task.k, _SEED, seconds=_LIMIT)
        except FailedError:
            return
        self._best[stand.name].add(run.seconds)
        self._costs[stand.name] = objective(rows, run.centers)

    def row(self) -> list[str]:
        times = {name: best.seconds for name, best in self._best.items() if best}
        wanted = _TARGET if self._size >= _LARGE else None
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
