"""Fits of one dask array by partita and by dask-ml, on threads and on a local cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import numpy as np
from harness.engine_race import Fit, options, race_of, report
from harness.generated_data import Array


def peer_fit(k: int) -> Fit:
    from dask_ml.cluster import KMeans as Peer

    def fit(X: Any, max_iter: int, seed: int) -> tuple[Array, int]:
        model = Peer(n_clusters=k, max_iter=max_iter, random_state=seed).fit(X)
        return np.asarray(model.cluster_centers_), model.n_iter_

    return fit


@contextmanager
def scheduled(name: str, rows: Array, blocks: int) -> Iterator[Any]:
    """Yield the rows as a dask array in memory, under a scheduler."""
    X = da.from_array(rows, chunks=(-(-len(rows) // blocks), rows.shape[1]))
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


def main() -> None:
    """Race on both schedulers."""
    parser = options(__doc__, rows=2_000_000, features=32, clusters=100, blocks=20)
    parser.add_argument("--schedulers", default="threads,cluster")
    given = parser.parse_args()
    race, lines = race_of(given), []
    rows = race.rows()
    for name in given.schedulers.split(","):
        with scheduled(name, rows, race.blocks) as X:
            lines += race.lines(name, X, rows, "dask-ml", peer_fit(race.k))
    made_by = f"python bench/dask_fits.py --seeds {race.seeds}"
    report(race, "dask-ml", made_by, lines, given.out)


if __name__ == "__main__":
    main()
