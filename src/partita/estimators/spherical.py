"""`SphericalKMeans`: clusters of directions, by the cosine of angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import check, choice
from partita._common.text import listed
from partita._common.threads import Workers
from partita.estimators import labelling, validation
from partita.estimators.center_clusterer import FitInput, LloydClusterer
from partita.geometry import SPHERICAL
from partita.halting import Halt
from partita.source.unit_rows import row_lengths, unit_rows
from partita.trace import Callback

ZERO_ROWS = ("error", "drop", "separate")
ROUGH = 1e-5  # how far from 1 the length of a row may be that is said to be normalized


class SphericalKMeans(LloydClusterer):
    """K-means of directions: the objective is Σ w(1 − cos) of rows and their centers.

    Rows are brought to unit length (X itself is not changed), and centers have unit length: the
    direction of the sum of their rows. For unit rows 1 − cos = ½‖x − c‖², so every path of `KMeans`
    serves here too.

    Parameters
    ----------
    n_clusters, init, n_init, max_iter, tol, verbose, random_state, algorithm, halt, callback, \
empty, n_threads, memory_limit
        As in `KMeans`, for the rows at unit length. Starting centers are brought to unit length.
    normalized : bool, default=False
        Whether the rows have unit length already. That is checked, and spares a copy.
    zero_rows : {"error", "drop", "separate"}, default="error"
        What to do with rows of zeros, which have no direction: raise an error that names them,
        leave them out (their label is −1, their memberships are all 0), or give them a cluster of
        their own after the others (their label is n_clusters; it has no center, but a column in
        memberships). The objective does not count them.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers, of unit length, in the dtype of X.
    labels_ : ndarray of shape (n_samples,)
        The center at the smallest angle to every row, the lower index on ties.
    inertia_ : float
        J_cos: the weighted sum of 1 − cos to them.
    stats_ : ClusterStats
        Weight, mean and sse of the rows of each cluster, at unit length. (J_cos of the partition is
        Σ W(1 − ‖mean‖).)
    n_iter_, start_, trace_, stopped_by_, paths_, membership_, n_features_in_, feature_names_in_
        As in `KMeans`.

    Examples
    --------
    >>> from partita import SphericalKMeans
    >>> model = SphericalKMeans(n_clusters=2, random_state=0)
    >>> model.fit_predict([[1, 0], [100, 1], [0, 3], [1, 50]]).tolist()
    [1, 1, 0, 0]
    """

    _geometry = SPHERICAL

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        normalized: bool = False,
        zero_rows: str = "error",
        verbose: int = 0,
        random_state: Any = None,
        algorithm: str = "lloyd",
        halt: Halt | None = None,
        callback: Callback | None = None,
        empty: str = "relocate",
        n_threads: int | None = None,
        memory_limit: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.normalized = normalized
        self.zero_rows = zero_rows
        self.verbose = verbose
        self.random_state = random_state
        self.algorithm = algorithm
        self.halt = halt
        self.callback = callback
        self.empty = empty
        self.n_threads = n_threads
        self.memory_limit = memory_limit

    def _open(self, X: Any, sample_weight: Any, k: int, workers: Workers) -> FitInput:
        check("zero_rows", self.zero_rows, choice(*ZERO_ROWS))
        X, features = validation.check_fit_rows(self, X)
        weight = validation.check_weights(sample_weight, X.shape[0])
        validation.check_row_count(X.shape[0], k)
        found = self._directions(X, workers, features.get("feature_names_in_"))
        weight = found.check(k, weight)
        source = validation.make_source(found.rows, weight, workers)

        def spread(labels: Ints, k: int) -> Array:
            return found.spread(labels, self._rest(k))

        return FitInput(source, X, found.rows, weight, features, spread)

    def predict(self, X: Any) -> Array:
        """The center at the smallest angle to each row; rows of zeros as in `fit`."""
        check_is_fitted(self)
        return self._nearest(self._again(X))

    def transform(self, X: Any) -> Any:
        """The cosine distance 1 − cos (n, k) of each row to every center; 1 for rows of zeros."""
        check_is_fitted(self)
        found = self._again(X)
        single = found.rows.dtype != np.float64
        return self._away(found).astype(np.float32 if single else np.float64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The opposite of J_cos of X at the centers; rows of zeros do not count."""
        check_is_fitted(self)
        found = self._again(X)
        weight = validation.check_weights(sample_weight, found.n)
        if weight is not None:
            weight = weight[found.some]
        centers = self.cluster_centers_
        return -0.5 * labelling.inertia(found.rows, centers, weight, self.n_threads, self._names())

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        found = self._again(X)
        labels, cost = self._nearest(found), self._away(found)
        if self.zero_rows == "separate":
            zero = labels == len(self.cluster_centers_)
            cost[zero] = np.inf
            cost = np.column_stack([cost, np.where(zero, 0.0, np.inf)])
        return labels, cost

    def _temperature(self) -> float:
        # as for K-means, of the half squares of chords, which have one direction less to go
        free = max(1, self.n_features_in_ - 1)
        return float(2 * self.inertia_ / (self.stats_.weight.sum() * free))

    @property
    def _clusters(self) -> int:
        return len(self.cluster_centers_) + (self.zero_rows == "separate")

    def _nearest(self, found: Directions) -> Array:
        centers = self.cluster_centers_
        labels = labelling.nearest(found.rows, centers, self.n_threads, self._names())
        return found.spread(labels, self._rest(len(centers)))

    def _away(self, found: Directions) -> Floats:
        """1 − cos (n, k) of every row and center."""
        out = np.ones((found.n, len(self.cluster_centers_)))
        away = labelling.squares(found.rows, self.cluster_centers_, self.n_threads, self._names())
        out[found.some] = 0.5 * away
        return out

    def _rest(self, k: int) -> int:
        """The label of rows of zeros."""
        return k if self.zero_rows == "separate" else -1

    def _again(self, X: Any) -> Directions:
        X = validation.check_new_rows(self, X)
        with Workers(validation.check_threads(self.n_threads)) as workers:
            return self._directions(X, workers, self._names())

    def _directions(self, X: Any, workers: Workers, names: Any) -> Directions:
        """The rows that have a direction, at unit length."""
        rows, length = (X, row_lengths(X, workers)) if self.normalized else unit_rows(X, workers)
        if not np.isfinite(length).all():
            validation.check_finite(validation.make_source(X, None, workers), X, names)
        zero = length == 0
        if self.normalized:
            _check_unit(length, zero)
        if not zero.any():
            return Directions(rows, X.shape[0], slice(None))
        if self.zero_rows == "error":
            rest = np.flatnonzero(zero)
            raise ValueError(
                f"X has {len(rest)} row{'s' * (len(rest) > 1)} of zeros, without direction: "
                f"{listed(rest.tolist())}. Drop them, or let zero_rows='drop' "
                "leave them out or zero_rows='separate' give them a cluster of their own"
            )
        some = np.flatnonzero(~zero)
        return Directions(rows[some], X.shape[0], some)


