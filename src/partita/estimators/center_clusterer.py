"""The members whose clusters have centers in the space of the rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import Rule
from partita._common.random_state import generator, spawn_generators
from partita._common.threads import Workers
from partita.engine.lloyd import LloydOptions
from partita.engine.paths.choice import plan_for
from partita.engine.paths.path import PathCache
from partita.engine.restarts import LabelledRun, best_of
from partita.estimators import labelling, validation
from partita.estimators.base import Clusterer
from partita.estimators.capabilities import REPLAY, Capabilities, Replay
from partita.estimators.lloyd_parameters import LloydParameters
from partita.estimators.saved_state import FieldReader, restored_stats
from partita.geometry import EUCLIDEAN, Geometry
from partita.source.dense import DenseSource
from partita.source.scoring import packed_bytes
from partita.source.sparse import SparseSource
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True)
class FitInput:
    """Checked data of a fit: the rows that the engine reads, and the way back to those of X."""

    source: DenseSource | SparseSource
    X: Any  # checked
    rows: Any  # of the source: X, or its rows at unit length
    weight: Floats | None  # of these rows
    features: dict[str, Any]  # the attributes `n_features_in_` and `feature_names_in_`
    memory: float  # bytes that copies of the rows left of those allowed
    labels_of_X: Callable[[Ints, int], Array]  # (labels of the source's rows, k) -> labels of X


class CenterClusterer(Clusterer):
    """The base of members with centers: their results, starts and options of the loop."""

    cluster_centers_: Floats
    inertia_: float
    stats_: ClusterStats
    start_: Floats
    random_state: Any
    _geometry: Geometry = EUCLIDEAN
    _saved_attributes = ("cluster_centers", "start")

    def __partita_capabilities__(self) -> Capabilities:
        lacks, costs = {REPLAY: "it keeps no start to repeat the run from"}, self._costs
        return Capabilities(geometry=self._geometry, lacks=lacks, exact_sums=True, costs=costs)

    @abstractmethod
    def _fit_input(
        self, X: Any, sample_weight: Any, k: int, workers: Workers, memory: float = math.inf
    ) -> FitInput:
        """Check X and its weights; there must be at least k rows.

        Rows are copied only within `memory` bytes, else they are converted in every pass.
        """

    def _rules(self) -> Mapping[str, Rule]:
        return LloydParameters.rules

    def _restore_own(self, saved: FieldReader, d: int) -> int:
        centers = saved.floats("cluster_centers", (None, d))
        if len(centers) == 0:
            raise ValueError("cluster_centers is empty")
        self.cluster_centers_ = centers
        self.stats_ = restored_stats(saved, len(centers), d)
        if saved.has("start"):
            self.start_ = saved.floats("start", (None, d))
        return len(centers)

    def _starts(
        self, data: FitInput, parameters: LloydParameters, options: LloydOptions
    ) -> list[Callable[[], Floats]]:
        """One function per run that returns its starting centers."""
        starts, source = parameters.starts(data.X), data.source
        memory, runs = options.memory, len(starts)
        spare = plan_for(source, options.k, options.algorithm, memory, runs).spare
        packed = packed_bytes(source.n, source.d)  # of an earlier run, if they fit
        spare = max(0.0, spare - packed if packed <= spare else spare)
        seeds = spawn_generators(generator(self.random_state), len(starts))
        return [
            lambda start=start, seed=seed: start(source, seed, spare)  # type: ignore[misc]
            for start, seed in zip(starts, seeds, strict=True)
        ]

    def _lloyd_options(
        self, data: FitInput, parameters: LloydParameters, path_cache: PathCache | None = None
    ) -> LloydOptions:
        """Options of the loop; `path_cache` is that of earlier runs on the same rows."""
        return LloydOptions(
            parameters.k,
            parameters.halt(data.source),
            parameters.empty,
            parameters.callbacks,
            parameters.on_run_end,
            parameters.algorithm,
            data.memory,
            self._geometry,
            PathCache() if path_cache is None else path_cache,
        )

    def _keep(self, result: LabelledRun, data: FitInput) -> Self:
        labels = data.labels_of_X(result.labels, len(result.centers))
        self._keep_features(data.features)
        self._keep_run(result.fit)
        assert result.fit.start is not None
        self.start_ = result.fit.start
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
        """Return rows ZΘ (n, d) for labels (n,), or for hard or soft memberships (n, k).

        `inverse_transform(predict(X))` replaces each row by its center. (The distances that
        `transform` returns cannot be inverted.)
        """
        check_is_fitted(self)
        centers = self.cluster_centers_
        n_zero = self._clusters - len(centers)  # 1 if rows of zeros have a cluster of their own
        if n_zero:
            centers = np.vstack([centers, np.zeros((n_zero, centers.shape[1]), centers.dtype)])
        return np.asarray(labelling.decode(codes, centers))

    def match(self, other: Any) -> Self:
        """Renumber the clusters in place to agree with those of an earlier model.

        Centers are paired at the lowest total squared distance; clusters without a partner come
        last. A row that is tied between two centers keeps its cluster, so its label may differ from
        `predict`, which resolves ties by the lower new number.
        """
        check_is_fitted(self)
        d = self.n_features_in_
        theirs = validation.as_centers(other, "other", "k", d)
        if theirs.shape[1] != d:
            raise ValueError(f"`other` must have centers of shape (k, {d}), got {theirs.shape}.")
        order = labelling.matching_order(self.cluster_centers_, theirs)
        self.cluster_centers_ = self.cluster_centers_[order]
        s = self.stats_
        self.stats_ = type(s)(s.weight[order], s.mean[order], s.sse[order])
        if hasattr(self, "labels_"):  # MiniBatchKMeans may have none
            new_label = np.empty_like(order)
            new_label[order] = np.arange(len(order))
            centered = (self.labels_ >= 0) & (self.labels_ < len(order))
            self.labels_[centered] = new_label[self.labels_[centered]]
        return self


class LloydClusterer(CenterClusterer):
    """Fit by Lloyd's iterations over all rows."""

    def __partita_capabilities__(self) -> Capabilities:
        from partita.estimators.lloyd_session import LloydSession

        offered = super().__partita_capabilities__()
        if hasattr(self, "start_"):
            offered = replace(offered, lacks={}, replay=Replay.from_centers(self))
        return replace(offered, open_session=partial(LloydSession, self))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the clustering of X, with one weight per row if given."""
        del y  # scikit-learn's pipelines pass it
        parameters = LloydParameters(self)
        with Workers(parameters.threads) as workers:
            k, memory = parameters.k, parameters.memory_for(X)
            data = self._fit_input(X, sample_weight, k, workers, memory)
            options = self._lloyd_options(data, parameters)
            result = best_of(data.source, self._starts(data, parameters, options), options)
        self._warn_if_empty(np.bincount(result.labels), len(result.centers), parameters.k)
        return self._keep(result, data)


class EuclideanClusterer(CenterClusterer):
    """Label rows by the squared distance to centers."""

    def _fit_input(
        self, X: Any, sample_weight: Any, k: int, workers: Workers, memory: float = math.inf
    ) -> FitInput:
        given = X
        X, features = validation.check_fit_rows(self, X, memory)
        memory -= validation.copied_bytes(given, X)
        weight = validation.check_weights(sample_weight, X.shape[0])
        validation.check_row_count(X.shape[0], k)
        source = validation.make_source(X, weight, workers)
        validation.check_finite(source, X, features.get("feature_names_in_"))
        memory = max(0.0, memory)
        return FitInput(source, X, X, weight, features, memory, lambda labels, k: labels)

    def predict(self, X: Any) -> Array:
        """Return the nearest center of each row, the lower index on ties."""
        if "cluster_centers_" not in vars(self):  # faster than scikit-learn's check
            check_is_fitted(self)
        X = validation.check_new_rows(self, X)
        return labelling.nearest(X, self.cluster_centers_, self.n_threads, self._names())

    def transform(self, X: Any) -> Any:
        """Return the distance (n, k) of each row to every center, in the dtype of X."""
        check_is_fitted(self)
        return labelling.distances(*self._rows_and_centers(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the objective of X at the centers."""
        check_is_fitted(self)
        args = self._rows_and_centers(X)
        weight = validation.check_weights(sample_weight, args[0].shape[0])
        return -labelling.inertia(*args, weight)

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        args = self._rows_and_centers(X)
        return labelling.nearest(*args), labelling.squares(*args)

    def _rows_and_centers(self, X: Any) -> tuple[Any, Floats, int | None, Any]:
        """The arguments that the functions of `labelling` take."""
        X = validation.check_new_rows(self, X)
        return X, self.cluster_centers_, self.n_threads, self._names()

    def _temperature(self) -> float:
        # 2σ² of a mixture of equal round Gaussians with the within-cluster variance of the fit
        return float(2 * self.inertia_ / (self.stats_.weight.sum() * self.n_features_in_))
