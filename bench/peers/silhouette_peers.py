"""Libraries that compute the silhouette of every row."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from harness.generated_data import Array

from peers.inexact_peers import SelfStartingPeer
from peers.kmeans_peers import Peer, PeerInfo

OURS, THEIRS = "partita silhouette", "sklearn silhouette"


class SilhouettePeer(SelfStartingPeer):
    """A call (rows, labels) -> (silhouettes, 0)."""

    def fit(self, rows: Array, start: Array, most: int) -> tuple[Array, int]:
        """`start` holds the labels."""
        return self.call(rows, start)


def ours(threads: int) -> Peer:
    import partita

    def call(rows: Array, labels: Array) -> tuple[Array, int]:
        return partita.silhouette_samples(rows, labels, n_threads=threads), 0

    return SilhouettePeer(PeerInfo(partita.__version__), call)


def theirs(threads: int) -> Peer:
    from sklearn.metrics import silhouette_samples

    def call(rows: Array, labels: Array) -> tuple[Array, int]:
        return silhouette_samples(rows, labels), 0

    return SilhouettePeer(PeerInfo(version("scikit-learn")), call)


SILHOUETTE_PEERS: dict[str, Callable[[int], Peer]] = {OURS: ours, THEIRS: theirs}
