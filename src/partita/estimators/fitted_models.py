"""Fitted models of any library: their capabilities, their pipelines, their labels of rows."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.parameters import describe_value, is_integer
from partita._common.sparse_format import check_sparse, is_sparse
from partita._common.threads import Workers
from partita.centers import Centers
from partita.estimators import capabilities as needs
from partita.estimators import validation
from partita.estimators.capabilities import FEATURE_SPACE, Capabilities, lacking
from partita.geometry import SPHERICAL
from partita.source.unit_rows import unit_rows
from partita.stats import ClusterStats

# Classes of other libraries whose centers are means
_K_MEANS_NAMES = ("KMeans", "MiniBatchKMeans", "BisectingKMeans")
_BLOCK_ROWS = 1 << 14  # rows that are added to the sums at once


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows as the model compares them, with labels and weights."""

    rows: Any  # (n, d), dense or CSR; at unit length for directions
    labels: Array  # (n,); −1 for rows without a cluster
    weight: Floats  # (n,); 0 for these
    k: int
    gappy: Any = None  # (n, d) with NaN where a value of `rows` was missing; None if none was

    def stats(self) -> ClusterStats:
        """Summarise the clusters; for the rows of a fit, these are the bits of its `stats_`."""
        from partita.engine.lloyd_step import LloydStep  # no other function here needs the engine

        if not self.weight[self.labels >= 0].any():
            return ClusterStats.zero(self.k, self.rows.shape[1])
        weight = np.where(self.labels >= 0, self.weight, 0.0)
        label = np.ascontiguousarray(np.maximum(self.labels, 0), dtype=np.int32)
        with Workers(1) as workers:
            source = validation.make_source(self.rows, weight, workers)
            step = LloydStep(source, self.k)
            for i in range(0, len(label), _BLOCK_ROWS):
                block = np.arange(i, min(i + _BLOCK_ROWS, len(label)))
                step.move(block, label[block])
            zero = Centers(np.zeros((self.k, self.rows.shape[1])), step.origin)
            return step.stats_about(zero)[0].moved(step.origin)

    def squares_to(self, centers: Floats) -> Floats:
        """Squared distances (n,) to the row's own center; 0 for rows without a cluster."""
        if self.rows.shape[0] == 0:
            return np.zeros(0)
        doubles = np.ascontiguousarray(centers, dtype=np.float64)
        label = np.ascontiguousarray(np.maximum(self.labels, 0), dtype=np.int32)
        with Workers(1) as workers:
            source = validation.make_source(self.rows, None, workers)
            squares = source.own_distances(Centers(doubles, np.zeros(doubles.shape[1])), label)
        return np.where(self.labels >= 0, squares, 0.0)


def label_rows(model: Any, X: Any, sample_weight: Any = None) -> LabelledRows:
    """Label the rows of X by a fitted model."""
    check_fitted(model)
    given = validation.as_rows(X, type(model).__name__)
    rows = complete_rows(model, given)
    gappy = None if rows is given else given
    if rows.dtype not in validation.FLOAT_DTYPES:
        rows = rows.astype(np.float32)  # elsewhere these are converted block by block
    checked = validation.check_weights(sample_weight, rows.shape[0])
    weight = np.ones(rows.shape[0]) if checked is None else checked
    labels = own_labels(model, X)
    k = count_clusters(model)
    if capabilities_of(model).geometry is SPHERICAL:
        with Workers(validation.check_threads(getattr(model, "n_threads", None))) as workers:
            rows = unit_rows(rows, workers)[0]
    unlabelled = (labels < 0) | (labels >= k)
    if unlabelled.any():  # for example rows of zeros, which have no direction
        labels, weight = np.where(unlabelled, -1, labels), np.where(unlabelled, 0.0, weight)
    return LabelledRows(rows, labels, weight, k, gappy)


def complete_rows(model: Any, rows: Any) -> Any:
    """Return checked rows without gaps, as a model that takes gaps sees them; else the same rows.

    A missing value is that of the center of its row, so labels, distances to the own center and the
    objective are those of the rows with gaps.
    """
    complete = capabilities_of(model).complete
    return rows if complete is None else complete(rows)


def own_labels(model: Any, X: Any) -> Array:
    """Return the labels of the fit for its own rows, those that `predict` gives for others."""
    of_fit = capabilities_of(model).labels_of_fit
    labels = None if of_fit is None else of_fit(X)
    return np.asarray(model.predict(X) if labels is None else labels)


