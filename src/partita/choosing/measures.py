"""The criteria of one fit, whatever member of the family made it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from partita._threads import Workers
from partita._typing import Array, Floats, Ints
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
        self._rows: Ints | None = None  # of the sample
        if subject.n > size and float(subject.n) ** 2 * fits * features > _WORK:
            self._rows = np.sort(rng.choice(subject.n, size, replace=False))
        self._pairs: _Rows | None = None
        some = evenly(subject.n, _ENOUGH) if subject.n > _ENOUGH else None
        self._some, self._few = some, subject if some is None else subject.take(some)

    def of(self, rung: Rung, names: Sequence[str]) -> dict[str, Value]:
        """The criteria that this member has, of those that were asked for."""
        subject, model = self._subject, rung.model
        labels = model.labels_
        if len(labels) > subject.n:  # rows without direction belong nowhere
            labels = labels[(labels >= 0) & (labels < rung.k)]
        found = {"inertia": Value(rung.cost)}
        if "silhouette" in names and (pairs := self._all_pairs(model)) is not None:
            found["silhouette"] = self._silhouette(pairs, labels)
        near = self._few.nearest(model, self._workers) if rung.k > 1 else None
        if near is not None:
            value = criteria.simplified_silhouette(*near, self._few.weight)
            found["simplified_silhouette"] = Value(value)
        stats = subject.stats(model)
        if stats is not None:
            found["calinski_harabasz"] = Value(criteria.calinski_harabasz(stats))
            if near is not None:
                away, k = subject.lengths(near[0]), len(stats.weight)
                part = labels if self._some is None else labels[self._some]
                spread = criteria.mean_distances(away, part, k, self._few.weight)
                found["davies_bouldin"] = Value(criteria.davies_bouldin(stats, spread))
            found["bic"] = Value(criteria.bic(stats))
        return found

    def _silhouette(self, pairs: _Rows, labels: Array) -> Value:
        part, weight = labels, self._subject.weight
        if self._rows is not None:
            part = labels[self._rows]
            weight = None if weight is None else weight[self._rows]
        held = np.bincount(part)
        count = int(np.count_nonzero(held))
        if not 2 <= count < len(part):
            return Value(math.nan)
        number = np.cumsum(held > 0) - 1  # without the clusters that have no row here
        partition = Partition.of(number[part], count, weight)
        values = partition.values(pairs.means(partition))
        mean = float(np.average(values, weights=partition.weight))
        if self._rows is None:
            return Value(mean)
        return Value(mean, float(np.std(values) / math.sqrt(len(values))))

    def _all_pairs(self, model: Any) -> _Rows | None:
        """Rows, to be measured again for every fit, or their dissimilarities, measured once."""
        if self._pairs is None:
            subject = self._subject if self._rows is None else self._subject.take(self._rows)
            if (given := subject.between(model)) is None:
                return None
            X, metric = given
            if self._rows is not None and not _quickly_measured(X, metric):
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
