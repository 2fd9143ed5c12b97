"""The members whose clusters have centers in the space of the data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats, Ints
from partita._common.random_state import generator, spawn_generators
from partita._common.threads import Workers
from partita.engine.paths.choice import plan_and_spare
from partita.engine.paths.path import PathCache
from partita.engine.restarts import LabelledRun, LloydOptions, best_of
from partita.estimators import labelling, validation
from partita.estimators.base import Clusterer
from partita.estimators.lloyd_parameters import LloydParameters
from partita.geometry import EUCLIDEAN, Geometry
from partita.source.protocol import Source
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True)
class FitInput:
    """What a fit reads: the rows as the engine takes them, and the way back to those of X."""

    source: Source
    X: Any  # as it was checked
    rows: Any  # those of the source: X, or what stands for it
    weight: Floats | None  # of these rows
    features: dict[str, Any]
    spread: Callable[[Ints, int], Array]  # (labels of the source's rows, k) -> labels of X


class CenterClusterer(Clusterer):
    """Runs the loop from several starts, and keeps the best."""

    cluster_centers_: Floats
    inertia_: float
    stats_: ClusterStats
    start_: Floats
    random_state: Any
    _geometry: Geometry = EUCLIDEAN

    def _starts(
        self, opened: FitInput, settings: LloydParameters, options: LloydOptions
    ) -> list[Callable[[], Floats]]:
        """Return a function for every run that makes the centers it begins with."""
        starts, source = settings.starts(opened.X), opened.source
        _, spare = plan_and_spare(source, options.k, options.algorithm, options.memory)
        seeds = spawn_generators(generator(self.random_state), len(starts))
        return [
            lambda start=start, seed=seed: start(source, seed, spare)  # type: ignore[misc]
            for start, seed in zip(starts, seeds, strict=True)
        ]

    def _lloyd_options(
        self, opened: FitInput, settings: LloydParameters, path_cache: PathCache | None = None
    ) -> LloydOptions:
        """How the loop is to run; `shared` is what runs on the same rows left for others."""
        path_cache = PathCache() if path_cache is None else path_cache
        if path_cache.memory is None:
            path_cache.memory = settings.memory
        return LloydOptions(
            settings.k,
            settings.halt(opened.source),
            settings.empty,
            settings.callbacks,
            settings.on_run_end,
            settings.algorithm,
            path_cache.memory,
            self._geometry,
            path_cache,
        )

    def _keep(self, result: LabelledRun, opened: FitInput) -> Self:
        self._keep_features(opened.features)
        self._keep_run(result.fit)
        assert result.fit.start is not None
        self.start_ = result.fit.start
        labels = opened.spread(result.labels, len(result.centers))
        self._keep_centers(result.centers, labels, result.inertia, result.stats)
        return self

    def _keep_centers(
        self, centers: Floats, labels: Array | None, inertia: float, stats: ClusterStats
    ) -> None:
        self.cluster_centers_ = centers
        if labels is not None:
            self.labels_ = labels
        elif hasattr(self, "labels_"):
            del self.labels_
        self.inertia_ = inertia
        self.stats_ = stats
        self._n_features_out = len(centers)

    def inverse_transform(self, codes: Any) -> Floats:
        """Rows ZΘ (n, d) from labels (n,), or from hard or soft memberships (n, k).

        What a fit says of rows in their own space: `inverse_transform(predict(X))` puts each at its
        center. (Distances, which `transform` gives, do not lead back.)
        """
        check_is_fitted(self)
        centers = self.cluster_centers_
        rest = self._clusters - len(centers)  # a cluster of rows of zeros
        if rest:
            centers = np.vstack([centers, np.zeros((rest, centers.shape[1]), centers.dtype)])
        return np.asarray(labelling.decode(codes, centers))

    def match(self, other: Any) -> Self:
        """Renumber the clusters in place so that they agree with those of an earlier model.

        The centers are paired at the least total squared distance; clusters without a partner
        come last. A point tied between two centers keeps its cluster, so it may differ from
        `predict`, which gives ties to the lower new number.
        """
        check_is_fitted(self)
        d = self.n_features_in_
        theirs = validation.as_centers(other, "other", "k", d)
        if theirs.shape[1] != d:
            raise ValueError(
                f"other has the shape {theirs.shape}; centers of shape (k, {d}) are expected"
            )
        order = labelling.matching_order(self.cluster_centers_, theirs)
        self.cluster_centers_ = self.cluster_centers_[order]
        s = self.stats_
        self.stats_ = type(s)(s.weight[order], s.mean[order], s.sse[order])
        if hasattr(self, "labels_"):  # a mini-batch may have none
            number = np.empty_like(order)
            number[order] = np.arange(len(order))
            some = (self.labels_ >= 0) & (self.labels_ < len(order))  # all that have a center
            self.labels_[some] = number[self.labels_[some]]
        return self


class LloydClusterer(CenterClusterer):
    """Fits by Lloyd's iterations over all rows."""

    @abstractmethod
    def _open(self, X: Any, sample_weight: Any, k: int, workers: Workers) -> FitInput:
        """Check X and its weights, which must be enough for k clusters."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the clustering of X, with one weight per row if given."""
        del y  # scikit-learn's pipelines pass it
        settings = LloydParameters(self)
        with Workers(settings.threads) as workers:
            opened = self._open(X, sample_weight, settings.k, workers)
            options = self._lloyd_options(opened, settings)
            result = best_of(opened.source, self._starts(opened, settings, options), options)
        self._warn_of_few(np.bincount(result.labels), len(result.centers), settings.k)
        return self._keep(result, opened)


class EuclideanClusterer(CenterClusterer):
    """Labels rows by the squared distance to centers."""

    def predict(self, X: Any) -> Array:
        """The nearest center of each row, the lower index on ties."""
        if "cluster_centers_" not in vars(self):  # quicker than scikit-learn's look at every tag
            check_is_fitted(self)
        X = validation.check_new_rows(self, X)
        return labelling.nearest(X, self.cluster_centers_, self.n_threads, self._names())

    def transform(self, X: Any) -> Any:
        """The distance (n, k) of each row to every center, in the dtype of X."""
        check_is_fitted(self)
        X = validation.check_new_rows(self, X)
        return labelling.distances(X, self.cluster_centers_, self.n_threads, self._names())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The opposite of the objective of X at the centers."""
        check_is_fitted(self)
        X = validation.check_new_rows(self, X)
        weight = validation.check_weights(sample_weight, X.shape[0])
        centers = self.cluster_centers_
        return -labelling.inertia(X, centers, weight, self.n_threads, self._names())

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        X = validation.check_new_rows(self, X)
        labels = labelling.nearest(X, self.cluster_centers_, self.n_threads, self._names())
        cost = labelling.squares(X, self.cluster_centers_, self.n_threads, self._names())
        return labels, cost

    def _temperature(self) -> float:
        # 2σ² of a mixture of round Gaussians, all alike, that has the spread of the fit
        return float(2 * self.inertia_ / (self.stats_.weight.sum() * self.n_features_in_))
