"""Read a model and its data: the label of every row, and what the checks may use of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import describe_value
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita._common.random_state import generator
from partita._common.threads import Workers
from partita.diagnosis.fit_context import MAX_GAIN_OF_MEANS, SEVERAL_CLUSTERS, FitContext
from partita.estimators import labelling, validation
from partita.estimators.capabilities import CELLS, MEANS, REFIT, ROWS, lacking
from partita.estimators.fitted_models import (
    LabelledRows,
    capabilities_of,
    complete_rows,
    count_clusters,
    unwrap_pipeline,
    without_feature_names,
)
from partita.estimators.pipeline_scaling import pipeline_scaling, scaled_by
from partita.estimators.table_rows import rows_for, takes_categories
from partita.exact_weights import as_repeats
from partita.source.column_table import ColumnTable


def read_fit(model: Any, X: Any, sample_weight: Any, random_state: Any) -> FitContext:
    """Check the input, and keep the rows that have weight and a label."""
    entropy = int(generator(random_state).integers(2**63))
    scaling = scaled_by(pipeline_scaling(model))
    model, X, names = unwrap_pipeline(model, X)
    _check_model(model)
    lacks, table, missing = dict(capabilities_of(model).lacks), None, None
    if ROWS in lacks:  # only the labels are known; the rows are placeholders
        labels, centers = np.asarray(model.labels_), None
        n, rows = len(labels), np.zeros((len(labels), 1))
        index: Ints = np.arange(n)
        weight = validation.check_weights(sample_weight, n)
    elif takes_categories(model):
        table, centers = rows_for(model, X, "diagnose"), None
        labels = np.asarray(without_feature_names(model).predict(table)).astype(np.int32)
        rows, names = _compared(model, table)
        n, index = len(rows), np.arange(len(rows))
        weight = validation.check_weights(sample_weight, n)
    else:
        rows, names, missing = _rows(model, X, names)
        n = rows.shape[0]
        weight = validation.check_weights(sample_weight, n)
        rows, index, labels, centers = _labelled(model, X, rows)
        if capabilities_of(model).assumes_means and not _are_means(model, rows, centers, weight):
            lacks |= lacking("its centers are not the means of its clusters", MEANS, REFIT)
    k = max(count_clusters(model), int(labels.max(initial=-1)) + 1)
    if k < 2:
        lacks[SEVERAL_CLUSTERS] = "there is one cluster only"
    if not (labels >= 0).any():
        raise ValueError("No row of X belongs to a cluster. Give rows that the model can label.")
    counts = as_repeats(weight, n)[index]
    kept = (labels >= 0) & (counts > 0)
    if not kept.any():
        raise ValueError("No row of X has both a weight > 0 and a cluster. Check sample_weight.")
    if not kept.all():
        rows, labels, index, counts = rows[kept], labels[kept], index[kept], counts[kept]
        table = None if table is None else table[kept]
    shown = range(rows.shape[1]) if names is None else map(str, names)
    return FitContext(
        model, k, tuple(shown), centers, lacks, rows, counts, labels, index, n, entropy, scaling,
        missing=None if missing is None else missing[index], table=table,
    )  # fmt: skip


def _compared(model: Any, table: ColumnTable) -> tuple[Any, Any]:
    """Rows of numbers and categories as the model compares them, and the names of its columns."""
    pairs = capabilities_of(model).pairs
    assert pairs is not None
    rows = np.asarray(pairs(table)[0], dtype=np.float64)
    return rows, table.names if len(table.names) == rows.shape[1] else None


def _check_model(model: Any) -> None:
    if any(getattr(model, name, None) is not None for name in ("cluster_centers_", "labels_")):
        return
    if hasattr(model, "fit") and not isinstance(model, type):
        check_is_fitted(model)
    raise ValueError(
        f"`model` must be a fitted model with cluster_centers_ or labels_, got "
        f"{describe_value(model)}. Give for example KMeans(8).fit(X)."
    )


def _rows(model: Any, X: Any, names: Any) -> tuple[Any, Any, Array | None]:
    """The checked rows of X, the names of their features, and flags of missing values, if any."""
    if hasattr(model, "n_features_in_") and hasattr(model, "__sklearn_tags__"):
        rows, own = validation.check_new_rows(model, X), getattr(model, "feature_names_in_", None)
    else:
        own = validation.feature_attributes(X).get("feature_names_in_")
        rows = validation.as_rows(X, "diagnose")
    names = names if own is None else own
    complete, missing = complete_rows(model, rows), None
    if complete is not rows:
        rows, missing = complete, np.isnan(rows)
    with Workers(validation.check_threads(getattr(model, "n_threads", None))) as workers:
        validation.check_finite(validation.make_source(rows, None, workers), rows, names)
    return rows, names, missing


def _labelled(model: Any, X: Any, rows: Any) -> tuple[Any, Ints, Ints, Floats | None]:
    """Rows as the model compares them, their index in X, their labels, and the centers."""
    capabilities, index = capabilities_of(model), np.arange(rows.shape[0])
    centers = _centers(model, rows.shape[1])
    if capabilities.place_rows is not None:
        rows, index = capabilities.place_rows(X)
    labels = _labels(model, X, rows, centers if capabilities.has(CELLS) else None, index)
    unit = square_scale(largest_magnitude(*(x for x in (rows, centers) if x is not None)))
    return scaled(rows, unit), index, labels, None if centers is None else scaled(centers, unit)


def _centers(model: Any, d: int) -> Floats | None:
    own = getattr(model, "cluster_centers_", None)
    if own is None:
        return None
    centers = validation.as_centers(own, "model", "k", d)
    if not len(centers):
        raise ValueError("`model` must have at least one cluster, got none.")
    if centers.shape[1] != d:
        raise ValueError(
            f"`X` must have {centers.shape[1]} features, as the model's centers, got {d}. Give "
            "the data that it was fitted to, or data with the same features."
        )
    return centers


def _labels(model: Any, X: Any, rows: Any, centers: Floats | None, index: Ints) -> Ints:
    """The cluster of every row, by its nearest center if the centers decide it."""
    of_fit = capabilities_of(model).labels_of_fit if hasattr(model, "predict") else None
    known = None if of_fit is None else of_fit(X)
    if known is not None and len(known) == rows.shape[0]:
        return known
    if centers is not None:
        return labelling.nearest(rows, centers, getattr(model, "n_threads", None), None)
    own = getattr(model, "labels_", None)
    if own is not None and len(own) == rows.shape[0]:
        return np.asarray(own).astype(np.int32)
    if hasattr(model, "predict"):
        return np.asarray(model.predict(X)).astype(np.int32)[index]
    raise ValueError(
        f"`X` must have {0 if own is None else len(own)} rows, one per label of the model, got "
        f"{rows.shape[0]}. Give the data that it was fitted to."
    )


def _are_means(model: Any, rows: Any, centers: Any, weight: Floats | None) -> bool:
    """Return whether centers are means, as far as the labels of the fit show.

    Exemplars and modes are not, and moving them to the means would not be a step of the search.
    """
    own, n = getattr(model, "labels_", None), rows.shape[0]
    if own is None or centers is None:
        return True
    own = np.asarray(own)
    if own.shape != (n,) or not own.max() < len(centers):
        return False
    counted = np.where(own < 0, 0.0, np.ones(n) if weight is None else weight)
    stats = LabelledRows(rows, own, counted, len(centers)).stats()
    before, after = float(stats.cost_at(centers).sum()), float(stats.sse.sum())
    return before - after <= MAX_GAIN_OF_MEANS * before
