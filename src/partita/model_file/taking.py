"""What a fitted model has, as plain values by name: what `restoring` makes it of again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from partita.stats import ClusterStats

Values = dict[str, Any]


def taken(model: Any, labels: bool = True) -> tuple[Values, list[str]]:
    """What a fitted model has, and the names of attributes that have no place in a file."""
    name = type(model).__name__
    have = vars(model)
    values: Values = {key: have[f"{key}_"] for key in (*_PLAIN, *_OWN[name]) if f"{key}_" in have}
    if "trace_" in have:
        values["trace"] = model.trace_.to_dict()
    if labels and "labels_" in have:
        values["labels"] = model.labels_
    if "feature_names_in_" in have:
        values["feature_names"] = [str(feature) for feature in model.feature_names_in_]
    if "_sklearn_output_config" in have:
        values["output"] = dict(model._sklearn_output_config)
    if "stats_" in have:
        values["stats"] = {
            part.name: getattr(model.stats_, part.name) for part in fields(ClusterStats)
        }
    values.update(_TAKE[name](model))
    known = {f"{key}_" for key in (*_PLAIN, *_OWN[name])} | _KNOWN | _HIDDEN.get(name, set())
    return values, sorted(set(have) - known - set(model.get_params()))


# attributes that are plain values, of all and of single members
_PLAIN = ("n_features_in", "n_iter", "stopped_by", "paths", "inertia")
_OWN = {
    "KMeans": ("cluster_centers", "start"),
    "SphericalKMeans": ("cluster_centers", "start"),
    "MiniBatchKMeans": ("cluster_centers", "n_steps"),
    "KMedoids": ("cluster_centers", "medoid_indices", "n_swaps", "start", "silhouettes"),
    "KernelKMeans": ("objective_interval", "diagonal_shift"),
}
_KNOWN = {
    "trace_", "labels_", "feature_names_in_", "stats_", "saved_",
    "_n_features_out", "_sklearn_output_config",
}  # fmt: skip
_HIDDEN = {
    "MiniBatchKMeans": {"_rng"},
    "KMedoids": {"_metric", "_weight", "n_clusters_"},
    "KernelKMeans": {"kernel_", "_space", "_dimension", "_degree"},
}


def _take_nothing(model: Any) -> Values:
    return {}


def _take_stream(model: Any) -> Values:
    return {"generator": model._rng}


def _take_medoids(model: Any) -> Values:
    metric = model._metric
    known = None if metric is None else {"name": metric.metric, "params": metric.params}
    return {"metric": known, "weight": model._weight}


def _take_kernel(model: Any) -> Values:
    kernel, space = model.kernel_, model._space
    if hasattr(space, "map"):
        kept = {"pivots": space.map.pivots, "factor": space.map.factor, "centers": space.centers}
    else:
        names = ("rows", "columns", "off", "level", "square", "mean")
        kept = {name: getattr(space, name) for name in names}
    known = None
    if kernel is not None:
        known = {"name": kernel.metric, "params": kernel.params, "origin": kernel.origin}
    return {"kernel": known, "space": kept, "dimension": model._dimension, "degree": model._degree}


_TAKE: dict[str, Callable[[Any], Values]] = {
    "KMeans": _take_nothing,
    "SphericalKMeans": _take_nothing,
    "MiniBatchKMeans": _take_stream,
    "KMedoids": _take_medoids,
    "KernelKMeans": _take_kernel,
}
