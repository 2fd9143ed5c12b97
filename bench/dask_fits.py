"""Fits of one dask array by partita and by dask-ml, on threads and on a local cluster.

Both run by default settings but for the same limit of iterations. A fit is timed from a call of
`fit` to centers in hand; the rows are in memory before (of this process, or of the workers). J is
recomputed from the centers of each, and is to be no higher than dask-ml's.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from harness.generated_data import Array
from harness.markdown_table import Table
from harness.timing import BestTime

from partita import KMeans

TARGET = 3.0  # times dask-ml
HEAD = ("rows", "partita", "dask-ml", "iterations", "J over dask-ml's", "ratio", "verdict")
ABOUT = (
    "Seconds of a whole fit, the best of some seeds; iterations of both, and the mean J of all seeds "
    f"over that of dask-ml. Target: {TARGET:g} times as fast, J no higher."
)
SPREAD = 3.0  # of the centers of generated clusters, in deviations of their rows


@dataclass(slots=True)
class Contender:
    """A library: its fits, their times and their J."""

    fit: Callable[[Any, int, int], tuple[Array, int]]  # X, max_iter, seed -> centers, iterations
    best: BestTime = field(default_factory=BestTime)
    costs: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)


def partita_fit(k: int, init: str) -> Callable[[Any, int, int], tuple[Array, int]]:
    def fit(X: Any, max_iter: int, seed: int) -> tuple[Array, int]:
        model = KMeans(k, init=init, max_iter=max_iter, random_state=seed).fit(X)
        return model.cluster_centers_, model.n_iter_

    return fit


def peer_fit(k: int) -> Callable[[Any, int, int], tuple[Array, int]]:
    from dask_ml.cluster import KMeans as Peer

    def fit(X: Any, max_iter: int, seed: int) -> tuple[Array, int]:
        model = Peer(n_clusters=k, max_iter=max_iter, random_state=seed).fit(X)
        return np.asarray(model.cluster_centers_), model.n_iter_

    return fit


def clusters(n: int, d: int, k: int) -> Array:
    """Rows (n, d) of k round clusters that touch."""
    rng = np.random.default_rng([n, d, k])
    centers = SPREAD * rng.normal(size=(k, d)) / np.sqrt(d) * 2
    return centers[rng.integers(0, k, n)] + rng.normal(size=(n, d))


@contextmanager
def schedulers(name: str, rows: Array, chunks: int) -> Iterator[Any]:
    """Yield the rows as a dask array in memory, under a scheduler."""
    X = da.from_array(rows, chunks=(-(-len(rows) // chunks), rows.shape[1]))
    if name == "threads":
        with dask.config.set(scheduler="threads"):
            yield X
        return
    from distributed import Client, LocalCluster, wait

    workers = len(os.sched_getaffinity(0))
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster,
        Client(cluster),
    ):
        held = X.persist()
        wait(held)
        yield held


def race(X: Any, rows: Array, contenders: dict[str, Contender], seeds: int, max_iter: int) -> None:
    for seed in range(seeds):
        for name, one in contenders.items():
            begin = time.perf_counter()
            centers, iterations = one.fit(X, max_iter, seed)
            one.best.add(time.perf_counter() - begin)
            judge = KMeans(len(centers), init=centers, n_init=1, max_iter=1).fit(rows[:1000])
            judge.cluster_centers_ = np.ascontiguousarray(centers, dtype=np.float64)
            one.costs.append(-judge.score(rows))
            one.iterations.append(iterations)
            print(f"{name}: {one.best.seconds:.2f} s, J {one.costs[-1]:.6g}", flush=True)


def main() -> None:
    """Race on both schedulers, print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--max-iter", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--schedulers", default="threads,cluster")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    n, d, k = options.rows, options.features, options.clusters
    rows, lines = clusters(n, d, k), []
    for scheduler in options.schedulers.split(","):
        for init in ("k-means++", "k-means||"):
            ours, theirs = Contender(partita_fit(k, init)), Contender(peer_fit(k))
            with schedulers(scheduler, rows, options.chunks) as X:
                contenders = {f"partita {init}": ours, "dask-ml": theirs}
                race(X, rows, contenders, options.seeds, options.max_iter)
            ratio, cost = theirs.best.seconds / ours.best.seconds, sum(ours.costs) / sum(theirs.costs)
            reached = ratio >= TARGET and cost <= 1
            lines.append(
                [
                    f"{n} × {d}, K = {k}, {options.chunks} chunks, {scheduler}, {init}",
                    f"{ours.best.seconds:.2f}",
                    f"{theirs.best.seconds:.2f}",
                    f"{max(ours.iterations)}, {max(theirs.iterations)}",
                    f"{cost:.4f}",
                    f"{ratio:.1f}",
                    "reached" if reached else "below target",
                ]
            )
    table = Table("Fits of a dask array", ABOUT, HEAD, lines)
    print(table.text())
    if options.out:
        made = f"Made by `python bench/dask_fits.py --seeds {options.seeds}` (`make bench-dask`)."
        options.out.write_text(f"# Dask\n\n{made}\n\n{table.markdown()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
