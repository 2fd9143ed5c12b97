"""Other members of the family and their peers: each from a start of its own, drawn by a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from harness.generated_data import Array

from peers.kmeans_peers import Outcome, Peer, PeerInfo

Call = Callable[[Array, int, int], tuple[Array, int]]  # (rows, k, seed) -> (centers, iterations)


@dataclass(frozen=True)
class FamilyPeer(Peer):
    """A call with the library's own start; `most` is its seed."""

    info: PeerInfo
    call: Call

    def fit(self, rows: Array, start: Array, most: int) -> Any:
        return self.call(rows, len(start), most)

    def outcome(self, model: Any) -> Outcome:
        return Outcome(*model)


def _estimator(kind: Callable[..., Any], version: str, **options: Any) -> Peer:
    def call(rows: Array, k: int, seed: int) -> tuple[Array, int]:
        model = kind(k, random_state=seed, **options).fit(rows)
        return model.cluster_centers_, int(model.n_iter_)

    return FamilyPeer(PeerInfo(version), call)


def spherical(threads: int) -> Peer:
    import partita

    return _estimator(partita.SphericalKMeans, partita.__version__, n_threads=threads)


def spherical_random(threads: int) -> Peer:
    """From random rows, as faiss begins."""
    import partita

    options = {"init": "random", "n_init": 1, "n_threads": threads}
    return _estimator(partita.SphericalKMeans, partita.__version__, **options)


def faiss_spherical(threads: int, iterations: int = 25) -> Peer:
    """On all rows, which it wants at unit length; as many iterations as by default."""
    import faiss

    faiss.omp_set_num_threads(threads)

    def call(rows: Array, k: int, seed: int) -> tuple[Array, int]:
        unit = rows.astype(np.float32)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        model = faiss.Kmeans(
            rows.shape[1],
            k,
            niter=iterations,
            spherical=True,
            seed=seed,
            max_points_per_centroid=len(rows),
        )
        model.train(unit)
        return model.centroids, len(model.iteration_stats)

    return FamilyPeer(PeerInfo(faiss.__version__), call)


def faiss_longer(threads: int) -> Peer:
    """About as many iterations as it takes until no label changes."""
    return faiss_spherical(threads, 90)


def minibatch(threads: int) -> Peer:
    import partita

    return _estimator(partita.MiniBatchKMeans, partita.__version__, n_threads=threads)


def full(threads: int) -> Peer:
    import partita

    return _estimator(partita.KMeans, partita.__version__, n_threads=threads)


def sklearn_minibatch(threads: int) -> Peer:
    from sklearn.cluster import MiniBatchKMeans

    return _estimator(MiniBatchKMeans, version("scikit-learn"))


FAMILY_PEERS: dict[str, Callable[[int], Peer]] = {
    "partita spherical": spherical,
    "partita spherical, random start": spherical_random,
    "faiss spherical": faiss_spherical,
    "faiss spherical, 90 iterations": faiss_longer,
    "partita mini-batch": minibatch,
    "partita full fit": full,
    "sklearn mini-batch": sklearn_minibatch,
}
