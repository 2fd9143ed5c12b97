"""Fits for all numbers of clusters: by one sweep, one fit, and a fit for each."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from harness.generated_data import Array

from peers.inexact_peers import SelfStartingPeer
from peers.kmeans_peers import Peer, PeerInfo

SWEEP, FIT, THEIRS = "choose_k", "one fit", "sklearn fits"
_CHEAP = ("silhouette", "simplified_silhouette", "calinski_harabasz", "davies_bouldin", "bic")


def sweep(threads: int) -> Peer:
    import partita

    def call(rows: Array, k: int) -> tuple[Array, int]:
        estimator = partita.KMeans(random_state=0, n_threads=threads)
        found = partita.choose_k(
            rows, range(2, k + 1), estimator=estimator, criteria=_CHEAP, random_state=0
        )
        return found.model(k).cluster_centers_, len(found.ks)

    return SelfStartingPeer(PeerInfo(partita.__version__), call)


def fit(threads: int) -> Peer:
    import partita

    def call(rows: Array, k: int) -> tuple[Array, int]:
        model = partita.KMeans(k, random_state=0, n_threads=threads).fit(rows)
        return model.cluster_centers_, model.n_iter_

    return SelfStartingPeer(PeerInfo(partita.__version__), call)


def theirs(threads: int) -> Peer:
    from sklearn.cluster import KMeans

    def call(rows: Array, k: int) -> tuple[Array, int]:
        models = [KMeans(j, random_state=0).fit(rows) for j in range(2, k + 1)]
        return models[-1].cluster_centers_, len(models)

    return SelfStartingPeer(PeerInfo(version("scikit-learn")), call)


SWEEP_PEERS: dict[str, Callable[[int], Peer]] = {SWEEP: sweep, FIT: fit, THEIRS: theirs}
