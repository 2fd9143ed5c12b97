"""The members whose clusters have centers in the space of the data."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from partita._random import generator
from partita._typing import Array, Floats
from partita._warnings import warn
from partita.engine.restarts import Result, best_of
from partita.estimators import labelling, validation
from partita.estimators.base import Clusterer
from partita.estimators.settings import LloydSettings
from partita.geometry import EUCLIDEAN, Geometry
from partita.source.blocks import Source
from partita.stats import ClusterStats


class CenterClusterer(Clusterer):
    """Runs the loop from several starts, and keeps the best."""

    cluster_centers_: Floats
    stats_: ClusterStats
    random_state: Any

    def _best(
        self, source: Source, X: Any, settings: LloydSettings, geometry: Geometry = EUCLIDEAN
    ) -> Result:
        starts, rng = settings.starts(X), generator(self.random_state)
        seeds = [rng, *rng.spawn(len(starts) - 1)]  # the first run is that of n_init=1
        return best_of(
            source,
            [
                lambda start=start, seed=seed: start(source, seed)  # type: ignore[misc]
                for start, seed in zip(starts, seeds, strict=True)
            ],
            k=settings.k,
            halt=settings.halt(source),
            empty=settings.empty,
            observers=settings.observers,
            ended=settings.ended,
            algorithm=settings.algorithm,
            memory=settings.memory,
            geometry=geometry,
        )

    def _keep(self, result: Result, labels: Array, k: int, features: dict[str, Any]) -> Self:
        found = np.count_nonzero(np.bincount(result.labels))
        if found < len(result.centers):
            warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters "
                f"({k}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
            )
        self._keep_features(features)
        self._keep_run(result.fit)
        self.cluster_centers_ = result.centers
        self.labels_ = labels
        self.inertia_ = result.inertia
        self.stats_ = result.stats
        self._n_features_out = len(result.centers)
        return self

    def match(self, other: Any) -> Self:
        """Renumber the clusters in place so that they agree with those of an earlier model.

        The centers are paired at the least total squared distance; clusters without a partner
        come last. A point tied between two centers keeps its cluster, so it may differ from
        `predict`, which gives ties to the lower new number.
        """
        check_is_fitted(self)
        d = self.n_features_in_
        theirs = validation.centers_of(other, "other", "k", d)
        if theirs.shape[1] != d:
            raise ValueError(
                f"other has the shape {theirs.shape}; centers of shape (k, {d}) are expected"
            )
        order = labelling.matching_order(self.cluster_centers_, theirs)
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        self.cluster_centers_ = self.cluster_centers_[order]
        some = (self.labels_ >= 0) & (self.labels_ < len(order))  # all that have a center
        self.labels_[some] = number[self.labels_[some]]
        s = self.stats_
        self.stats_ = type(s)(s.weight[order], s.mean[order], s.sse[order])
        return self
