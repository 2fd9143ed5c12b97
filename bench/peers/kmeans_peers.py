"""The peers: one way to ask each library for the same fit.

A builder imports its library, tells it how many threads to use, and raises ImportError where it is
not installed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
from harness.generated_data import Array

Seeding = Callable[[Array, int, int], Array]  # (rows, k, seed) -> centers

UNLIMITED_ITERATIONS = 100_000  # iterations, for those who stop by themselves
MIN_BYTE_FEATURES = 32  # from which partita compares all pairs in bytes


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """Properties of a library that the comparison must respect."""

    version: str
    stops: bool = True  # when no label changes; else it is told how many iterations to make
    prunes: bool = False  # so that later iterations cost less than the first ones


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a fit."""

    centers: Array
    iterations: int
    path: str = "–"  # which of its algorithms a library took, where it tells


class Peer(ABC):
    """A library that can fit from given centers, and label rows with the result."""

    info: PeerInfo
    seeding: Seeding | None = None

    @abstractmethod
    def fit(self, rows: Array, start: Array, most: int) -> Any:
        """The library's own model: until no label changes, or `most` iterations are made."""

    def plain(self, rows: Array, start: Array, iterations: int) -> Any:
        """The same, with every distance computed in every iteration."""
        return self.fit(rows, start, iterations)

    @abstractmethod
    def outcome(self, model: Any) -> Outcome:
        """Return centers and iterations of a model."""

    def fit_small(self, rows: Array, k: int, seed: int) -> Any:
        """A fit from one start of the library's own choice, everything else by default."""
        raise NotImplementedError

    def default_fit(self, rows: Array, k: int, seed: int) -> Any:
        """A fit with everything by default, the number of runs included."""
        raise NotImplementedError

    def predict(self, model: Any, rows: Array) -> Array:
        """The label of each row."""
        raise NotImplementedError


@dataclass(frozen=True)
class Estimator(Peer):
    """Any library with the interface of scikit-learn's KMeans."""

    info: PeerInfo
    kind: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    plain_options: Callable[[Array], Mapping[str, Any]] | None = None  # to compare all pairs
    seeding: Seeding | None = None
    genuine: Callable[[Any], bool] = lambda model: True  # did the library itself make this fit?
    centred: bool = False  # its fit moves the mean of the rows to 0, its predict does not

    def fit(self, rows: Array, start: Array, most: int) -> Any:
        return self._fit(rows, start, most, self.options)

    def plain(self, rows: Array, start: Array, iterations: int) -> Any:
        plain = self.plain_options(rows) if self.plain_options else {}
        return self._fit(rows, start, iterations, {**self.options, **plain})

    def _fit(self, rows: Array, start: Array, most: int, options: Mapping[str, Any]) -> Any:
        given: dict[str, Any] = {"init": start, "n_init": 1, "max_iter": most, "tol": 0.0}
        return self.kind(len(start), **given, **options).fit(rows)

    def fit_small(self, rows: Array, k: int, seed: int) -> Any:
        return self.kind(k, n_init=1, random_state=seed, **self.options).fit(rows)

    def default_fit(self, rows: Array, k: int, seed: int) -> Any:
        return self.kind(k, random_state=seed, **self.options).fit(rows)

    def predict(self, model: Any, rows: Array) -> Array:
        return model.predict(rows)  # type: ignore[no-any-return]

    def outcome(self, model: Any) -> Outcome:
        if not self.genuine(model):
            raise RuntimeError("the fit was handed on to another library")
        path = "–"
        if hasattr(model, "trace_"):  # the path of most iterations
            path = Counter(record.path for record in model.trace_).most_common(1)[0][0]
        return Outcome(model.cluster_centers_, int(model.n_iter_), path)

    def label(self, rows: Array, centers: Array) -> Array:
        """The nearest center of each row."""
        model = self.fit(centers, centers, 1)  # any fit: only a fitted model predicts
        model.cluster_centers_ = centers
        return self.predict(model, rows)


