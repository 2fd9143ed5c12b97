"""Libraries with kernel K-means, and their common task.

tslearn takes no given start, so each begins with a random partition of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from harness.generated_data import Array

from peers.kmeans_peers import Outcome, Peer, PeerInfo

OURS = "partita, kernel"


@dataclass(frozen=True, slots=True)
class KernelTask:
    """n rows of d features in overlapping clumps, k clusters, and so many iterations."""

    n: int
    d: int
    k: int
    iterations: int

    def __str__(self) -> str:
        return f"{self.n}, {self.d}, {self.k}"

    def rows(self) -> Array:
        rng = np.random.default_rng([self.n, self.d, self.k])
        middle = rng.uniform(-10, 10, (self.k, self.d))
        return middle[rng.integers(0, self.k, self.n)] + 3 * rng.normal(size=(self.n, self.d))

    def start(self, rows: Array) -> Array:
        """Only its length is read: how many clusters."""
        return rows[: self.k]


def gamma_of(rows: Array) -> float:
    """1 / (features · variance): partita's own choice, and the same for all."""
    return float(1 / (rows.shape[1] * rows.var(axis=0).mean()))


@dataclass(frozen=True)
class KernelPeer(Peer):
    """A call (rows, k, gamma, iterations) -> (labels, iterations made)."""

    info: PeerInfo
    call: Callable[[Array, int, float, int], tuple[Array, int]]

    def fit(self, rows: Array, start: Array, most: int) -> Any:
        return self.call(rows, len(start), gamma_of(rows), most)

    def outcome(self, model: Any) -> Outcome:
        """Labels in the place of centers, which have no coordinates."""
        labels, iterations = model
        return Outcome(labels, iterations)


def partita_kernel(threads: int) -> Peer:
    from partita import KernelKMeans

    def call(rows: Array, k: int, gamma: float, most: int) -> tuple[Array, int]:
        model = KernelKMeans(
            k, gamma=gamma, init="random-partition", n_init=1, max_iter=most, random_state=0,
            approximation="exact", n_threads=threads,
        ).fit(rows)  # fmt: skip
        return model.labels_, model.n_iter_

    return KernelPeer(PeerInfo(version("partita")), call)


def tslearn_kernel(threads: int) -> Peer:
    """Rows are series of length 1 to it; a kernel of scikit-learn's is computed as by anybody."""
    from tslearn.clustering import KernelKMeans

    def call(rows: Array, k: int, gamma: float, most: int) -> tuple[Array, int]:
        model = KernelKMeans(
            k, kernel="rbf", kernel_params={"gamma": gamma}, max_iter=most, tol=0.0,
            random_state=0, n_jobs=threads,
        ).fit(rows)  # fmt: skip
        return model.labels_, model.n_iter_

    return KernelPeer(PeerInfo(version("tslearn")), call)


KERNEL_PEERS: dict[str, Callable[[int], Peer]] = {
    OURS: partita_kernel,
    "tslearn": tslearn_kernel,
}
