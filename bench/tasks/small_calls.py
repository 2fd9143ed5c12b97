"""Small calls, whose time is overhead, and large ones, whose time is reading rows."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

import numpy as np
from harness.generated_data import Array, Shape
from harness.markdown_table import Table, milliseconds, verdict
from harness.peer_process import PeerProcess
from harness.timing import BestTime, rotated
from peers.kmeans_peers import LLOYD, OURS

_SEEDS = range(10)
_IRIS = (OURS, LLOYD, "intelex")  # faiss has no fit that stops when converged
_IRIS_TARGET = 3.0  # against scikit-learn alone
_IRIS_CALLS, _ONE_CALLS, _ALL_CALLS = 20, 300, 3


class Iris:
    """KMeans(3, n_init=1).fit(iris): the mean over some seeds of the best time of each."""

    def __init__(self, processes: Mapping[str, PeerProcess]) -> None:
        self._processes = {name: process for name, process in processes.items() if name in _IRIS}
        self._best = {(name, seed): BestTime() for name in self._processes for seed in _SEEDS}
        self._rows = _iris_rows()

    def run_round(self, number: int) -> None:
        for name in rotated(list(self._processes), number):
            found = self._processes[name].call("fit_small", self._rows, 3, _SEEDS, _IRIS_CALLS)
            for seed, seconds in zip(_SEEDS, found, strict=True):
                self._best[name, seed].add(seconds)

    def row(self, names: list[str]) -> list[str]:
        times = {
            name: statistics.fmean(self._best[name, seed].seconds for seed in _SEEDS)
            for name in self._processes
        }
        rivals = {name: seconds for name, seconds in times.items() if name != "intelex"}
        return [
            "KMeans(3, n_init=1).fit(iris)",
            *(milliseconds(times.get(name)) for name in names),
            *verdict(rivals, OURS, _IRIS_TARGET),
            f"{max(best.noise for best in self._best.values()):.0%}",
        ]


class Predict:
    """Labels of one row and of all the rows, by a model of two iterations."""

    def __init__(self, shape: Shape, processes: Mapping[str, PeerProcess]) -> None:
        self._shape = shape
        self._processes = processes
        self._best = {(name, count): BestTime() for name in processes for count in (1, shape.n)}

    def run_round(self, number: int) -> None:
        for name in rotated(list(self._processes), number):
            process = self._processes[name]
            process.call("load", self._shape)
            process.call("fit", 2)
            for count, calls in ((1, _ONE_CALLS), (self._shape.n, _ALL_CALLS)):
                self._best[name, count].add(process.call("predict", count, calls))

    def rows(self, names: list[str]) -> list[list[str]]:
        return [self._row(names, count) for count in (1, self._shape.n)]

    def _row(self, names: list[str], count: int) -> list[str]:
        times = {name: self._best[name, count].seconds for name in names}
        return [
            f"predict {count:,} row{'s' * (count > 1)}, d={self._shape.d}, K={self._shape.k}",
            *(milliseconds(times[name]) for name in names),
            *verdict(times, OURS, self._shape.target),
            f"{max(self._best[name, count].noise for name in names):.0%}",
        ]


def call_table(iris: Iris, predict: Predict, names: list[str]) -> Table:
    return Table(
        "Small and large calls, milliseconds",
        f"Best of many calls, in every round; iris (float64) is the mean over {len(_SEEDS)} seeds "
        "of the best of each,\nand its target is against scikit-learn alone.",
        ["call", *names, "ratio", "target", "verdict", "noise"],
        [iris.row(names), *predict.rows(names)],
    )


def _iris_rows() -> Array:
    """scikit-learn's copy; partita depends on it, so it is there."""
    from sklearn.datasets import load_iris

    return np.ascontiguousarray(load_iris().data)
