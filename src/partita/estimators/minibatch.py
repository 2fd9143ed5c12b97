"""`MiniBatchKMeans`: a drop-in for scikit-learn's, by nested batches."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.parameters import FLAG, Got, Rule, integer, must_be, number, optional
from partita._common.random_state import generator, spawn_generators
from partita._common.threads import Workers
from partita._common.warnings import warn
from partita.engine.forgetting import faded, share_left
from partita.engine.lloyd_step import LloydStep
from partita.engine.nested_batches import (
    N_STARTS,
    BatchOptions,
    NestedBatchRun,
    RandomOrder,
    best_start,
    merge_batch,
)
from partita.engine.partitioned_pass import RunOptions
from partita.engine.partitioned_restarts import summarise_partitions
from partita.engine.partitioned_step import PartitionedStep
from partita.engine.restarts import label_and_summarise
from partita.estimators import validation
from partita.estimators.capabilities import Capabilities
from partita.estimators.center_clusterer import CenterClusterer, EuclideanClusterer
from partita.estimators.lazy_blocks import is_partitioned, lazy_labels, open_partitions
from partita.estimators.lloyd_parameters import LloydParameters
from partita.estimators.partitioned_fit import features_of, memory_share, opened_rows
from partita.estimators.saved_state import FieldReader
from partita.halting import Halt, Shift
from partita.run_record import Fit
from partita.source.partitions import Partitions
from partita.source.protocol import Source, batch_within
from partita.stats import ClusterStats
from partita.trace import Callback

SURVEY_ROWS = 1 << 14  # rows sampled for the mean and spread of the data


@dataclass(eq=False, repr=False)
class MiniBatchKMeans(EuclideanClusterer):
    """K-means for very many rows, or for rows that arrive in batches.

    Every parameter, method and attribute of `sklearn.cluster.MiniBatchKMeans` is here. `fit` works
    by nested batches: rows join in random order, each counts once, and the batch doubles when an
    update improves J by less than the sampling noise of the batch. The result is much closer to
    that of `KMeans`, and the fit stops by itself.

    Parameters
    ----------
    n_clusters, init, verbose, random_state, halt, callback, empty, n_threads, memory_limit
        As in `KMeans`. The start is chosen on `init_size` rows.
    max_iter : int, default=100
        Maximum number of passes over all rows, counted in rows visited.
    batch_size : int, default=1024
        Rows of the first batch (at least four per cluster). It doubles when an update improves J by
        less than the sampling noise of the batch.
    compute_labels : bool, default=True
        Whether to label all rows at the end; without labels, `inertia_` is an estimate.
    tol : float, default=0.0
        Stop also when the batch no longer grows and the squared shift of the centers is at most
        `tol` times the mean variance of the features; 0 means never.
    max_no_improvement : int or None, default=10
        Stop after this many consecutive iterations that did not lower the cost by 1e-4 of itself.
        The batch stops growing when its sampling noise is 1e-3 of the cost. None: it grows until
        all rows have joined, and the fit stops when no label changes.
    init_size : int or None, default=None
        Rows from which starts are chosen and on which they are compared. None: three batches, and
        at least three rows per cluster.
    n_init : "auto" or int, default="auto"
        Number of starts; the best after a few iterations on `init_size` rows is used. "auto": 8
        (they are cheap), 1 if centers are given.
    reassignment_ratio : float, default=0.01
        When rows join, clusters lighter than this share of the heaviest are moved to distant rows
        among them if that lowers the cost. 0: never.

    half_life : float or None, default=None
        Of `partial_fit`, for streams that drift: after new rows of this total weight (so many rows,
        if they have no weights), earlier rows count half. The rows of one batch count alike. None
        (or infinity): all rows count alike. `fit` has nothing to forget, and warns.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, stats_, n_features_in_, feature_names_in_
        As in `KMeans`; after `partial_fit`, labels and inertia are those of the last batch, and
        `stats_` summarises all rows so far, as far as they count (except those of a cluster before
        its reassignment).
    n_iter_ : int
        Passes over all rows, counted in rows visited, rounded up.
    n_steps_ : int
        Number of iterations (passes over the batch).
    trace_, stopped_by_, paths_
        As in `KMeans`. The cost of an iteration is that of its batch, scaled by the ratio of the
        total weight to that of the batch: an estimate, which may rise when rows join.

    Examples
    --------
    >>> from partita import MiniBatchKMeans
    >>> model = MiniBatchKMeans(n_clusters=2, random_state=0)
    >>> model.fit([[1, 2], [1, 4], [10, 2], [10, 4]]).inertia_
    4.0
    >>> model.partial_fit([[1, 3], [1, 3]]).stats_.weight.tolist()
    [2.0, 4.0]
    """

    n_clusters: int = 8
    _: KW_ONLY
    init: Any = "k-means++"
    max_iter: int = 100
    batch_size: int = 1024
    verbose: int = 0
    compute_labels: bool = True
    random_state: Any = None
    tol: float = 0.0
    max_no_improvement: int | None = 10
    init_size: int | None = None
    n_init: Any = "auto"
    reassignment_ratio: float = 0.01
    half_life: float | None = None
    halt: Halt | None = None
    callback: Callback | None = None
    empty: str = "relocate"
    n_threads: int | None = None
    memory_limit: float | None = None

    _saved_attributes = ("cluster_centers", "n_steps")
    _covered_attributes = frozenset({"_rng"})

    def _own_state(self) -> dict[str, Any]:
        return {"generator": self._rng}

    def __partita_capabilities__(self) -> Capabilities:
        return replace(super().__partita_capabilities__(), sampled_trace=True)

    def _rules(self) -> Mapping[str, Rule]:
        return BatchParameters.rules

    def _restore_own(self, saved: FieldReader, d: int) -> int:
        self.n_steps_ = saved.integer("n_steps", 0, 2**62)
        has_rng = saved.has("generator")
        self._rng = saved.generator("generator") if has_rng else generator(self.random_state)
        return super()._restore_own(saved, d)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Compute the clustering of X, with one weight per row if given."""
        del y
        begin = time.perf_counter()
        settings = BatchParameters(self)
        settings.warn_of_half_life()
        if is_partitioned(X):
            return self._fit_partitions(settings, open_partitions(X, sample_weight), begin)
        with Workers(settings.threads) as workers:
            data = self._fit_input(X, sample_weight, settings.k, workers, settings.memory_for(X))
            source = data.source
            done = self._run_batches(settings, source, data.X.__getitem__, data.memory, begin)
            centers = done.fit.centers.plain.astype(source.dtype)
            labels: Array | None = None
            if self.compute_labels:
                step = LloydStep(source, len(centers))
                labels, inertia, stats = label_and_summarise(centers, step)
            else:
                inertia, stats = done.estimate()
        weight_or_size = stats.weight if labels is None else np.bincount(labels)
        self._warn_if_empty(weight_or_size, len(centers), settings.k)
        self._keep_features(data.features)
        self._keep_batches(done)
        self._keep_centers(centers, labels, inertia, stats)
        return self

    def _fit_partitions(
        self, settings: BatchParameters, given: Partitions, begin: float
    ) -> MiniBatchKMeans:
        """Fit rows in partitions: batches are fetched, the last pass is made where the rows are."""
        prepare = partial(self._prepared, k=settings.k)
        with opened_rows(settings, given, prepare) as rows:
            read, memory = rows.read_rows, settings.memory
            done = self._run_batches(settings, rows, read, memory, begin)
            centers = done.fit.centers.plain.astype(rows.dtype)
            if self.compute_labels:
                options = RunOptions(rows.source, "plain", memory_share(settings, rows.n))
                step = PartitionedStep(rows, options, self._geometry, 0)
                counts, inertia, stats = summarise_partitions(centers, step)
            else:
                inertia, stats = done.estimate()
        weight_or_size = counts if self.compute_labels else stats.weight
        self._warn_if_empty(weight_or_size, len(centers), settings.k)
        self._keep_features(features_of(given))
        self._keep_batches(done)
        self._keep_centers(centers, None, inertia, stats)
        if self.compute_labels:
            self.labels_ = lazy_labels(self, given)
        return self

    def _run_batches(
        self,
        settings: BatchParameters,
        source: Any,
        read: Callable[[Ints], Any],
        memory: float,
        begin: float,
    ) -> FinishedBatches:
        """Find a start and run from it; read(rows) returns rows as a callable `init` gets them."""
        rng = generator(self.random_state)
        order = RandomOrder(source, rng)
        source.survey_from_sample(order.first(min(order.n, SURVEY_ROWS)))
        start = settings.best_start(source, read, memory, order, rng)
        k = len(start)  # fewer than n_clusters if a trial run dropped empty clusters
        run = NestedBatchRun(source, order, k, settings.batches, rng, memory)
        small = settings.small_shift(source)
        fit = run.run(start, settings.empty, self.halt, small, settings.callbacks, begin)
        if settings.on_run_end is not None:
            settings.on_run_end(fit)
        return FinishedBatches(fit, run, math.ceil(run.rows_read / order.n), rng)

    def _keep_batches(self, done: FinishedBatches) -> None:
        self._keep_run(done.fit)
        self.n_steps_ = len(done.fit.trace)
        self.n_iter_ = done.epochs
        self._rng = done.rng  # for later batches

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the label of each row."""
        self.fit(X, sample_weight=sample_weight)
        return self.labels_ if self.compute_labels else self.predict(X)

    def merge(self, other: CenterClusterer) -> MiniBatchKMeans:
        """Return one model of all rows, of this fit and of another fit to other rows.

        As in `KMeans`; `partial_fit` continues it.
        """
        model = super().merge(other)
        model.n_steps_ = self.n_steps_ + getattr(other, "n_steps_", 0)
        model._rng = copy.deepcopy(self._rng)  # that of this model must not advance
        return model

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Update the fit by a batch of rows: each center is the mean of all rows assigned to it.

        With `half_life`, rows of earlier batches count by 2^(−weight of later rows / half_life).
        The first batch must have at least n_clusters rows; the start is chosen from it. `halt`,
        `callback` and `verbose` apply to `fit` only; `trace_` and `stopped_by_` of an earlier `fit`
        are removed.
        """
        del y
        settings = BatchParameters(self)
        if is_partitioned(X):
            advice = "Use fit, or pass one block of rows at a time."
            raise must_be("X", "a batch of rows in memory", Got(f"a {type(X).__name__}"), advice)
        first = not hasattr(self, "cluster_centers_")
        with Workers(settings.threads) as workers:
            if first:
                data = self._fit_input(
                    X, sample_weight, settings.k, workers, settings.memory_for(X)
                )
                source, rng, dtype = data.source, generator(self.random_state), data.source.dtype
                order, read = RandomOrder(source, rng), data.X.__getitem__
                start = settings.best_start(source, read, data.memory, order, rng)
                seen = ClusterStats(np.zeros(len(start)), start, np.zeros(len(start)))
            else:
                X = validation.check_new_rows(self, X)
                weight = validation.check_weights(sample_weight, X.shape[0])
                source = validation.make_source(X, weight, workers)
                validation.check_finite(source, X, self._names())
                rng, dtype, seen = self._rng, self.cluster_centers_.dtype, self.stats_
                # a cluster without weight has no mean, but it has a center
                has_mean = seen.weight[:, None] > 0
                seen = replace(seen, mean=np.where(has_mean, seen.mean, self.cluster_centers_))
            if settings.forgets:
                mass = exact_total(source.weights.as_floats(source.n))
                seen = faded(seen, share_left(mass, float(settings.model.half_life)))
            stats = merge_batch(seen, source, self.reassignment_ratio, rng)
            centers = stats.mean.astype(dtype)
            step = LloydStep(source, len(centers))
            labels, inertia, _ = label_and_summarise(centers, step)
        if first:
            self._keep_features(data.features)
        self._keep_centers(centers, labels, inertia, stats)
        self.n_steps_ = getattr(self, "n_steps_", 0) + 1
        self._rng = rng
        for name in ("trace_", "stopped_by_", "paths_", "n_iter_"):  # of an earlier fit
            if hasattr(self, name):
                delattr(self, name)
        return self


