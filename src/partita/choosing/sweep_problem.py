"""An estimator and the rows it is to cluster: what criteria ask of every member of the family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita.choosing.ladder import CenterLadder, KernelLadder, Ladder, MeansLadder, MedoidLadder
from partita.estimators import validation
from partita.estimators.center_clusterer import LloydClusterer
from partita.estimators.fitted_models import label_rows
from partita.estimators.kernel.estimator import KernelKMeans
from partita.estimators.kernel.kernel_input import CUT
from partita.estimators.labelling import two_nearest
from partita.estimators.medoids.estimator import KMedoids
from partita.estimators.spherical import SphericalKMeans
from partita.source.plain_rows import doubles
from partita.source.unit_rows import unit_rows
from partita.stats import ClusterStats

_DENSE = 2e7  # values of sparse rows that may be made dense


class Near(NamedTuple):
    """The clusters of rows, and how far they are from their own center and from the second."""

    labels: Array  # (n,)
    first: Floats | None = None  # (n,) None: there are no distances
    second: Floats | None = None  # (n,)


class SweepProblem(ABC):
    """Rows with weights, or a matrix about them, and the estimator that is to cluster them."""

    pairwise = False  # whether X speaks of pairs of rows

    def __init__(
        self,
        estimator: Any,
        X: Any,
        weight: Floats | None,
        *,
        rows: Ints | None = None,
        unit: float = 1.0,
    ) -> None:
        self.estimator, self._whole, self._weight = estimator, X, weight
        self.unit = unit  # of the weights that models are fitted with, in those of criteria
        self._rows = np.arange(X.shape[0]) if rows is None else rows
        self._all = rows is None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    @cached_property
    def X(self) -> Any:
        """What the estimator is fitted to."""
        return self._whole if self._all else self._seen_by(self)

    @property
    def weight(self) -> Floats | None:
        """The weights of the rows."""
        return None if self._weight is None else self._weight[self._rows]

    @property
    def counted(self) -> Ints:
        """The numbers of the rows that have weight."""
        weight = self.weight
        return np.arange(self.n) if weight is None else np.flatnonzero(weight > 0)

    def take(self, rows: Ints) -> Self:
        """The same for some of the rows."""
        rows = self._rows[rows]
        return type(self)(self.estimator, self._whole, self._weight, rows=rows, unit=self.unit)

    def alone(self) -> Self:
        """These rows as a table of their own."""
        return type(self)(self.estimator, self.X, self.weight, unit=self.unit)

    def labels(self, model: Any, others: Self) -> Array:
        """The clusters of other rows of the same table, by a model that was fitted to these."""
        return np.asarray(model.predict(others._seen_by(self)))

    def _seen_by_all(self) -> Any:
        """These rows, as a model of the whole table takes them."""
        return self._whole[self._rows] if self.pairwise and not self._all else self.X

    def _two(self, model: Any, far: Floats) -> Near:
        """The clusters of the model, and of its distances (n, k) the least two."""
        labels = model.labels_[self._rows]
        if far.shape[1] == 1:
            return Near(labels, far[:, 0], np.full(len(far), np.inf))
        least = np.partition(far, 1, axis=1)
        return Near(labels, least[:, 0], least[:, 1])

    def _seen_by(self, fitted: Self) -> Any:
        part = self._whole[self._rows]
        return part[:, fitted._rows] if self.pairwise else part

    @abstractmethod
    def ladder(self, workers: Workers) -> Ladder:
        """Fits of these rows."""

    @abstractmethod
    def nearest(self, model: Any, workers: Workers) -> Near:
        """Where the rows are, by a model that was fitted to the whole table."""

    def lengths(self, first: Floats) -> Floats:
        """The Euclidean distances that `nearest` stands for."""
        return first

    @abstractmethod
    def between(self, model: Any) -> tuple[Any, Any] | None:
        """Rows or dissimilarities, and the metric, for silhouettes; None: there are none."""

    def stats(self, model: Any) -> ClusterStats | None:
        """Summaries of the clusters, if their means have coordinates."""
        return None

    def vectors(self) -> Floats | None:
        """The rows, dense, if they are vectors."""
        if self.pairwise or (sp.issparse(self.X) and np.prod(self.X.shape) > _DENSE):
            return None
        return doubles(self.X)

    def like(self, X: Floats) -> SweepProblem:
        """Other rows for the same estimator, with the same weights."""
        return type(self)(self.estimator, X, self.weight)


class Means(SweepProblem):
    """Rows and centers in one space, squared Euclidean distances."""

    def ladder(self, workers: Workers) -> Ladder:
        """One reading of the rows for all fits of Lloyd's loop; others are fitted anew."""
        if isinstance(self.estimator, LloydClusterer):
            return CenterLadder(self.estimator, self.X, self.weight, workers)
        return MeansLadder(self.estimator, self.X, self.weight)

    def nearest(self, model: Any, workers: Workers) -> Near:
        """By Euclidean distances."""
        return Near(*two_nearest(workers, self.X, np.asarray(model.cluster_centers_)))

    def between(self, model: Any) -> tuple[Any, Any] | None:
        """Rows, by Euclidean distances."""
        return self.X, "euclidean"

    def stats(self, model: Any) -> ClusterStats | None:
        """The model's, or those of the labels that it gives."""
        known: ClusterStats | None = getattr(model, "stats_", None)
        if known is None:
            return label_rows(model, self.X, self.weight).stats()
        return known.scaled(self.unit)


