"""The contestants: one way to ask each library for the same fit.

A builder imports its library, tells it how many threads to use, and raises ImportError where it is
not installed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from shapes import Array

Seeding = Callable[[Array, int, int], Array]  # (rows, k, seed) -> centers


class Contestant(ABC):
    """A library that can fit from given centers, and label rows with the result."""

    version: str
    seeding: Seeding | None = None

    @abstractmethod
    def fit(self, rows: Array, start: Array, iterations: int) -> Any:
        """The library's own model after so many iterations, with no reason to stop earlier."""

    @abstractmethod
    def fit_small(self, rows: Array, k: int, seed: int) -> Any:
        """A fit from one start of the library's own choice, everything else by default."""

    @abstractmethod
    def predict(self, model: Any, rows: Array) -> Array:
        """The label of each row."""

    @abstractmethod
    def outcome(self, model: Any) -> tuple[Array, int]:
        """The centers of a model, and how many iterations it made."""


@dataclass(frozen=True)
class Estimator(Contestant):
    """Whatever has the face of scikit-learn's KMeans."""

    version: str
    kind: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    seeding: Seeding | None = None
    genuine: Callable[[Any], bool] = lambda model: True  # did the library itself make this fit?

    def fit(self, rows: Array, start: Array, iterations: int) -> Any:
        given: dict[str, Any] = {"init": start, "n_init": 1, "max_iter": iterations, "tol": 0.0}
        return self.kind(len(start), **given, **self.options).fit(rows)

    def fit_small(self, rows: Array, k: int, seed: int) -> Any:
        return self.kind(k, n_init=1, random_state=seed, **self.options).fit(rows)

    def predict(self, model: Any, rows: Array) -> Array:
        return model.predict(rows)  # type: ignore[no-any-return]

    def outcome(self, model: Any) -> tuple[Array, int]:
        if not self.genuine(model):
            raise RuntimeError("the fit was handed on to another library")
        return model.cluster_centers_, int(model.n_iter_)


@dataclass(frozen=True)
class Faiss(Contestant):
    """faiss.Kmeans on all the rows: by default it would take a sample of 256 per center."""

    version: str
    kind: Callable[..., Any]

    def fit(self, rows: Array, start: Array, iterations: int) -> Any:
        (n, d), k = rows.shape, len(start)
        all_rows = {"max_points_per_centroid": n, "min_points_per_centroid": 1}
        model = self.kind(d, k, niter=iterations, nredo=1, **all_rows)
        model.train(rows, init_centroids=start)
        return model

    def fit_small(self, rows: Array, k: int, seed: int) -> Any:
        raise NotImplementedError("faiss has no fit that stops when it has converged")

    def predict(self, model: Any, rows: Array) -> Array:
        return model.index.search(rows, 1)[1]  # type: ignore[no-any-return]

    def outcome(self, model: Any) -> tuple[Array, int]:
        return model.centroids, len(model.iteration_stats)


def partita(threads: int) -> Contestant:
    import partita

    def seeding(rows: Array, k: int, seed: int) -> Array:
        return partita.kmeans_plusplus(rows, k, random_state=seed, n_threads=threads)[0]

    return Estimator(partita.__version__, partita.KMeans, {"n_threads": threads}, seeding)


def scikit_learn(threads: int) -> Contestant:
    import sklearn.cluster

    def seeding(rows: Array, k: int, seed: int) -> Array:
        found: Array = sklearn.cluster.kmeans_plusplus(rows, k, random_state=seed)[0]
        return found

    _limit_pools(threads)
    return Estimator(sklearn.__version__, sklearn.cluster.KMeans, seeding=seeding)


def intelex(threads: int) -> Contestant:
    from sklearnex.cluster import KMeans

    _limit_pools(threads)
    return Estimator(
        version("scikit-learn-intelex"),  # its __version__ is a placeholder
        KMeans,
        {"n_jobs": threads},
        genuine=lambda model: hasattr(model, "_onedal_estimator"),
    )


def faiss(threads: int) -> Contestant:
    import faiss

    _limit_pools(threads)
    faiss.omp_set_num_threads(threads)
    return Faiss(faiss.__version__, faiss.Kmeans)


def _limit_pools(threads: int) -> None:
    """OpenMP and BLAS of the libraries imported so far; for good, as nobody leaves the context."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads)


OURS = "partita"
BUILDERS: dict[str, Callable[[int], Contestant]] = {
    OURS: partita,
    "scikit-learn": scikit_learn,
    "intelex": intelex,
    "faiss": faiss,
}
