"""`SweepProblem`: an estimator, the rows to cluster, and the facts that criteria need."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers
from partita.choosing.ladder import Ladder, ladder_of
from partita.choosing.value_grid import grid_variance
from partita.estimators import validation
from partita.estimators.capabilities import INNER_PRODUCTS
from partita.estimators.fitted_models import capabilities_of, label_rows
from partita.estimators.labelling import two_nearest
from partita.geometry import EUCLIDEAN, SPHERICAL
from partita.source.column_table import ColumnTable
from partita.source.raw_rows import as_doubles
from partita.source.unit_rows import unit_rows
from partita.stats import ClusterStats

GRID_SAMPLE_ROWS = 1 << 13  # whose values tell whether features lie on a grid
_MAX_DENSE_VALUES = 2e7  # values of sparse rows that may be made dense


class Near(NamedTuple):
    """Labels of rows, and their distances to the nearest and the second nearest center."""

    labels: Array  # (n,)
    first: Floats | None = None  # (n,) None: there are no distances
    second: Floats | None = None  # (n,)


class SweepProblem:
    """Rows with weights, or a matrix between rows, and the estimator to cluster them."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        weight: Floats | None,
        *,
        rows: Ints | None = None,
        unit: float = 1.0,
    ) -> None:
        self.estimator, self._whole, self._weight = estimator, X, weight
        self.unit = unit  # weight of the criteria per weight that models are fitted with
        self._rows = np.arange(X.shape[0]) if rows is None else rows
        self._all = rows is None
        self.capabilities = capabilities_of(estimator)
        self.pairwise = self.capabilities.takes_matrix  # X is a matrix between rows

    @classmethod
    def of(cls, estimator: Any, X: Any, weight: Floats | None, unit: float = 1.0) -> Self:
        """The problem of checked X; directions are compared at unit length."""
        if capabilities_of(estimator).geometry is SPHERICAL:
            X, weight = _directions(X, weight)
        return cls(estimator, X, weight, unit=unit)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self._rows)

    @cached_property
    def X(self) -> Any:
        """The data that the estimator is fitted to."""
        return self._whole if self._all else self._seen_by(self)

    @property
    def weight(self) -> Floats | None:
        """The weights of the rows."""
        return None if self._weight is None else self._weight[self._rows]

    @cached_property
    def mass(self) -> float:
        """The total weight that models are fitted with."""
        return float(self.n) if self.weight is None else exact_total(self.weight) / self.unit

    @cached_property
    def grid_variance(self) -> float:
        """The variance within a step of values on a grid; 0 if distances are not Euclidean."""
        if self.capabilities.geometry is not EUCLIDEAN or sp.issparse(self.X):
            return 0.0
        rows = self.counted
        return grid_variance(as_doubles(self.X[rows[evenly_spaced(len(rows), GRID_SAMPLE_ROWS)]]))

    @property
    def counted(self) -> Ints:
        """The indices of the rows that have weight."""
        weight = self.weight
        return np.arange(self.n) if weight is None else np.flatnonzero(weight > 0)

    def take(self, rows: Ints) -> Self:
        """The same problem for some of the rows."""
        rows = self._rows[rows]
        return type(self)(self.estimator, self._whole, self._weight, rows=rows, unit=self.unit)

    def alone(self) -> Self:
        """These rows as a separate table, whose models are fitted with the weights of criteria."""
        return type(self)(self.estimator, self.X, self.weight)

    def labels(self, model: Any, others: Self) -> Array:
        """Label other rows of the same table by a model that was fitted to these."""
        return np.asarray(model.predict(others._seen_by(self)))

    def _seen_by(self, training: Self) -> Any:
        rows = self._whole[self._rows]
        return rows[:, training._rows] if self.pairwise else rows

    def ladder(self, workers: Workers) -> Ladder:
        """Fits of these rows."""
        return ladder_of(self.estimator, self.X, self.weight, workers)

    def nearest(self, model: Any, workers: Workers) -> Near:
        """Labels and distances of the rows, by a model that was fitted to the whole table."""
        capabilities = capabilities_of(model)
        if capabilities.geometry is not None:
            near = two_nearest(workers, self.X, np.asarray(model.cluster_centers_))
            if capabilities.geometry is SPHERICAL:  # 1 − cos is half of a squared chord
                return Near(near.labels, 0.5 * near.first**2, 0.5 * near.second**2)
            return Near(*near)
        labels = np.asarray(model.labels_)[self._rows]
        if capabilities.distances is None:
            return Near(labels)
        own = (self.X.diagonal(),) if capabilities.input == INNER_PRODUCTS else ()
        rows = self.X if self._all else self._whole[self._rows]  # against the whole table
        distances = capabilities.distances(rows, *own)
        if distances.shape[1] == 1:
            return Near(labels, distances[:, 0], np.full(len(distances), np.inf))
        two = np.partition(distances, 1, axis=1)
        return Near(labels, two[:, 0], two[:, 1])

    def lengths(self, first: Floats) -> Floats:
        """Euclidean distances for those of `nearest`; chords for 1 − cos."""
        spherical = self.capabilities.geometry is SPHERICAL
        return np.asarray(np.sqrt(2.0 * first)) if spherical else first

    def between(self, model: Any) -> tuple[Any, Any] | None:
        """Rows or dissimilarities, and the metric, for silhouettes; None if there are none."""
        capabilities = capabilities_of(model)
        if capabilities.pairs is not None:
            return capabilities.pairs(self.X)
        return None if capabilities.metric is None else (self.X, capabilities.metric)

    def stats(self, model: Any) -> ClusterStats | None:
        """Summaries of the clusters, if their means have coordinates."""
        if self.capabilities.geometry is None:
            return None
        known: ClusterStats | None = getattr(model, "stats_", None)
        if known is None:
            return label_rows(model, self.X, self.weight).stats()
        return known.scaled(self.unit)

    def vectors(self) -> Floats | None:
        """The rows, dense, if they are vectors."""
        if self.capabilities.mixed is not None:
            return None
        if self.pairwise or (sp.issparse(self.X) and np.prod(self.X.shape) > _MAX_DENSE_VALUES):
            return None
        return as_doubles(self.X)

    def category_columns(self, workers: Workers) -> set[int]:
        """The positions of the columns that the estimator takes for categories."""
        view = capabilities_of(self.ladder(workers).first(1).model).mixed
        names = self.X.names or [f"feature {t}" for t in range(self.X.shape[1])]
        numbers = set() if view is None else set(view(self.X).number_names)
        return {t for t, name in enumerate(names) if name not in numbers}

    def like(self, X: Floats | ColumnTable) -> Self:
        """The same problem for other rows, with the same weights."""
        return type(self).of(self.estimator, X, self.weight)


def _directions(X: Any, weight: Floats | None) -> tuple[Any, Floats | None]:
    """The rows that are not zero, at unit length, and their weights."""
    with Workers(validation.check_threads(None)) as workers:
        rows, length = unit_rows(X, workers)
    nonzero = np.flatnonzero(length > 0)
    if len(nonzero) == rows.shape[0]:
        return rows, weight
    return rows[nonzero], None if weight is None else weight[nonzero]
