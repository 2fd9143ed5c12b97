"""Libraries with K-prototypes and K-modes, and their common task: the same start for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from harness.generated_data import Array

from peers.kmeans_peers import Outcome, Peer, PeerInfo

OURS, THEIRS, TEN_STARTS = "partita prototypes", "kmodes", "partita, ten starts"
GAMMA = 0.5
_LEVELS = 6  # categories in each column
_FAITHFUL = 0.5  # share of the values that are those of the row's own group


@dataclass(frozen=True, slots=True)
class MixedTask:
    """n rows of p numbers and q categories in overlapping groups, and k clusters."""

    n: int
    p: int
    q: int
    k: int

    def __str__(self) -> str:
        return f"{self.n // 1000}k, {self.p}, {self.q}, {self.k}"

    def rows(self) -> Array:
        """(n, p + q): numbers, then codes of categories, all of which occur."""
        rng = self._rng(0)
        group, middle = rng.integers(self.k, size=self.n), rng.normal(size=(self.k, self.p))
        own, chance = rng.integers(_LEVELS, size=(self.k, self.q)), rng.random((self.n, self.q))
        other = rng.integers(_LEVELS, size=(self.n, self.q))
        numbers = 1.5 * middle[group] + rng.normal(size=(self.n, self.p))
        return np.hstack([numbers, np.where(chance < _FAITHFUL, own[group], other)])

    def start(self, rows: Array) -> Array:
        """Different rows, at random, as many for each of several rounds."""
        return np.stack([rows[self._rng(r).choice(self.n, self.k, False)] for r in range(1, 4)])

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.n, self.p, self.q, self.k, stream])


def count_numbers(rows: Array) -> int:
    """The number of columns of numbers: those before the first that has whole numbers only."""
    whole = (rows == np.rint(rows)).all(axis=0)
    return int(np.argmax(whole)) if whole.any() else rows.shape[1]


@dataclass(frozen=True)
class PrototypePeer(Peer):
    """A call (rows, number of columns of numbers, start) -> (prototypes, iterations)."""

    info: PeerInfo
    call: Callable[[Array, int, Array], tuple[Array, int]]

    def fit(self, rows: Array, start: Array, most: int) -> Any:
        return self.call(rows, count_numbers(rows), start[most])

    def outcome(self, model: Any) -> Outcome:
        return Outcome(*model)


def partita_prototypes(threads: int) -> Peer:
    from partita import KPrototypes

    def call(rows: Array, p: int, start: Array) -> tuple[Array, int]:
        model = KPrototypes(
            len(start), init=start, gamma=GAMMA, standardize=False, tol=0, n_threads=threads,
            categorical=range(p, rows.shape[1]),
        ).fit(rows)  # fmt: skip
        return model.cluster_centers_.astype(np.float64), model.n_iter_

    return PrototypePeer(PeerInfo(version("partita")), call)


def partita_ten_starts(threads: int) -> Peer:
    """From ten starts of its own, its default, of which it keeps the best."""
    from partita import KPrototypes

    def call(rows: Array, p: int, start: Array) -> tuple[Array, int]:
        model = KPrototypes(
            len(start), gamma=GAMMA, standardize=False, tol=0, n_threads=threads, random_state=0,
            categorical=range(p, rows.shape[1]),
        ).fit(rows)  # fmt: skip
        return model.cluster_centers_.astype(np.float64), model.n_iter_

    return PrototypePeer(PeerInfo(version("partita")), call)


def kmodes_prototypes(threads: int) -> Peer:
    """It has one thread, and updates prototypes after every row."""
    from kmodes.kmodes import KModes
    from kmodes.kprototypes import KPrototypes

    def call(rows: Array, p: int, start: Array) -> tuple[Array, int]:
        k, categories = len(start), list(range(p, rows.shape[1]))
        if p == 0:
            model = KModes(k, init=start, n_init=1, n_jobs=1).fit(rows)
        else:
            init = [start[:, :p], start[:, p:]]
            model = KPrototypes(k, init=init, gamma=GAMMA, n_init=1, n_jobs=1)
            model.fit(rows, categorical=categories)
        return np.asarray(model.cluster_centroids_, dtype=np.float64), model.n_iter_

    return PrototypePeer(PeerInfo(version("kmodes")), call)


PROTOTYPE_PEERS: dict[str, Callable[[int], Peer]] = {
    OURS: partita_prototypes,
    THEIRS: kmodes_prototypes,
    TEN_STARTS: partita_ten_starts,
}
