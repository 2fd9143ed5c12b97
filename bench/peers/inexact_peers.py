"""Libraries that choose their own start and do not promise the nearest center.

Both prune by a test on the first few rotated dimensions (ADSampling), so now and then a row keeps a
center that is not its nearest. They cannot be raced from given centers: only time and J compare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.generated_data import Array

from peers.kmeans_peers import Outcome, Peer, PeerInfo


@dataclass(frozen=True)
class SelfStartingPeer(Peer):
    """A call (rows, k) -> (centers, iterations) with a start of the library's own."""

    info: PeerInfo
    call: Callable[..., tuple[Array, int]]
    options: Mapping[str, Any] = field(default_factory=dict)

    def fit(self, rows: Array, start: Array, most: int) -> Any:
        """Of `start` and `most` it takes only how many centers there are."""
        return self.call(rows, len(start), **self.options)

    def outcome(self, model: Any) -> Outcome:
        centers, iterations = model
        return Outcome(centers, iterations)


def superkmeans(threads: int) -> Peer:
    """As it comes: on a sample of at most 30 % of the rows."""
    return _superkmeans(threads, {})


def superkmeans_all(threads: int) -> Peer:
    return _superkmeans(threads, {"sampling_fraction": 1.0, "max_points_per_cluster": 10**9})


def _superkmeans(threads: int, options: Mapping[str, Any]) -> Peer:
    from superkmeans import SuperKMeans, __version__

    def call(rows: Array, k: int, **given: Any) -> tuple[Array, int]:
        model = SuperKMeans(k, rows.shape[1], n_threads=threads, **given)
        return model.train(rows), len(model.iteration_stats)

    return SelfStartingPeer(PeerInfo(__version__), call, options)


def faiss_super(threads: int) -> Peer:
    import faiss

    faiss.omp_set_num_threads(threads)

    def call(rows: Array, k: int) -> tuple[Array, int]:
        model = faiss.SuperKmeans(rows.shape[1], k, max_points_per_centroid=len(rows))
        model.train(rows)
        return model.centroids, len(model.iteration_stats)

    if not hasattr(faiss, "SuperKmeans"):
        raise ImportError("this faiss has no SuperKmeans")
    return SelfStartingPeer(PeerInfo(faiss.__version__), call)


INEXACT_PEERS: dict[str, Callable[[int], Peer]] = {
    "superkmeans": superkmeans,
    "superkmeans, all rows": superkmeans_all,
    "faiss SuperKmeans": faiss_super,
}
