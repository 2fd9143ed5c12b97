"""The merge tree below a fit: fuse the two clusters that cost least, again and again.

K clusters become K − 1, K − 2, … 1 without another look at the data: summaries merge exactly, and
what a merge adds to the objective is the cross term of the bipartition lemma. When every point is
its own cluster this is Ward's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.weighting import weighted
from partita.estimators.fitted_models import check_fitted, geometry_of, label_rows, unwrap_pipeline
from partita.estimators.kernel.estimator import KernelKMeans
from partita.estimators.medoids.estimator import KMedoids
from partita.estimators.validation import check_weights
from partita.geometry import EUCLIDEAN, Geometry, directions
from partita.merging.fusion import DistanceFusion, Fused, MeansFusion, MedoidFusion, fuse_all
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MergeTree:
    """From K clusters to one, the cheapest merge first; of equal ones that of the lower numbers.

    Clusters without weight cost nothing and go first.

    Attributes
    ----------
    linkage : ndarray of shape (K − 1, 4)
        As SciPy's `dendrogram` and `fcluster` take it: two clusters, what their merge adds to the
        objective, and how many of the K are in the new one, which has the number K + step. SciPy
        wants heights that never fall; on the sphere, and of medoids, a later merge may be cheaper.
        Where one is, the height before stands here, and `prices` has the truth.
    prices : ndarray of shape (K − 1,)
        What each merge adds to the objective.
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
    _stats: ClusterStats | None = None  # None: means that have no coordinates
    _geometry: Geometry = EUCLIDEAN
    _centers: Floats | None = None  # in the place of a mean that a cluster does not have

    @classmethod
    def of(
        cls, stats: ClusterStats, geometry: Geometry = EUCLIDEAN, centers: Floats | None = None
    ) -> MergeTree:
        """The tree above clusters with these summaries."""
        fused = fuse_all(MeansFusion(stats, geometry), stats.weight == 0)
        cost = exact_total(geometry.cost_of(stats))
        return cls(_linkage(fused), fused.prices, cost, stats, geometry, centers)

    @property
    def n_clusters(self) -> int:
        """K: how many clusters there are before the first merge."""
        return len(self.prices) + 1

    @property
    def costs(self) -> Floats:
        """The objective (K,) of 1, 2, … K clusters."""
        return np.array([self.cost_at(k) for k in range(1, self.n_clusters + 1)])

    def cost_at(self, k: int) -> float:
        """The objective of the partition into k clusters."""
        return self.cost + exact_total(self.prices[: self._steps(k)])

    def labels_at(self, k: int) -> Ints:
        """Which of k clusters each of the K (K,) becomes part of.

        Numbered in the order of their first members: `tree.labels_at(k)[model.labels_]` are the
        labels of the rows.
        """
        first = np.arange(2 * self.n_clusters - 1)  # the lowest member of every node
        root = np.arange(self.n_clusters)
        for step in range(self._steps(k)):
            left, right = first[self.linkage[step, :2].astype(np.intp)]
            low, high = min(left, right), max(left, right)
            first[self.n_clusters + step] = low
            root[root == high] = low
        return np.unique(root, return_inverse=True)[1].reshape(-1).astype(np.intp)

    def stats_at(self, k: int) -> ClusterStats:
        """The summaries of the k clusters."""
        stats = self._means("stats_at")
        if self._steps(k) == 0:
            return stats
        labels = self.labels_at(k)
        means = ClusterStats.of_block(stats.mean, labels, k=k, weight=stats.weight)
        inside = np.bincount(labels, stats.sse, minlength=k)
        return ClusterStats(means.weight, means.mean, means.sse + inside)

    def centers_at(self, k: int) -> Floats:
        """The best centers (k, d) of the k clusters: a warm start that costs at most `cost_at(k)`.

        On the sphere they have unit length.
        """
        self._means("centers_at")
        stats = self.stats_at(k)
        centers, some = stats.mean, stats.weight > 0
        if self._geometry is not EUCLIDEAN:
            centers, length = directions(stats.mean)
            some = some & (length > 0)
        if not some.all() and self._centers is not None:
            lowest = np.unique(self.labels_at(k), return_index=True)[1]
            centers = np.where(some[:, None], centers, self._centers[lowest])
        return np.asarray(centers, dtype=np.float64)

    def _steps(self, k: int) -> int:
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool):
            raise TypeError(f"k={k!r} was given; a whole number is expected")
        if not 1 <= k <= self.n_clusters:
            raise ValueError(
                f"k={k} was given, but the tree goes from {self.n_clusters} clusters to 1; a "
                "number between these is expected"
            )
        return self.n_clusters - int(k)

    def _means(self, name: str) -> ClusterStats:
        if self._stats is None:
            raise ValueError(
                f"{name} needs means that have coordinates, which clusters of kernels and of "
                "medoids have not; labels_at(k) and cost_at(k) are there for all"
            )
        return self._stats

    def __repr__(self) -> str:
        if not len(self.prices):
            return f"MergeTree of one cluster, cost {self.cost:.6g}"
        return (
            f"MergeTree of {self.n_clusters} clusters, cost {self.cost:.6g} to "
            f"{self.cost_at(1):.6g}"
        )


