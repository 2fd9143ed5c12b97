"""The members whose clusters have centers in the space of the rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import Rule
from partita._common.random_state import generator, spawn_generators
from partita._common.threads import Workers
from partita.engine.lloyd import LloydOptions
from partita.engine.paths.path import PathCache
from partita.engine.restarts import LabelledRun, spare_memory
from partita.estimators import labelling, validation
from partita.estimators.base import Clusterer
from partita.estimators.capabilities import REPLAY, Capabilities, Replay
from partita.estimators.checkpoint import CheckpointedFit, run_with_checkpoints
from partita.estimators.data_fingerprint import fingerprint
from partita.estimators.gaps import (
    check_columns,
    gaps_as_nan,
    mark_gaps,
    refuse_gaps_elsewhere,
    takes_gaps,
)
from partita.estimators.lazy_blocks import (
    distances_by_blocks,
    is_partitioned,
    labels_by_blocks,
    lazy_labels,
    open_partitions,
    score_partitions,
)
from partita.estimators.lloyd_parameters import LloydParameters
from partita.estimators.model_merging import mergeable_features, merged_clusters
from partita.estimators.partial_model import (
    refuse_merging_gaps,
    restored_weight_of_values,
    weight_of_values,
    with_gaps,
)
from partita.estimators.partitioned_fit import CheckpointFiles, features_of, fit_partitions
from partita.estimators.saved_state import FieldReader, restore_search, restored_stats, search_state
from partita.estimators.scanned_rows import labels_in_file, open_scan, reading_note
from partita.estimators.searched_fit import (
    fit_rows,
    refuse_search,
)
from partita.geometry import EUCLIDEAN, Geometry
from partita.init.partial_starts import PARTIAL_STARTS
from partita.run_record import SearchRecord
from partita.scanning.stored_rows import StoredRows
from partita.source.dask_rows import renumber_labels
from partita.source.partial_rows import PartialSource, RowsWithGaps
from partita.source.partitions import Partitions
from partita.source.scoring import packed_bytes
from partita.source.spark_frames import is_spark
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True)
class FitInput:
    """Checked data of a fit: the rows that the engine reads, and the way back to those of X."""

    source: Any  # DenseSource or SparseSource; PartialSource if values are missing
    X: Any  # checked
    rows: Any  # of the source: X, or its rows at unit length
    weight: Floats | None  # of these rows
    weight_of_X: Floats | None
    features: dict[str, Any]  # the attributes `n_features_in_` and `feature_names_in_`
    memory: float  # bytes that copies of the rows left of those allowed
    labels_of_X: Callable[[Ints, int], Array]  # (labels of the source's rows, k) -> labels of X


class CenterClusterer(Clusterer):
    """The base of members with centers: their results, starts and options of the loop."""

    cluster_centers_: Floats
    observed_weight_: Floats  # of models that take gaps
    inertia_: float
    stats_: ClusterStats
    start_: Floats
    n_clusters: int
    random_state: Any
    _geometry: Geometry = EUCLIDEAN
    _saved_attributes: ClassVar[tuple[str, ...]] = ("cluster_centers", "start", "observed_weight")

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if is_spark(state.get("labels_")):  # it lives in its session
            state = {name: value for name, value in state.items() if name != "labels_"}
        return state

    def __partita_capabilities__(self) -> Capabilities:
        lacks, costs = {REPLAY: "it keeps no start to repeat the run from"}, self._costs
        return Capabilities(geometry=self._geometry, lacks=lacks, exact_sums=True, costs=costs)

    @abstractmethod
    def _fit_input(
        self, X: Any, sample_weight: Any, k: int, workers: Workers, memory: float = math.inf
    ) -> FitInput:
        """Check X and its weights; there must be at least k rows.

        Rows are copied only within `memory` bytes, else they are converted in every pass.
        """

    @abstractmethod
    def _prepared(self, given: Partitions, k: int) -> Partitions:
        """Return the rows in partitions that the engine clusters; there must be at least k."""

    def _rules(self) -> Mapping[str, Rule]:
        return LloydParameters.rules

    def _restore_own(self, saved: FieldReader, d: int) -> int:
        centers = saved.floats("cluster_centers", (None, d))
        if len(centers) == 0:
            raise ValueError("cluster_centers is empty")
        self.cluster_centers_ = centers
        self.stats_ = restored_stats(saved, len(centers), d)
        if saved.has("start"):
            self.start_ = saved.floats("start", (None, d))
        return len(centers)

    def _starts(
        self,
        data: FitInput,
        parameters: LloydParameters,
        options: LloydOptions,
        rng: np.random.Generator | None = None,
    ) -> list[Callable[[], Floats]]:
        """One function per run that returns its starting centers; `rng` is that of a file."""
        source = data.source
        if isinstance(source, PartialSource):
            starts, spare = parameters.starts(data.X, PARTIAL_STARTS), data.memory
        else:
            starts = parameters.starts(data.X)
            spare = spare_memory(source, options, len(starts))
            packed = packed_bytes(source.n, source.d)  # of an earlier run, if they fit
            spare = max(0.0, spare - packed if packed <= spare else spare)
        rng = generator(self.random_state) if rng is None else rng
        seeds = spawn_generators(rng, len(starts))
        return [
            lambda start=start, seed=seed: start(source, seed, spare)  # type: ignore[misc]
            for start, seed in zip(starts, seeds, strict=True)
        ]

    def _lloyd_options(
        self, data: FitInput, parameters: LloydParameters, path_cache: PathCache | None = None
    ) -> LloydOptions:
        """Options of the loop; `path_cache` is that of earlier runs on the same rows."""
        return LloydOptions(
            parameters.k,
            parameters.halt(data.source),
            parameters.empty,
            parameters.callbacks,
            parameters.on_run_end,
            parameters.algorithm,
            data.memory,
            self._geometry,
            PathCache() if path_cache is None else path_cache,
        )

    def _keep(self, result: LabelledRun, data: FitInput) -> Self:
        labels, fit = data.labels_of_X(result.labels, len(result.centers)), result.fit
        if isinstance(data.X, StoredRows):
            labels = labels_in_file(labels)
            fit = replace(fit, paths=(*fit.paths, reading_note(data.X)))
        self._keep_features(data.features)
        self._keep_run(fit)
        assert fit.start is not None
        self.start_ = fit.start
        self._keep_centers(result.centers, labels, result.inertia, result.stats)
        if takes_gaps(self):
            self.observed_weight_ = weight_of_values(result)
            self._label_idle_gaps(data)
        return self

    def _label_idle_gaps(self, data: FitInput) -> None:
        """Label rows with gaps by the values they have, where only rows of weight 0 have gaps."""
        rows = mark_gaps(self, data.X)
        if rows is not data.X and not isinstance(data.source, PartialSource):
            idle = np.flatnonzero(np.isnan(data.X).any(axis=1))
            found = RowsWithGaps(data.X[idle])
            args = self.cluster_centers_, self.n_threads, self._names()
            self.labels_[idle] = labelling.nearest(found, *args)

    def _keep_centers(
        self, centers: Floats, labels: Array | None, inertia: float, stats: ClusterStats
    ) -> None:
        self.cluster_centers_ = centers
        if labels is not None:
            self.labels_ = labels
        elif hasattr(self, "labels_"):
            del self.labels_
        self.inertia_ = inertia
        self.stats_ = stats
        for name in ("certificate_", "observed_weight_"):  # of earlier centers
            self.__dict__.pop(name, None)
        self._n_features_out = len(centers)

    def inverse_transform(self, codes: Any) -> Floats:
        """Return rows ZΘ (n, d) for labels (n,), or for hard or soft memberships (n, k).

        `inverse_transform(predict(X))` replaces each row by its center. (The distances that
        `transform` returns cannot be inverted.)
        """
        check_is_fitted(self)
        centers = self.cluster_centers_
        n_zero = self._clusters - len(centers)  # 1 if rows of zeros have a cluster of their own
        if n_zero:
            centers = np.vstack([centers, np.zeros((n_zero, centers.shape[1]), centers.dtype)])
        return np.asarray(labelling.decode(codes, centers))

    def match(self, other: Any) -> Self:
        """Renumber the clusters in place to agree with those of an earlier model.

        Centers are paired at the lowest total squared distance; clusters without a partner come
        last. A row that is tied between two centers keeps its cluster, so its label may differ from
        `predict`, which resolves ties by the lower new number. Lazy labels stay lazy; those of an
        engine without arrays are removed.
        """
        check_is_fitted(self)
        d = self.n_features_in_
        theirs = validation.as_centers(other, "other", "k", d)
        if theirs.shape[1] != d:
            raise ValueError(f"`other` must have centers of shape (k, {d}), got {theirs.shape}.")
        order = labelling.matching_order(self.cluster_centers_, theirs)
        self.cluster_centers_ = self.cluster_centers_[order]
        s = self.stats_
        self.stats_ = type(s)(s.weight[order], s.mean[order], s.sse[order])
        if "observed_weight_" in vars(self):
            self.observed_weight_ = self.observed_weight_[order]
        if hasattr(self, "labels_"):  # MiniBatchKMeans may have none
            new_label = np.empty(len(order), np.int32)
            new_label[order] = np.arange(len(order))
            labels = renumber_labels(self.labels_, new_label)
            if labels is None:
                del self.labels_
            else:
                self.labels_ = labels
        return self

    def merge(self, other: CenterClusterer) -> Self:
        """Return one model of all rows, of this fit and of another fit to other rows.

        Clusters are paired so that their merges add least to the objective; those without a partner
        stay as they are, so there are as many as in the larger model. `stats_` are the
        summaries of the merged clusters, `cluster_centers_` their best centers, and `inertia_` the
        objective of this partition: every row in the cluster that its own part gave it, about the
        merged center. Rows that another center is nearer to would lower it, so it is at least
        that of all rows at the centers. No rows are read, so there are no labels and no trace.
        Parameters are those of this model; neither model is changed.
        """
        check_is_fitted(self)
        refuse_merging_gaps(self, other)
        features = mergeable_features(self, other)
        merged = merged_clusters(self, other, self._geometry)
        model: Self = clone(self)
        model.n_clusters = max(self.n_clusters, other.n_clusters, len(merged.stats.weight))
        model._keep_features(features)
        model._keep_centers(merged.centers, None, merged.cost, merged.stats)
        return model


class LloydClusterer(CenterClusterer):
    """Fit by Lloyd's iterations over all rows."""

    search_: tuple[SearchRecord, ...]
    _covered_attributes = frozenset({"search_"})

    def __partita_capabilities__(self) -> Capabilities:
        from partita.estimators.lloyd_session import LloydSession

        offered = super().__partita_capabilities__()
        if hasattr(self, "start_"):
            offered = replace(offered, lacks={}, replay=Replay.from_centers(self))
        offered = replace(offered, open_session=partial(LloydSession, self), searches=True)
        return with_gaps(self, offered) if takes_gaps(self) else offered

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        resume: Any = None,
    ) -> Self:
        """Compute the clustering of X, with one weight per row if given.

        `checkpoint` is a path, or a `Checkpoint`, to write the state of the fit to every 30
        seconds, and when it is interrupted. `resume` is the path of such a file: the fit of the
        same X goes on to the same bits. Both may be the same file.
        """
        del y  # scikit-learn's pipelines pass it
        parameters = LloydParameters(self)
        refuse_gaps_elsewhere(self, X, is_partitioned(X))
        if is_partitioned(X):
            files = CheckpointFiles(checkpoint, resume)
            return self._fit_partitions(parameters, open_partitions(X, sample_weight), files)
        with Workers(parameters.threads, many_passes=True) as workers:
            k, memory = parameters.k, parameters.memory_for(X)
            data = self._fit_input(X, sample_weight, k, workers, memory)
            options = self._lloyd_options(data, parameters)
            if checkpoint is None and resume is None:
                rng = generator(self.random_state)
                starts = self._starts(data, parameters, options, rng)
                result = fit_rows(data.source, starts, options, parameters.search, rng)
            else:
                known = CheckpointedFit(self, fingerprint(data.X, data.weight_of_X), resume)
                starts = self._starts(data, parameters, options, known.rng)
                result = run_with_checkpoints(
                    known,
                    checkpoint,
                    (data.source.n, len(starts)),
                    data.source.survey().grid.origin,
                    options,
                    lambda recorded: fit_rows(
                        data.source, starts, recorded, parameters.search, known.rng
                    ),
                )
        self._warn_if_empty(np.bincount(result.run.labels), len(result.run.centers), parameters.k)
        self.search_ = result.records
        return self._keep(result.run, data)

    def _own_state(self) -> dict[str, Any]:
        return super()._own_state() | search_state(self)

    def _restore_own(self, saved: FieldReader, d: int) -> int:
        restore_search(self, saved)
        k = super()._restore_own(saved, d)
        if saved.has("observed_weight"):
            self.observed_weight_ = restored_weight_of_values(saved, k, d)
        return k

    def _fit_partitions(
        self, parameters: LloydParameters, given: Partitions, files: CheckpointFiles
    ) -> Self:
        """Fit rows in partitions; `labels_` are those of the engine, and may be lazy."""
        refuse_search(parameters.search)
        self.search_ = ()
        prepare = partial(self._prepared, k=parameters.k)
        result = fit_partitions(parameters, given, prepare, self._geometry, files)
        self._warn_if_empty(result.counts, len(result.centers), parameters.k)
        self._keep_features(features_of(given))
        self._keep_run(result.fit)
        assert result.fit.start is not None
        self.start_ = result.fit.start
        self._keep_centers(result.centers, None, result.inertia, result.stats)
        self.labels_ = lazy_labels(self, given)
        return self


