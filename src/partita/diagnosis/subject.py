"""Who is diagnosed: which kind of model, what it knows, and what cannot be asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._threads import Workers
from partita._typing import Floats, Ints
from partita.estimators import labelling, validation
from partita.estimators.kernel import KernelKMeans
from partita.estimators.kernel_input import GIVEN
from partita.estimators.medoids import KMedoids
from partita.estimators.spherical import SphericalKMeans

# What a look may need, and a kind of model may lack
ROWS = "rows"  # X is a table with one row per sample
FEATURES = "features"  # the features add up in the distance, each on its scale
SPACE = "space"  # clusters lie in the space of the rows, distances are Euclidean
CELLS = "cells"  # a row belongs to its nearest center
MEANS = "means"  # centers are means
REFIT = "refit"  # it can be fitted again

_STRAIGHT = ("euclidean", "l2", "sqeuclidean")  # metrics whose cells have flat faces
_ADDING = (*_STRAIGHT, "manhattan", "cityblock", "l1", "minkowski", "chebyshev")
_SMOOTH = ("rbf", "laplacian", "linear", "polynomial", "poly", "sigmoid")


@dataclass(frozen=True, slots=True)
class Subject:
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
class Given:
    """What came in: a subject, its rows, their labels, and which of X they are."""

    subject: Subject
    rows: Any
    labels: Ints
    index: Ints
    n: int  # rows of X


def receive(model: Any, X: Any) -> Given:
    """Check a model and its data, and find the label of every row."""
    if not any(getattr(model, name, None) is not None for name in ("cluster_centers_", "labels_")):
        raise ValueError(
            f"model is a {type(model).__name__} without cluster_centers_ or labels_; fit it first"
        )
    lacks = _lacks(model)
    if ROWS in lacks:
        return _matrix(model, lacks)
    names, rows = _rows(model, X)
    threads = validation.check_threads(getattr(model, "n_threads", None))
    with Workers(threads) as workers:
        validation.check_finite(validation.make_source(rows, None, workers), rows, names)
    n, index = rows.shape[0], np.arange(rows.shape[0])
    centers = _centers(model, rows.shape[1])
    if isinstance(model, SphericalKMeans):
        found = model._again(X)
        rows, index = found.rows, index[found.some]
    labels = _labels(model, X, rows, centers, index)
    k = int(labels.max(initial=-1)) + 1 if centers is None else len(centers)
    k = max(k, int(getattr(model, "_n_features_out", k)) if centers is None else k)
    some = labels >= 0  # what is left without a cluster is noise
    if not some.all():
        rows, labels, index = rows[some], labels[some], index[some]
    if rows.shape[0] == 0:
        raise ValueError("no row of X belongs to a cluster; there is nothing to look at")
    shown: tuple[str | int, ...] = tuple(range(rows.shape[1]))
    if names is not None:
        shown = tuple(str(name) for name in names)
    return Given(Subject(model, k, shown, centers, lacks, threads), rows, labels, index, n)


def _lacks(model: Any) -> dict[str, str]:
    """What a kind of model lacks, with the reason in words."""
    if isinstance(model, KernelKMeans):
        if isinstance(model.kernel, str) and model.kernel in GIVEN:
            return dict.fromkeys(
                (ROWS, FEATURES, SPACE, CELLS, MEANS, REFIT), "a matrix was given in place of rows"
            )
        why = "the clusters of a kernel do not lie in the space of the rows"
        lacks = dict.fromkeys((SPACE, CELLS, MEANS), why)
        if model.kernel not in _SMOOTH:
            lacks[FEATURES] = "the kernel decides what a feature counts"
        return lacks
    if isinstance(model, KMedoids):
        if model.cluster_centers_ is None:
            return dict.fromkeys(
                (ROWS, FEATURES, SPACE, CELLS, MEANS, REFIT), "a matrix was given in place of rows"
            )
        lacks = {MEANS: "medoids are rows, not means"}
        if model.metric not in _STRAIGHT:
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
    return {}


def _matrix(model: Any, lacks: dict[str, str]) -> Given:
    """A subject of which only labels are known: the rows stand for nothing."""
    labels = np.asarray(model.labels_)
    n, k = len(labels), int(model._n_features_out)
    rows = np.zeros((n, 1))
    return Given(Subject(model, k, (0,), None, lacks, 1), rows, labels, np.arange(n), n)


def _rows(model: Any, X: Any) -> tuple[Any, Any]:
    """The names of the features, if any, and X as the engine takes it."""
    if hasattr(model, "n_features_in_") and hasattr(model, "__sklearn_tags__"):
        rows = validation.check_again(model, X)
        names = getattr(model, "feature_names_in_", None)
        return names, rows
    return validation.features_of(X).get("feature_names_in_"), validation.as_rows(X, "diagnose")


def _centers(model: Any, d: int) -> Floats | None:
    found = getattr(model, "cluster_centers_", None)
    if found is None:
        return None
    centers = validation.centers_of(found, "model", "k", d)
    if centers.shape[1] != d:
        raise ValueError(
            f"the model's centers have the shape {centers.shape}, but X has {d} features; give the "
            "data that it was fitted to, or data with the same features"
        )
    return centers


def _labels(model: Any, X: Any, rows: Any, centers: Floats | None, index: Ints) -> Ints:
    """The cluster of every row; by the centers, where they decide it."""
    if centers is not None and not (isinstance(model, KMedoids) and model.metric not in _STRAIGHT):
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
