"""`SphericalKMeans`: K-means of directions, by cosine distances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import Rule, check_parameters
from partita._common.threads import Workers
from partita.certificates.bounding import CertifiedPartition
from partita.certificates.certified_directions import certify_directions
from partita.estimators import labelling, validation
from partita.estimators.capabilities import FEATURES, MEANS, Capabilities
from partita.estimators.center_clusterer import FitInput, LloydClusterer
from partita.estimators.certifiable import counted_rows_of
from partita.estimators.directions import RULES, DirectionRules, UnitRows
from partita.estimators.lazy_blocks import (
    distances_by_blocks,
    is_partitioned,
    labels_by_blocks,
    score_partitions,
)
from partita.estimators.partitioned_directions import directions_of
from partita.estimators.scanned_rows import open_scan
from partita.geometry import SPHERICAL
from partita.halting import Halt
from partita.source.partitions import Partitions
from partita.source.unit_rows import unit_rows
from partita.trace import Callback


@dataclass(eq=False, repr=False)
class SphericalKMeans(LloydClusterer):
    """K-means of directions: the objective is Σ w(1 − cos) over rows and their centers.

    Rows are scaled to unit length (X itself is not changed). A center has unit length: the
    direction of the sum of its rows. For unit rows 1 − cos = ½‖x − c‖², so every path of `KMeans`
    applies.

    Parameters
    ----------
    n_clusters, init, n_init, max_iter, tol, verbose, random_state, algorithm, halt, callback, \
quality, time_budget, empty, n_threads, memory_limit
        As in `KMeans`, for the rows at unit length. Starting centers are scaled to unit length.
    normalized : bool, default=False
        Whether the rows already have unit length. This is checked, and saves a copy.
    zero_rows : {"error", "drop", "separate"}, default="error"
        What to do with rows of zeros, which have no direction: raise an error that lists them,
        drop them (label −1, memberships 0), or put them into a separate cluster after the others
        (label n_clusters; it has no center, but a column in memberships). They do not count in
        the objective.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers, of unit length, in the dtype of X.
    labels_ : ndarray of shape (n_samples,)
        The center at the smallest angle to every row, the lower index on ties.
        + Of a dask array, a lazy one; of a Spark dataframe, that with a column "prediction".
    inertia_ : float
        J_cos: the weighted sum of 1 − cos to them.
    stats_ : ClusterStats
        Weight, mean and sse of the rows of each cluster, at unit length. (J_cos of the partition is
        Σ W(1 − ‖mean‖).)
    n_iter_, start_, trace_, stopped_by_, paths_, search_, membership_, n_features_in_, \
