"""Who is diagnosed: which kind of model, what it knows, and what cannot be asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita._common.threads import Workers
from partita.estimators import labelling, validation
from partita.estimators.base import Clusterer
from partita.estimators.center_clusterer import CenterClusterer
from partita.estimators.fitted_models import LabelledRows, goes_down_a_tree, unwrap_pipeline
from partita.estimators.kernel.estimator import KernelKMeans
from partita.estimators.kernel.kernel_input import GIVEN
from partita.estimators.medoids.estimator import KMedoids
from partita.estimators.medoids.metric import EUCLIDEAN_METRICS, has_flat_cells
from partita.estimators.spherical import SphericalKMeans

# What a look may need, and a kind of model may lack
ROWS = "rows"  # X is a table with one row per sample
FEATURES = "features"  # the features add up in the distance, each on its scale
SPACE = "space"  # clusters lie in the space of the rows, distances are Euclidean
CELLS = "cells"  # a row belongs to its nearest center
MEANS = "means"  # centers are means
REFIT = "refit"  # it can be fitted again

_ADDING = (*EUCLIDEAN_METRICS, "manhattan", "cityblock", "l1", "minkowski", "chebyshev")
_K_MEANS = ("KMeans", "MiniBatchKMeans", "BisectingKMeans")  # whoever wrote them
AT_REST = 1e-3  # of J: what moving centers to the means may save at most, if that is what they are
_SMOOTH = ("rbf", "laplacian", "linear", "polynomial", "poly", "sigmoid")


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A fitted model as the looks see it."""

    model: Any
    k: int
    names: tuple[str | int, ...]
    centers: Floats | None  # (k, d), in the space of the rows
    lacks: dict[str, str]  # what cannot be asked of it, and why
    threads: int

    @property
    def kind(self) -> str:
        """The name of its class."""
        return type(self.model).__name__


@dataclass(frozen=True, slots=True)
class DiagnosisInput:
    """What came in: a subject, its rows, their labels, and which of X they are."""

    facts: ModelFacts
    rows: Any
    labels: Ints
    index: Ints
    n: int  # rows of X
    weight: Floats | None  # (n,), as it was given


def read_diagnosis_input(model: Any, X: Any, sample_weight: Any = None) -> DiagnosisInput:
    """Check a model and its data, and find the label of every row."""
    model, X, before = unwrap_pipeline(model, X)
    _check_model(model)
    lacks = _lacks(model)
    if ROWS in lacks:
        return _matrix(model, lacks, sample_weight)
    names, rows = _rows(model, X)
    names = before if names is None else names
    threads = validation.check_threads(getattr(model, "n_threads", None))
    with Workers(threads) as workers:
        validation.check_finite(validation.make_source(rows, None, workers), rows, names)
    n, index = rows.shape[0], np.arange(rows.shape[0])
    weight = validation.check_weights(sample_weight, n)
    centers = _centers(model, rows.shape[1])
    if isinstance(model, SphericalKMeans):
        found = model._again(X)
        rows, index = found.rows, index[found.some]
    labels = _labels(model, X, rows, centers, index)
    unit = square_scale(largest_magnitude(*(x for x in (rows, centers) if x is not None)))
    rows, centers = scaled(rows, unit), None if centers is None else scaled(centers, unit)
    if MEANS not in lacks and not _are_means(model, rows, centers, weight):
        lacks |= dict.fromkeys((MEANS, REFIT), "its centers are not the means of its clusters")
    k = _count(model, labels) if centers is None else len(centers)
    some = labels >= 0  # what is left without a cluster is noise
    if not some.all():
        rows, labels, index = rows[some], labels[some], index[some]
    if rows.shape[0] == 0:
        raise ValueError("no row of X belongs to a cluster; there is nothing to look at")
    shown: tuple[str | int, ...] = tuple(range(rows.shape[1]))
    if names is not None:
        shown = tuple(str(name) for name in names)
    return DiagnosisInput(
        ModelFacts(model, k, shown, centers, lacks, threads), rows, labels, index, n, weight
    )


def _check_model(model: Any) -> None:
    if any(getattr(model, name, None) is not None for name in ("cluster_centers_", "labels_")):
        return
    if hasattr(model, "fit") and not isinstance(model, type):
        check_is_fitted(model)
    raise ValueError(
        f"model is a {type(model).__name__} without cluster_centers_ or labels_; a fitted model "
        "that has one of them is expected"
    )


def _count(model: Any, labels: Ints) -> int:
    """How many clusters labels stand for; of our own models also those without rows."""
    found = int(labels.max(initial=-1)) + 1
    return max(found, model._n_features_out) if isinstance(model, Clusterer) else found


