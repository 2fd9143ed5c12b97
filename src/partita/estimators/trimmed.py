"""`TrimmedKMeans`: K-means that leaves out the rows that are farthest from every center."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.parameters import Rule, is_number
from partita._common.random_state import generator, spawn_generators
from partita._common.text import format_number
from partita._common.threads import Workers
from partita.engine.lloyd import LloydOptions
from partita.engine.restarts import LabelledRun
from partita.engine.trimmed_restarts import (
    best_trimmed_run,
    label_and_summarise_trimmed,
    promising_starts,
    sample_of,
)
from partita.estimators import labelling, validation
from partita.estimators.capabilities import ALL_ROWS, BOUNDS, Capabilities, Replay
from partita.estimators.center_clusterer import CenterClusterer, EuclideanClusterer, FitInput
from partita.estimators.lazy_blocks import labels_by_blocks, refuse_partitions
from partita.estimators.lloyd_parameters import LloydParameters
from partita.estimators.saved_state import FieldReader
from partita.exact_weights import as_repeats
from partita.halting import Halt, Shift, StopReason
from partita.init import STARTS, Start
from partita.init.trimmed_starts import trimmed_plusplus
from partita.source.protocol import Source
from partita.trace import Callback, Progress
from partita.trimming import SLACK, cut_farthest, outside_labels

TRIM = Rule(
    ("a number from 0 to less than 1",),
    lambda value: is_number(value) and 0 <= value < 1,
    "It is the share of the total weight that is left out, such as 0.05.",
)
NO_BOUNDS = "no lower bounds are known of a sum that leaves rows out"
FARTHEST = "the farthest from every center"
LEAVES_OUT = "its clusters and its cost leave rows out"
MIN_STARTS, MAX_STARTS = 6, 24  # by default
STARTED_CENTERS = 1200  # of all these starts


@dataclass(eq=False, repr=False)
class TrimmedKMeans(EuclideanClusterer):
    """K-means that is not misled by outliers: the farthest rows are left out.

    The objective J is the sum of squared distances to the nearest centers over all rows but the
    share `trim` of the total weight that is farthest from every center (impartial trimming:
    Cuesta-Albertos, Gordaliza and Matrán 1997). Every iteration labels all rows, cuts off the
    farthest, and moves the centers to the means of the rest (concentration steps), so J never
    rises.

    Exactly this share of the weight is left out: the rows at the cut count with a part of their
    weight if need be, all of them with the same part. So the order of rows does not matter, and a
    row of weight 3 is three rows. With trim=0 this is `KMeans`.

    Parameters
    ----------
    n_clusters, max_iter, verbose, random_state, algorithm, halt, callback, empty, n_threads, \
memory_limit
        As in `KMeans`.
    trim : float, default=0.05
        The share of the total weight that is left out, from 0 to less than 1. A little more than
        the share of outliers costs little; less lets outliers pull at the centers.
    init : {"k-means++", "k-means||", "mini-batch", "random", "box", "random-partition"}, \
