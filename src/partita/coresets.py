"""Coresets: few weighted rows that cost at any centers nearly what all rows cost.

Rows are drawn by their sensitivity, the largest share of the objective that a row can have at any k
centers (Langberg and Schulman 2010; Feldman and Langberg 2011). It is bounded by a rough solution
B: a row matters if it is far from B, or if few rows share its center.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total, exact_totals
from partita._common.memory import free_memory
from partita._common.parameters import Got, check_integer, must_be
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita._common.random_state import generator
from partita._common.sparse_format import is_sparse
from partita._common.threads import Workers
from partita._kernels.weighted_draws import index_in_cumsum
from partita.centers import Centers
from partita.estimators import labelling, validation
from partita.estimators.lazy_blocks import check_facts, is_partitioned, open_partitions
from partita.estimators.scanned_rows import FREE_MEMORY_SHARE, is_scanned, open_scan
from partita.init.plusplus import plusplus
from partita.scanning.stored_rows import StoredRows
from partita.source.dataframes import is_frame, names_of
from partita.source.dense import DenseSource
from partita.source.partition_tasks import weight_facts
from partita.source.partitions import Part
from partita.source.protocol import Source

CENTERS_PER_CLUSTER = 2  # of the rough solution


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Coreset:
    """Weighted rows that stand for many more: `fit(c.points, sample_weight=c.weights)`.

    Coresets of disjoint rows merge, and the union can be reduced again, so a stream needs the
    memory of a few of them. Each reduction adds an error of its own.

    Attributes
    ----------
    points : ndarray or csr_array of shape (m, n_features)
        Some of the rows, each once, in their order and dtype.
    weights : ndarray of shape (m,)
        The weight that each stands for, > 0; they add up to that of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from partita import Coreset
    >>> one = Coreset(np.array([[0.0], [4.0]]), np.array([3.0, 1.0]))
    >>> both = one.merge(Coreset(np.array([[9.0]]), np.array([2.0])))
    >>> both, both.cost([[0.0], [8.0]])
    (Coreset of 3 points, weight 6, 1 features, 18.0)
    """

    points: Any
    weights: Floats

    def merge(self, other: Coreset) -> Coreset:
        """Return the coreset of both sets of rows: the points of both, side by side."""
        if not isinstance(other, Coreset):
            raise must_be("other", "a Coreset", other, "Make one by partita.coreset(X, m).")
        d = self.points.shape[1]
        if other.points.shape[1] != d:
            got = Got(f"one with {other.points.shape[1]}")
            raise must_be("other", f"a Coreset of points with {d} features", got)
        return Coreset(
            _stacked(self.points, other.points), np.concatenate([self.weights, other.weights])
        )

    def reduce(
        self, m: int, k: int = 8, random_state: Any = None, n_threads: int | None = None
    ) -> Coreset:
        """Return a coreset of at most m of the points, for the rows that they stand for.

        The parameters are those of `coreset`.
        """
        return coreset(self.points, m, k, self.weights, random_state, n_threads)

    def cost(self, centers: Any) -> float:
        """Return J of the weighted points at centers (k, d) or those of a fitted model.

        It estimates J of all rows at these centers.
        """
        d = self.points.shape[1]
        values = validation.as_centers(centers, "centers", "k", d)
        if values.shape[1] != d or len(values) == 0:
            wanted = f"centers of shape (k, {d})"
            raise must_be("centers", wanted, Got(f"an array of shape {values.shape}"))
        return labelling.inertia(self.points, values, None, None, self.weights)

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"Coreset of {n} points, weight {self.weights.sum():g}, {d} features"


def coreset(
    X: Any,
    m: int,
    k: int = 8,
    sample_weight: Any = None,
    random_state: Any = None,
    n_threads: int | None = None,
) -> Coreset:
    """Return at most m weighted rows that cost, at any k centers, nearly what all rows cost.

    Greedy k-means++ chooses 2k centers B. A row of weight w is drawn with probability

        q(x) = w/3 · (d²(x, B) / cost(B) + 1 / (occupied centers · W_B(x)) + 1 / W)

    where W_B(x) is the weight of the rows nearest to its center. Draws are stratified: rows are
    lined up by center and distance, and one is drawn from each of m equal parts of the total
    probability. A draw has the weight w/(m·q), so the cost is unbiased; then the weights at
    each center are scaled to add up to that of its rows, which lowers the error and adds a bias of
    the order of 1/m. Rows drawn more than once are one point. If at most m rows have weight,
    they are the points. The same seed gives the same bits for any number of threads.

    Parameters
    ----------
    X : array, sparse matrix, data frame, path, scan, or rows in partitions
        The rows (n, n_features). Files that do not fit a quarter of the free memory are read block
        by block. Of a dask array or a Spark dataframe, every partition is reduced where it is, and
        the union once more: m rows of each partition travel.
    m : int
        Number of draws: some 50 for each cluster are a beginning, and more lower the error.
    k : int, default=8
        The number of clusters that the points are for; fewer are served as well.
    sample_weight : array of shape (n,) or None, default=None
        Weights of the rows.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness.
    n_threads : int or None, default=None
        As in `KMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from partita import KMeans, coreset
    >>> X = np.random.default_rng(0).normal(size=(10000, 2)) + 10 * np.arange(10000)[:, None] % 30
    >>> small = coreset(X, 300, k=3, random_state=0)
    >>> model = KMeans(3, random_state=0).fit(small.points, sample_weight=small.weights)
    >>> round(-model.score(X) / KMeans(3, random_state=0).fit(X).inertia_, 2)
    1.01
    """
    m, k = check_integer("m", m), check_integer("k", k)
    rng, threads = generator(random_state), validation.check_threads(n_threads)
    if is_partitioned(X):
        return _of_partitions(X, sample_weight, (m, k), rng, threads)
    rows, names, weight = _read(X, sample_weight, k, threads)
    with Workers(threads) as workers:
        source = validation.make_source(rows, weight, workers)
        validation.check_finite(source, rows, names)
        heavy = np.arange(source.n) if weight is None else np.flatnonzero(weight)
        if m >= len(heavy):
            chosen, mass = heavy, source.weights.as_floats(source.n)[heavy]
        else:
            scale = square_scale(_magnitude(rows, source))
            if scale != 1.0:  # squares would overflow
                source = validation.make_source(scaled(rows, scale), weight, workers)
            chosen, mass = _Sensitivities.of(source, k, rng).draw(m, rng)
    return Coreset(rows[chosen].astype(source.dtype, copy=False), mass)


def _read(X: Any, sample_weight: Any, k: int, threads: int) -> tuple[Any, Any, Floats | None]:
    """Return rows, in memory or to be read when they are needed, their names and weights."""
    if is_scanned(X):
        memory = free_memory() * FREE_MEMORY_SHARE
        X, sample_weight, _ = open_scan(X, sample_weight, memory, k, threads)
        rows, names = X.rows, X.names
    else:
        names = names_of(X) if is_frame(X) else None
        rows = validation.as_rows(X, "coreset")
    return rows, names, validation.check_weights(sample_weight, rows.shape[0])


def _magnitude(rows: Any, source: Source) -> float:
    """Return the largest magnitude of all values; rows of a file must not need to be scaled."""
    if not isinstance(rows, StoredRows):
        return largest_magnitude(rows)
    assert isinstance(source, DenseSource)
    low, high, _ = source.extent()
    largest = largest_magnitude(low, high)
    if square_scale(largest) != 1.0:
        wanted = "of a magnitude that can be squared"
        raise must_be("X", wanted, Got(f"values up to {largest:g}"), "Scale them first.")
    return largest


@dataclass(frozen=True, slots=True)
class _PartCoreset:
    """Makes a coreset of a partition, where it is; None if no row has weight."""

    m: int
    k: int
    seed: int

    def __call__(self, part: Part) -> Coreset | None:
        if part.weight is not None and not part.weight.any():
            return None
        rng = np.random.default_rng([self.seed, part.start])
        return coreset(part.rows, self.m, self.k, part.weight, rng, n_threads=1)


def _of_partitions(
    X: Any, sample_weight: Any, counts: tuple[int, int], rng: np.random.Generator, threads: int
) -> Coreset:
    """Reduce every partition, then the union of all; the order is that of the rows."""
    given = open_partitions(X, sample_weight)
    try:
        if given.weighted:
            check_facts(given.total(weight_facts, operator.add))
        parts = given.run(_PartCoreset(*counts, int(rng.integers(2**63))))
    finally:
        given.close()
    merged = reduce(Coreset.merge, [part for part in parts if part is not None])
    return merged.reduce(*counts, random_state=rng, n_threads=threads)


@dataclass(frozen=True, slots=True)
class _Sensitivities:
    """The probability of drawing each row, and the strata of the draws."""

    labels: Ints  # (n,) nearest center of the rough solution
    distance: Floats  # (n,) squared, to it
    share: Floats  # (n,) of the total weight
    ratio: Floats  # (n,) q(x) over this share
    weight: Floats  # (b,) of the rows of each center

    @classmethod
    def of(cls, source: Source, k: int, rng: np.random.Generator) -> _Sensitivities:
        """Measure all rows against a rough solution for k clusters."""
        values = plusplus(source, min(CENTERS_PER_CLUSTER * k, source.n), rng)[0]
        centers, labels = Centers(values, np.zeros(source.d)), np.full(source.n, -1, np.int32)
        source.assign(centers, labels, None)
        distance = source.own_distances(centers, labels)
        given = source.weights.as_floats(source.n)
        weight = exact_totals(np.ones(source.n), labels, len(values), given)
        total = exact_total(weight)
        share, cost = given / total, exact_total(distance, given / total)
        occupied = np.maximum(weight / total, np.finfo(np.float64).tiny)
        rare = 1.0 / (np.count_nonzero(weight) * occupied)
        # without a cost every row is a center, and only their weights count
        far = distance / cost if cost > 0 else 1.0
        return cls(labels, distance, share, (far + rare[labels] + 1.0) / 3, weight)

    def draw(self, m: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Draw m rows; return those drawn, in order, and their weights."""
        line = np.lexsort((self.distance, self.labels))
        cumulated = (self.share * self.ratio)[line].cumsum()
        place = (np.arange(m) + rng.random(m)) / m
        drawn = line[index_in_cumsum(cumulated, place * cumulated[-1])]
        chosen, times = np.unique(drawn, return_counts=True)
        mass = times / self.ratio[chosen]  # w/(m·q), but for a factor that all have in common
        return chosen, mass * self._factors(self.labels[chosen], mass)[self.labels[chosen]]

    def _factors(self, labels: Ints, mass: Floats) -> Floats:
        """Factors (b,) that give each center the weight of its rows.

        The weight of centers without a draw goes to the others in proportion.
        """
        drawn = exact_totals(mass, labels, len(self.weight))
        held = drawn > 0
        missing = exact_total(self.weight) / exact_total(self.weight[held])
        return np.divide(self.weight, drawn, out=np.zeros_like(drawn), where=held) * missing


def _stacked(one: Any, two: Any) -> Any:
    if not (is_sparse(one) or is_sparse(two)):
        return np.concatenate([one, two])
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack([one, two]))
