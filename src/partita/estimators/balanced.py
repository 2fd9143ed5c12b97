"""`BalancedKMeans`: K-means with limits on the number of rows of each cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Ints
from partita._common.parameters import Got, Rule, must_be
from partita._common.text import plural
from partita._common.threads import Workers
from partita.empty_clusters import POLICIES
from partita.engine.balanced_step import best_balanced
from partita.engine.limited_assignment import SizeLimits
from partita.estimators import validation
from partita.estimators.capabilities import BOUNDS, CELLS, REFIT, SWEEP, Capabilities, Replay
from partita.estimators.center_clusterer import CenterClusterer, EuclideanClusterer
from partita.estimators.lazy_blocks import refuse_partitions
from partita.estimators.lloyd_parameters import LloydParameters
from partita.estimators.saved_state import FieldReader
from partita.halting import Halt
from partita.source.protocol import Source
from partita.source.row_ranks import rows_hash
from partita.trace import Callback

SIZE = accept.optional(accept.integer(1), "It is a number of rows.")
NOT_NEAREST = "limits on sizes keep some rows from their nearest center"
LIMITS_OF_ONE_K = (
    "limits on sizes that suit one number of clusters do not suit others, nor halves of the rows"
)
LIMITS_OF_ALL_ROWS = "limits on sizes are about all rows, not about samples of them"
NO_BOUNDS = "no lower bounds are known that take limits on sizes into account"
MEMORY_ADVICE = "The distances of all rows to all centers are kept. Fit fewer rows or clusters."


@dataclass(eq=False, repr=False)
class BalancedKMeans(EuclideanClusterer):
    """K-means with limits on the number of rows of each cluster.

    Every iteration assigns all rows to the centers at the least sum of squared distances that the
    limits allow, then moves the centers to the means. The assignment is exact (a transportation
    problem, by shortest augmenting paths), so J never rises; Bradley, Bennett and Demiriz (2000).
    Clusters of equal sizes: `size_min=n // k, size_max=-(-n // k)`.

    Limits count rows: a row of weight 3 is one row for them, and three in J. A row of weight 0
    does not count, and gets its nearest center.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    size_min : int or None, default=None
        The least number of rows of a cluster; None means 1, so no cluster is ever empty.
    size_max : int or None, default=None
        The largest number of rows of a cluster; None means no limit.
    init, n_init, max_iter, tol, verbose, random_state, halt, callback, n_threads
        As in `KMeans`.
    memory_limit : float or None, default=None
        As in `KMeans`; but the distances of all rows to all centers must fit: 8 bytes for each.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers, in the dtype of X.
    labels_ : ndarray of shape (n_samples,)
        The cluster of every row of the fit, within the limits. Another center may be nearer:
        `predict` returns the nearest, since new rows have no limits, also for the rows of the fit.
    inertia_ : float
        J: the weighted sum of squared distances of the rows to the centers of their clusters. No
        other labels within the limits have a lower one at these centers.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        The number of rows of each cluster that limits count.
    prices_ : ndarray of shape (n_clusters,)
        The price of a place in each cluster: > 0 only at `size_max`, < 0 only at `size_min`. Room
        for one more row (or for one less) would lower J, at these centers, by at most this. Every
        row is in the cluster of its least weight · squared distance + price, which proves that the
        labels are optimal.
    rows_hash_ : str
        What tells the rows of the fit from others: reports, plots and `diagnose` show these in the
        clusters of `labels_`, and other rows as `predict` labels them.
    n_iter_, start_, trace_, stopped_by_, paths_, stats_, membership_, n_features_in_, \
