"""`KMedoids`: every center is a row of the data, under any dissimilarity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.threads import Workers
from partita._common.weighting import weighted
from partita.estimators import labelling, validation
from partita.estimators.base import Clusterer
from partita.estimators.capabilities import Capabilities
from partita.estimators.medoids import medoid_capabilities
from partita.estimators.medoids.metric import (
    SPARSE_METRICS,
    Metric,
    as_matrix,
    check_matrix,
    check_metric,
    check_new_dissimilarities,
    match_sparsity,
    row_chunks,
)
from partita.estimators.medoids.parameters import MedoidParameters
from partita.estimators.saved_state import FieldReader
from partita.halting import Halt
from partita.source.dissimilarities import DissimilarityTable
from partita.trace import Callback

# Some rows, how far they are from the medoids (m, k), and the unit that is given in.
Parts = Iterator[tuple[slice, Floats, float]]


class KMedoids(Clusterer):
    """K-medoids clustering: the rows that are least dissimilar to all others, K of them.

    The objective is the weighted sum of dissimilarities of all rows to the nearest medoid.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters, and of medoids.
    metric : str or callable, default="euclidean"
        A name that `sklearn.metrics.pairwise_distances` knows, a callable of two rows, or
        "precomputed": X then is the square matrix of dissimilarities, or its upper triangle as
        SciPy's `pdist` gives it. Medoids withstand outliers only if the dissimilarity is not
        squared: of 0…9 and 1000, "euclidean" picks 5 and "sqeuclidean" 9, the row next to the mean.
    metric_params : dict or None, default=None
        Keywords for the metric, used by `fit` and by `predict`.
    method : {"fasterpam", "pam", "alternate", "clara", "onebatch"}, default="fasterpam"
        "fasterpam" swaps medoids for other rows until no single swap lowers the cost. "pam" always
        makes the best of all swaps: slower, no better. "alternate" is the textbook procedure
        (assign, then choose each cluster's medoid anew): quick, and ends higher. For many rows
        "clara" searches samples of them, and "onebatch" judges all rows by one sample.
    init : {"auto", "random", "lab", "build", "k-medoids++"}, callable or array, default="auto"
        Where to start: "random" rows; "lab", greedily on small samples; "build", greedily on all
        rows; "k-medoids++", far from each other; an array of numbers of rows, or a fitted model
        that lends its `medoid_indices_`; a callable init(X, n_clusters, random_state=…) that
        returns such an array. "auto" is "build" for "pam", else
        "random".
    n_init : "auto" or int, default="auto"
        How many starts, of which the best result is kept: "auto" is 10 for "alternate", 5 for
        "clara", and 1 for the others and for starts without randomness.
    max_iter : int, default=300
        The most iterations of a run: passes over all candidates; with "pam" swaps.
    k_range : (int, int) or None, default=None
        Choose the number of clusters between these two, in place of `n_clusters`: the one with the
        largest medoid silhouette, the mean of 1 − (dissimilarity to the nearest medoid) / (to the
        second). The search goes from the largest number down, and at each drops the medoid that is
        missed least; swaps lower the cost, not the silhouette.
    batch_size : int or None, default=None
        Rows in a sample of "clara" (None: 80 + 4K) and "onebatch" (None: 100·log(n·K)).
    verbose : int, default=0
        Whether to print the progress.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness. The same int gives the same bits, for any number of threads.
    halt : Halt or None, default=None
        A criterion from `partita.halting`, besides `max_iter` and that nothing improves any more.
    callback : callable or None, default=None
        Called with the `Progress` of every iteration, and if one takes long also about every second
        with what it did so far ("fasterpam"); returning True stops the fit.
    n_threads : int or None, default=None
        How many threads; None means PARTITA_NUM_THREADS, OMP_NUM_THREADS, or all cores.
    memory_limit : float or None, default=None
        How many bytes the matrix of all dissimilarities may take. Where it does not fit, columns
        of it are made as they are needed. None means a quarter of what is free.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (n_clusters,)
        The rows that are medoids: in ascending order, or in that of an array given as `init`.
    cluster_centers_ : ndarray or CSR matrix of shape (n_clusters, n_features), or None
        These rows of X, sparse if X is; None if the dissimilarities are precomputed.
    labels_ : ndarray of shape (n_samples,)
        The nearest medoid for every row, 0…K−1, the lower one on ties.
    inertia_ : float
        The weighted sum of dissimilarities to it.
    n_clusters_ : int
        How many clusters there are: `n_clusters`, or what `k_range` led to.
    silhouettes_ : dict or None
        The medoid silhouette by number of clusters, if `k_range` was given.
    n_iter_, n_swaps_ : int
        Iterations of the best run, and how often a medoid was replaced in it.
    start_ : ndarray of shape (n_clusters,) or None
        The rows that the best run began with; None where it saw a sample.
    trace_, stopped_by_, paths_
        One record per iteration (its `shift` is how many medoids changed), why it stopped, and how
        the search was made.
    n_features_in_, feature_names_in_
        What `fit` saw.

    Notes
    -----
    Rows of weight zero have no say; they are medoids only where there are too few others. A row is
    not dissimilar to itself, whatever the metric says (a row of zeros under "cosine" is at 1 from
    all others). A matrix must be symmetric, finite, not negative, and zero on its diagonal. Whole
    numbers are added exactly; vectors of float32 are compared in float32 during the search, and in
    float64 for the answer.

    Examples
    --------
    >>> from partita import KMedoids
    >>> model = KMedoids(n_clusters=2, random_state=0).fit([[0], [1], [2], [10], [11], [1000]])
    >>> model.cluster_centers_.ravel()
    array([   2., 1000.])
    >>> model.inertia_
    20.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        method: str = "fasterpam",
        init: Any = "auto",
        n_init: Any = "auto",
        max_iter: int = 300,
        k_range: tuple[int, int] | None = None,
        batch_size: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        halt: Halt | None = None,
        callback: Callback | None = None,
        n_threads: int | None = None,
        memory_limit: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.method = method
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.k_range = k_range
        self.batch_size = batch_size
        self.verbose = verbose
        self.random_state = random_state
        self.halt = halt
        self.callback = callback
        self.n_threads = n_threads
        self.memory_limit = memory_limit

    _saved_attributes = ("cluster_centers", "medoid_indices", "n_swaps", "start", "silhouettes")
    _covered_attributes = frozenset({"_metric", "_weight", "n_clusters_"})
    _needed_parameters = frozenset({"metric", "metric_params"})

    def __partita_capabilities__(self) -> Capabilities:
        return medoid_capabilities.declare(self)

    def _own_state(self) -> dict[str, Any]:
        return medoid_capabilities.own_state(self)

    def _restore_own(self, saved: FieldReader, d: int) -> int:
        return medoid_capabilities.restore(self, saved, d)

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMedoids:
        """Cluster the rows of X, or what a matrix of dissimilarities speaks of."""
        del y  # scikit-learn's pipelines pass it
        settings = MedoidParameters(self)
        with Workers(settings.threads) as workers:
            rows, features, table, metric = self._read(X, workers)
            weight = validation.check_weights(sample_weight, table.n)
            validation.check_row_count(table.n, settings.max_k)
            seen = X if rows is None else rows
            medoids, run, scores = settings.search(seen, table, weight, workers)
            parts = self._parts(rows, table, metric, medoids, workers)
            labels, cost = _nearest(parts, table.n)
        self._warn_if_empty(np.bincount(labels), len(medoids), len(medoids))
        self._keep_features(features)
        self._keep_run(run)
        self.medoid_indices_ = medoids
        self.n_clusters_ = len(medoids)
        self.cluster_centers_ = None if rows is None else rows[medoids]
        self.labels_ = labels
        self.inertia_ = exact_total(weighted(cost, weight))
        self.n_swaps_ = run.swaps
        self.start_ = run.start
        self.silhouettes_ = scores
        self._weight = float(table.n if weight is None else weight.sum())
        self._metric = metric
        self._n_features_out = len(medoids)
        return self

    def _read(
        self, X: Any, workers: Workers
    ) -> tuple[Any, dict[str, Any], DissimilarityTable, Metric | None]:
        """Rows or None, their features, their dissimilarities, and the metric or None."""
        check_metric(self.metric, self.metric_params)
        if self.metric == "precomputed":
            table = check_matrix(X, workers)
            features = {"n_features_in_": table.n}
            if getattr(X, "ndim", 2) == 2:
                features = {**validation.feature_attributes(X), **features}
            return None, features, table, None
        rows, features = validation.check_fit_rows(self, X)
        metric = Metric(self.metric, self.metric_params, rows)
        rows = self._checked(rows, metric, features.get("feature_names_in_"))
        return rows, features, metric.table(rows, workers), metric

    def _checked(self, rows: Any, metric: Metric, names: Any) -> Any:
        if rows.dtype in validation.BLOCKWISE_DTYPES:
            rows = np.ascontiguousarray(rows, dtype=np.float32)
        if not metric.allows_nan:
            with Workers(1) as workers:
                validation.check_finite(validation.make_source(rows, None, workers), rows, names)
        return rows

    def _parts(
        self,
        rows: Any,
        table: DissimilarityTable,
        metric: Metric | None,
        medoids: Ints,
        workers: Workers,
    ) -> Parts:
        """How far every row of the fit is from the medoids, by chunks of rows."""
        for some in row_chunks(table.n, len(medoids)):
            if metric is None:
                here = np.arange(some.start, some.stop)
                far = table.restrict(here, medoids).columns(np.arange(len(here)))
                yield some, far.astype(np.float64), table.unit
                continue
            far, unit = metric.between(rows[some], rows[medoids], workers)
            inside = np.flatnonzero((medoids >= some.start) & (medoids < some.stop))
            far[medoids[inside] - some.start, inside] = 0.0  # a row is not dissimilar to itself
            yield some, far, unit

    # --- using a fit ------------------------------------------------------------------------------

    def _far(self, X: Any) -> tuple[Any, Parts]:
        """X as it was checked, and by chunks how far its rows are from the medoids."""
        check_is_fitted(self)
        if self._metric is None:
            values = check_new_dissimilarities(self, X)[:, self.medoid_indices_]
            return values, iter([(slice(None), values.astype(np.float64), 1.0)])
        rows = self._checked(validation.check_new_rows(self, X), self._metric, self._names())
        return rows, self._measured(rows, self._metric)

    def _measured(self, rows: Any, metric: Metric) -> Parts:
        with Workers(validation.check_threads(self.n_threads)) as workers:
            centers, width = self.cluster_centers_, self._n_features_out
            if sp.issparse(rows) and not sp.issparse(centers):  # rows are made dense
                width = max(width, rows.shape[1])
            for some in row_chunks(rows.shape[0], width):
                yield some, *metric.between(match_sparsity(rows[some], centers), centers, workers)

    def predict(self, X: Any) -> Array:
        """The nearest medoid of each row, 0…K−1, the lower one on ties.

        With precomputed dissimilarities X has the shape (m, n): to all rows of the fit.
        """
        values, parts = self._far(X)
        return _nearest(parts, values.shape[0])[0]

    def transform(self, X: Any) -> Any:
        """The dissimilarity (n, k) of each row to every medoid, in the dtype of X."""
        values, parts = self._far(X)
        return _together(parts, (values.shape[0], self._n_features_out), values.dtype)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the dissimilarity (n, k) of each row to every medoid."""
        self.fit(X, sample_weight=sample_weight)
        values = as_matrix(X) if self._metric is None else None
        if values is None or values.ndim == 2:
            return self.transform(X)
        with Workers(1) as workers:  # a triangle, which speaks of the rows of the fit only
            table = check_matrix(values, workers)
            parts = self._parts(None, table, None, self.medoid_indices_, workers)
            return _together(parts, (table.n, self._n_features_out), values.dtype)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The opposite of the weighted sum of dissimilarities to the nearest medoid."""
        values, parts = self._far(X)
        weight = validation.check_weights(sample_weight, values.shape[0])
        return -exact_total(weighted(_nearest(parts, values.shape[0])[1], weight))

    def inverse_transform(self, codes: Any) -> Any:
        """Rows ZΘ (n, d) from labels (n,), or from hard or soft memberships (n, k).

        `inverse_transform(predict(X))` puts each row at its medoid; sparse if the medoids are.
        """
        check_is_fitted(self)
        if self.cluster_centers_ is None:
            raise ValueError(
                "metric='precomputed' knows no rows, so there is no way back to them; "
                "medoid_indices_[labels] are the numbers of the medoids"
            )
        return labelling.decode(codes, self.cluster_centers_)

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        values, parts = self._far(X)
        labels = np.empty(values.shape[0], np.int32)
        cost = np.empty((values.shape[0], self._n_features_out))
        for some, far, unit in parts:
            labels[some] = far.argmin(axis=1)
            cost[some] = _real(far, unit)
        return labels, cost

    def _temperature(self) -> float:
        return self.inertia_ / self._weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.metric, str) and self.metric == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.positive_only = precomputed
        tags.input_tags.sparse = callable(self.metric) or self.metric in SPARSE_METRICS
        tags.input_tags.allow_nan = not callable(self.metric) and self.metric == "nan_euclidean"
        return tags


def _nearest(parts: Parts, n: int) -> tuple[Ints, Floats]:
    """The nearest medoid of n rows, the lower one on ties, and how far it is."""
    labels, cost = np.empty(n, np.int32), np.empty(n)
    for some, far, unit in parts:
        labels[some] = far.argmin(axis=1)
        cost[some] = _real(far.min(axis=1), unit)
    return labels, cost


def _together(parts: Parts, shape: tuple[int, int], dtype: Any) -> Floats:
    """Dissimilarities (n, k), in float32 for input of float32, else in float64."""
    out = np.empty(shape, np.float32 if dtype == np.float32 else np.float64)
    for some, far, unit in parts:
        with np.errstate(over="ignore"):  # of float32
            out[some] = _real(far, unit)
    return out


def _real(far: Floats, unit: float) -> Floats:
    """Dissimilarities from what they are in units; zero is zero in any."""
    if unit == 1.0:
        return far
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(far == 0, 0.0, far * unit)
