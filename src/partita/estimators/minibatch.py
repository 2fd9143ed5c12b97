"""`MiniBatchKMeans`: a drop-in for scikit-learn's, by nested batches."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.parameters import Rule, integer, number, optional
from partita._common.random_state import generator, spawn_generators
from partita._common.threads import Workers
from partita._common.warnings import warn
from partita.engine.lloyd_step import LloydStep
from partita.engine.nested_batches import STARTS, Batches, Nested, Order, best_start, join
from partita.engine.restarts import label_and_summarise
from partita.estimators import validation
from partita.estimators.center_clusterer import EuclideanClusterer
from partita.estimators.lloyd_parameters import LloydParameters
from partita.halting import Halt, Shift
from partita.source.protocol import Source, batch_of
from partita.stats import ClusterStats
from partita.trace import Callback

SEEN = 1 << 14  # rows whose mean and spread stand for those of all


class MiniBatchKMeans(EuclideanClusterer):
    """K-means for very many rows, or for rows that come one batch after the other.

    Every parameter, method and attribute of `sklearn.cluster.MiniBatchKMeans` is here. `fit` works
    by nested batches: rows join in random order, each counts once, and the batch doubles whenever
    its centers have settled. So it is much nearer to what `KMeans` finds, and ends by itself.

    Parameters
    ----------
    n_clusters, init, verbose, random_state, halt, callback, empty, n_threads, memory_limit
        As in `KMeans`. The start is chosen on `init_size` rows.
    max_iter : int, default=100
        The most passes over all rows, counted in rows that were looked at.
    batch_size : int, default=1024
        Rows of the first batch (at least four for each cluster). It doubles when moving the centers
        gains less than the chance of its rows is worth.
    compute_labels : bool, default=True
        Whether to label all rows in the end; `inertia_` is an estimate if not.
    tol : float, default=0.0
        Stop also when the squared shift of the centers is at most `tol` times the mean variance of
        the features, once the batch grows no more; 0 means never.
    max_no_improvement : int or None, default=10
        Stop when so many iterations in a row have not lowered the cost by a ten-thousandth. The
        batch grows no more when the chance of its rows is worth a thousandth of the cost. None: it
        grows until all rows have joined, and the fit ends when no point changes its cluster.
    init_size : int or None, default=None
        Rows that the start is chosen from, and judged by: three batches, and three for each
        cluster, if not given.
    n_init : "auto" or int, default="auto"
        How many starts, of which the best after a few iterations on these rows goes on: 8, which
        cost little there; 1 if centers are given.
    reassignment_ratio : float, default=0.01
        When rows join, clusters lighter than this share of the heaviest are moved to far rows among
        them, if that lowers their cost. 0: never.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, stats_, n_features_in_, feature_names_in_
        As in `KMeans`; after `partial_fit` labels and inertia are those of the last batch, `stats_`
        sums up all rows so far (but for those that a cluster had before it was reassigned).
    n_iter_ : int
        Passes over all rows, counted in rows that were looked at, rounded up.
    n_steps_ : int
        Iterations: passes over the batch.
    trace_, stopped_by_, paths_
        As in `KMeans`. The cost of an iteration is that of its batch, times all weight over the
        weight of the batch: an estimate, which may rise when rows join.

    Examples
    --------
    >>> from partita import MiniBatchKMeans
    >>> model = MiniBatchKMeans(n_clusters=2, random_state=0)
    >>> model.fit([[1, 2], [1, 4], [10, 2], [10, 4]]).inertia_
    4.0
    >>> model.partial_fit([[1, 3], [1, 3]]).stats_.weight.tolist()
    [2.0, 4.0]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        max_iter: int = 100,
        batch_size: int = 1024,
        verbose: int = 0,
        compute_labels: bool = True,
        random_state: Any = None,
        tol: float = 0.0,
        max_no_improvement: int | None = 10,
        init_size: int | None = None,
        n_init: Any = "auto",
        reassignment_ratio: float = 0.01,
        halt: Halt | None = None,
        callback: Callback | None = None,
        empty: str = "relocate",
        n_threads: int | None = None,
        memory_limit: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio
        self.halt = halt
        self.callback = callback
        self.empty = empty
        self.n_threads = n_threads
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Compute the clustering of X, with one weight per row if given."""
        del y
        begin = time.perf_counter()
        settings = BatchParameters(self)
        X, features = validation.check_fit_rows(self, X)
        weight = validation.check_weights(sample_weight, X.shape[0])
        validation.check_row_count(X.shape[0], settings.k)
        rng = generator(self.random_state)
        with Workers(settings.threads) as workers:
            source = validation.make_source(X, weight, workers)
            validation.check_finite(source, X, features.get("feature_names_in_"))
            order = Order(source, rng)
            source.survey_from_sample(order.first(min(order.n, SEEN)))
            start = settings.best_start(source, X, order, rng)
            run = Nested(source, order, settings.k, settings.batches, rng, settings.memory)
            small = settings.small_shift(source)
            fit = run.run(start, settings.empty, self.halt, small, settings.callbacks, begin)
            if settings.on_run_end is not None:
                settings.on_run_end(fit)
            centers = fit.centers.plain.astype(source.dtype)
            labels: Array | None = None
            if self.compute_labels:
                step = LloydStep(source, source.survey().grid, len(centers))
                labels, inertia, stats = label_and_summarise(centers, step)
            else:
                inertia, stats = fit.trace[-1].cost_after, run.estimate(fit)
        held = stats.weight if labels is None else np.bincount(labels)
        self._warn_of_few(held, len(centers), settings.k)
        self._keep_features(features)
        self._keep_run(fit)
        self._keep_centers(centers, labels, inertia, stats)
        self.n_steps_ = len(fit.trace)
        self.n_iter_ = math.ceil(run.looked / order.n)
        self._rng = rng  # for batches that may follow
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the label of each row."""
        self.fit(X, sample_weight=sample_weight)
        return self.labels_ if self.compute_labels else self.predict(X)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Go on with a batch of rows: every center is the mean of all that ever came to it.

        The first batch must have a row for each cluster; the start is chosen on it. `halt`,
        `callback` and `verbose` are for `fit`, and so are `trace_` and `stopped_by_`, which a batch
        that follows removes.
        """
        del y
        settings = BatchParameters(self)
        first = not hasattr(self, "cluster_centers_")
        features: dict[str, Any] = {}
        if first:
            X, features = validation.check_fit_rows(self, X)
            validation.check_row_count(X.shape[0], settings.k)
        else:
            X = validation.check_new_rows(self, X)
        weight = validation.check_weights(sample_weight, X.shape[0])
        with Workers(settings.threads) as workers:
            source = validation.make_source(X, weight, workers)
            validation.check_finite(source, X, features.get("feature_names_in_", self._names()))
            if first:
                rng, dtype = generator(self.random_state), source.dtype
                start = settings.best_start(source, X, Order(source, rng), rng)
                seen = ClusterStats(np.zeros(len(start)), start, np.zeros(len(start)))
            else:
                rng, dtype, seen = self._rng, self.cluster_centers_.dtype, self.stats_
                # a cluster without weight has no mean, but it has a center
                some = seen.weight[:, None] > 0
                seen = replace(seen, mean=np.where(some, seen.mean, self.cluster_centers_))
            stats = join(seen, source, self.reassignment_ratio, rng)
            centers = stats.mean.astype(dtype)
            step = LloydStep(source, source.survey().grid, len(centers))
            labels, inertia, _ = label_and_summarise(centers, step)
        if first:
            self._keep_features(features)
        self._keep_centers(centers, labels, inertia, stats)
        self.n_steps_ = getattr(self, "n_steps_", 0) + 1
        self._rng = rng
        for name in ("trace_", "stopped_by_", "paths_", "n_iter_"):  # of a fit before
            if hasattr(self, name):
                delattr(self, name)
        return self


class BatchParameters(LloydParameters):
    """The parameters of `MiniBatchKMeans`, checked, in the engine's terms."""

    rules: ClassVar[Mapping[str, Rule]] = {
        **LloydParameters.rules,
        "batch_size": integer(1),
        "init_size": optional(integer(1)),
        "max_no_improvement": optional(integer(0)),
        "reassignment_ratio": number(0),
    }
    spread_runs = random_runs = STARTS

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._first = int(model.batch_size)
        self._size = 3 * max(self._first, self.k)
        if model.init_size is not None:
            self._size = int(model.init_size)
            if self._size < self.k:
                warn(
                    f"init_size={self._size} should be larger than n_clusters={self.k}. Setting it "
                    f"to 3*n_clusters={3 * self.k}.",
                    RuntimeWarning,
                )
                self._size = 3 * self.k

    @property
    def batches(self) -> Batches:
        """How the batch begins, and when enough is enough."""
        model = self.model
        patience, ratio = model.max_no_improvement, float(model.reassignment_ratio)
        return Batches(self._first, self.max_iter, patience, ratio)

    def small_shift(self, source: Source) -> Halt | None:
        """What `tol` asks for, unless the user has a criterion."""
        if self.model.halt is not None or self.model.tol == 0:
            return None
        return Shift(math.sqrt(self.model.tol) * source.survey().spread)

    def best_start(self, source: Source, X: Any, order: Order, rng: np.random.Generator) -> Floats:
        """The start that a few iterations on some rows say is the best; given centers as given."""
        rows = order.first(min(order.n, self._size))
        sample, starts = batch_of(source, rows), self.starts(X[rows])
        if len(starts) == 1:
            return starts[0](sample, rng, 0.0)
        seeds = spawn_generators(rng, len(starts))
        made = [
            partial(start, sample, seed, math.inf)
            for start, seed in zip(starts, seeds, strict=True)
        ]
        return best_start(sample, made, self.k, self.empty)