class EuclideanClusterer(CenterClusterer):
    """Label rows by the squared distance to centers."""

    def _fit_input(
        self, X: Any, sample_weight: Any, k: int, workers: Workers, memory: float = math.inf
    ) -> FitInput:
        X, sample_weight, memory = open_scan(X, sample_weight, memory, k, workers.n)
        given = X = gaps_as_nan(self, X)
        X, features = validation.check_fit_rows(self, X, memory)
        memory -= validation.copied_bytes(given, X)
        weight = validation.check_weights(sample_weight, X.shape[0])
        validation.check_row_count(X.shape[0], k)
        source = validation.source_of(mark_gaps(self, X), weight, workers)
        names = features.get("feature_names_in_")
        validation.check_finite(source, X, names)
        memory = max(0.0, memory)
        if isinstance(source, PartialSource):
            check_columns(source, names)
            memory = source.keep_filled(memory)
            if not source.has_counted_gaps:  # the bits are those of the rows that count
                source = source.filled
        return FitInput(source, X, X, weight, weight, features, memory, lambda labels, k: labels)

    def _prepared(self, given: Partitions, k: int) -> Partitions:
        return given

    @labels_by_blocks
    def predict(self, X: Any) -> Array:
        """Return the nearest center of each row, the lower index on ties."""
        if "cluster_centers_" not in vars(self):  # faster than scikit-learn's check
            check_is_fitted(self)
        return labelling.nearest(*self._rows_and_centers(X))

    @distances_by_blocks
    def transform(self, X: Any) -> Any:
        """Return the distance (n, k) of each row to every center, in the dtype of X."""
        check_is_fitted(self)
        return labelling.distances(*self._rows_and_centers(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the objective of X at the centers."""
        check_is_fitted(self)
        if is_partitioned(X):
            return -score_partitions(self, X, sample_weight)
        args = self._rows_and_centers(X)
        weight = validation.check_weights(sample_weight, args[0].shape[0])
        return -labelling.inertia(*args, weight)

    def _own_costs(self, rows: Array) -> tuple[slice, Floats]:
        """Return which rows count, and the cost of each at its center."""
        args = mark_gaps(self, rows), self.cluster_centers_, self.n_threads, self._names()
        return slice(None), labelling.own_squares(*args)

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        args = self._rows_and_centers(X)
        return labelling.nearest(*args), labelling.squares(*args)

    def _rows_and_centers(self, X: Any) -> tuple[Any, Floats, int | None, Any]:
        """The arguments that the functions of `labelling` take."""
        X = mark_gaps(self, validation.check_new_rows(self, gaps_as_nan(self, X)))
        return X, self.cluster_centers_, self.n_threads, self._names()

    def _temperature(self) -> float:
        # 2σ² of a mixture of equal round Gaussians with the within-cluster variance of the fit
        return float(2 * self.inertia_ / (self.stats_.weight.sum() * self.n_features_in_))