@dataclass(frozen=True, slots=True)
class Directions:
    """The rows of X that are not zero, at unit length."""

    rows: Any
    n: int  # rows of X
    some: Ints | slice  # which of them these are

    def check(self, k: int, weight: Floats | None) -> Floats | None:
        """The weights of these rows, which must be enough for k clusters."""
        if self.rows.shape[0] < k:
            raise ValueError(
                f"{self.rows.shape[0]} of {self.n} rows of X are not zero, fewer than n_clusters="
                f"{k}; lower n_clusters or give more rows"
            )
        if weight is None:
            return None
        if not weight[self.some].any():
            raise ValueError(
                "sample_weight is zero for every row of X that is not zero; at least one row with "
                "a direction must count"
            )
        return weight[self.some]

    def spread(self, labels: Array, rest: int) -> Array:
        """Labels (n,) of all rows; `rest` for those that are zero."""
        if isinstance(self.some, slice):
            return labels
        out = np.full(self.n, rest, np.int32)
        out[self.some] = labels
        return out


def _check_unit(length: Floats, zero: Array) -> None:
    wrong = np.flatnonzero((np.abs(length - 1) > ROUGH) & ~zero)
    if wrong.size:
        raise ValueError(
            f"normalized=True was given, but {len(wrong)} rows of X are not of unit length: row "
            f"{wrong[0]} has the length {length[wrong[0]]:.6g}. Divide the rows by their lengths, "
            "or leave that to normalized=False"
        )