def unwrap_pipeline(model: Any, X: Any = None) -> tuple[Any, Any, Any]:
    """Return the last step of a pipeline, X transformed by the others, and names of features.

    A model that is not a pipeline is returned as it is, with X. Names are None if not known.
    """
    names = None
    if is_sparse(X):
        check_sparse(X)
    while is_pipeline(model):
        for _, step in model.steps[:-1]:
            if hasattr(step, "transform"):  # neither "passthrough" nor a sampler
                X = None if X is None else step.transform(X)
                names = _names_after(step, names)
        model = model.steps[-1][1]
    return model, X, names


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a pipeline of scikit-learn, or one like it."""
    return hasattr(model, "steps") and hasattr(model, "named_steps")


def _names_after(step: Any, names: Any) -> Any:
    try:
        names = step.get_feature_names_out(names)
    except Exception:  # of any library: names are only for display
        return None
    default = [f"x{t}" for t in range(len(names))]  # scikit-learn's names for unnamed features
    return None if list(names) == default else names


def check_fitted(model: Any) -> None:
    """Raise an error unless the model is a fitted clusterer."""
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(model, "predict") or isinstance(model, type):
        raise TypeError(
            f"`model` must be a fitted model with predict, got {describe_value(model)}. Give for "
            "example KMeans(8).fit(X)."
        )
    check_is_fitted(model)


def without_feature_names(model: Any) -> Any:
    """Return the model, or a copy that does not check names of columns (for checked rows)."""
    if not hasattr(model, "feature_names_in_"):
        return model
    twin = copy.copy(model)
    del twin.feature_names_in_
    return twin


def count_clusters(model: Any) -> int:
    """The number of clusters of a fitted model."""
    for name in ("cluster_centers_", "means_"):
        if getattr(model, name, None) is not None:
            return int(getattr(model, name).shape[0])
    if hasattr(model, "stats_"):
        return len(model.stats_.weight)
    if getattr(model, "medoid_indices_", None) is not None:
        return len(model.medoid_indices_)
    return int(np.max(model.labels_)) + 1


def count_starts(model: Any) -> int | None:
    """The number of starts of which a fitted model is the best; None if it does not tell."""
    starts = getattr(model, "n_init", None)
    return int(starts) if is_integer(starts) else None


# --- capabilities ---------------------------------------------------------------------------------


def capabilities_of(model: Any) -> Capabilities:
    """Return the capabilities of a model, declared by its class or adapted from its attributes.

    The capabilities of a pipeline are those of its last step. Foreign models may have a `metric`, a
    `kernel`, `cluster_centers_`, `labels_`.

    >>> from sklearn.cluster import BisectingKMeans
    >>> capabilities_of(BisectingKMeans()).why_not("cells")
    'it assigns rows down a tree, not to the nearest center'
    """
    model = unwrap_pipeline(model)[0]
    if hasattr(model, "__partita_capabilities__"):
        declared: Capabilities = model.__partita_capabilities__()
        return declared
    metric, kernel = getattr(model, "metric", "euclidean"), getattr(model, "kernel", None)
    lacks = {needs.REPLAY: "only members of partita keep the start of a run"}
    if getattr(model, "metric_params", None):
        metric, lacks[needs.METRIC] = None, f"the metric has parameters, {model.metric_params!r}"
    elif kernel is not None:
        metric, lacks[needs.METRIC] = None, FEATURE_SPACE
    if getattr(model, "cluster_centers_", None) is None:
        lacks |= lacking("it has labels but no centers", needs.CELLS, needs.MEANS, needs.REFIT)
    kind, name = needs.ROWS, type(model).__name__
    if isinstance(metric, str) and metric == "precomputed":
        kind = needs.DISSIMILARITIES
    elif isinstance(kernel, str) and kernel == "precomputed":
        kind = needs.INNER_PRODUCTS
    if kind != needs.ROWS:
        lacks |= needs.MATRIX_LACKS
    bisecting = name == "BisectingKMeans"
    if bisecting:
        lacks[needs.CELLS] = "it assigns rows down a tree, not to the nearest center"
    return Capabilities(
        input=kind,
        lacks=lacks,
        metric=metric,
        warm_start=None if bisecting else "centers",
        assumes_means=name not in _K_MEANS_NAMES,
    )
