"""Silhouettes: exact or sampled, weighted, under any metric, without a matrix of distances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.number_arrays import as_any_array
from partita._common.parameters import Got, check_integer, must_be
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita._common.random_state import generator
from partita._common.threads import Workers, one_blas_thread
from partita.estimators import validation
from partita.estimators.medoids.gower_metric import GowerMetric, learn_gower
from partita.estimators.medoids.metric import GOWER, Metric, check_matrix, check_metric
from partita.metrics.mean_distances import Partition, of_table, of_vectors
from partita.source.cosine import unit_doubles
from partita.source.dissimilarities import DissimilarityTable

MAX_VALUES_PER_THREAD = 1 << 21  # dissimilarities measured at once, if there is no kernel for them
COLUMNS_PER_TASK = (64, 512)  # at least, at most


class SilhouetteEstimate(NamedTuple):
    """A mean over a sample, and its standard error."""

    mean: float
    error: float


def silhouette_samples(
    X: Any,
    labels: Any,
    *,
    metric: Any = "euclidean",
    sample_weight: Any = None,
    n_threads: int | None = None,
) -> Floats:
    """Silhouette (b − a) / max(a, b) of each row.

    a is the mean distance to the other rows of its own cluster, b the mean distance to the rows of
    the nearest other cluster. 1: far from all other clusters; 0: between two, or alone in a
    cluster; below 0: closer to another cluster.

    Weights are repeats: a row of weight 3 counts as three rows, two of which are at distance 0 from
    the third. A row of weight below 1 is not one of its own neighbours.

    Parameters
    ----------
    X : rows, dense or sparse; with ``metric="precomputed"``, a matrix of dissimilarities, square or
        condensed.
    labels : one for each row: numbers or text. At least two must differ.
    metric : any metric of `partita.KMedoids`, or a callable. Euclidean, squared Euclidean,
        Manhattan and cosine distances of dense rows have a compiled kernel, and so has "gower",
        for tables with categories and gaps.
    sample_weight : one for each row, or None.
    n_threads : None means all cores. The result has the same bits for any number.

    Returns
    -------
    silhouettes (n,), float64. Distances are measured in double precision for any dtype of X. Takes
    O(n²·d) time, and memory for a copy of X and a few numbers per row.

    >>> silhouette_samples([[0.0], [1.0], [10.0], [11.0]], ["a", "a", "b", "b"]).round(3)
    array([0.905, 0.895, 0.895, 0.905])
    """
    return _measure(X, labels, metric, sample_weight, n_threads)[0]


def silhouette_score(
    X: Any,
    labels: Any,
    *,
    metric: Any = "euclidean",
    sample_size: int | None = None,
    random_state: Any = None,
    sample_weight: Any = None,
    n_threads: int | None = None,
) -> float:
    """Mean of `silhouette_samples`, weighted by `sample_weight`; in [−1, 1], higher is better.

    With `sample_size` it is the mean of `sampled_silhouette`: rows drawn at random, each compared
    with *all* rows, so the estimate is unbiased. scikit-learn compares them only with each other,
    so that small clusters may vanish.

    Other parameters as in `silhouette_samples`. Weakness: prefers round clusters of similar size.

    >>> round(silhouette_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 6)
    0.899749
    """
    if sample_size is not None:
        return sampled_silhouette(
            X,
            labels,
            sample_size=sample_size,
            metric=metric,
            random_state=random_state,
            sample_weight=sample_weight,
            n_threads=n_threads,
        ).mean
    return _mean(*_measure(X, labels, metric, sample_weight, n_threads))


def sampled_silhouette(
    X: Any,
    labels: Any,
    *,
    sample_size: int,
    metric: Any = "euclidean",
    random_state: Any = None,
    sample_weight: Any = None,
    n_threads: int | None = None,
) -> SilhouetteEstimate:
    """Mean silhouette of `sample_size` rows against all rows, and its standard error.

    Rows are drawn without replacement; with weights, in proportion to them and with replacement.
    Either way the mean is unbiased. If `sample_size` is n or more, the mean is exact and its error
    0. Takes O(sample_size·n·d) time.

    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> mean, error = sampled_silhouette(X, [0, 0, 1, 1], sample_size=4)
    >>> round(mean, 6), error
    (0.899749, 0.0)
    """
    size = check_integer("sample_size", sample_size)
    rng = generator(random_state)
    with Workers(validation.check_threads(n_threads)) as workers:
        rows = PairwiseDistances(X, metric, workers)
        partition = _partition(labels, rows.n, sample_weight)
        if size >= rows.n:
            return SilhouetteEstimate(_mean(rows.silhouettes(partition), partition.weight), 0.0)
        points, times, left = _draw(partition.weight, sample_weight is None, size, rng)
        values = rows.silhouettes(partition, points)
    mean = _mean(values, times)
    if size == 1:
        return SilhouetteEstimate(mean, float("nan"))
    variance = exact_total((values - mean) ** 2, times) / (size - 1)
    return SilhouetteEstimate(mean, float(np.sqrt(left * variance / size)))


def silhouettes_at(
    X: Any,
    labels: Any,
    points: Ints,
    *,
    metric: Any = "euclidean",
    sample_weight: Any = None,
    n_threads: int | None = None,
) -> Floats:
    """Silhouettes of some rows (by number), each compared with *all* rows.

    For all rows in order they have the bits of `silhouette_samples`.

    >>> silhouettes_at([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1], np.array([2])).round(3)
    array([0.895])
    """
    return _measure(X, labels, metric, sample_weight, n_threads, points)[0]


def _measure(
    X: Any,
    labels: Any,
    metric: Any,
    sample_weight: Any,
    n_threads: int | None,
    points: Ints | None = None,
) -> tuple[Floats, Floats]:
    """The silhouettes of all rows, or of `points`; and the weights (n,) of all rows."""
    with Workers(validation.check_threads(n_threads)) as workers:
        rows = PairwiseDistances(X, metric, workers)
        partition = _partition(labels, rows.n, sample_weight)
        return rows.silhouettes(partition, points), partition.weight


def _draw(
    weight: Floats, equal: bool, size: int, rng: np.random.Generator
) -> tuple[Ints, Floats, float]:
    """Rows, how often each was drawn, and the finite-population factor of the variance."""
    n = len(weight)
    if equal:
        return np.sort(rng.choice(n, size, replace=False)), np.ones(size), 1.0 - size / n
    drawn = rng.choice(n, size, p=weight / weight.sum())
    points, times = np.unique(drawn, return_counts=True)
    return points, times.astype(np.float64), 1.0


def _mean(values: Floats, weight: Floats) -> float:
    return exact_total(values, weight) / exact_total(weight)


class PairwiseDistances:
    """Distances between all rows of X: by the compiled kernel if possible, else by a table."""

    def __init__(self, X: Any, metric: Any, workers: Workers) -> None:
        check_metric(metric, None)
        self._workers = workers
        self._vectors: Floats | None = None
        self._table: DissimilarityTable | None = None
        self._name = "euclidean"
        if isinstance(metric, str) and metric == "precomputed":
            self._table = check_matrix(X, workers)
            self.n = self._table.n
            return
        if isinstance(metric, str) and metric == GOWER:
            mixed, metric, _ = learn_gower(self, X, None, None)
            X = metric.coded(mixed)
        if isinstance(metric, GowerMetric):
            self._table, self.n = metric.table(X, workers), len(X)
            return
        X = validation.as_rows(X, name="silhouette")
        self.n = X.shape[0]
        measure = Metric(metric, None, X)
        if not measure.allows_nan:
            validation.check_finite(validation.make_source(X, None, workers), X)
        doubles = X.astype(np.float64, copy=False)
        plain = None if sp.issparse(X) else measure.plain
        if plain is not None:  # a power of two does not change silhouettes
            scale = square_scale(largest_magnitude(doubles))
            self._name, self._vectors = plain, scaled(doubles, scale)
        elif not sp.issparse(X) and measure.is_cosine:
            unit, is_zero = unit_doubles(doubles, workers)  # 1 − cos is half their squared distance
            self._name, self._vectors = "sqeuclidean", None if is_zero.any() else unit
        if self._vectors is None:
            self._table = measure.table(doubles, workers, self._columns_per_task)

    def silhouettes(self, partition: Partition, points: Ints | None = None) -> Floats:
        """Return the silhouettes of all rows, or of `points`."""
        if points is not None and len(points) >= self.n:
            return self.silhouettes(partition)[points]
        if self._vectors is not None:
            means = of_vectors(self._vectors, self._name, partition, self._workers, points)
            return partition.values(means, points)
        assert self._table is not None
        step = self._columns_per_task * self._workers.n
        with one_blas_thread():
            return partition.values(of_table(self._table, partition, step, points), points)

    @property
    def _columns_per_task(self) -> int:
        """Columns that a thread measures at once: few calls of a metric, limited memory."""
        least, most = COLUMNS_PER_TASK
        return max(least, min(most, MAX_VALUES_PER_THREAD // self.n))


def _partition(labels: Any, n: int, sample_weight: Any) -> Partition:
    """Check labels of any kind, and number them."""
    wanted = f"of shape ({n},), one label for each row of `X`"
    given = as_any_array("labels", labels, wanted)
    if given.shape != (n,):
        raise must_be("labels", wanted, Got(f"an array of shape {given.shape}"))
    if given.dtype.kind in "fc" and np.isnan(given).any():
        raise ValueError(
            f"`labels` must not contain NaN, got {int(np.isnan(given).sum())} in {n} rows. Give "
            "these rows a label, or leave them out."
        )
    try:
        names, number = np.unique(given, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"`labels` must be all numbers or all text, got values that cannot be sorted: {error}."
        ) from error
    weight = validation.check_weights(sample_weight, n)
    partition = Partition.of(number.ravel(), len(names), weight)
    count, rows = int((partition.mass > 0).sum()), int((partition.weight > 0).sum())
    if count < 2 or (count == rows and not (partition.weight > 1).any()):
        raise ValueError(
            f"Number of labels is {count}. Valid values are 2 to n_samples - 1 = {rows - 1} "
            "(inclusive). A silhouette needs two clusters, and two rows in one of them."
        )
    return partition
