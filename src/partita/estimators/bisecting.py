"""`BisectingKMeans`: a drop-in for scikit-learn's, with exact sums and a tree that is kept."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common import parameters as accept
from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.parameters import Rule, check_integer
from partita._common.random_state import generator
from partita._common.threads import Workers
from partita.certificates.bounding import CertifiedPartition
from partita.certificates.certified_rows import certify_costs, round_up
from partita.empty_clusters import POLICIES
from partita.engine.bisection import SCORES, BisectingOptions, bisect, why_complete
from partita.engine.lloyd import LloydOptions
from partita.engine.split_tree import SplitTree, returned_centers
from partita.estimators import labelling, validation
from partita.estimators.capabilities import CELLS, REPLAY, Capabilities
from partita.estimators.center_clusterer import CenterClusterer, EuclideanClusterer, FitInput
from partita.estimators.certifiable import counted_rows_of
from partita.estimators.lazy_blocks import (
    is_partitioned,
    labels_by_blocks,
    refuse_partitions,
    score_partitions,
)
from partita.estimators.lloyd_parameters import MAX_RUNS, LloydParameters
from partita.estimators.saved_state import FieldReader, restored_stats
from partita.estimators.scanned_rows import labels_in_file
from partita.halting import Halt, MaxIter, SamePartition, Shift
from partita.init import STARTS
from partita.scanning.stored_rows import StoredRows
from partita.source.protocol import Source
from partita.trace import Callback, Trace

SPLIT_VARIANCE_SHARE = 0.01  # times `tol`: the least squared shift of a split that goes on
DOWN_A_TREE = "it assigns rows down a tree, not to the nearest center"
NO_REPLAY = "its iterations split clusters, and keep no centers to start from"
MAX_LEAVES_IN_TEXT = 30


@dataclass(eq=False, repr=False)
class BisectingKMeans(EuclideanClusterer):
    """K-means by splits: one cluster is split in two, then one of the clusters, and so on.

    Every parameter, method and attribute of `sklearn.cluster.BisectingKMeans` is here with the same
    meaning (a seed does not reproduce scikit-learn's random choices). Additions are marked with a
    plus. Each split is a fit of `KMeans` with two clusters to the rows of one cluster, by the same
    engine. The objective is higher than that of `KMeans`, which may move every row to any center;
    the clusters form a tree, and those of every smaller K come with the fit (`cut`). To go on from
    here: `KMeans(init=model)`.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters. If there are fewer distinct rows, there are fewer clusters.
    init : {"k-means++", "random"} or callable, default="random"
        The two centers that every split starts from, as in `KMeans`; + its other names. A callable
        receives all rows of the cluster, also those of weight 0.
    n_init : int, default=1
        Number of starts of every split, of which the best result is kept.
    random_state, verbose, copy_x, n_threads, memory_limit
        As in `KMeans`.
    max_iter : int, default=300
        Maximum number of iterations of a single run of a split.
    tol : float, default=1e-4
        A run stops when the squared shift of the two centers is at most `tol` times a hundredth of
        the mean variance of the features among the rows that are split: a split that stops early
        also spoils those below it. (scikit-learn's takes `tol` without a variance.)
    algorithm : {"lloyd", "elkan"}, default="lloyd"
        As in `KMeans`: the same result by the fastest path.
    bisecting_strategy : {"biggest_inertia", "largest_cluster"}, default="biggest_inertia"
        Which cluster is split next: that of the largest cost (sum of squares), or of the largest
        weight (without weights: of most rows). The first one on ties.
    halt : Halt or None, default=None
        + A criterion from `partita.halting` that ends the fit after a split, with fewer clusters:
        for example `Deadline(60)`, or `Target(1000)` for a cost.
    callback : callable or None, default=None
        + Called with the `Progress` of every split; returning True stops the fit.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers, in the dtype of X, from left to right in the tree.
    labels_ : ndarray of shape (n_samples,)
        The cluster of every row: at each split, the side of the nearer center, the left one on
        ties. Another cluster's center may be nearer.
    inertia_ : float
        The weighted sum of squared distances of the rows to the centers of their clusters.
    tree_ : SplitTree
        + All splits, with the center and the summary of every node.
    linkage_ : ndarray of shape (n_clusters − 1, 4)
        + The tree in the format of SciPy's `dendrogram` and `fcluster`. A height is the increase of
        the objective if a split is undone, or that of a later split if it is higher. `fcluster`
        cannot cut between equal heights, and then returns fewer clusters: `cut(k)` has exactly k.
    n_iter_ : int
        + The number of splits.
    trace_ : Trace
        + One record per split: the cost before and after it, how far the new centers are from the
        one they replace, and how many rows the last iteration of the split still moved.
    stopped_by_ : StopReason
        + Why there was no further split.
    paths_ : tuple of str
        + Which paths the splits took, and why.
    stats_ : ClusterStats
        + Weight, mean and sse of each cluster.
    membership_ : csr_array of shape (n_samples, n_clusters)
        + One 1 per row, at the row's cluster.
    n_features_in_, feature_names_in_
        Number and names of the features seen by `fit`.

    Examples
    --------
    >>> from partita import BisectingKMeans
    >>> rows = [[1, 1], [10, 1], [3, 1], [10, 0], [2, 1], [10, 2], [10, 8], [10, 9], [10, 10]]
    >>> model = BisectingKMeans(n_clusters=3, n_init=5, random_state=0).fit(rows)
    >>> sorted(model.cluster_centers_.tolist())
    [[2.0, 1.0], [10.0, 1.0], [10.0, 9.0]]
    >>> model.cut(2).inertia_ > model.inertia_
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    init: Any = "random"
    n_init: int = 1
    random_state: Any = None
    max_iter: int = 300
    verbose: int = 0
    tol: float = 1e-4
    copy_x: bool = True
    algorithm: str = "lloyd"
    bisecting_strategy: str = "biggest_inertia"
    halt: Halt | None = None
    callback: Callback | None = None
    n_threads: int | None = None
    memory_limit: float | None = None

    _saved_attributes = ("cluster_centers",)
    _covered_attributes = frozenset({"tree_"})

    def __partita_capabilities__(self) -> Capabilities:
        return replace(
            super().__partita_capabilities__(),
            lacks={CELLS: DOWN_A_TREE, REPLAY: NO_REPLAY},
            warm_start=None,
            merges=lambda: self.tree_.merges,
            fewer=self.cut,
            certified=self._certified,
            facts=self._facts,
        )

    def _facts(self) -> list[tuple[str, str]]:
        """The splits as nested brackets of clusters: ((0, 1), 2)."""
        texts = [str(j) for j in range(len(self.cluster_centers_))]
        if not 2 < len(texts) <= MAX_LEAVES_IN_TEXT:
            return []
        for left, right in self.tree_.merges.tolist():
            texts.append(f"({texts[left]}, {texts[right]})")
        return [("Splits", f"{texts[-1]}: the outer brackets are the first split")]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BisectingKMeans:
        """Compute the clustering of X, with one weight per row if given."""
        del y
        parameters = BisectingParameters(self)
        refuse_partitions(X)
        k = parameters.n_leaves
        with Workers(parameters.threads, many_passes=True) as workers:
            data = self._fit_input(X, sample_weight, k, workers, parameters.memory_for(X))
            done = bisect(data.source, parameters.options(data, generator(self.random_state)))
        if (found := len(done.tree.leaves)) < k and "no_split" in done.stopped_by.kinds:
            self._warn_if_empty(np.ones(found), k, k)
        self._keep_features(data.features)
        self._keep_run(done)
        labels = labels_in_file(done.labels) if isinstance(data.X, StoredRows) else done.labels
        self._keep_tree(done.tree, labels, done.inertia)
        return self

    def _keep_tree(self, tree: SplitTree, labels: Ints, inertia: float) -> None:
        self.tree_ = tree
        self._keep_centers(tree.centers[tree.leaves], labels, inertia, tree.stats.take(tree.leaves))

    @property
    def linkage_(self) -> Floats:
        """The tree in the format of SciPy."""
        check_is_fitted(self)
        return self.tree_.linkage

    def cut(self, k: int) -> BisectingKMeans:
        """Return the model with k clusters: the first k − 1 splits, as `fit` makes them for k.

        Its `inertia_` may differ from that of such a fit in the last bit, and `paths_` are those of
        all splits.

        >>> from partita import BisectingKMeans
        >>> model = BisectingKMeans(3, random_state=0).fit([[0.0], [1.0], [8.0], [9.0], [20.0]])
        >>> len(model.cut(2).cluster_centers_)
        2
        """
        check_is_fitted(self)
        k = check_integer("k", k, 1, len(self.tree_.leaves))
        tree = self.tree_.first(k)
        model = copy.copy(self)
        model.__dict__.pop("saved_", None)
        model.n_clusters = k
        labels = self.tree_.labels_in(tree)[self.labels_]
        model.trace_ = Trace(self.trace_.records[: k - 1])
        model.n_iter_ = k - 1
        if k < len(self.tree_.leaves):
            model.stopped_by_ = why_complete(k)
        model._keep_tree(tree, labels, exact_total(tree.costs[tree.leaves]))
        return model

    def match(self, other: Any) -> BisectingKMeans:
        """Renumber the clusters in place to agree with those of an earlier model."""
        check_is_fitted(self)
        before = self.cluster_centers_
        super().match(other)
        theirs = validation.as_centers(other, "other", "k", self.n_features_in_)
        self.tree_ = self.tree_.numbered(labelling.matching_order(before, theirs))
        return self

    def merge(self, other: CenterClusterer) -> BisectingKMeans:
        """Not available: two trees have no splits in common."""
        raise TypeError(
            "merge() is not available for BisectingKMeans: two trees have no splits in common. "
            "Fit one model to the rows of both, or merge two KMeans(init=model)."
        )

    @labels_by_blocks
    def predict(self, X: Any) -> Array:
        """Return the cluster of each row: at each split, the side of the nearer center."""
        check_is_fitted(self)
        X = validation.check_new_rows(self, X)
        with labelling.finite_source(X, self.n_threads, self._names()) as source:
            return self.tree_.label_rows(source)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the objective of X, with each row in the cluster that `predict` returns.

        (scikit-learn's takes the nearest of all centers.)
        """
        del y
        check_is_fitted(self)
        if is_partitioned(X):
            return -score_partitions(self, X, sample_weight)
        squares = self._own_costs(validation.check_new_rows(self, X))[1]
        return -exact_total(squares, validation.check_weights(sample_weight, len(squares)))

    def _own_costs(self, rows: Any) -> tuple[slice, Floats]:
        return slice(None), self._labels_and_squares(rows)[1]

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        """Labels, and squared distances; those to nearer centers count as just above the own one.

        So a row is cheapest in its own cluster, although the tree did not compare all centers.
        """
        args = self._rows_and_centers(X)
        labels, own = self._labels_and_squares(args[0])
        costs = labelling.squares(*args)
        least = np.nextafter(own, np.inf)[:, None]
        np.maximum(costs, least, out=costs)
        costs[np.arange(len(labels)), labels] = own
        return labels, costs

    def _labels_and_squares(self, X: Any) -> tuple[Ints, Floats]:
        """The labels of checked rows, and squared distances to the centers of their clusters."""
        if X.shape[0] == 0:  # a partition without rows
            return np.empty(0, np.int32), np.empty(0)
        with labelling.finite_source(X, self.n_threads, self._names()) as source:
            labels = self.tree_.label_rows(source)
            return labels, source.own_distances(returned_centers(self.cluster_centers_), labels)

    def _certified(self, X: Any, weight: Floats | None, workers: Workers) -> CertifiedPartition:
        """Return the partition of X by the leaves, about their centers."""
        checked = validation.check_new_rows(self, X)
        rows, weight, _ = counted_rows_of(checked, weight, workers, self._names())
        labels, squares = self._labels_and_squares(rows)
        objective = round_up(exact_total(squares, weight), rows.shape[1])
        k = len(self.cluster_centers_)
        return certify_costs(rows, labels.astype(np.int64), weight, k, objective)

    # --- model files ------------------------------------------------------------------------------

    def _rules(self) -> Mapping[str, Rule]:
        return BisectingParameters.rules

    def _own_state(self) -> dict[str, Any]:
        tree = self.tree_
        stats = {"weight": tree.stats.weight, "mean": tree.stats.mean, "sse": tree.stats.sse}
        arrays = {"split": tree.split, "leaves": tree.leaves, "centers": tree.centers}
        return {"tree": {**arrays, "costs": tree.costs, "stats": stats}}

    def _restore_own(self, saved: FieldReader, d: int) -> int:
        k = super()._restore_own(saved, d)
        self.tree_ = _restored_tree(saved.nested("tree"), k, d)
        return k


def _restored_tree(saved: FieldReader, k: int, d: int) -> SplitTree:
    nodes = 2 * k - 1
    split = saved.ints("split", (k - 1,), 0, nodes - 1)
    leaves = saved.ints("leaves", (k,), 0, nodes - 1)
    is_later = split <= 2 * np.arange(k - 1)  # a node is made before it is split
    if not is_later.all() or len(np.unique([*split, *leaves])) < nodes:
        raise ValueError("tree has splits that do not follow from one another")
    stats, costs = restored_stats(saved, nodes, d), saved.floats("costs", (nodes,), finite=False)
    return SplitTree(
        split.astype(np.intp), leaves.astype(np.intp), saved.floats("centers", (nodes, d)), stats,
        costs,
    )  # fmt: skip


class BisectingParameters(LloydParameters):
    """Checked parameters of `BisectingKMeans`; `k` is the number of clusters of a split."""

    rules: ClassVar[Mapping[str, Rule]] = {
        **LloydParameters.rules,
        "init": accept.either(accept.choice(*STARTS), accept.CALLABLE),
        "n_init": accept.integer(1, MAX_RUNS),
        "copy_x": accept.FLAG,
        "bisecting_strategy": accept.choice(*SCORES),
    }
    empty = staticmethod(POLICIES["relocate"])  # an empty half is moved to the farthest row

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.n_leaves, self.k = self.k, 2

    def options(self, data: FitInput, rng: np.random.Generator) -> BisectingOptions:
        """Options of the splits: how, and until when."""

        def starts(source: Source, rows: Ints | None, memory: float) -> list[Any]:
            made = self.starts(data.X if rows is None else data.X[rows])
            return [
                partial(start, source, seed, memory)
                for start, seed in zip(made, rng.spawn(len(made)), strict=True)
            ]

        def run(k: int, spread: float, memory: float) -> LloydOptions:
            small = Shift(math.sqrt(SPLIT_VARIANCE_SHARE * self.model.tol) * spread)
            halt = SamePartition() | small | MaxIter(self.max_iter)
            return LloydOptions(k, halt, self.empty, (), None, self.algorithm, memory)

        never = MaxIter(self.n_leaves)  # one more than there are splits
        return BisectingOptions(
            self.n_leaves,
            SCORES[self.model.bisecting_strategy],
            starts,
            run,
            data.memory,
            never if self.model.halt is None else self.model.halt,
            self.callbacks,
        )
