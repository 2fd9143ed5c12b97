"""K-means with clusters of equal sizes. Labels stand for centers, which do not tell them here."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from harness.generated_data import Array

from peers.family_peers import FamilyPeer
from peers.kmeans_peers import Peer, PeerInfo


def _equal_sizes(kind: Callable[..., Any], version: str, **options: Any) -> Peer:
    def call(rows: Array, k: int, seed: int) -> tuple[Array, int]:
        limits = {"size_min": len(rows) // k, "size_max": -(-len(rows) // k)}
        model = kind(k, random_state=seed, n_init=1, **limits, **options).fit(rows)
        return model.labels_, int(model.n_iter_)

    return FamilyPeer(PeerInfo(version), call)


def balanced(threads: int) -> Peer:
    import partita

    return _equal_sizes(partita.BalancedKMeans, partita.__version__, n_threads=threads)


def constrained(threads: int) -> Peer:
    from k_means_constrained import KMeansConstrained

    return _equal_sizes(KMeansConstrained, version("k-means-constrained"), n_jobs=threads)


BALANCED_PEERS: dict[str, Callable[[int], Peer]] = {
    "partita balanced": balanced,
    "k-means-constrained": constrained,
}
