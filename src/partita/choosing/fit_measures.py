"""The criteria of one fit, whatever member of the family made it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita.choosing.ladder import Rung
from partita.choosing.sweep_problem import SweepProblem
from partita.metrics import criteria
from partita.metrics.mean_distances import Partition
from partita.metrics.silhouette import PairwiseDistances
from partita.stats import ClusterStats

_ENOUGH = 1 << 13  # rows whose distances to centers say as much as those of all
_WORK = 2e10  # n²·fits·features: up to some seconds, all pairs of rows are looked at


class Measurement(NamedTuple):
    """A criterion of one fit, and its standard error where it was sampled."""

    value: float
    error: float = 0.0


class FitMeasures:
    """Measures fits of the same rows, of which very many are represented by some."""

    def __init__(
        self,
        subject: SweepProblem,
        fits: int,
        size: int,
        rng: np.random.Generator,
        workers: Workers,
    ) -> None:
        self._subject, self._workers, self._size = subject, workers, size
        self._rows = subject  # those that are measured; a sample is in a random order
        counted = subject.counted
        features = 1 if subject.pairwise else subject.X.shape[1] + 8  # a root costs as eight do
        self._all = float(len(counted)) ** 2 * fits * features <= _WORK or len(counted) <= size
        if not self._all:
            self._rows = subject.take(rng.permutation(counted)[:_ENOUGH])
        elif len(counted) < subject.n:
            self._rows = subject.take(counted)
        self._pairs: PairwiseDistances | None = None

    def of(self, rung: Rung, names: Sequence[str]) -> dict[str, Measurement]:
        """The criteria that this member has, of those that were asked for."""
        model, weight = rung.model, self._rows.weight
        labels, first, second = self._rows.nearest(model, self._workers)
        found = {"inertia": Measurement(rung.cost)}
        if "silhouette" in names:
            found |= self._silhouette(model, labels)
        if first is not None and second is not None:
            value = criteria.simplified_silhouette(first, second, weight)
            found["simplified_silhouette"] = Measurement(value)
        stats = self._subject.stats(model)
        if stats is not None:
            found["calinski_harabasz"] = Measurement(criteria.calinski_harabasz(stats))
            if first is not None:
                away = self._rows.lengths(first)
                found["davies_bouldin"] = Measurement(
                    _davies_bouldin(model, stats, away, labels, weight)
                )
            found["bic"] = Measurement(criteria.bic(stats))
        return found

    def _silhouette(self, model: Any, labels: Array) -> dict[str, Measurement]:
        """By all pairs of rows; or of some rows of every cluster, so that small ones have a say."""
        rows, weight = self._rows, self._rows.weight
        share = None
        if not self._all:
            some = first_of_each(labels, max(2, -(-self._size // (int(labels.max()) + 1))))
            share = _shares(labels, some, weight)
            rows, labels = rows.take(some), labels[some]
        held = np.bincount(labels)
        count = int(np.count_nonzero(held))
        if not 2 <= count < len(labels):
            return {"silhouette": Measurement(math.nan)}
        number = np.cumsum(held > 0) - 1  # without the clusters that have no row here
        partition = Partition.of(number[labels], count, rows.weight)
        pairs = self._pairs_of(rows, model)
        if pairs is None:
            return {}
        values = partition.values(pairs.means(partition))
        if share is None:
            return {"silhouette": Measurement(float(np.average(values, weights=partition.weight)))}
        return {"silhouette": _stratified(values, number[labels], share)}

    def _pairs_of(self, rows: SweepProblem, model: Any) -> PairwiseDistances | None:
        if self._pairs is not None:
            return self._pairs
        if (given := rows.between(model)) is None:
            return None
        pairs = PairwiseDistances(*given, self._workers)
        if self._all:  # the same for every fit
            self._pairs = pairs
        return pairs


def first_of_each(labels: Array, most: int) -> Ints:
    """The first rows of every cluster, up to `most` of each."""
    order = np.argsort(labels, kind="stable")
    start = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    place = np.arange(len(labels)) - start[labels[order]]
    return np.sort(order[place < most])


def _shares(labels: Array, some: Ints, weight: Floats | None) -> Floats:
    """What each of some rows stands for: its share of the weight of its cluster."""
    whole = np.bincount(labels, weight)
    own = np.ones(len(some)) if weight is None else weight[some]
    part = np.bincount(labels[some], own, minlength=len(whole))
    factor = np.divide(whole, part, out=np.zeros_like(part), where=part > 0)
    return np.asarray(own * factor[labels[some]])


def _stratified(values: Floats, labels: Array, share: Floats) -> Measurement:
    """The mean of values that stand for different shares, and its standard error by cluster."""
    mass = np.bincount(labels, share)
    mean = np.bincount(labels, share * values) / mass
    spread = np.bincount(labels, share * (values - mean[labels]) ** 2) / mass
    each = mass / mass.sum()
    error = float(np.sqrt((each**2 * spread / np.bincount(labels)).sum()))
    return Measurement(float(each @ mean), error)


def _davies_bouldin(
    model: Any, stats: ClusterStats, away: Floats, labels: Array, weight: Floats | None
) -> float:
    """About the centers: those of directions are no means."""
    centers = np.asarray(model.cluster_centers_, dtype=np.float64)
    spread = criteria.mean_distances(away, labels, len(centers), weight)
    return criteria.davies_bouldin(replace(stats, mean=centers), spread)