feature_names_in_
        As in `KMeans`.

    Examples
    --------
    >>> from partita import BalancedKMeans
    >>> rows = [[1], [2], [3], [4], [20], [21]]
    >>> model = BalancedKMeans(n_clusters=2, size_min=3, random_state=0).fit(rows)
    >>> model.cluster_sizes_, sorted(model.cluster_centers_.tolist())
    (array([3, 3]), [[2.0], [15.0]])
    >>> bool(model.labels_[3] == model.labels_[4]), bool(model.predict([[4]]) == model.labels_[0])
    (True, True)
    """

    n_clusters: int = 8
    _: KW_ONLY
    size_min: int | None = None
    size_max: int | None = None
    init: Any = "k-means++"
    n_init: Any = "auto"
    max_iter: int = 300
    tol: float = 1e-4
    verbose: int = 0
    random_state: Any = None
    halt: Halt | None = None
    callback: Callback | None = None
    n_threads: int | None = None
    memory_limit: float | None = None

    _saved_attributes = ("cluster_centers", "start", "cluster_sizes", "prices", "rows_hash")

    def __partita_capabilities__(self) -> Capabilities:
        offered = super().__partita_capabilities__()
        lacks = {CELLS: NOT_NEAREST, BOUNDS: NO_BOUNDS}
        if self.size_min is not None or self.size_max is not None:
            lacks |= {SWEEP: LIMITS_OF_ONE_K, REFIT: LIMITS_OF_ALL_ROWS}
        if not hasattr(self, "start_"):
            lacks |= offered.lacks
        else:
            offered = replace(offered, replay=Replay.from_centers(self))
        labels = self._labels_of_fit
        return replace(offered, lacks=lacks, labels_of_fit=labels, facts=self._facts)

    def _facts(self) -> list[tuple[str, str]]:
        low, high = int(self.cluster_sizes_.min()), int(self.cluster_sizes_.max())
        limits = [] if self.size_min is None else [f"at least {self.size_min}"]
        limits += [] if self.size_max is None else [f"at most {self.size_max}"]
        wanted = f" ({' and '.join(limits)} were asked for)" if limits else ""
        return [("Sizes", f"{low} to {plural(high, 'row')} in a group{wanted}")]

    def _labels_of_fit(self, X: Any) -> Ints | None:
        """The labels within the limits, if X are the rows of the fit."""
        rows = validation.check_new_rows(self, X)
        if not hasattr(self, "labels_") or rows.shape[0] != len(self.labels_):
            return None
        with Workers(1) as workers:
            is_same = rows_hash(validation.make_source(rows, None, workers)) == self.rows_hash_
        return np.asarray(self.labels_) if is_same else None

    def _rules(self) -> Mapping[str, Rule]:
        return BalancedParameters.rules

    def _restore_own(self, saved: FieldReader, d: int) -> int:
        k = super()._restore_own(saved, d)
        self.cluster_sizes_ = saved.ints("cluster_sizes", (k,), 0, 2**62).astype(np.int64)
        self.prices_ = saved.floats("prices", (k,))
        self.rows_hash_ = saved.text("rows_hash")
        return k

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BalancedKMeans:
        """Compute the clustering of X, with one weight per row if given."""
        del y
        parameters = BalancedParameters(self)
        refuse_partitions(X)
        with Workers(parameters.threads) as workers:
            memory = parameters.memory_for(X)
            data = self._fit_input(X, sample_weight, parameters.k, workers, memory)
            limits = parameters.limits_for(data.source, data.memory)
            options = self._lloyd_options(data, parameters)
            starts = self._starts(data, parameters, options)
            self.rows_hash_ = rows_hash(data.source)
            run, self.prices_ = best_balanced(data.source, starts, options, limits)
        counted = run.labels if data.weight is None else run.labels[data.weight > 0]
        self.cluster_sizes_ = np.bincount(counted, minlength=parameters.k)
        return self._keep(run, data)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the objective of X with every row at its nearest center, without limits.

        For the rows of the fit this is at least −`inertia_`; the difference is what limits cost.
        """
        return super().score(X, y, sample_weight)

    def merge(self, other: CenterClusterer) -> BalancedKMeans:
        """Not available: merged clusters would not keep within the limits."""
        raise TypeError(
            "merge() is not available for BalancedKMeans: the merged clusters would not keep "
            "within the limits. Fit one model to the rows of both."
        )


class BalancedParameters(LloydParameters):
    """Checked parameters of `BalancedKMeans`."""

    rules: ClassVar[Mapping[str, Rule]] = {
        **LloydParameters.rules,
        "size_min": SIZE,
        "size_max": SIZE,
    }
    empty = staticmethod(POLICIES["fail"])  # every cluster has a row of weight

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.low = 1 if model.size_min is None else int(model.size_min)
        self.high = None if model.size_max is None else int(model.size_max)
        if self.high is not None and self.low > self.high:
            wanted = f"at most size_max, which is {self.high}"
            raise must_be("size_min", wanted, self.low, "Lower size_min or raise size_max.")

    def limits_for(self, source: Source, memory: float) -> SizeLimits:
        """Return the limits for these rows; sizes within them must add up, and memory suffice."""
        weight, k = source.weights.unless_equal(), self.k
        n = source.n if weight is None else int(np.count_nonzero(weight))
        rows = f"n_samples={n}"
        if n < source.n:
            rows = f"{plural(n, 'row')} of positive weight"
        what = f"with {rows} and n_clusters={k}"
        if self.low * k > n:
            advice = "Lower size_min or n_clusters."
            raise must_be("size_min", f"at most {n // k} {what}", self.low, advice)
        if self.high is not None and self.high * k < n:
            advice = "Raise size_max or n_clusters."
            raise must_be("size_max", f"at least {-(-n // k)} {what}", self.high, advice)
        limits = SizeLimits(self.low, n if self.high is None else self.high)
        needed = limits.bytes_for(n, k)
        if needed > memory and (self.model.memory_limit is not None or needed > self.memory):
            wanted = f"at least {needed:.0f} bytes more than X {what}"
            raise must_be("memory_limit", wanted, Got(f"{memory:.0f}"), MEMORY_ADVICE)
        return limits
