"""A sweep over numbers of clusters: against one fit with the largest, and a peer's fits of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.markdown_table import Table, milliseconds
from harness.peer_process import PeerProcess
from harness.real_data import Real
from harness.rounds import Rounds
from harness.timing import BestTime
from peers.sweep_peers import FIT, SWEEP, THEIRS

FULL = (Real("Birch1", 30), Real("letter", 30))
QUICK = FULL[:1]
MAX_FITS = 5.0  # fits
_ROUNDS = Rounds(5, long=20.0)


class KSweep:
    """Every library on one task, in turn."""

    def __init__(self, task: Real) -> None:
        self._task = task
        self._best: dict[str, BestTime] = {}

    def measure(self, processes: Mapping[str, PeerProcess]) -> None:
        for name, _, process in _ROUNDS.turns(self._task, processes, self._best):
            self._best[name].add(process.call("fit", 1).seconds)

    def row(self) -> list[str]:
        times = {name: best.seconds for name, best in self._best.items() if best}
        cost = times[SWEEP] / times[FIT]
        more = f"{times[THEIRS] / times[SWEEP]:.1f}" if THEIRS in times else "–"
        reached = "reached" if cost <= MAX_FITS else "above target"
        cells = [milliseconds(times.get(name)) for name in self._best]
        return [f"{self._task.name}, 2 to {self._task.k}", *cells, f"{cost:.2f}", reached, more]


def sweep_table(done: Sequence[KSweep], names: Sequence[str]) -> Table:
    return Table(
        "Fits for all numbers of clusters, milliseconds",
        "`choose_k` with the criteria that need no further sweeps (silhouettes of a sample), one "
        f"`KMeans` fit with the largest K,\nand scikit-learn's fits for every K, without criteria. "
        f"The best of {_ROUNDS.count} rounds. 'in fits' is the first over the second, at most "
        f"{MAX_FITS:g}.",
        ["rows, K", *names, "in fits", "verdict", "sklearn / choose_k"],
        [one.row() for one in done],
    )
