"""Libraries with medoids of Gower's dissimilarity, and their common task: a mixed table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from harness.generated_data import Array

from peers.kmeans_peers import Peer, PeerInfo
from peers.medoid_peers import MedoidPeer

OURS, THEIRS = "partita gower", "gower + kmedoids"
LEVELS = 5  # categories in each column
FAITHFUL = 0.6  # share of the values that are those of the row's own group


@dataclass(frozen=True, slots=True)
class GowerTask:
    """n complete rows of p numbers and q categories in overlapping groups, and k medoids."""

    n: int
    p: int
    q: int
    k: int

    def __str__(self) -> str:
        return f"{self.n // 1000}k, {self.p}, {self.q}, {self.k}"

    def rows(self) -> Array:
        """(n, p + q): numbers, then codes of categories."""
        rng = np.random.default_rng([self.n, self.p, self.q, self.k])
        group, middle = rng.integers(self.k, size=self.n), rng.normal(size=(self.k, self.p))
        own, chance = rng.integers(LEVELS, size=(self.k, self.q)), rng.random((self.n, self.q))
        other = rng.integers(LEVELS, size=(self.n, self.q))
        numbers = 2.0 * middle[group] + rng.normal(size=(self.n, self.p))
        return np.hstack([numbers, np.where(chance < FAITHFUL, own[group], other)])

    def start(self, rows: Array) -> Array:
        """As many rows as there are medoids: libraries start by themselves."""
        return rows[: self.k]


def first_category(rows: Array) -> int:
    """The number of columns of numbers: those before the first that has whole numbers only."""
    whole = (rows == np.rint(rows)).all(axis=0)
    return int(np.argmax(whole)) if whole.any() else rows.shape[1]


def ours(threads: int) -> Peer:
    import partita

    def call(rows: Array, k: int, seed: int) -> tuple[Array, int]:
        categories = list(range(first_category(rows), rows.shape[1]))
        model = partita.KMedoids(
            k, metric="gower", metric_params={"categorical": categories}, init="random",
            random_state=seed, n_threads=threads,
        ).fit(rows)  # fmt: skip
        return model.medoid_indices_, model.n_iter_

    return MedoidPeer(PeerInfo(partita.__version__), call)


def theirs(threads: int) -> Peer:
    import gower
    import kmedoids

    def call(rows: Array, k: int, seed: int) -> tuple[Array, int]:
        is_category = np.arange(rows.shape[1]) >= first_category(rows)
        matrix: Any = gower.gower_matrix(rows, cat_features=is_category.tolist())
        found = kmedoids.fasterpam(matrix, k, init="random", random_state=seed, n_cpu=threads)
        return found.medoids.astype(int), found.n_iter

    return MedoidPeer(PeerInfo(f"{version('gower')}, {version('kmedoids')}"), call)


GOWER_PEERS: dict[str, Callable[[int], Peer]] = {OURS: ours, THEIRS: theirs}
