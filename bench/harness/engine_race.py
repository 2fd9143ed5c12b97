"""Fits of the same distributed rows by partita and by the engine's own library.

Both run by default settings except for the same limit of iterations. A fit is timed from a call of
`fit` to centers in hand; the rows are in the memory of the engine before. J is recomputed from the
centers of each, over all rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.environment import load, processor
from harness.generated_data import Array
from harness.markdown_table import Table
from harness.objective import objective
from harness.timing import BestTime, rotated
from partita import KMeans

TARGET = 3.0  # times the peer
INITS = ("k-means++", "k-means||")  # of partita
CENTER_SPREAD = 6.0  # length of a generated center, in deviations of its rows

Fit = Callable[[Any, int, int], tuple[Array, int]]  # X, max_iter, seed -> centers, iterations


@dataclass(slots=True)
class Contender:
    """A library: its fits, their times and their J."""

    fit: Fit
    best: BestTime = field(default_factory=BestTime)
    costs: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Race:
    """A size of data, and how often it is fitted."""

    n: int
    d: int
    k: int
    blocks: int
    max_iter: int
    seeds: int

    def rows(self) -> Array:
        """Rows (n, d) of k round clusters that touch."""
        rng = np.random.default_rng([self.n, self.d, self.k])
        centers = CENTER_SPREAD * rng.normal(size=(self.k, self.d)) / np.sqrt(self.d)
        return centers[rng.integers(0, self.k, self.n)] + rng.normal(size=(self.n, self.d))

    def lines(self, place: str, X: Any, rows: Array, peer: str, fit: Fit) -> Iterable[list[str]]:
        """Yield a line of the table for every start of partita."""
        contenders = {init: Contender(partita_fit(self.k, init)) for init in INITS}
        contenders[peer] = Contender(fit)
        for seed in range(self.seeds):
            for name in rotated(list(contenders), seed):
                self._run(contenders[name], f"{place}, {name}", (X, rows, seed))
        theirs = contenders.pop(peer)
        for init, ours in contenders.items():
            yield [f"{place}, {init}", *_cells(ours, theirs)]

    def _run(self, one: Contender, name: str, given: tuple[Any, Array, int]) -> None:
        X, rows, seed = given
        begin = time.perf_counter()
        centers, iterations = one.fit(X, self.max_iter, seed)
        seconds = time.perf_counter() - begin
        one.best.add(seconds)
        one.costs.append(objective(rows, centers))
        one.iterations.append(iterations)
        print(
            f"{name}: {seconds:.2f} s, {iterations} iterations, J {one.costs[-1]:.6g}", flush=True
        )


def partita_fit(k: int, init: str) -> Fit:
    """Fits by partita from one kind of start."""

    def fit(X: Any, max_iter: int, seed: int) -> tuple[Array, int]:
        model = KMeans(k, init=init, max_iter=max_iter, random_state=seed).fit(X)
        return model.cluster_centers_, model.n_iter_

    return fit


def options(about: str | None, **defaults: int) -> argparse.ArgumentParser:
    """The options of a race: its sizes, and the file of its table."""
    parser = argparse.ArgumentParser(description=about)
    for name, value in {**defaults, "max_iter": 20, "seeds": 3}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    parser.add_argument("--out", type=Path)
    return parser


def race_of(given: argparse.Namespace) -> Race:
    """The race that the options describe."""
    sizes = given.rows, given.features, given.clusters, given.blocks
    return Race(*sizes, given.max_iter, given.seeds)


def report(race: Race, peer: str, made_by: str, lines: Sequence[Sequence[str]], out: Any) -> None:
    """Print the table, and write it if asked."""
    head = ("where, start", "partita", peer, "iterations", f"J over {peer}'s", "ratio", "verdict")
    size = f"{race.n:,} × {race.d} float64 in {race.blocks} blocks, K = {race.k}"
    about = (
        f"{size}. Seconds of a whole fit, start included, the best of {race.seeds} seeds; the most "
        f"iterations of both, of {race.max_iter} at most; mean J of all seeds over that of {peer}. "
        f"Target: {TARGET:g} times as fast, J no higher."
    )
    table = Table(f"partita and {peer}", about, head, lines)
    machine = f"{processor()}; load average {load():.1f} at the end (a quiet run alone takes 2)"
    print(f"{machine}\n\n{table.text()}")
    if out is not None:
        head_lines = f"# {peer}\n\nMade by `{made_by}`.  \n{machine}."
        out.write_text(f"{head_lines}\n\n{table.markdown()}\n", encoding="utf-8")


def _cells(ours: Contender, theirs: Contender) -> list[str]:
    ratio = theirs.best.seconds / ours.best.seconds
    cost = sum(ours.costs) / sum(theirs.costs)
    return [
        f"{ours.best.seconds:.2f}",
        f"{theirs.best.seconds:.2f}",
        f"{max(ours.iterations)}, {max(theirs.iterations)}",
        f"{cost:.4f}",
        f"{ratio:.1f}",
        "reached" if ratio >= TARGET and cost <= 1 else "below target",
    ]