@dataclass(frozen=True)
class Faiss(Peer):
    """faiss.Kmeans on all the rows: by default it would take a sample of 256 per center.

    It makes as many iterations as it is told to, and works in float32.
    """

    info: PeerInfo
    kind: Callable[..., Any]

    def fit(self, rows: Array, start: Array, most: int) -> Any:
        (n, d), k = rows.shape, len(start)
        all_rows = {"max_points_per_centroid": n, "min_points_per_centroid": 1}
        model = self.kind(d, k, niter=most, nredo=1, **all_rows)
        model.train(rows, init_centroids=start.astype(np.float32))
        return model

    def predict(self, model: Any, rows: Array) -> Array:
        return model.index.search(rows, 1)[1]  # type: ignore[no-any-return]

    def outcome(self, model: Any) -> Outcome:
        return Outcome(model.centroids, len(model.iteration_stats))


@dataclass(frozen=True)
class Mlpack(Peer):
    """mlpack.kmeans with the algorithm that was its fastest at that number of features.

    It stops when the centers move by less than 1e-5, whatever the scale of the data, so it is also
    told when to stop; and it does not say how many iterations it made. Without a copy of its inputs
    it overwrites the caller's starting centers.
    """

    info: PeerInfo
    call: Callable[..., Any]

    def fit(self, rows: Array, start: Array, most: int) -> Any:
        d = rows.shape[1]
        algorithm = "pelleg-moore" if d <= 8 else "hamerly" if d < 64 else "elkan"
        found = self.call(
            input_=rows,
            initial_centroids=start,
            clusters=len(start),
            max_iterations=most,
            algorithm=algorithm,
            labels_only=True,
            copy_all_inputs=True,
        )
        return found["centroid"], most, algorithm

    def outcome(self, model: Any) -> Outcome:
        centers, most, algorithm = model
        return Outcome(np.array(centers), most, algorithm)


def partita(threads: int) -> Peer:
    import partita
    from partita._kernels import kernels

    def seeding(rows: Array, k: int, seed: int) -> Array:
        return partita.kmeans_plusplus(rows, k, random_state=seed, n_threads=threads)[0]

    def every_pair(rows: Array) -> Mapping[str, Any]:
        by_bytes = kernels.has_byte_products() and rows.shape[1] >= MIN_BYTE_FEATURES
        return {"algorithm": "bytes" if by_bytes else "plain"}

    return Estimator(
        PeerInfo(partita.__version__, prunes=True),
        partita.KMeans,
        {"n_threads": threads},
        every_pair,
        seeding,
    )


def sklearn_lloyd(threads: int) -> Peer:
    import sklearn.cluster

    def seeding(rows: Array, k: int, seed: int) -> Array:
        found: Array = sklearn.cluster.kmeans_plusplus(rows, k, random_state=seed)[0]
        return found

    _limit_pools(threads)
    info = PeerInfo(sklearn.__version__)
    return Estimator(info, sklearn.cluster.KMeans, seeding=seeding, centred=True)


def sklearn_elkan(threads: int) -> Peer:
    import sklearn.cluster

    _limit_pools(threads)
    info = PeerInfo(sklearn.__version__, prunes=True)
    return Estimator(info, sklearn.cluster.KMeans, {"algorithm": "elkan"})


def intelex(threads: int) -> Peer:
    from sklearnex.cluster import KMeans

    _limit_pools(threads)
    return Estimator(
        PeerInfo(version("scikit-learn-intelex")),  # its __version__ is a placeholder
        KMeans,
        {"n_jobs": threads},
        genuine=lambda model: hasattr(model, "_onedal_estimator"),
    )


def faiss(threads: int) -> Peer:
    import faiss

    _limit_pools(threads)
    faiss.omp_set_num_threads(threads)
    return Faiss(PeerInfo(faiss.__version__, stops=False), faiss.Kmeans)


def mlpack(threads: int) -> Peer:
    import mlpack

    _limit_pools(threads)
    return Mlpack(PeerInfo(version("mlpack"), stops=False, prunes=True), mlpack.kmeans)


def _limit_pools(threads: int) -> None:
    """OpenMP and BLAS of the libraries imported so far; for good: the context is never left."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads)


OURS = "partita"
LLOYD = "sklearn lloyd"
KMEANS_PEERS: dict[str, Callable[[int], Peer]] = {
    OURS: partita,
    LLOYD: sklearn_lloyd,
    "sklearn elkan": sklearn_elkan,
    "intelex": intelex,
    "faiss": faiss,
    "mlpack": mlpack,
}
