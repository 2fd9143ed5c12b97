"""The model that is diagnosed: its capabilities, its centers, and its labels of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita._common.threads import Workers
from partita.estimators import labelling, validation
from partita.estimators.capabilities import CELLS, MEANS, REFIT, ROWS, Capabilities, lacking
from partita.estimators.fitted_models import (
    LabelledRows,
    capabilities_of,
    count_clusters,
    unwrap_pipeline,
)

MAX_GAIN_OF_MEANS = 1e-3  # of J: centers are means if moving them there saves at most this share


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A fitted model as the checks use it."""

    model: Any
    k: int
    names: tuple[str | int, ...]
    centers: Floats | None  # (k, d), in the space of the rows
    lacks: dict[str, str]  # needs that the model does not meet, with the reason
    threads: int
    exact_sums: bool = False

    @property
    def kind(self) -> str:
        """The name of the model's class."""
        return type(self.model).__name__


@dataclass(frozen=True, slots=True)
class DiagnosisInput:
    """A model with its rows, their labels, and their index in X."""

    facts: ModelFacts
    rows: Any
    labels: Ints
    index: Ints
    n: int  # rows of X
    weight: Floats | None  # (n,), as given


def read_diagnosis_input(model: Any, X: Any, sample_weight: Any = None) -> DiagnosisInput:
    """Check a model and its data, and find the label of every row."""
    model, X, names_of_pipeline = unwrap_pipeline(model, X)
    _check_model(model)
    capabilities = capabilities_of(model)
    if not capabilities.has(ROWS):
        return _matrix_input(model, capabilities, sample_weight)
    names, rows = _rows(model, X)
    names = names_of_pipeline if names is None else names
    threads = validation.check_threads(getattr(model, "n_threads", None))
    with Workers(threads) as workers:
        validation.check_finite(validation.make_source(rows, None, workers), rows, names)
    n, index = rows.shape[0], np.arange(rows.shape[0])
    weight = validation.check_weights(sample_weight, n)
    centers = _centers(model, rows.shape[1])
    if capabilities.place_rows is not None:
        rows, index = capabilities.place_rows(X)
    labels = _labels(model, X, rows, None if not capabilities.has(CELLS) else centers, index)
    unit = square_scale(largest_magnitude(*(x for x in (rows, centers) if x is not None)))
    rows, centers = scaled(rows, unit), None if centers is None else scaled(centers, unit)
    lacks = dict(capabilities.lacks)
    if capabilities.assumes_means and not _are_means(model, rows, centers, weight):
        lacks |= lacking("its centers are not the means of its clusters", MEANS, REFIT)
    k = max(count_clusters(model), int(labels.max(initial=-1)) + 1)
    labelled = labels >= 0  # rows without a cluster are noise
    if not labelled.all():
        rows, labels, index = rows[labelled], labels[labelled], index[labelled]
    if rows.shape[0] == 0:
        raise ValueError("No row of X belongs to a cluster. Give rows that the model can label.")
    shown: tuple[str | int, ...] = tuple(range(rows.shape[1]))
    if names is not None:
        shown = tuple(str(name) for name in names)
    facts = ModelFacts(model, k, shown, centers, lacks, threads, capabilities.exact_sums)
    return DiagnosisInput(facts, rows, labels, index, n, weight)


def _check_model(model: Any) -> None:
    if any(getattr(model, name, None) is not None for name in ("cluster_centers_", "labels_")):
        return
    if hasattr(model, "fit") and not isinstance(model, type):
        check_is_fitted(model)
    raise ValueError(
        f"`model` must be a fitted model with cluster_centers_ or labels_, got a "
        f"{type(model).__name__} without them."
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


def _matrix_input(model: Any, capabilities: Capabilities, sample_weight: Any) -> DiagnosisInput:
    """A model of which only the labels are known; the rows are placeholders."""
    labels = np.asarray(model.labels_)
    n, index = len(labels), np.flatnonzero(labels >= 0)
    weight = validation.check_weights(sample_weight, n)
    facts = ModelFacts(model, count_clusters(model), (0,), None, dict(capabilities.lacks), 1)
    return DiagnosisInput(facts, np.zeros((len(index), 1)), labels[index], index, n, weight)


def _rows(model: Any, X: Any) -> tuple[Any, Any]:
    """The names of the features, if any, and the checked rows of X."""
    if hasattr(model, "n_features_in_") and hasattr(model, "__sklearn_tags__"):
        rows = validation.check_new_rows(model, X)
        names = getattr(model, "feature_names_in_", None)
        return names, rows
    return validation.feature_attributes(X).get("feature_names_in_"), validation.as_rows(
        X, "diagnose"
    )


def _centers(model: Any, d: int) -> Floats | None:
    own = getattr(model, "cluster_centers_", None)
    if own is None:
        return None
    centers = validation.as_centers(own, "model", "k", d)
    if not len(centers):
        raise ValueError("`model` must have at least one cluster, got none.")
    if centers.shape[1] != d:
        raise ValueError(
            f"X must have {centers.shape[1]} features, as the centers of the model, got {d}. Give "
            "the data that it was fitted to, or data with the same features."
        )
    return centers


def _labels(model: Any, X: Any, rows: Any, centers: Floats | None, index: Ints) -> Ints:
    """The cluster of every row, by its nearest center if the centers decide it."""
    if centers is not None:
        return labelling.nearest(rows, centers, getattr(model, "n_threads", None), None)
    own = getattr(model, "labels_", None)
    if own is not None and len(own) == rows.shape[0]:
        return np.asarray(own).astype(np.int32)
    if hasattr(model, "predict"):
        return np.asarray(model.predict(X)).astype(np.int32)[index]
    raise ValueError(
        f"X must have {0 if own is None else len(own)} rows, one for each label of the model, got "
        f"{rows.shape[0]}. Give the data that it was fitted to."
    )
