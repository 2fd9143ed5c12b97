"""Defaults against defaults, as a user pays for them: `KMeans(K).fit(X)`, start included."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from harness.generated_data import Array
from harness.markdown_table import Table, milliseconds
from harness.objective import objective
from harness.peer_process import FailedError, PeerProcess
from harness.real_data import Real
from harness.timing import Clock, rotated
from peers.kmeans_peers import LLOYD, OURS

_PEERS = (OURS, LLOYD, "intelex")  # those whose defaults are the same: greedy k-means++, one run
_MIN_SEEDS, _MAX_SEEDS = 10, 60  # as many as _ROW_SECONDS allow
_MAX_COST_SHARE = 1e-3  # by which the median J may be higher
_MEDIAN_ERROR = 1.2533  # standard error of a median, in those of a mean
_TARGETS = 3.0, 1.5  # from MANY_ROWS on, and below
_MANY_ROWS = 10_000
_ROW_SECONDS = 20.0  # after which a row begins no further seed


def _bundled(name: str) -> Array:
    import sklearn.datasets

    return np.ascontiguousarray(getattr(sklearn.datasets, f"load_{name}")().data)


def _normal(n: int, d: int) -> Array:
    return np.random.default_rng(0).normal(size=(n, d))


def _blobs(n: int, d: int, k: int) -> Array:
    rng = np.random.default_rng(0)
    return rng.uniform(-10, 10, (k, d))[rng.integers(0, k, n)] + rng.normal(size=(n, d))


_MAKERS: dict[str, Callable[[], Array]] = {
    "iris": lambda: _bundled("iris"),
    "wine": lambda: _bundled("wine"),
    "breast cancer": lambda: _bundled("breast_cancer"),
    "digits": lambda: _bundled("digits"),
    "uniform 1M × 3": lambda: np.random.default_rng(0).random((1_000_000, 3)),
    "blobs 200k × 20": lambda: _blobs(200_000, 20, 8),
    "normal 100k × 10": lambda: _normal(100_000, 10),
    "normal 20k × 50": lambda: _normal(20_000, 50),
}


@dataclass(frozen=True, slots=True)
class Named:
    """Rows by name, and a number of clusters."""

    name: str
    k: int

    def __str__(self) -> str:
        return f"{self.name}, K={self.k}"

    def rows(self) -> Array:
        return _MAKERS[self.name]()

    def start(self, rows: Array) -> Array:
        return rows[: self.k]


FULL: tuple[Named | Real, ...] = (
    *(Named("iris", 3), Named("wine", 3), Named("breast cancer", 2), Named("digits", 10)),
    *(Named("uniform 1M × 3", 10), Named("blobs 200k × 20", 8), Named("normal 100k × 10", 8)),
    *(Named("normal 20k × 50", 20), Real("letter", 26), Real("pendigit", 10), Real("skin", 10)),
    *(Real("Shuttle", 10), Real("GloVe", 50), Real("MNIST", 10)),
)
QUICK: tuple[Named | Real, ...] = (
    *(Named("breast cancer", 2), Named("digits", 10), Named("normal 20k × 50", 20)),
)


class Defaults:
    """All peers on the same rows, with the same seeds in turn."""

    def __init__(self, task: Named | Real) -> None:
        self._task, self._n = task, 0
        self._times: dict[str, list[float]] = {name: [] for name in _PEERS}
        self._costs: dict[str, list[float]] = {name: [] for name in _PEERS}

    def measure(self, processes: Mapping[str, PeerProcess]) -> None:
        rows = self._task.rows()
        self._n, clock = len(rows), Clock()
        peers = [name for name in _PEERS if name in processes]
        for name in peers:
            processes[name].call("load", self._task)
            processes[name].call("default_fit", self._task.k, 0)  # warms it up
        for seed in range(_MAX_SEEDS):
            if seed >= _MIN_SEEDS and clock.seconds > _ROW_SECONDS:
                break
            for name in rotated(peers, seed):
                try:
                    run = processes[name].call("default_fit", self._task.k, seed)
                except FailedError:
                    continue
                self._times[name].append(run.seconds)
                self._costs[name].append(objective(rows, run.centers))

    def row(self) -> list[str]:
        times = {name: statistics.median(t) for name, t in self._times.items() if t}
        costs = {name: statistics.median(c) for name, c in self._costs.items() if c}
        rivals = {name: seconds for name, seconds in times.items() if name != OURS}
        target = _TARGETS[self._n < _MANY_ROWS]
        fastest = min(rivals, key=lambda name: rivals[name])
        ratio = rivals[fastest] / times[OURS]
        # the seeds of two libraries draw other starts: medians differ by chance, too
        as_good = all(
            costs[OURS] / cost - 1 <= max(_MAX_COST_SHARE, 2 * self._noise(name))
            for name, cost in costs.items()
        )
        reached = ratio >= target and as_good
        return [
            str(self._task),
            *(milliseconds(times.get(name)) for name in _PEERS),
            f"{ratio:.2f}",
            f"{target:g}",
            f"{'reached' if reached else 'below target'} (vs {fastest})",
            *(self._against(name) for name in _PEERS[1:]),
            str(len(self._times[OURS])),
        ]

    def _against(self, name: str) -> str:
        if not self._costs[name]:
            return "–"
        ratio = statistics.median(self._costs[name]) / statistics.median(self._costs[OURS])
        return f"{ratio - 1:+.2%} ± {self._noise(name):.2%}"

    def _noise(self, name: str) -> float:
        """Standard error of the difference of two median J, relative to ours."""
        pair = [costs for who in (OURS, name) if len(costs := self._costs[who]) > 1]
        variance = sum(statistics.variance(costs) / len(costs) for costs in pair)
        return float(_MEDIAN_ERROR * variance**0.5 / statistics.median(self._costs[OURS]))


def defaults_table(done: Sequence[Defaults], names: list[str]) -> Table:
    return Table(
        "Defaults against defaults, milliseconds",
        "`KMeans(K, random_state=seed).fit(X)`, everything else by default: start, iterations, "
        "labels. Medians over the seeds;\n'J' is a peer's median relative to partita's, ± the "
        "standard error of the difference: the same seed draws other starts in each library. A\n"
        f"target is reached if partita's median J is at most {_MAX_COST_SHARE:.1%} above the best, "
        "or within two standard errors.",
        [
            *("data", *_PEERS, "ratio", "target", "verdict"),
            *(f"J {name}" for name in _PEERS[1:]),
            "seeds",
        ],
        [one.row() for one in done],
    )
