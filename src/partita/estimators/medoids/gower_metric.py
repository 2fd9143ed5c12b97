"""Gower's dissimilarity as a metric of `KMedoids`: tables of numbers and categories with gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import Got, must_be
from partita._common.text import listed, plural
from partita._common.threads import Workers
from partita.estimators import validation
from partita.estimators.medoids import gower_columns as columns
from partita.estimators.medoids.gower_columns import GowerColumn, learn_columns, read_wishes
from partita.estimators.mixed_input import (
    as_table,
    check_mixed_fit,
    check_mixed_rows,
    features_state,
    restored_features,
)
from partita.estimators.saved_state import FieldReader
from partita.source.gower_table import FeatureKinds, GowerTable
from partita.source.mixed_rows import MixedFeatures, MixedRows, MixedView

CANDIDATE_SHARE = 0.1  # of the weight that may be medoids, at least


@dataclass(frozen=True, slots=True, eq=False)
class GowerMetric:
    """Gower's dissimilarity with the ranges, ranks and levels of a fit.

    Rows are coded as the kernel takes them: numbers and ranks in [0, weight], then nominal codes,
    then presences; columns of weight 0 are left out.
    """

    features: MixedFeatures
    columns: tuple[GowerColumn, ...]

    metric = "gower"

    @property
    def kinds(self) -> FeatureKinds:
        """The kinds of the coded columns."""
        ordered = [self.columns[t] for t in self._order]
        numbers = sum(column.has_range for column in ordered)
        nominal = sum(column.kind == columns.NOMINAL for column in ordered)
        return FeatureKinds(np.array([column.weight for column in ordered]), numbers, nominal)

    @property
    def _order(self) -> list[int]:
        """The columns of positive weight, in the order of the kernel."""
        counted = [t for t, column in enumerate(self.columns) if column.weight > 0]
        rank = {kind: max(i - 1, 0) for i, kind in enumerate(columns.KINDS)}
        return sorted(counted, key=lambda t: rank[self.columns[t].kind])

    def coded(self, rows: MixedRows) -> Floats:
        """Return rows as the kernel takes them (n, d); every row must have a value."""
        place = {t: i for i, t in enumerate(self.features.number_columns.tolist())}
        place |= {t: i for i, t in enumerate(self.features.category_columns.tolist())}
        out = np.empty((rows.n, len(self._order)))
        for i, t in enumerate(self._order):
            table = rows.numbers if self.features.levels[t] is None else rows.codes
            out[:, i] = self.columns[t].coded(table[:, place[t]])
        empty = np.flatnonzero(np.isnan(out).all(axis=1))
        if len(empty):
            wanted = "a table with at least one value in every row"
            got = Got(f"nothing but gaps in {plural(len(empty), 'row')}: {listed(empty.tolist())}")
            raise must_be("X", wanted, got, "Drop these rows.")
        return out

    def new_rows(self, estimator: Any, X: Any) -> Floats:
        """Return rows for a fitted estimator, checked and coded."""
        return self.coded(check_mixed_rows(estimator, X, self.features))

    def rows_at(self, estimator: Any, X: Any, places: Ints) -> Array:
        """Return some rows of X as the centers of a model."""
        return self.features.decode(check_mixed_rows(estimator, X, self.features).take(places))

    def view(self, estimator: Any, X: Any) -> MixedView:
        """Return rows as descriptions and displays need them."""
        return self.features.view(check_mixed_rows(estimator, X, self.features))

    def compared(self, centers: Any) -> Floats:
        """Return the centers of a model, coded."""
        return self.coded(self.features.encode(centers))

    def candidates(self, rows: Floats, weight: Floats | None) -> Array:
        """Return which coded rows (n,) may be medoids: the tenth with the fewest gaps, and ties.

        Gaps are skipped, so a row with some is near all others, and a poor example of any group.
        """
        gaps = np.isnan(rows).sum(axis=1)
        below = np.cumsum(np.bincount(gaps, weight))
        is_candidate: Array = gaps <= np.searchsorted(below, CANDIDATE_SHARE * below[-1])
        return is_candidate

    def table(self, rows: Floats, workers: Workers, task: int = 0) -> GowerTable:
        """Return the table of coded rows."""
        del task  # the kernel needs no memory of its own
        return GowerTable(rows, self.kinds, workers)

    def between(self, rows: Floats, centers: Floats, workers: Workers) -> tuple[Floats, float]:
        """Return the dissimilarities (n, k) of coded rows, and their unit."""
        return self.table(rows, workers).to_rows(centers).T, 1.0


def learn_gower(
    estimator: Any, X: Any, params: Any, sample_weight: Any
) -> tuple[MixedRows, GowerMetric, dict[str, Any]]:
    """Return the rows of a fit, the metric they define, and the attributes of features.

    Rows of weight 0 define no range.
    """
    X = as_table(X, type(estimator).__name__)
    wishes = read_wishes(params, X)
    rows, features, attributes = check_mixed_fit(estimator, X, wishes.read_as_categories)
    weight = validation.check_weights(sample_weight, rows.n)
    counted = np.ones(rows.n, bool) if weight is None else weight > 0
    features = wishes.widened(features)
    return rows, GowerMetric(features, learn_columns(rows, features, wishes, counted)), attributes


# --- model files ----------------------------------------------------------------------------------


def gower_state(metric: GowerMetric) -> dict[str, Any]:
    """Return what a fit learned as plain values."""
    learned = metric.columns
    return {
        "name": metric.metric,
        "features": features_state(metric.features),
        "kinds": [column.kind for column in learned],
        "weights": np.array([column.weight for column in learned]),
        "low": np.array([column.low for column in learned]),
        "high": np.array([column.high for column in learned]),
        "values": [column.values.tolist() for column in learned],
    }


def restored_gower(saved: FieldReader, d: int) -> GowerMetric:
    """Return the metric of a file, checked."""
    features = restored_features(saved.nested("features"), d)
    kinds, values = saved.texts("kinds", d), saved.everything().get("values")
    weights, low, high = (saved.floats(name, (d,)) for name in ("weights", "low", "high"))
    if not ((weights >= 0).all() and weights.max() == 1 and (low <= high).all()):
        raise ValueError("weights must be from 0 to 1, and low at most high")
    if not isinstance(values, list) or len(values) != d:
        raise ValueError(f"values must be {d} lists")
    restored = []
    for t, kind in enumerate(kinds):
        ranges = float(weights[t]), _restored_values(kind, values[t], features.levels[t])
        restored.append(GowerColumn(kind, *ranges, float(low[t]), float(high[t])))
    return GowerMetric(features, tuple(restored))


def _restored_values(kind: str, values: Any, levels: Any) -> Floats:
    """Return what the levels of a column stand for; native code needs no more than their number."""
    found = np.array(values, dtype=np.float64)
    is_number = levels is None
    allowed = columns.NUMBER_KINDS if is_number else columns.CATEGORY_KINDS
    if kind not in allowed or found.ndim != 1:
        raise ValueError(f"kinds must be among {allowed}")
    if is_number and not (np.isfinite(found).all() and (np.diff(found) > 0).all()):
        raise ValueError("values of an ordinal column must ascend")
    if not is_number and len(found) != len(levels) + 1:
        raise ValueError("values must be one for each level, and one for others")
    return found
