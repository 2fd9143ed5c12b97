"""`KMedoids`: every center is a row of the data, under any dissimilarity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.parameters import Got, Rule, must_be
from partita._common.threads import Workers
from partita.estimators import labelling, validation
from partita.estimators.base import Clusterer
from partita.estimators.lazy_blocks import distances_by_blocks, labels_by_blocks
from partita.estimators.medoids import medoid_capabilities
from partita.estimators.medoids.gower_metric import learn_gower
from partita.estimators.medoids.metric import (
    GOWER,
    SPARSE_METRICS,
    Metric,
    RowMetric,
    as_matrix,
    check_matrix,
    check_metric,
    check_new_dissimilarities,
    match_sparsity,
    row_chunks,
)
from partita.estimators.medoids.parameters import MedoidParameters
from partita.halting import Halt
from partita.source.dissimilarities import DissimilarityTable
from partita.trace import Callback

# a span of rows, their dissimilarities (m, k) to the medoids, and the unit of these
Parts = Iterator[tuple[slice, Floats, float]]


class MedoidRows(NamedTuple):
    """The rows of a fit, or a matrix between them."""

    data: Any  # for a callable that makes a start
    rows: Any  # as the metric compares them; None of a matrix
    features: dict[str, Any]  # attributes of the fit
    table: DissimilarityTable
    metric: RowMetric | None
    centers: Callable[[Ints], Any]  # the rows of medoids as users see them
    candidates: Array | None = None  # (n,) whether a row may be a medoid


@dataclass(eq=False, repr=False)
class KMedoids(Clusterer):
    """K-medoids clustering: K rows with the least total dissimilarity to all rows.

    The objective is the weighted sum of dissimilarities of all rows to the nearest medoid.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters, and of medoids.
    metric : str or callable, default="euclidean"
        A name of `sklearn.metrics.pairwise_distances`, a callable of two rows, or
        "precomputed": X then is the square matrix of dissimilarities, or its upper triangle as
        SciPy's `pdist` returns it. Medoids are robust to outliers only if the dissimilarity is not
        squared: of 0…9 and 1000, "euclidean" picks 5 and "sqeuclidean" 9, the row next to the mean.
        "gower" compares rows of tables with numbers, categories and gaps: see Notes.
    metric_params : dict or None, default=None
        Keywords for the metric, used by `fit` and by `predict`. Of "gower": `categorical` (a list
        of columns, by name or position), `ordinal` (a list, or the levels in their order by
        column), `asymmetric` (a list, or by column the value that is present), and `weights` (of
        all columns, or by column).
    method : {"fasterpam", "pam", "alternate", "clara", "onebatch"}, default="fasterpam"
        "fasterpam" swaps medoids for other rows until no single swap lowers the cost. "pam" always
        makes the best of all swaps: slower, no better. "alternate" is the textbook procedure
        (assign, then choose the medoid of each cluster): fast, with a higher cost. For many rows,
        "clara" searches samples of them, and "onebatch" evaluates all rows by one sample.
    init : {"auto", "random", "lab", "build", "k-medoids++"}, callable or array, default="auto"
        The start: "random" rows; "lab", greedily on small samples; "build", greedily on all
        rows; "k-medoids++", far from each other; an array of row numbers; a fitted model, whose
        `medoid_indices_` are used; a callable init(X, n_clusters, random_state=…) that returns
        row numbers. "auto" is "build" for "pam", else "random".
    n_init : "auto" or int, default="auto"
        The number of starts, of which the best result is kept: "auto" is 10 for "alternate", 5 for
        "clara", and 1 for the others and for starts without randomness.
    max_iter : int, default=300
        The maximum number of iterations of a run: passes over all candidates; swaps with "pam".
    k_range : (int, int), iterable of int, str, int or None, default=None
        Choose the number of clusters among these, in place of `n_clusters`: a tuple (low, high), a
        range, a list, a text such as "2:20" (both ends included), or an int n for 2 to n. The one
        with the largest medoid silhouette is chosen: the mean of 1 − (dissimilarity to the nearest
        medoid) / (to the second). The search goes from the largest number down, and removes the
        medoids whose removal costs least; swaps lower the cost, not the silhouette.
    quality : {"fast", "balanced", "best"}, default="fast"
        How far to search. "fast" ends where no single swap lowers the cost. "balanced" goes on from
        there: it exchanges some medoids for rows that are far from all, and descends again, until
        40 descents in a row find nothing lower. "best" keeps the eight best local optima found,
        from as many starts, and also crosses them; it ends after 400 descents in vain (fewer with
        many rows, at least 20), or at once when it has tried all sets of medoids, if these are few.
        Never a higher cost than "fast" with the same seed. Needs method="fasterpam".
    time_budget : float or None, default=None
        Seconds after which the fit ends with the best medoids so far. None: no limit, and results
        that depend on `random_state` only.
    batch_size : int or None, default=None
        Rows in a sample of "clara" (None: 80 + 4K) and "onebatch" (None: 100·log(n·K)).
    verbose, random_state, n_threads
        As in `KMeans`.
    halt : Halt or None, default=None
        A criterion from `partita.halting`, in addition to `max_iter` and convergence.
    callback : callable or None, default=None
        Called with the `Progress` of every iteration, and about every second during a long one
        ("fasterpam"); returning True stops the fit.
    memory_limit : float or None, default=None
        The maximum number of bytes of the matrix of all dissimilarities. If it does not fit, its
        columns are computed as needed. None means a quarter of the free memory. "balanced" and
        "best" then search among some candidates (100 for each cluster, at least 2000, if as many
        columns fit), and end with swaps of what they find among all rows; if not even four for each
        cluster fit, the result is that of "fast", and `stopped_by_` says so.

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
        The number of clusters: `n_clusters`, or the choice from `k_range`.
    silhouettes_ : dict or None
        The medoid silhouette by number of clusters, if `k_range` was given.
    n_iter_, n_swaps_ : int
        The iterations of the best run, and the number of its swaps.
    start_ : ndarray of shape (n_clusters,) or None
        The initial rows of the best run; None if it used a sample.
    search_ : tuple of SearchRecord
        Each lower cost that "balanced" or "best" found: `seconds` since the fit began, the `phase`
        that found it, the `cost`, and the `evaluations` (descents) so far. Empty for "fast".
    trace_, stopped_by_, paths_, membership_, n_features_in_, feature_names_in_
        As in `KMeans`; the `shift` of an iteration is the number of medoids that changed. Of a
        search, the trace is that of the best descent, and `stopped_by_` is why the search ended;
        Ctrl-C ends it with the best medoids so far.

    Notes
    -----
    Rows of weight zero do not count; they become medoids only if there are too few others. The
    dissimilarity of a row to itself is 0 for every metric (a row of zeros under "cosine" is at 1
    from all others). A matrix must be symmetric, finite, not negative, and zero on its diagonal.
    Integers are added exactly; vectors of float32 are compared in float32 during the search, and
    in float64 for the result.

    Gower's dissimilarity is the weighted mean of those of the columns that two rows both have: of
    numbers and ordered levels the difference over the range of the fit (new values beyond it count
    as its ends), of categories 0 or 1. In an asymmetric column, two absences do not count. Text,
    booleans and types of categories are categories without being named. Medoids are rows with
    few gaps (of the tenth with the fewest, ties included): others are near everything, and
    examples of nothing.

    Examples
    --------
    >>> from partita import KMedoids
    >>> model = KMedoids(n_clusters=2, random_state=0).fit([[0], [1], [2], [10], [11], [1000]])
    >>> model.cluster_centers_.ravel()
    array([   2., 1000.])
    >>> model.inertia_
    20.0
    """

    n_clusters: int = 8
    _: KW_ONLY
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    method: str = "fasterpam"
    init: Any = "auto"
    n_init: Any = "auto"
    max_iter: int = 300
    k_range: Any = None
    batch_size: int | None = None
    quality: str = "fast"
    time_budget: float | None = None
    verbose: int = 0
    random_state: Any = None
    halt: Halt | None = None
    callback: Callback | None = None
    n_threads: int | None = None
    memory_limit: float | None = None

    _saved_attributes = ("cluster_centers", "medoid_indices", "n_swaps", "start", "silhouettes")
    _covered_attributes = frozenset({"_metric", "_weight", "n_clusters_", "search_"})
    _needed_parameters = frozenset({"metric", "metric_params"})

    __partita_capabilities__ = medoid_capabilities.declare
    _own_state = medoid_capabilities.own_state
    _restore_own = medoid_capabilities.restore

    def _rules(self) -> Mapping[str, Rule]:
        return MedoidParameters.rules

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMedoids:
        """Cluster the rows of X, or the rows of a matrix of dissimilarities."""
        del y  # scikit-learn's pipelines pass it
        parameters = MedoidParameters(self)
        with Workers(parameters.threads) as workers:
            read = self._read(X, sample_weight, workers)
            table = read.table
            weight = validation.check_weights(sample_weight, table.n)
            validation.check_row_count(table.n, parameters.max_k)
            found = parameters.search(read.data, table, weight, workers, read.candidates)
            medoids, run, scores = found
            parts = self._parts(read.rows, table, read.metric, medoids, workers)
            labels, cost = _label(parts, np.empty(table.n))
        self._warn_if_empty(np.bincount(labels), len(medoids), len(medoids))
        self._keep_features(read.features)
        self._keep_run(run)
        self.medoid_indices_ = medoids
        self.n_clusters_ = len(medoids)
        self.cluster_centers_ = read.centers(medoids)
        self.labels_ = labels
        self.inertia_ = exact_total(cost, weight)
        self.n_swaps_ = run.swaps
        self.start_ = run.start
        self.silhouettes_ = scores
        self.search_ = run.search
        self._weight = float(table.n if weight is None else weight.sum())
        self._metric = read.metric
        self._n_features_out = len(medoids)
        return self

    def _read(self, X: Any, sample_weight: Any, workers: Workers) -> MedoidRows:
        """Return what was read of X, and the dissimilarities of its rows."""
        check_metric(self.metric, self.metric_params)
        if self.metric == "precomputed":
            table = check_matrix(X, workers)
            features = {"n_features_in_": table.n}
            if getattr(X, "ndim", 2) == 2:
                features = {**validation.feature_attributes(X), **features}
            return MedoidRows(X, None, features, table, None, lambda _: None)
        if isinstance(self.metric, str) and self.metric == GOWER:
            mixed, gower, features = learn_gower(self, X, self.metric_params, sample_weight)
            coded, weight = gower.coded(mixed), validation.check_weights(sample_weight, mixed.n)

            def centers(medoids: Ints) -> Array:
                return gower.features.decode(mixed.take(medoids))

            table, candidates = gower.table(coded, workers), gower.candidates(coded, weight)
            return MedoidRows(X, coded, features, table, gower, centers, candidates)
        rows, features = validation.check_fit_rows(self, X)
        metric = Metric(self.metric, self.metric_params, rows)
        if self.metric_params and not callable(self.metric):
            metric.check(rows[:2])
        rows = metric.checked(rows, features.get("feature_names_in_"))
        table = metric.table(rows, workers)
        return MedoidRows(rows, rows, features, table, metric, rows.__getitem__)

    @staticmethod
    def _parts(
        rows: Any,
        table: DissimilarityTable,
        metric: RowMetric | None,
        medoids: Ints,
        workers: Workers,
    ) -> Parts:
        """Yield the dissimilarities of the rows of the fit to the medoids, by chunks of rows."""
        for span in row_chunks(table.n, len(medoids)):
            if metric is None:
                numbers = np.arange(span.start, span.stop)
                distances = table.restrict(numbers, medoids).columns(np.arange(len(numbers)))
                yield span, distances.astype(np.float64), table.unit
                continue
            distances, unit = metric.between(rows[span], rows[medoids], workers)
            inside = np.flatnonzero((medoids >= span.start) & (medoids < span.stop))
            distances[medoids[inside] - span.start, inside] = 0.0  # of a medoid to itself
            yield span, distances, unit

    # --- using a fit ------------------------------------------------------------------------------

    def _dissimilarities(self, X: Any) -> tuple[Any, Parts]:
        """Return X, checked, and the dissimilarities of its rows to the medoids by chunks."""
        check_is_fitted(self)
        if self._metric is None:
            values = check_new_dissimilarities(self, X)[:, self.medoid_indices_]
            return values, iter([(slice(None), values.astype(np.float64), 1.0)])
        rows = self._metric.new_rows(self, X)
        return rows, self._measured(rows, self._metric)

    def _measured(self, rows: Any, metric: RowMetric) -> Parts:
        with Workers(validation.check_threads(self.n_threads)) as workers:
            centers, width = metric.compared(self.cluster_centers_), self._n_features_out
            if sp.issparse(rows) and not sp.issparse(centers):  # rows are made dense
                width = max(width, rows.shape[1])
            for span in row_chunks(rows.shape[0], width):
                yield span, *metric.between(match_sparsity(rows[span], centers), centers, workers)

    @labels_by_blocks
    def predict(self, X: Any) -> Array:
        """Return the nearest medoid of each row, 0…K−1, the lower one on ties.

        With metric="precomputed", X (m, n) are dissimilarities to all rows of the fit.
        """
        values, parts = self._dissimilarities(X)
        return _label(parts, np.empty(values.shape[0]))[0]

    @distances_by_blocks
    def transform(self, X: Any) -> Any:
        """Return the dissimilarity (n, k) of each row to every medoid, in the dtype of X."""
        values, parts = self._dissimilarities(X)
        return _label(parts, self._empty(values.shape[0], values.dtype))[1]

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the dissimilarity (n, k) of each row to every medoid."""
        self.fit(X, sample_weight=sample_weight)
        values = as_matrix(X) if self._metric is None else None
        if values is None or values.ndim == 2:
            return self.transform(X)
        with Workers(1) as workers:  # a triangle has the rows of the fit only
            table = check_matrix(values, workers)
            parts = self._parts(None, table, None, self.medoid_indices_, workers)
            return _label(parts, self._empty(table.n, values.dtype))[1]

    def _empty(self, n: int, dtype: Any = None) -> Floats:
        """An array (n, k), in float32 for input of float32, else in float64."""
        return np.empty((n, self._n_features_out), "f4" if dtype == np.float32 else "f8")

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the weighted sum of dissimilarities to the nearest medoid."""
        values, parts = self._dissimilarities(X)
        weight = validation.check_weights(sample_weight, values.shape[0])
        return -exact_total(_label(parts, np.empty(values.shape[0]))[1], weight)

    def inverse_transform(self, codes: Any) -> Any:
        """Return rows ZΘ (n, d) from labels (n,), or from hard or soft memberships (n, k).

        `inverse_transform(predict(X))` replaces each row by its medoid; sparse if these are.
        """
        check_is_fitted(self)
        if self.cluster_centers_ is None:
            raise ValueError(
                "inverse_transform is not available with metric='precomputed', which has no rows. "
                "medoid_indices_[labels] are the row numbers of the medoids."
            )
        if self.cluster_centers_.dtype == object and np.ndim(codes) != 1:
            got, advice = Got("memberships"), "Categories cannot be mixed: use predict(X)."
            raise must_be("codes", "labels (n,) for a table with categories", got, advice)
        return labelling.decode(codes, self.cluster_centers_)

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        values, parts = self._dissimilarities(X)
        return _label(parts, self._empty(values.shape[0]))

    def _temperature(self) -> float:
        return self.inertia_ / self._weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.metric, str) and self.metric == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.positive_only = precomputed
        tags.input_tags.sparse = callable(self.metric) or self.metric in SPARSE_METRICS
        named = self.metric if isinstance(self.metric, str) else ""
        tags.input_tags.allow_nan = named in (GOWER, "nan_euclidean")
        if named == GOWER:
            tags.input_tags.string = tags.input_tags.categorical = True
            tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _label(parts: Parts, out: Floats) -> tuple[Ints, Floats]:
    """Return the nearest medoid of each row, the lower one on ties, and fill `out`.

    It receives the dissimilarities to the nearest medoid (n,), or to all of them (n, k).
    """
    labels = np.empty(len(out), np.int32)
    for span, distances, unit in parts:
        labels[span] = distances.argmin(axis=1)
        values = distances if out.ndim == 2 else distances.min(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):  # 0 is 0, even if the unit is infinite
            out[span] = values if unit == 1.0 else np.where(values == 0, 0.0, values * unit)
    return labels, out
