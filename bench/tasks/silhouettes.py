"""The silhouette of every row: the same rows and labels for every library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from harness.generated_data import Array
from harness.markdown_table import Table, milliseconds, verdict
from harness.peer_process import PeerProcess
from harness.rounds import Rounds
from harness.timing import BestTime
from peers.silhouette_peers import OURS, THEIRS

_ROUNDS = Rounds(3, long=20.0, limit=300.0)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Round clusters that overlap, in float64, and which of them each row came from."""

    n: int
    d: int
    k: int
    target: float = 1.0

    def rows(self) -> Array:
        rng = np.random.default_rng([self.n, self.d, self.k])
        labels = rng.integers(self.k, size=self.n)
        return rng.normal(size=(self.n, self.d)) + 2 * rng.normal(size=(self.k, self.d))[labels]

    def start(self, rows: Array) -> Array:
        rng = np.random.default_rng([self.n, self.d, self.k])
        return rng.integers(self.k, size=self.n)  # the first draw of `rows`

    def __str__(self) -> str:
        return f"{self.n // 1000}k, {self.d}, {self.k}"


FULL = (
    Labelled(20_000, 16, 10, target=8.0),
    *(Labelled(20_000, 16, k) for k in (2, 50, 200, 2000)),
    *(Labelled(20_000, d, 10) for d in (2, 64, 256)),
    Labelled(50_000, 16, 10),
    Labelled(50_000, 2, 50),
    Labelled(10_000, 784, 10),
    Labelled(10_000, 2000, 10),
)
QUICK = (Labelled(5_000, 16, 10, target=8.0), Labelled(5_000, 256, 10))


class Silhouettes:
    """Every library on one task, in turn."""

    def __init__(self, task: Labelled) -> None:
        self._task = task
        self._best: dict[str, BestTime] = {}
        self._found: dict[str, Array] = {}

    def measure(self, processes: Mapping[str, PeerProcess]) -> None:
        for name, _, process in _ROUNDS.turns(self._task, processes, self._best):
            run = _ROUNDS.call(process, self._task, 1)
            if run is not None:
                self._best[name].add(run.seconds)
                self._found[name] = run.centers

    def row(self) -> list[str]:
        times = {name: best.seconds for name, best in self._best.items() if best}
        apart = "–"
        if OURS in self._found and THEIRS in self._found:
            apart = f"{np.abs(self._found[OURS] - self._found[THEIRS]).max():.0e}"
        noise = max(best.noise for best in self._best.values() if best)
        cells = [milliseconds(times.get(name)) for name in self._best]
        last = verdict(times, OURS, self._task.target) if OURS in times else ["–", "–", "no result"]
        return [str(self._task), *cells, apart, f"{noise:.0%}", *last]


def silhouette_table(done: Sequence[Silhouettes], names: Sequence[str]) -> Table:
    return Table(
        "The silhouette of every row, milliseconds",
        "n, d, K of float64 rows; the best of three rounds, all threads. 'apart' is the largest "
        "difference of a silhouette.\nscikit-learn multiplies matrices by fused operations, which "
        "partita's promise of the same bits everywhere rules out:\nfrom some hundred features "
        "on that costs more than all else saves.",
        ["rows", *names, "apart", "noise", "ratio", "target", "verdict"],
        [one.row() for one in done],
    )