callable, array or model, default="k-means++"
        The starting centers, as in `KMeans`; but "k-means++" never draws from the farthest share
        `trim` of the weight, which is where outliers are. The other names are those of `KMeans`,
        which may start at outliers: "k-means||" and "mini-batch" look for far rows.
    n_init : "auto" or int, default="auto"
        Number of starts; "auto" is 24, of more than 50 clusters fewer (1200 / n_clusters, at least
        6), or 1 if centers are given. They are compared after 3 iterations, and the best third, at
        most 4, run to the end. Of many rows, a sample (of 4096, or 64 for each cluster) compares
        the starts; then the best of it is the start for all rows.
    tol : float, default=1e-4
        Stop when the squared shift of the centers is at most `tol` times the mean variance of the
        features within clusters. (Variances of all rows, as in `KMeans`, would be those of the
        outliers.)

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers, in the dtype of X.
    labels_ : ndarray of shape (n_samples,)
        The nearest center of every row, the lower index on ties; −1 for rows that are farther from
        it than `threshold_`.
    inertia_ : float
        J: the weighted sum of squared distances of the rows that count.
    threshold_ : float
        The distance of the farthest row that counts; infinite if trim=0.
    boundary_share_ : float
        The share of their weight with which rows at exactly this distance count.
    trimmed_weight_ : float
        The weight that is left out: `trim` of the total.
    stats_ : ClusterStats
        Weight, mean and sse of the rows of each cluster that count.
    n_iter_, start_, trace_, stopped_by_, paths_, membership_, n_features_in_, feature_names_in_
        As in `KMeans`. Rows with label −1 have no membership.

    Examples
    --------
    >>> from partita import TrimmedKMeans
    >>> rows = [[1, 2], [1, 4], [10, 2], [10, 4], [1000, 1000]]
    >>> model = TrimmedKMeans(n_clusters=2, trim=0.2, random_state=0).fit(rows)
    >>> model.inertia_, sorted(model.cluster_centers_.tolist())
    (4.0, [[1.0, 3.0], [10.0, 3.0]])
    >>> model.labels_[4:], model.predict([[5000, 0]]), model.threshold_
    (array([-1], dtype=int32), array([-1], dtype=int32), 1.0)
    """

    n_clusters: int = 8
    _: KW_ONLY
    trim: float = 0.05
    init: Any = "k-means++"
    n_init: Any = "auto"
    max_iter: int = 300
    tol: float = 1e-4
    verbose: int = 0
    random_state: Any = None
    algorithm: str = "lloyd"
    halt: Halt | None = None
    callback: Callback | None = None
    empty: str = "relocate"
    n_threads: int | None = None
    memory_limit: float | None = None

    _saved_attributes = (
        "cluster_centers", "start", "threshold", "boundary_share", "trimmed_weight",
    )  # fmt: skip

    def __partita_capabilities__(self) -> Capabilities:
        offered = super().__partita_capabilities__()
        lacks = {**offered.lacks, BOUNDS: NO_BOUNDS}
        if hasattr(self, "start_"):
            lacks = {BOUNDS: NO_BOUNDS}
            offered = replace(offered, replay=Replay.from_centers(self))
        if self.trim:
            lacks[ALL_ROWS] = LEAVES_OUT
        return replace(
            offered,
            lacks=lacks,
            place_rows=self._rows_that_count,
            left_out=FARTHEST,
            facts=self._facts,
        )

    def _facts(self) -> list[tuple[str, str]]:
        limit = format_number(float(self.threshold_))
        share = format_number(100 * float(self.trim))
        return [("Trimming", f"{share} % of the weight, beyond a distance of {limit}")]

    def _rules(self) -> Mapping[str, Rule]:
        return TrimmedParameters.rules

    def _label_range(self, k: int) -> tuple[int, int]:
        return -1, k - 1

    def _restore_own(self, saved: FieldReader, d: int) -> int:
        self.threshold_ = saved.number("threshold", 0.0)
        self.boundary_share_ = saved.number("boundary_share", 0.0)
        self.trimmed_weight_ = saved.number("trimmed_weight", 0.0)
        return super()._restore_own(saved, d)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> TrimmedKMeans:
        """Compute the clustering of X, with one weight per row if given."""
        del y
        parameters = TrimmedParameters(self)
        refuse_partitions(X)
        with Workers(parameters.threads, many_passes=True) as workers:
            memory = parameters.memory_for(X)
            data = self._fit_input(X, sample_weight, parameters.k, workers, memory)
            parameters.check_rows_left(data.source)
            options = self._lloyd_options(data, parameters)
            starts = self._promising_starts(data, parameters, options)
            calls = [lambda start=start: start for start in starts]
            fit, step = best_trimmed_run(data.source, calls, options, parameters.trim)
            centers = fit.centers.plain.astype(data.source.dtype)
            run = LabelledRun(centers, *label_and_summarise_trimmed(centers, step), fit)
        self._warn_if_empty(run.stats.weight, len(centers), parameters.k)
        self.threshold_, self.boundary_share_ = step.cut.threshold, step.cut.share
        self.trimmed_weight_ = parameters.trim * parameters.total_weight(data.source)
        return self._keep(run, data)

    def _promising_starts(
        self, data: FitInput, parameters: TrimmedParameters, options: LloydOptions
    ) -> list[Floats]:
        """The centers to start from; most starts are given up after a few iterations."""
        rng, source = generator(self.random_state), data.source
        sample, rows = sample_of(source, parameters.k, rng)
        starts = parameters.starts(data.X[rows], parameters.table)
        seeds = spawn_generators(rng, len(starts))
        made = [
            np.ascontiguousarray(start(sample, seed, data.memory), dtype=np.float64)
            for start, seed in zip(starts, seeds, strict=True)
        ]
        return promising_starts(source, sample, made, options, parameters.trim)

    @labels_by_blocks
    def predict(self, X: Any) -> Array:
        """Return the nearest center of each row, the lower index on ties; −1 beyond `threshold_`.

        `transform(X).argmin(axis=1)` is the nearest center of all rows.
        """
        check_is_fitted(self)
        return self._labels_of(*self._rows_and_centers(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the trimmed objective of X: of these rows too, the share `trim` is left out.

        For the rows of the fit this is −`inertia_`.
        """
        del y
        check_is_fitted(self)
        refuse_partitions(X)
        args = self._rows_and_centers(X)
        weight = validation.check_weights(sample_weight, args[0].shape[0])
        lengths = labelling.nearest_with_lengths(*args)[1]
        cut = cut_farthest(lengths, weight, float(self.trim))
        return -cut.total(labelling.own_squares(*args), weight)

    def merge(self, other: CenterClusterer) -> TrimmedKMeans:
        """Not available: two fits do not tell which of all rows are left out."""
        raise TypeError(
            "merge() is not available for TrimmedKMeans: the rows that are left out depend on all "
            "rows. Fit one model to the rows of both."
        )

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        args = self._rows_and_centers(X)
        return self._labels_of(*args), labelling.squares(*args)

    def _labels_of(self, *args: Any) -> Ints:
        """The labels of checked rows; the arguments are those of the functions of `labelling`."""
        labels, length = labelling.nearest_with_lengths(*args)
        return outside_labels(labels, length > self.threshold_)

    def _rows_that_count(self, X: Any) -> tuple[Any, Ints]:
        """The rows within the threshold, and their index in X."""
        args = self._rows_and_centers(X)
        index = np.flatnonzero(self._labels_of(*args) >= 0)
        return args[0][index], index


