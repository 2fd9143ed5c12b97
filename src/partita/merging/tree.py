"""The merge tree of a fit: merge the cheapest pair of clusters until one is left.

No data is read again: summaries merge exactly, and a merge adds the cross term of the bipartition
lemma to the objective. If every row is its own cluster, this is Ward's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total, exact_totals
from partita._common.parameters import check_integer
from partita.estimators.capabilities import MERGES
from partita.estimators.fitted_models import (
    capabilities_of,
    check_fitted,
    label_rows,
    unwrap_pipeline,
)
from partita.estimators.validation import check_weights
from partita.geometry import EUCLIDEAN, Geometry, directions
from partita.merging.agglomeration import (
    DistanceMerging,
    MeansMerging,
    Merging,
    RepresentativeMerging,
    merge_all,
    merge_along,
)
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MergeTree:
    """From K clusters to one, the cheapest merge first, the lower numbers on ties.

    Empty clusters cost nothing to merge, so they are merged first.

    Attributes
    ----------
    linkage : ndarray of shape (K − 1, 4)
        The format of SciPy's `dendrogram` and `fcluster`: two clusters, the cost of their merge,
        and how many of the K clusters the new one contains; it has the number K + step. SciPy
        requires heights that never decrease. On the sphere and for medoids, a later merge may be
        cheaper; then the previous height is repeated here, and `prices` has the exact cost.
    prices : ndarray of shape (K − 1,)
        The cost of each merge: its increase of the objective.
    cost : float
        The objective of the K clusters, each about its best center.

    Examples
    --------
    >>> from partita import ClusterStats
    >>> stats = ClusterStats.of_block([[0.0], [1.0], [9.0]], [0, 1, 2], k=3)
    >>> tree = MergeTree.of(stats)
    >>> tree.linkage.tolist()
    [[0.0, 1.0, 0.5, 2.0], [2.0, 3.0, 48.166666666666664, 3.0]]
    >>> tree.labels_at(2), tree.cost_at(2), tree.centers_at(2).tolist()
    (array([0, 0, 1]), 0.5, [[0.5], [9.0]])
    """

    linkage: Floats
    prices: Floats
    cost: float
    _stats: ClusterStats | None = None  # None: means have no coordinates
    _geometry: Geometry = EUCLIDEAN
    _centers: Floats | None = None  # for clusters without a mean

    @classmethod
    def of(
        cls,
        stats: ClusterStats,
        geometry: Geometry = EUCLIDEAN,
        centers: Floats | None = None,
        pairs: Ints | None = None,
    ) -> MergeTree:
        """Return the tree of clusters with these summaries; of these merges, if they are given."""
        merging, cost = MeansMerging(stats, geometry), exact_total(geometry.cost_of(stats))
        steps = _merge_steps(merging, stats.weight == 0, pairs)
        return cls(*steps, cost, stats, geometry, centers)

    @property
    def n_clusters(self) -> int:
        """K, the number of clusters before the first merge."""
        return len(self.prices) + 1

    @property
    def costs(self) -> Floats:
        """The objective (K,) of 1, 2, … K clusters."""
        return np.array([self.cost_at(k) for k in range(1, self.n_clusters + 1)])

    def cost_at(self, k: int) -> float:
        """The objective of the partition into k clusters."""
        return self.cost + exact_total(self.prices[: self._steps(k)])

    def labels_at(self, k: int) -> Ints:
        """Return, for each of the K clusters (K,), its label among the k merged ones.

        Labels follow the order of first members; `tree.labels_at(k)[model.labels_]` are the labels
        of the rows.
        """
        first = np.arange(2 * self.n_clusters - 1)  # the lowest member of every node
        root = np.arange(self.n_clusters)
        for step in range(self._steps(k)):
            low, high = np.sort(first[self.linkage[step, :2].astype(np.intp)])
            first[self.n_clusters + step] = low
            root[root == high] = low
        return np.unique(root, return_inverse=True)[1].reshape(-1).astype(np.intp)

    def stats_at(self, k: int) -> ClusterStats:
        """The summaries of the k clusters."""
        stats = self._stats
        if stats is None:
            raise ValueError(
                "stats_at() and centers_at() are not available for this model (its clusters have "
                "no mean vectors). Use labels_at(k) or cost_at(k)."
            )
        if self._steps(k) == 0:
            return stats
        labels = self.labels_at(k)
        means = ClusterStats.of_block(stats.mean, labels, k=k, weight=stats.weight)
        inside = np.bincount(labels, stats.sse, minlength=k)
        return ClusterStats(means.weight, means.mean, means.sse + inside)

    def centers_at(self, k: int) -> Floats:
        """Return the best centers (k, d) of the k clusters, of unit length on the sphere.

        A cluster without a best one (empty, or of opposite directions) gets that of its first
        member. As a warm start, they cost at most `cost_at(k)`.
        """
        stats, lowest = self.stats_at(k), np.unique(self.labels_at(k), return_index=True)[1]
        own = self._centers
        if own is None:
            own = _some_centers(self.stats_at(self.n_clusters), self._geometry)
        return self._geometry.centers_of(stats, own[lowest])

    def _steps(self, k: int) -> int:
        return self.n_clusters - check_integer("k", k, 1, self.n_clusters)

    def __repr__(self) -> str:
        if not len(self.prices):
            return f"MergeTree of one cluster, cost {self.cost:.6g}"
        costs = f"{self.cost:.6g} to {self.cost_at(1):.6g}"
        return f"MergeTree of {self.n_clusters} clusters, cost {costs}"


def merge_tree(model: Any, X: Any = None, sample_weight: Any = None) -> MergeTree:
    """Return the merge tree of a fitted model.

    `KMeans` and its variants keep the summaries that it needs. Any other
    model needs rows: those of the fit, or others, which are labelled by `predict`. `KernelKMeans`
    merges means in feature space. Of two merged clusters of `KMedoids`, the better medoid remains.
    The tree of `BisectingKMeans` is that of its fit: merges undo its splits, the last one first.
    A pipeline transforms X into the space of its last step.

    >>> from partita import KMeans, merge_tree
    >>> model = KMeans(3, random_state=0).fit([[0.0], [1.0], [5.0], [6.0], [20.0]])
    >>> merge_tree(model)
    MergeTree of 3 clusters, cost 1 to 257.2
    """
    model, X, _ = unwrap_pipeline(model, X)
    check_fitted(model)
    name, capabilities = type(model).__name__, capabilities_of(model)
    if not capabilities.has(MERGES):
        why = capabilities.why_not(MERGES)
        raise ValueError(f"merge_tree() is not available for {name}: {why}.")
    if X is None and sample_weight is not None:
        raise ValueError("`sample_weight` needs X. Give both, or neither.")
    if capabilities.merge_rule != "means":
        if X is None:
            raise ValueError(
                f"merge_tree() needs the X that the {name} was fitted to, because its clusters "
                "have no mean vectors: merge_tree(model, X)."
            )
        assert capabilities.costs is not None, f"{name} must declare `costs` for its merge rule"
        labels, costs = capabilities.costs(X)
        weight = check_weights(sample_weight, len(labels))
        if capabilities.merge_rule == "distances":
            return _by_distances(model, labels, costs, weight)
        mass, sums = _sums_by_cluster(labels, costs, weight)
        steps = _merge_steps(RepresentativeMerging(sums), mass == 0)
        return MergeTree(*steps, exact_total(np.diagonal(sums)))
    geometry = capabilities.geometry or EUCLIDEAN
    centers = getattr(model, "cluster_centers_", None)
    centers = None if centers is None else np.asarray(centers, dtype=np.float64)
    stats = getattr(model, "stats_", None)
    if X is not None:
        stats = label_rows(model, X, sample_weight).stats()
    elif stats is None:
        raise ValueError(
            f"merge_tree() needs rows, because {name} keeps no summaries of its clusters: "
            "merge_tree(model, X)."
        )
    pairs = None if capabilities.merges is None else capabilities.merges()
    return MergeTree.of(stats, geometry, centers, pairs)


def _by_distances(model: Any, labels: Ints, costs: Floats, weight: Floats | None) -> MergeTree:
    """Merge means without coordinates.

    ‖μ_i − μ_j‖² is the mean over the rows of i of ‖x − μ_j‖² − ‖x − μ_i‖².
    """
    own = costs[np.arange(len(labels)), labels, None]
    extra = np.where(np.isfinite(costs), costs - own, 0.0)
    mass, sums = _sums_by_cluster(labels, extra, weight)
    if not np.allclose(mass, model.stats_.weight):
        raise ValueError("X and `sample_weight` must be those of the fit; cluster weights differ.")
    empty = mass == 0
    squares = sums / np.where(empty, 1.0, mass)[:, None]
    squares[empty] = squares[:, empty] = 0.0
    squares = np.maximum((squares + squares.T) / 2, 0.0)
    return MergeTree(*_merge_steps(DistanceMerging(mass, squares), empty), model.inertia_)


def _some_centers(stats: ClusterStats, geometry: Geometry) -> Floats:
    """The means (k, d), or their directions; the first axis for a mean of zeros."""
    if geometry is EUCLIDEAN:
        return stats.mean
    unit, length = directions(stats.mean)
    unit[length == 0, 0] = 1.0
    return unit


def _sums_by_cluster(labels: Ints, values: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """The weights (k,) of the clusters, and the sums (k, k) of their rows' values (n, k)."""
    k = values.shape[1]
    mass = exact_totals(np.ones(len(labels)), labels, k, weight)
    return mass, np.column_stack([exact_totals(v, labels, k, weight) for v in values.T])


def _merge_steps(
    merging: Merging, empty: Array, pairs: Ints | None = None
) -> tuple[Floats, Floats]:
    """Merge all clusters, the cheapest first or by these pairs; return the linkage and prices."""
    k = len(empty)
    if pairs is None:
        pairs, prices = merge_all(merging, empty)
    else:
        prices = merge_along(merging, pairs)
    size = np.ones(2 * k - 1)
    for step, (i, j) in enumerate(pairs):
        size[k + step] = size[i] + size[j]
    height = np.maximum.accumulate(np.maximum(prices, 0.0))
    return np.column_stack([pairs, height, size[k:]]).astype(np.float64), prices
