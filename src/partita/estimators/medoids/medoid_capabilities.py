"""The capabilities of `KMedoids`, and its state in model files."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from partita._common.array_types import Floats
from partita._common.text import format_number, isolated, listed
from partita.estimators import capabilities as needs
from partita.estimators import validation
from partita.estimators.capabilities import Capabilities, Replay, lacking, unfitted
from partita.estimators.medoids.certified_fit import certified_fit
from partita.estimators.medoids.gower_metric import GowerMetric, gower_state, restored_gower
from partita.estimators.medoids.metric import (
    EUCLIDEAN_METRICS,
    GOWER,
    Metric,
    RowMetric,
    check_metric,
)
from partita.estimators.mixed_input import MAX_LEVELS
from partita.estimators.saved_state import FieldReader, restore_search, search_state
from partita.source.mixed_rows import MixedRows, MixedView

KIND_WORDS = {
    "number": "by their range",
    "ordinal": "by the range of their ranks",
    "nominal": "as equal or not",
    "asymmetric": "where one of both is present",
}
# Metrics to which every feature contributes on its own scale
_ADDITIVE_METRICS = (*EUCLIDEAN_METRICS, "manhattan", "cityblock", "l1", "minkowski", "chebyshev")
# Metrics by which rows with nothing in common are at a distance of 1
_BOUNDED_METRICS = ("cosine", "correlation", "jaccard", "hamming", "braycurtis")
_LEARNED_PARAMETERS = {"seuclidean": "V", "mahalanobis": "VI"}


def declare(model: Any) -> Capabilities:
    """The capabilities of a `KMedoids`."""
    given = isinstance(model.metric, str) and model.metric == "precomputed"
    at_start = partial(_at_start, model)
    is_bounded = isinstance(model.metric, str) and model.metric in _BOUNDED_METRICS
    is_gower = isinstance(model.metric, str) and model.metric == GOWER
    lacks = {**needs.MATRIX_LACKS} if given else _lacks(model)
    metric: Any = model.metric
    pairs: Callable[[Any], tuple[Any, Any]] | None = None
    if is_gower:  # with what the fit learned
        metric, pairs = getattr(model, "_metric", GOWER), partial(_gower_pairs, model)
    elif model.metric_params:
        lacks[needs.METRIC] = f"the metric has parameters, {model.metric_params!r}"
        metric, pairs = None, partial(_pairwise, model)
    return Capabilities(
        input=needs.DISSIMILARITIES if given else needs.ROWS,
        geometry=None,
        lacks=lacks,
        metric=metric,
        distance_name="dissimilarity to the medoid",
        squared=False,
        merge_rule="representatives",
        # the runs of "clara" start within samples
        warm_start=None if model.method == "clara" else "medoid_indices",
        searches=model.method == "fasterpam",
        sampled_trace=model.method == "clara",
        costs=model._costs,
        distances=lambda X: model._costs(X)[1],
        pairs=pairs,
        mixed=partial(_mixed_view, model) if is_gower else None,
        facts=partial(_gower_facts, model) if is_gower else None,
        unrelated=(lambda: np.ones(len(model.medoid_indices_))) if is_bounded else None,
        certified=partial(certified_fit, model),
        replay=None if needs.REPLAY in lacks else Replay(partial(_rerun, model), at_start),
    )


def _lacks(model: Any) -> dict[str, str]:
    lacks = {needs.MEANS: "medoids are rows, not means"}
    if not _is_euclidean(model.metric, dict(model.metric_params or {})):
        lacks |= lacking(f"metric={model.metric!r} is not Euclidean", needs.SPACE, needs.CELLS)
    if model.metric not in _ADDITIVE_METRICS:
        lacks[needs.FEATURES] = f"metric={model.metric!r} decides what a feature counts"
    if isinstance(model.metric, str) and model.metric == GOWER:
        lacks[needs.REPLAY] = "categories have no coordinates in which medoids could move"
    elif model.k_range is not None or getattr(model, "start_", None) is None:
        lacks[needs.REPLAY] = (
            "only fits by the methods fasterpam, pam and alternate with a given n_clusters can be "
            "repeated"
        )
    elif model.quality != "fast":
        lacks[needs.REPLAY] = f"quality={model.quality!r} is a search of many fits"
    return lacks


def _is_euclidean(metric: Any, params: dict[str, Any]) -> bool:
    """Return whether the nearest center is the Euclidean one, so that cells are polytopes."""
    if isinstance(metric, str) and metric == "minkowski":
        return bool(params.get("p", 2) == 2 and params.get("w") is None)
    return isinstance(metric, str) and metric in EUCLIDEAN_METRICS


def _gower_facts(model: Any) -> list[tuple[str, str]]:
    """The columns, by the way in which they count."""
    metric: GowerMetric = model._metric
    kinds: dict[str, list[str]] = {}
    for name, column in zip(metric.features.names, metric.columns, strict=True):
        weight = "" if column.weight == 1 else f" × {format_number(column.weight)}"
        words = KIND_WORDS[column.kind] if column.weight > 0 else "not at all"
        kinds.setdefault(words, []).append(f"{isolated(name)}{weight}")
    parts = [f"{words}: {listed(names, str)}" for words, names in kinds.items()]
    return [("Compared", "; ".join(parts))]


def _gower_pairs(model: Any, X: Any) -> tuple[Floats, GowerMetric]:
    return model._metric.new_rows(model, X), model._metric


def _mixed_view(model: Any, X: Any) -> MixedView:
    view: MixedView = model._metric.view(model, X)
    return view


def _pairwise(model: Any, X: Any) -> tuple[Floats, str]:
    distances = pairwise_distances(X, metric=model.metric, **model.metric_params)
    np.fill_diagonal(distances, 0.0)
    return np.asarray(distances), "precomputed"


def _rerun(model: Any) -> Any:
    if model.method == "fasterpam" and model.n_init in (1, "auto"):
        return unfitted(model)  # the seed gives the start and then the order of the candidates
    return unfitted(model, init=model.start_)


def _at_start(model: Any, X: Any) -> Any:
    first = copy.copy(model)
    first.medoid_indices_ = model.start_
    first.cluster_centers_ = model._metric.rows_at(model, X, model.start_)
    first._n_features_out = len(model.start_)
    return first


# --- model files ----------------------------------------------------------------------------------


def own_state(model: Any) -> dict[str, Any]:
    """The metric with what it learned, the weight of all rows, and the search."""
    metric, centers = model._metric, {}
    if isinstance(metric, GowerMetric):
        rows = metric.features.encode(model.cluster_centers_)
        centers = {"cluster_centers": None, "numbers": rows.numbers, "codes": rows.codes}
        known: Any = gower_state(metric)
    else:
        known = None if metric is None else {"name": metric.metric, "params": metric.params}
    return {"metric": known, "weight": model._weight, **centers, **search_state(model)}


def restore(model: Any, saved: FieldReader, d: int) -> int:
    """Set the attributes of a fit from a file; return the number of clusters."""
    check_metric(model.metric, model.metric_params)
    last_row = 2**62 if saved.has("metric") else d - 1
    if saved.has("labels"):
        last_row = min(last_row, len(saved.ints("labels", (None,), 0, 2**62)) - 1)
    medoids = saved.ints("medoid_indices", (None,), 0, last_row)
    if (k := len(medoids)) == 0:
        raise ValueError("medoid_indices is empty")
    model._metric = model.cluster_centers_ = None
    if saved.has("metric"):
        model._metric, model.cluster_centers_ = _restore_metric(saved, k, d)
    model.medoid_indices_, model.n_clusters_ = medoids, k
    model.n_swaps_ = saved.integer("n_swaps", 0, 2**62)
    model.start_ = saved.ints("start", (None,), 0, last_row) if saved.has("start") else None
    model.silhouettes_ = saved.mapping("silhouettes") if saved.has("silhouettes") else None
    for n, score in (model.silhouettes_ or {}).items():
        if type(n) is not int or type(score) is not float:
            raise ValueError("silhouettes must map numbers of clusters to numbers")
    restore_search(model, saved)
    model._weight = saved.number("weight", validation.MIN_WEIGHT, finite=True)
    return k


def _restore_metric(saved: FieldReader, k: int, d: int) -> tuple[RowMetric, Any]:
    known = saved.nested("metric")
    if known.text("name") == GOWER:
        return _restore_gower(saved, k, d)
    name, params = known.text("name"), known.mapping("params")
    check_metric(name, params)
    learned = _LEARNED_PARAMETERS.get(name)
    if name == "precomputed" or (learned is not None and learned not in params):
        raise ValueError(f"metric {name} lacks its parameters")
    for parameter, shape in (("V", (d,)), ("VI", (d, d))):
        value = np.asarray(params.get(parameter, np.zeros(shape)), dtype=np.float64)
        if value.shape != shape or not np.isfinite(value).all():
            raise ValueError(f"metric {name} must have a finite {parameter} of shape {shape}")
    centers = saved.rows("cluster_centers", (k, d), gaps=name == "nan_euclidean")
    metric = Metric(name, params, centers)
    metric.check(centers[:2])
    return metric, centers


def _restore_gower(saved: FieldReader, k: int, d: int) -> tuple[GowerMetric, Any]:
    metric = restored_gower(saved.nested("metric"), d)
    counts = metric.features.counts
    numbers = saved.numbers("numbers", (k, d - len(counts))).astype(np.float64)
    codes = saved.ints("codes", (k, len(counts)), -1, MAX_LEVELS)
    if np.isinf(numbers).any() or (codes >= counts).any():
        raise ValueError("numbers must be finite or missing, and codes those of known categories")
    centers = metric.features.decode(
        MixedRows(numbers, np.ascontiguousarray(codes, dtype=np.int32))
    )
    metric.compared(centers)  # every row must have a value
    return metric, centers