class TrimmedParameters(LloydParameters):
    """Checked parameters of `TrimmedKMeans`."""

    rules: ClassVar[Mapping[str, Rule]] = {**LloydParameters.rules, "trim": TRIM}
    random_runs = MAX_STARTS

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.trim = float(model.trim)
        # of many clusters, one start more or less spoils few
        self.spread_runs = max(MIN_STARTS, min(MAX_STARTS, STARTED_CENTERS // self.k))

    @property
    def table(self) -> dict[str, Start]:
        """The starts by name."""

        def start(source: Source, k: int, rng: np.random.Generator, memory: float) -> Floats:
            return trimmed_plusplus(source, k, rng, self.trim)

        return {**STARTS, "k-means++": start} if self.trim else STARTS

    def halt(self, source: Source) -> Halt:
        """Stop at a fixed point, by `tol` or the user's criterion, or at the limit."""
        if self.model.halt is not None or not self.trim:
            return super().halt(source)
        kept = (1.0 - self.trim) * self.total_weight(source)
        return self.until(ShiftWithinClusters(float(self.model.tol), kept * source.d))

    @staticmethod
    def total_weight(source: Source) -> float:
        """The weight of all rows."""
        return exact_total(source.weights.as_floats(source.n))

    def check_rows_left(self, source: Source) -> None:
        """Require at least one row for each cluster beside those that are left out.

        A whole weight counts as so many rows; others count as one row on average.
        """
        rows = exact_total(as_repeats(source.weights.as_floats(source.n), source.n))
        left = math.ceil(rows - self.trim * rows * (1 + SLACK))
        if self.k > left:
            raise ValueError(
                f"`n_clusters` must be at most the number of rows that are not left out, got "
                f"{self.k} with {left} such rows of {rows:.6g}. Lower n_clusters or trim."
            )


@dataclass(frozen=True, repr=False, slots=True)
class ShiftWithinClusters(Halt):
    """Stop when the squared shift is at most `tol` times J/`size`, the variance of a feature."""

    tol: float
    size: float  # the weight that counts times the number of features

    def reason(self, trace: Sequence[Progress]) -> StopReason | None:
        return Shift.reason_within(self.largest_shift(trace), trace)

    def largest_shift(self, trace: Sequence[Progress]) -> float:
        """Return the shift at which the criterion holds."""
        return math.sqrt(self.tol * trace[-1].cost / self.size)