def merge_tree(model: Any, X: Any = None, sample_weight: Any = None) -> MergeTree:
    """The merge tree below a fitted model.

    `KMeans`, `MiniBatchKMeans` and `SphericalKMeans` keep the summaries that it needs. Any other
    model needs rows: those of the fit, or others, which are labelled by `predict`. `KernelKMeans`
    merges means in feature space. Of two clusters of `KMedoids` the better medoid stays. A pipeline
    brings X into the space of its last step, whose clusters these are.

    >>> from partita import KMeans, merge_tree
    >>> model = KMeans(3, random_state=0).fit([[0.0], [1.0], [5.0], [6.0], [20.0]])
    >>> merge_tree(model)
    MergeTree of 3 clusters, cost 1 to 257.2
    """
    model, X, _ = unwrap_pipeline(model, X)
    check_fitted(model)
    if isinstance(model, (KernelKMeans, KMedoids)):
        if X is None:
            raise ValueError(
                f"{type(model).__name__} keeps no means with coordinates; give the X it was "
                "fitted to: merge_tree(model, X)"
            )
        make = _of_kernel if isinstance(model, KernelKMeans) else _of_medoids
        return make(model, X, sample_weight)
    centers = _dense_centers(model)
    if X is not None:
        return MergeTree.of(
            label_rows(model, X, sample_weight).stats(), geometry_of(model), centers
        )
    if sample_weight is not None:
        raise ValueError("sample_weight was given without X; give both, or neither")
    stats = getattr(model, "stats_", None)
    if stats is None:
        raise ValueError(
            f"{type(model).__name__} keeps no summaries of its clusters; give the rows as well: "
            "merge_tree(model, X)"
        )
    return MergeTree.of(stats, geometry_of(model), centers)


def _of_kernel(model: KernelKMeans, X: Any, sample_weight: Any) -> MergeTree:
    """‖μ_i − μ_j‖² is what the rows of i are farther from μ_j than from μ_i, on average."""
    labels, scores = model._costs(X)
    weight = check_weights(sample_weight, len(labels))
    farther = np.where(
        np.isfinite(scores), scores - scores[np.arange(len(labels)), labels, None], 0.0
    )
    mass, sums = _by_cluster(labels, farther, weight)
    if not np.allclose(mass, model.stats_.weight):
        raise ValueError(
            "the clusters of X do not weigh what those of the fit do; give the X and the "
            "sample_weight that the model was fitted to (a normalised cut, whose weights are "
            "degrees, has no merge tree here)"
        )
    empty = mass == 0
    squares = sums / np.where(empty, 1.0, mass)[:, None]
    squares[empty] = squares[:, empty] = 0.0
    squares = np.maximum((squares + squares.T) / 2, 0.0)
    fused = fuse_all(DistanceFusion(mass, squares), empty)
    return MergeTree(_linkage(fused), fused.prices, model.inertia_)


def _of_medoids(model: KMedoids, X: Any, sample_weight: Any) -> MergeTree:
    labels, far = model._costs(X)
    mass, cost = _by_cluster(labels, far, check_weights(sample_weight, len(labels)))
    fused = fuse_all(MedoidFusion(cost), mass == 0)
    return MergeTree(_linkage(fused), fused.prices, exact_total(np.diagonal(cost)))


def _by_cluster(labels: Ints, values: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """The weights (k,) of the clusters, and the sums (k, k) of their rows' values (n, k)."""
    k = values.shape[1]
    sums = [np.bincount(labels, weighted(part, weight), minlength=k) for part in values.T]
    mass = np.bincount(labels, weight, minlength=k).astype(np.float64)
    return mass, np.array(sums, dtype=np.float64).T.copy()


def _dense_centers(model: Any) -> Floats | None:
    centers = getattr(model, "cluster_centers_", None)
    return None if centers is None else np.asarray(centers, dtype=np.float64)


def _linkage(fused: Fused) -> Floats:
    k = len(fused.prices) + 1
    size = np.ones(2 * k - 1)
    for step, (i, j) in enumerate(fused.pairs):
        size[k + step] = size[i] + size[j]
    height = np.maximum.accumulate(np.maximum(fused.prices, 0.0))
    return np.column_stack([fused.pairs, height, size[k:]]).astype(np.float64)