def _are_means(model: Any, rows: Any, centers: Any, weight: Floats | None) -> bool:
    """Whether centers are means: by the name of the model, or as far as its labels tell.

    Exemplars and modes are none, and moving them to the means would be no step of the search.
    """
    own = getattr(model, "labels_", None)
    if isinstance(model, CenterClusterer) or type(model).__name__ in _K_MEANS or own is None:
        return True
    own, n = np.asarray(own), rows.shape[0]
    if own.shape != (n,) or not own.max() < len(centers):
        return False
    mass = np.where(own < 0, 0.0, np.ones(n) if weight is None else weight)
    stats = LabelledRows(rows, own, mass, len(centers)).stats()
    before, after = float(stats.cost_at(centers).sum()), float(stats.sse.sum())
    return before - after <= AT_REST * before


def _lacks(model: Any) -> dict[str, str]:
    """What a kind of model lacks, with the reason in words."""
    if isinstance(model, KernelKMeans):
        if isinstance(model.kernel, str) and model.kernel in GIVEN:
            return dict.fromkeys(
                (ROWS, FEATURES, SPACE, CELLS, MEANS, REFIT),
                "a matrix was given in place of rows",
            )
        why = "the clusters of a kernel do not lie in the space of the rows"
        lacks = dict.fromkeys((SPACE, CELLS, MEANS), why)
        if model.kernel not in _SMOOTH:
            lacks[FEATURES] = "the kernel decides what a feature counts"
        return lacks
    if isinstance(model, KMedoids):
        if model.cluster_centers_ is None:
            return dict.fromkeys(
                (ROWS, FEATURES, SPACE, CELLS, MEANS, REFIT),
                "a matrix was given in place of rows",
            )
        lacks = {MEANS: "medoids are rows, not means"}
        if not has_flat_cells(model.metric, model.metric_params):
            lacks |= dict.fromkeys((SPACE, CELLS), "the metric is not the Euclidean one")
        if model.metric not in _ADDING:
            lacks[FEATURES] = "the metric decides what a feature counts"
        return lacks
    if isinstance(model, SphericalKMeans):
        why = "only the direction of a row counts"
        return {FEATURES: why, MEANS: "centers are directions, not means"}
    if getattr(model, "cluster_centers_", None) is None:
        why = "the model has labels but no centers"
        return {CELLS: why, MEANS: why, REFIT: why}
    if goes_down_a_tree(model):
        return {CELLS: "rows are assigned down a tree, not to the nearest center"}
    return {}


def _matrix(model: Any, lacks: dict[str, str], sample_weight: Any) -> DiagnosisInput:
    """A subject of which only labels are known: the rows stand for nothing."""
    labels = np.asarray(model.labels_)
    n, k = len(labels), int(model._n_features_out)
    weight = validation.check_weights(sample_weight, n)
    subject = ModelFacts(model, k, (0,), None, lacks, 1)
    return DiagnosisInput(subject, np.zeros((n, 1)), labels, np.arange(n), n, weight)


def _rows(model: Any, X: Any) -> tuple[Any, Any]:
    """The names of the features, if any, and X as the engine takes it."""
    if hasattr(model, "n_features_in_") and hasattr(model, "__sklearn_tags__"):
        rows = validation.check_new_rows(model, X)
        names = getattr(model, "feature_names_in_", None)
        return names, rows
    return validation.feature_attributes(X).get("feature_names_in_"), validation.as_rows(
        X, "diagnose"
    )


def _centers(model: Any, d: int) -> Floats | None:
    found = getattr(model, "cluster_centers_", None)
    if found is None:
        return None
    centers = validation.as_centers(found, "model", "k", d)
    if not len(centers):
        raise ValueError("the model found no clusters; there is nothing to look at")
    if centers.shape[1] != d:
        raise ValueError(
            f"the model's centers have the shape {centers.shape}, but X has {d} features; give the "
            "data that it was fitted to, or data with the same features"
        )
    return centers


def _labels(model: Any, X: Any, rows: Any, centers: Floats | None, index: Ints) -> Ints:
    """The cluster of every row; by the centers, where they decide it."""
    nearest = not goes_down_a_tree(model)
    if isinstance(model, KMedoids):
        nearest = has_flat_cells(model.metric, model.metric_params)
    if centers is not None and nearest:
        threads = getattr(model, "n_threads", None)
        return labelling.nearest(rows, centers, threads, None)
    own = getattr(model, "labels_", None)
    if own is not None and len(own) == rows.shape[0]:
        return np.asarray(own).astype(np.int32)
    if hasattr(model, "predict"):
        return np.asarray(model.predict(X)).astype(np.int32)[index]
    raise ValueError(
        f"the model has labels of {0 if own is None else len(own)} rows, but X has "
        f"{rows.shape[0]}; give the data that it was fitted to"
    )
