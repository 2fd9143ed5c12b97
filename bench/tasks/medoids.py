"""K-medoids in a given matrix: the time of FasterPAM, and how good its medoids are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from harness.generated_data import Array
from harness.markdown_table import Table, milliseconds, verdict
from harness.peer_process import PeerProcess
from harness.rounds import Rounds
from harness.timing import BestTime
from peers.medoid_peers import ALONE, OURS, THEIRS
from scipy.spatial.distance import cdist

_ROUNDS = Rounds(3, long=5.0, limit=120.0)
_SEEDS = 50


@dataclass(frozen=True, slots=True)
class Distances:
    """Euclidean distances of clusters that overlap, or of rows spread evenly."""

    n: int
    k: int
    kind: str = "float32"
    clusters: bool = True

    def rows(self) -> Array:
        rng = np.random.default_rng(0)
        rows = rng.random((self.n, 2))
        if self.clusters:
            rows = (
                rng.normal(size=(self.n, 10))
                + 4 * rng.normal(size=(20, 10)).repeat(-(-self.n // 20), axis=0)[: self.n]
            )
        return cdist(rows, rows).astype(self.kind)

    def start(self, rows: Array) -> Array:
        return np.zeros((self.k, 1))  # it only says how many

    def __str__(self) -> str:
        return f"{self.n} {'clustered' if self.clusters else 'uniform'}, K={self.k}, {self.kind}"


FULL = tuple(Distances(10_000, k, kind) for kind in ("float32", "float64") for k in (10, 50, 100))
QUICK = (Distances(3_000, 10), Distances(3_000, 100))
QUALITY = tuple(
    Distances(2_000, k, "float64", clusters) for clusters in (True, False) for k in (10, 50)
)


class Swaps:
    """Every library in the same matrix, from random rows of their own choice."""

    def __init__(self, task: Distances) -> None:
        self._task = task
        self._best: dict[str, BestTime] = {}

    def measure(self, processes: Mapping[str, PeerProcess]) -> None:
        for name, number, process in _ROUNDS.turns(self._task, processes, self._best):
            run = _ROUNDS.call(process, self._task, number)
            if run is not None:
                self._best[name].add(run.seconds)

    def row(self) -> list[str]:
        times = {name: best.seconds for name, best in self._best.items() if best}
        alone = {name: times[name] for name in (OURS + ALONE, THEIRS + ALONE) if name in times}
        shared = {OURS: times[OURS], **{n: t for n, t in times.items() if n.startswith(THEIRS)}}
        return [
            str(self._task),
            *(milliseconds(times.get(name)) for name in self._best),
            verdict(alone, OURS + ALONE, None)[0],
            *verdict(shared, OURS, 1.0),
        ]


def time_table(swaps: Sequence[Swaps], names: Sequence[str]) -> Table:
    return Table(
        "K-medoids by FasterPAM in a given matrix, milliseconds",
        "From random rows, the best of three seeds; partita's time includes a look at the whole "
        "matrix for what is no dissimilarity.\nThe first ratio is one thread against one, the "
        "second all of partita's against the faster of the peer's two.",
        ["matrix", *names, "one thread", "ratio", "target", "verdict"],
        [one.row() for one in swaps],
    )


class Quality:
    """The mean loss over many seeds."""

    def __init__(self, task: Distances, processes: Mapping[str, PeerProcess]) -> None:
        self._task, matrix = task, task.rows()
        self._losses: dict[str, Array] = {}
        for name in (OURS, THEIRS):
            process = processes[name]
            process.call("load", task)
            found = [
                process.call("fit", seed, seconds=_ROUNDS.limit).centers for seed in range(_SEEDS)
            ]
            self._losses[name] = np.array([matrix[:, one].min(axis=1).sum() for one in found])

    def row(self) -> list[str]:
        ours, theirs = self._losses[OURS], self._losses[THEIRS]
        spread = np.hypot(ours.std(), theirs.std()) / np.sqrt(_SEEDS) / theirs.mean()
        cells = [f"{losses.mean():.6g}" for losses in (ours, theirs)]
        return [str(self._task), *cells, f"{ours.mean() / theirs.mean():.5f}", f"{spread:.5f}"]


def quality_table(done: Sequence[Quality]) -> Table:
    return Table(
        f"K-medoids: the mean loss of {_SEEDS} seeds",
        "A run for each seed. A ratio that differs from 1 by less than twice the error is chance.",
        ["matrix", OURS, THEIRS, "ratio", "error"],
        [one.row() for one in done],
    )