feature_names_in_
        As in `KMeans`.

    Examples
    --------
    >>> from partita import SphericalKMeans
    >>> model = SphericalKMeans(n_clusters=2, random_state=0)
    >>> model.fit_predict([[1, 0], [100, 1], [0, 3], [1, 50]]).tolist()
    [1, 1, 0, 0]
    """

    n_clusters: int = 8
    _: KW_ONLY
    init: Any = "k-means++"
    n_init: Any = "auto"
    max_iter: int = 300
    tol: float = 1e-4
    normalized: bool = False
    zero_rows: str = "error"
    verbose: int = 0
    random_state: Any = None
    algorithm: str = "lloyd"
    halt: Halt | None = None
    callback: Callback | None = None
    quality: str = "fast"
    time_budget: float | None = None
    empty: str = "relocate"
    n_threads: int | None = None
    memory_limit: float | None = None

    _geometry = SPHERICAL

    def __partita_capabilities__(self) -> Capabilities:
        offered = super().__partita_capabilities__()
        features, means = "only the direction of a row counts", "centers are directions, not means"
        return replace(
            offered,
            lacks={**offered.lacks, FEATURES: features, MEANS: means},
            metric="cosine",
            distance_name="1 − cos of the angle to the center",
            squared=False,
            unrelated=lambda: np.ones(len(self.cluster_centers_)),  # at a right angle
            place_rows=self._place_rows,
            certified=self._certified,
        )

    def _rules(self) -> Mapping[str, Rule]:
        return {**super()._rules(), **RULES}

    def _label_range(self, k: int) -> tuple[int, int]:
        return {"drop": (-1, k - 1), "separate": (0, k)}.get(self.zero_rows, (0, k - 1))

    def _fit_input(
        self, X: Any, sample_weight: Any, k: int, workers: Workers, memory: float = math.inf
    ) -> FitInput:
        check_parameters(self, RULES)
        X, sample_weight, memory = open_scan(X, sample_weight, memory, k, workers.n)
        given = X
        X, features = validation.check_fit_rows(self, X, memory)
        memory -= validation.copied_bytes(given, X)
        weight = validation.check_weights(sample_weight, X.shape[0])
        validation.check_row_count(X.shape[0], k)
        unit = self._directions(X, workers, features.get("feature_names_in_"), memory)
        memory = max(0.0, memory - validation.copied_bytes(X, unit.rows))
        kept = unit.check(k, weight)
        source = validation.make_source(unit.rows, kept, workers)
        return FitInput(source, X, unit.rows, kept, weight, features, memory, unit.labels_of_X)

    def _prepared(self, given: Partitions, k: int) -> Partitions:
        check_parameters(self, RULES)
        return directions_of(given, DirectionRules(self.zero_rows, self.normalized), k)

    @labels_by_blocks
    def predict(self, X: Any) -> Array:
        """Return the center at the smallest angle to each row; rows of zeros as in `fit`."""
        check_is_fitted(self)
        return self._nearest(self._new_rows(X))

    @distances_by_blocks
    def transform(self, X: Any) -> Any:
        """Return the cosine distance 1 − cos (n, k) to every center; 1 for rows of zeros."""
        check_is_fitted(self)
        unit = self._new_rows(X)
        single = unit.rows.dtype != np.float64
        return self._cosine_distances(unit).astype(np.float32 if single else np.float64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus J_cos of X at the centers; rows of zeros do not count."""
        check_is_fitted(self)
        if is_partitioned(X):
            return -0.5 * score_partitions(self, X, sample_weight)
        unit = self._new_rows(X)
        weight = validation.check_weights(sample_weight, unit.n)
        if weight is not None:
            weight = weight[unit.index]
        args = unit.rows, self.cluster_centers_, self.n_threads, self._names()
        return -0.5 * labelling.inertia(*args, weight)

    def _own_costs(self, rows: Array) -> tuple[Ints | slice, Floats]:
        unit = self._new_rows(rows)
        args = unit.rows, self.cluster_centers_, self.n_threads, self._names()
        return unit.index, labelling.own_squares(*args)

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        unit = self._new_rows(X)
        labels, cost = self._nearest(unit), self._cosine_distances(unit)
        if self.zero_rows == "separate":
            zero = labels == len(self.cluster_centers_)
            cost[zero] = np.inf
            cost = np.column_stack([cost, np.where(zero, 0.0, np.inf)])
        return labels, cost

    def _temperature(self) -> float:
        # as for K-means, for half squared chords on a sphere of d − 1 dimensions
        dimension = max(1, self.n_features_in_ - 1)
        return float(2 * self.inertia_ / (self.stats_.weight.sum() * dimension))

    @property
    def _clusters(self) -> int:
        return len(self.cluster_centers_) + (self.zero_rows == "separate")

    def _nearest(self, unit: UnitRows) -> Array:
        return unit.nearest(self.cluster_centers_, self.n_threads, self._names())

    def _cosine_distances(self, unit: UnitRows) -> Floats:
        out = np.ones((unit.n, len(self.cluster_centers_)))
        squares = labelling.squares(unit.rows, self.cluster_centers_, self.n_threads, self._names())
        out[unit.index] = 0.5 * squares
        return out

    def _new_rows(self, X: Any) -> UnitRows:
        X = validation.check_new_rows(self, X)
        with Workers(validation.check_threads(self.n_threads)) as workers:
            return self._directions(X, workers, self._names())

    def _place_rows(self, X: Any) -> tuple[Any, Ints]:
        unit = self._new_rows(X)
        return unit.rows, np.arange(unit.n)[unit.index]

    def _certified(self, X: Any, weight: Floats | None, workers: Workers) -> CertifiedPartition:
        """Return the partition of X by directions; rows of zeros do not count."""
        X = validation.check_new_rows(self, X)
        unit = self._directions(X.astype(np.float64), workers, self._names())
        kept = unit.check(1, weight)
        rows, kept, _ = counted_rows_of(unit.rows, kept, workers, self._names())
        centers = np.ascontiguousarray(self.cluster_centers_, dtype=np.float64)
        centers = unit_rows(centers, workers)[0]
        labels = labelling.nearest(rows, centers, workers.n, None).astype(np.int64)
        return certify_directions(rows, labels, kept, centers)

    def _directions(
        self, X: Any, workers: Workers, names: Any, memory: float = math.inf
    ) -> UnitRows:
        rules = DirectionRules(self.zero_rows, self.normalized)
        return UnitRows.of(X, rules, workers, names, memory)
