"""The criteria of one fit, whatever member of the family made it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from partita._threads import Workers
from partita._typing import Array, Floats
from partita.choosing import criteria
from partita.choosing.ladder import Rung
from partita.choosing.silhouette import _Rows
from partita.choosing.subject import Subject
from partita.engine.silhouette import Partition
from partita.source.blocks import evenly

_FLAT = 32  # features
_ENOUGH = 1 << 14  # rows whose distances to centers say as much as those of all
_WORK = 2e10  # n²·fits·features: up to some seconds, all pairs of rows are looked at


class Value(NamedTuple):
    """A criterion of one fit, and its standard error where it was sampled."""

    value: float
    error: float = 0.0


class Measures:
    """Measures fits of the same rows; silhouettes by all pairs of them, or by those of a sample."""

    def __init__(
        self, subject: Subject, fits: int, size: int, rng: np.random.Generator, workers: Workers
    ) -> None:
        self._subject, self._workers = subject, workers
        features = 1 if subject.pairwise else subject.X.shape[1] + 8  # a root costs as eight do
        self._pairs: _Rows | None = None
        self._drawn = self._few = subject  # the rows of silhouettes, and of distances to centers
        if subject.n > size and float(subject.n) ** 2 * fits * features > _WORK:
            self._drawn = subject.take(np.sort(rng.choice(subject.n, size, replace=False)))
        if subject.n > _ENOUGH:
            self._few = subject.take(evenly(subject.n, _ENOUGH))

    def of(self, rung: Rung, names: Sequence[str]) -> dict[str, Value]:
        """The criteria that this member has, of those that were asked for."""
        subject, model, workers = self._subject, rung.model, self._workers
        found = {"inertia": Value(rung.cost)}
        if "silhouette" in names and (pairs := self._all_pairs(model)) is not None:
            found["silhouette"] = self._silhouette(pairs, self._drawn.clusters(model, workers))
        near = self._few.nearest(model, workers) if rung.k > 1 else None
        if near is not None:
            value = criteria.simplified_silhouette(*near, self._few.weight)
            found["simplified_silhouette"] = Value(value)
        stats = subject.stats(model)
        if stats is not None:
            found["calinski_harabasz"] = Value(criteria.calinski_harabasz(stats))
            if near is not None:
                away, k = subject.lengths(near[0]), len(stats.weight)
                labels = self._few.clusters(model, workers)
                spread = criteria.mean_distances(away, labels, k, self._few.weight)
                found["davies_bouldin"] = Value(criteria.davies_bouldin(stats, spread))
            found["bic"] = Value(criteria.bic(stats))
        return found

    def _silhouette(self, pairs: _Rows, labels: Array) -> Value:
        held = np.bincount(labels)
        count = int(np.count_nonzero(held))
        if not 2 <= count < len(labels):
            return Value(math.nan)
        number = np.cumsum(held > 0) - 1  # without the clusters that have no row here
        partition = Partition.of(number[labels], count, self._drawn.weight)
        values = partition.values(pairs.means(partition))
        mean = float(np.average(values, weights=partition.weight))
        whole = self._drawn is self._subject
        return Value(mean, 0.0 if whole else float(np.std(values) / math.sqrt(len(values))))

    def _all_pairs(self, model: Any) -> _Rows | None:
        """Rows, to be measured again for every fit, or their dissimilarities, measured once."""
        if self._pairs is None:
            if (given := self._drawn.between(model)) is None:
                return None
            X, metric = given
            if self._drawn is not self._subject and not _quickly_measured(X, metric):
                X, metric = _measured(X, metric), "precomputed"
            self._pairs = _Rows(X, metric, self._workers)
        return self._pairs


def _quickly_measured(X: Any, metric: Any) -> bool:
    """Whether measuring all pairs takes no longer than reading them from a matrix."""
    if not isinstance(metric, str) or sp.issparse(X):
        return False
    return metric == "precomputed" or (metric in ("euclidean", "cosine") and X.shape[1] <= _FLAT)


def _measured(X: Any, metric: Any) -> Floats:
    from sklearn.metrics import pairwise_distances

    found = pairwise_distances(X, metric=metric)
    found = np.maximum(found, found.T)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)
