"""The criteria of one fit, for every member of the family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.threads import Workers
from partita.choosing.ladder import Rung
from partita.choosing.sweep_problem import SweepProblem
from partita.geometry import EUCLIDEAN
from partita.metrics import criteria
from partita.metrics.mean_distances import Partition
from partita.metrics.silhouette import PairwiseDistances
from partita.source.raw_rows import as_doubles
from partita.stats import ClusterStats

SAMPLE_ROWS = 1 << 13  # whose distances to the centers represent all rows
EXACT_MAX_WORK = 2e10  # n²·fits·features: up to a few seconds, all pairs of rows are measured
SQUARE_ROOT_FEATURES = 8  # a square root costs as much as so many features


class Measurement(NamedTuple):
    """A criterion of one fit, and its standard error if it was sampled."""

    value: float
    error: float = 0.0


class FitMeasures:
    """Measures fits of the same rows; a sample represents very many rows."""

    def __init__(
        self,
        problem: SweepProblem,
        n_fits: int,
        sample_size: int,
        rng: np.random.Generator,
        workers: Workers,
    ) -> None:
        self._problem, self._workers, self._sample_size = problem, workers, sample_size
        self._rows = problem  # those that are measured; a sample is in random order
        counted = problem.counted
        features = 1 if problem.pairwise else problem.X.shape[1] + SQUARE_ROOT_FEATURES
        work = float(len(counted)) ** 2 * n_fits * features
        self._exact = work <= EXACT_MAX_WORK or len(counted) <= sample_size
        if not self._exact:
            self._order = rng.permutation(counted)
            self._rows = problem.take(self._order[:SAMPLE_ROWS])
        elif len(counted) < problem.n:
            self._rows = problem.take(counted)
        self._pairs: PairwiseDistances | None = None
        self._columns: Floats | None = None  # (d, n) of the rows that are measured

    def of(self, rung: Rung, names: Sequence[str]) -> dict[str, Measurement]:
        """Return the criteria that this member has, by name."""
        model, weight = rung.model, self._rows.weight
        labels, first, second = self._rows.nearest(model, self._workers)
        values = {"inertia": rung.cost}
        if first is not None and second is not None:
            values["simplified_silhouette"] = criteria.simplified_silhouette(first, second, weight)
        stats = self._problem.stats(model)
        if stats is not None:
            values["calinski_harabasz"] = criteria.calinski_harabasz(stats)
            values["bic"] = criteria.bic(stats, None, self._squares(labels, len(stats.weight)))
            if first is not None:  # about the centers, which for directions are not the means
                about = replace(stats, mean=np.asarray(model.cluster_centers_, dtype=np.float64))
                distance = self._rows.lengths(first)
                spread = criteria.mean_distances(distance, labels, len(about.mean), weight)
                values["davies_bouldin"] = criteria.davies_bouldin(about, spread)
        measured = {name: Measurement(value) for name, value in values.items()}
        if "silhouette" not in names:
            return measured
        if not self._exact and stats is not None and _has_rare(stats.weight, labels):
            labels = self._problem.nearest(model, self._workers).labels[self._order]
        return measured | self._silhouette(model, labels)

    def _squares(self, labels: Array, k: int) -> Floats | None:
        """Squared deviations (k, d) from the means of clusters along each feature."""
        rows = self._rows
        if rows.capabilities.geometry is not EUCLIDEAN or sp.issparse(rows.X):
            return None
        if self._columns is None:
            self._columns = np.ascontiguousarray(as_doubles(rows.X).T)
        return np.column_stack(
            [
                ClusterStats.of_block(column[:, None], labels, k=k, weight=rows.weight).sse
                for column in self._columns
            ]
        )

    def _silhouette(self, model: Any, labels: Array) -> dict[str, Measurement]:
        """The mean silhouette of all rows, or of a sample that represents small clusters too.

        `labels` are those of all rows that are measured, or of all rows in random order.
        """
        rows, share = self._rows, None
        if not self._exact:
            order, weight = self._order[: len(labels)], self._problem.weight
            per_cluster = max(2, -(-self._sample_size // (int(labels.max()) + 1)))
            drawn = first_of_each(labels, per_cluster)
            share = _shares(labels, drawn, None if weight is None else weight[order])
            rows, labels = self._problem.take(order[drawn]), labels[drawn]
        occupied = np.bincount(labels) > 0
        count = int(np.count_nonzero(occupied))
        if not 2 <= count < len(labels):
            return {"silhouette": Measurement(math.nan)}
        number = np.cumsum(occupied) - 1  # without clusters that have no row here
        partition = Partition.of(number[labels], count, rows.weight)
        pairs = self._pairwise_distances(rows, model)
        if pairs is None:
            return {}
        values = pairs.silhouettes(partition)
        if share is None:
            mean = exact_total(values, partition.weight) / exact_total(partition.weight)
            return {"silhouette": Measurement(mean)}
        return {"silhouette": _stratified(values, number[labels], share)}

    def _pairwise_distances(self, rows: SweepProblem, model: Any) -> PairwiseDistances | None:
        if self._pairs is None and (rows_and_metric := rows.between(model)) is not None:
            pairs = PairwiseDistances(*rows_and_metric, self._workers)
            if not self._exact:  # another sample for every fit
                return pairs
            self._pairs = pairs
        return self._pairs


def _has_rare(weight: Floats, labels: Array) -> bool:
    """Return whether a cluster of this weight (k,) has fewer than two rows in a sample."""
    count = np.bincount(labels, minlength=len(weight))[: len(weight)]
    return bool((count[weight > 0] < 2).any())


def first_of_each(labels: Array, max_rows: int) -> Ints:
    """The first rows of every cluster, up to `max_rows` of each."""
    order = np.argsort(labels, kind="stable")
    start = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    place = np.arange(len(labels)) - start[labels[order]]
    return np.sort(order[place < max_rows])


def _shares(labels: Array, drawn: Ints, weight: Floats | None) -> Floats:
    """The weight that each drawn row represents: its share of the weight of its cluster."""
    whole = np.bincount(labels, weight)
    own = np.ones(len(drawn)) if weight is None else weight[drawn]
    in_sample = np.bincount(labels[drawn], own, minlength=len(whole))
    factor = np.divide(whole, in_sample, out=np.zeros_like(in_sample), where=in_sample > 0)
    return np.asarray(own * factor[labels[drawn]])


def _stratified(values: Floats, labels: Array, share: Floats) -> Measurement:
    """The mean of a sample stratified by cluster, and its standard error."""
    mass = np.bincount(labels, share)
    mean = np.bincount(labels, share * values) / mass
    variance = np.bincount(labels, share * (values - mean[labels]) ** 2) / mass
    stratum = mass / mass.sum()
    error = float(np.sqrt((stratum**2 * variance / np.bincount(labels)).sum()))
    return Measurement(float((stratum * mean).sum()), error)