@dataclass(frozen=True, slots=True)
class FinishedBatches:
    """A run over nested batches."""

    fit: Fit
    run: NestedBatchRun
    epochs: int  # passes over all rows, counted in rows visited
    rng: np.random.Generator

    def estimate(self) -> tuple[float, ClusterStats]:
        """Return the cost and the summaries of all rows, estimated from the batch."""
        return self.fit.trace[-1].cost_after, self.run.estimate(self.fit)


class BatchParameters(LloydParameters):
    """Checked parameters of `MiniBatchKMeans`."""

    rules: ClassVar[Mapping[str, Rule]] = {
        **LloydParameters.rules,
        "batch_size": integer(1),
        "init_size": optional(integer(1)),
        "max_no_improvement": optional(integer(0)),
        "reassignment_ratio": number(0),
        "half_life": optional(number(above=0)),
        "compute_labels": FLAG,
    }
    spread_runs = random_runs = N_STARTS

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._init_size = int(model.init_size or 3 * max(model.batch_size, self.k))
        if self._init_size < self.k:
            warn(
                f"init_size={self._init_size} should be larger than n_clusters={self.k}. "
                f"Setting it to 3*n_clusters={3 * self.k}.",
                RuntimeWarning,
            )
            self._init_size = 3 * self.k

    @property
    def forgets(self) -> bool:
        """Return whether earlier batches count less."""
        half_life = self.model.half_life
        return half_life is not None and half_life < math.inf

    def warn_of_half_life(self) -> None:
        """Warn that one fit forgets nothing."""
        if self.forgets:
            warn(
                f"half_life={self.model.half_life} has no effect in fit, where no row is earlier "
                "than another; it applies to batches of partial_fit.",
                UserWarning,
            )

    @property
    def batches(self) -> BatchOptions:
        """Sizes and limits of the batches."""
        model = self.model
        patience, ratio = model.max_no_improvement, float(model.reassignment_ratio)
        return BatchOptions(int(model.batch_size), self.max_iter, patience, ratio)

    def small_shift(self, source: Source) -> Halt | None:
        """The criterion of `tol`, unless the user gave one."""
        if self.model.halt is not None or self.model.tol == 0:
            return None
        return Shift(math.sqrt(self.model.tol) * source.survey().spread)

    def best_start(
        self,
        source: Source,
        read: Callable[[Ints], Any],
        memory: float,
        order: RandomOrder,
        rng: np.random.Generator,
    ) -> Floats:
        """Select the start with the lowest cost after a few iterations on some rows."""
        rows = order.first(min(order.n, self._init_size))
        sample, memory = batch_within(source, rows, memory)
        starts = self.starts(read(rows))
        if len(starts) == 1:
            return starts[0](sample, rng, memory)
        seeds = spawn_generators(rng, len(starts))
        pairs = zip(starts, seeds, strict=True)
        calls = [partial(start, sample, seed, memory) for start, seed in pairs]
        return best_start(sample, calls, self.k, self.empty, memory)
