"""What a fitted model says about rows, whichever library the model comes from."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats
from partita._common.threads import Workers
from partita.centers import Centers
from partita.engine.lloyd_step import LloydStep
from partita.estimators import validation
from partita.estimators.spherical import SphericalKMeans
from partita.geometry import EUCLIDEAN, SPHERICAL, Geometry
from partita.source.unit_rows import unit_rows
from partita.stats import ClusterStats

_MATRICES = ("precomputed", "normalized-cut")  # what X is instead of rows
_ROWS = 1 << 14  # rows that are added to the sums at once


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows as the model compares them, their clusters, and what they count."""

    rows: Any  # (n, d), dense or CSR; at unit length for directions
    labels: Array  # (n,); −1 for rows that belong nowhere
    weight: Floats  # (n,); 0 for these
    k: int

    def stats(self) -> ClusterStats:
        """The summaries of the clusters: of the rows of a fit its `stats_`, to the last bit."""
        counted = self.weight[self.labels >= 0]
        if not counted.any():
            return ClusterStats.zero(self.k, self.rows.shape[1])
        weight = np.where(self.labels >= 0, self.weight, 0.0)
        to = np.ascontiguousarray(np.maximum(self.labels, 0), dtype=np.int32)
        with Workers(1) as workers:
            source = validation.make_source(self.rows, weight, workers)
            step = LloydStep(source, source.survey().grid, self.k)
            for i in range(0, len(to), _ROWS):
                some = np.arange(i, min(i + _ROWS, len(to)))
                step.move(some, to[some])
            zero = Centers(np.zeros((self.k, self.rows.shape[1])), step.origin)
            return step.stats_about(zero)[0].moved(step.origin)

    def squares_to(self, centers: Floats) -> Floats:
        """The squared distance (n,) of every row to its center; 0 for rows that belong nowhere."""
        if self.rows.shape[0] == 0:
            return np.zeros(0)
        plain = np.ascontiguousarray(centers, dtype=np.float64)
        label = np.ascontiguousarray(np.maximum(self.labels, 0), dtype=np.int32)
        with Workers(1) as workers:
            source = validation.make_source(self.rows, None, workers)
            far = source.own_distances(Centers(plain, np.zeros(plain.shape[1])), label)
        return np.where(self.labels >= 0, far, 0.0)


def label_rows(model: Any, X: Any, sample_weight: Any = None) -> LabelledRows:
    """Label the rows of X by a fitted model."""
    check_fitted(model)
    rows = validation.as_rows(X, type(model).__name__)
    if rows.dtype not in validation.FLOAT_DTYPES:
        rows = rows.astype(np.float32)  # what is converted block by block elsewhere
    given = validation.check_weights(sample_weight, rows.shape[0])
    weight = np.ones(rows.shape[0]) if given is None else given
    labels = np.asarray(model.predict(X))
    k = count_clusters(model)
    if isinstance(model, SphericalKMeans):
        with Workers(validation.check_threads(model.n_threads)) as workers:
            rows = unit_rows(rows, workers)[0]
    nowhere = (labels < 0) | (labels >= k)
    if nowhere.any():  # rows of zeros, which have no direction
        labels, weight = np.where(nowhere, -1, labels), np.where(nowhere, 0.0, weight)
    return LabelledRows(rows, labels, weight, k)


def unwrap_pipeline(model: Any, X: Any = None) -> tuple[Any, Any, Any]:
    """The clusterer of a pipeline, X as the steps before it hand it over, and names of features.

    A model that is no pipeline comes back as it is, with X; names are None where nobody knows them.
    """
    names = None
    while hasattr(model, "steps") and hasattr(model, "named_steps"):
        for _, step in model.steps[:-1]:
            if hasattr(step, "transform"):  # neither "passthrough" nor a sampler
                X = None if X is None else step.transform(X)
                names = _names_after(step, names)
        model = model.steps[-1][1]
    return model, X, names


def _names_after(step: Any, names: Any) -> Any:
    try:
        found = step.get_feature_names_out(names)
    except Exception:  # whoever wrote the step: names are only for the reader
        return None
    plain = [f"x{t}" for t in range(len(found))]  # what scikit-learn calls features without names
    return None if list(found) == plain else found


def check_fitted(model: Any) -> None:
    """The model must be an estimator that clusters, and fitted."""
    if not hasattr(model, "predict") or isinstance(model, type):
        raise TypeError(
            f"{model!r} was given; a fitted model with predict is expected, for example "
            "KMeans(8).fit(X)"
        )
    check_is_fitted(model)


def takes_a_matrix(model: Any) -> bool:
    """Whether X is a matrix between rows, and not the rows."""
    return getattr(model, "metric", getattr(model, "kernel", None)) in _MATRICES


def without_feature_names(model: Any) -> Any:
    """The model, or a twin that does not ask for names of columns: they were checked before."""
    if not hasattr(model, "feature_names_in_"):
        return model
    twin = copy.copy(model)
    del twin.feature_names_in_
    return twin


def count_clusters(model: Any) -> int:
    """How many clusters the model has."""
    for name in ("cluster_centers_", "means_"):
        if getattr(model, name, None) is not None:
            return int(getattr(model, name).shape[0])
    if hasattr(model, "stats_"):
        return len(model.stats_.weight)
    if getattr(model, "medoid_indices_", None) is not None:
        return len(model.medoid_indices_)
    return int(np.max(model.labels_)) + 1


def goes_down_a_tree(model: Any) -> bool:
    """Whether rows are assigned by halving and halving again, not to the nearest center."""
    return type(model).__name__ == "BisectingKMeans"


def geometry_of(model: Any) -> Geometry:
    """What a center is to this model."""
    return SPHERICAL if isinstance(model, SphericalKMeans) else EUCLIDEAN