class Directions(Means):
    """Rows of unit length, by 1 − cos."""

    def nearest(self, model: Any, workers: Workers) -> Near:
        """By half of the squares of chords."""
        labels, first, second = two_nearest(workers, self.X, model.cluster_centers_)
        return Near(labels, 0.5 * first**2, 0.5 * second**2)

    def lengths(self, first: Floats) -> Floats:
        """Chords."""
        return np.asarray(np.sqrt(2.0 * first))

    def between(self, model: Any) -> tuple[Any, Any] | None:
        """Rows, by cosine distances."""
        return self.X, "cosine"

    def like(self, X: Floats) -> SweepProblem:
        """Other rows, at unit length."""
        return Directions(self.estimator, *_directions(X, self.weight))


class Medoids(SweepProblem):
    """Rows under any metric."""

    def ladder(self, workers: Workers) -> Ladder:
        """Fits that go on from the medoids that are missed most."""
        return MedoidLadder(self.estimator, self.X, self.weight)

    def nearest(self, model: Any, workers: Workers) -> Near:
        """By dissimilarities to medoids."""
        return self._two(model, model._costs(self._seen_by_all())[1])

    def between(self, model: Any) -> tuple[Any, Any] | None:
        """Rows, by the estimator's metric; what has parameters is measured here."""
        metric, params = self.estimator.metric, self.estimator.metric_params
        if not params:
            return self.X, metric
        from sklearn.metrics import pairwise_distances

        found = pairwise_distances(self.X, metric=metric, **params)
        np.fill_diagonal(found, 0.0)
        return found, "precomputed"


class Dissimilarities(Medoids):
    """A matrix of dissimilarities."""

    pairwise = True


class Kernels(SweepProblem):
    """Rows in a feature space."""

    def ladder(self, workers: Workers) -> Ladder:
        """Fits that go on from the clusters that are missed most."""
        return KernelLadder(self.estimator, self.X, self.weight)

    def nearest(self, model: Any, workers: Workers) -> Near:
        """By distances in feature space."""
        return self._two(model, model.distances(self._seen_by_all()))

    def between(self, model: Any) -> tuple[Any, Any] | None:
        """Distances in feature space."""
        rows = model.kernel_.place(self.X)
        return _chords(model.kernel_.between(rows)), "precomputed"


class Grams(Kernels):
    """A matrix of inner products."""

    pairwise = True

    def nearest(self, model: Any, workers: Workers) -> Near:
        """By distances in feature space."""
        return self._two(model, model.distances(self._seen_by_all(), self.X.diagonal()))

    def between(self, model: Any) -> tuple[Any, Any] | None:
        """Distances in feature space."""
        return _chords(self.X.toarray() if sp.issparse(self.X) else self.X), "precomputed"


class Affinities(Grams):
    """A graph to be cut: its nodes have no distances of their own."""

    def nearest(self, model: Any, workers: Workers) -> Near:
        """Without distances."""
        return Near(model.labels_[self._rows])

    def between(self, model: Any) -> tuple[Any, Any] | None:
        """None."""
        return None


def subject_of(estimator: Any, X: Any, weight: Floats | None, unit: float = 1.0) -> SweepProblem:
    """What the estimator makes of X, which was checked."""
    if isinstance(estimator, SphericalKMeans):
        return Directions(estimator, *_directions(X, weight), unit=unit)
    if isinstance(estimator, KMedoids):
        given = isinstance(estimator.metric, str) and estimator.metric == "precomputed"
        return (Dissimilarities if given else Medoids)(estimator, X, weight, unit=unit)
    if isinstance(estimator, KernelKMeans):
        name = estimator.kernel if isinstance(estimator.kernel, str) else ""
        kind = {"precomputed": Grams, CUT: Affinities}.get(name, Kernels)
        return kind(estimator, X, weight, unit=unit)
    return Means(estimator, X, weight, unit=unit)


def _directions(X: Any, weight: Floats | None) -> tuple[Any, Floats | None]:
    """The rows that have a direction, at unit length, and their weights."""
    with Workers(validation.check_threads(None)) as workers:
        rows, length = unit_rows(X, workers)
    some = np.flatnonzero(length > 0)
    if len(some) == rows.shape[0]:
        return rows, weight
    return rows[some], None if weight is None else weight[some]


def _chords(gram: Floats) -> Floats:
    """Distances (n, n) from inner products."""
    diagonal = gram.diagonal().astype(np.float64)
    found = np.sqrt(np.maximum(diagonal[:, None] + diagonal[None] - 2.0 * gram, 0.0))
    found = np.maximum(found, found.T)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)
