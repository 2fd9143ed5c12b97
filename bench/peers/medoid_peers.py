"""Libraries that search medoids by FasterPAM in a given matrix of dissimilarities."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from harness.generated_data import Array

from peers.inexact_peers import SelfStartingPeer
from peers.kmeans_peers import Peer, PeerInfo

OURS, THEIRS, ALONE = "partita medoids", "kmedoids", ", 1 thread"


class MedoidPeer(SelfStartingPeer):
    """A call (matrix, k, seed) -> (medoids, passes) from random rows."""

    def fit(self, rows: Array, start: Array, most: int) -> tuple[Array, int]:
        """`rows` is the matrix, `start` says how many medoids, `most` is the seed."""
        return self.call(rows, len(start), most)


def ours(threads: int) -> Peer:
    import partita

    def call(matrix: Array, k: int, seed: int) -> tuple[Array, int]:
        model = partita.KMedoids(
            k, metric="precomputed", init="random", random_state=seed, n_threads=threads
        ).fit(matrix)
        return model.medoid_indices_, model.n_iter_

    return MedoidPeer(PeerInfo(partita.__version__), call)


def theirs(threads: int) -> Peer:
    import kmedoids

    def call(matrix: Array, k: int, seed: int) -> tuple[Array, int]:
        found = kmedoids.fasterpam(matrix, k, init="random", random_state=seed, n_cpu=threads)
        return found.medoids.astype(int), found.n_iter

    return MedoidPeer(PeerInfo(version("kmedoids")), call)


MEDOID_PEERS: dict[str, Callable[[int], Peer]] = {
    OURS: ours,
    THEIRS: theirs,
    OURS + ALONE: lambda threads: ours(1),
    THEIRS + ALONE: lambda threads: theirs(1),
}
