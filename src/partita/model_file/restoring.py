"""A fitted model from plain values, with everything checked on which memory or meaning depends."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita.model_file.checked_fields import MAX_COUNT, CheckedFields, FieldError
from partita.stats import ClusterStats
from partita.trace import Progress, Trace

# A file names a class, and this table says which that is: nothing is imported by a file's word.
HOMES = {
    "KMeans": "partita.estimators.kmeans",
    "KernelKMeans": "partita.estimators.kernel.estimator",
    "KMedoids": "partita.estimators.medoids.estimator",
    "MiniBatchKMeans": "partita.estimators.minibatch",
    "SphericalKMeans": "partita.estimators.spherical",
}
# what a model may have; a file may say more, which is ignored
FITTED = frozenset({
    "cluster_centers", "degree", "diagonal_shift", "dimension", "feature_names", "generator",
    "inertia", "kernel", "labels", "medoid_indices", "metric", "n_features_in", "n_iter", "n_steps",
    "n_swaps", "objective_interval", "output", "paths", "silhouettes", "space", "start", "stats",
    "stopped_by", "trace", "weight",
})  # fmt: skip
Values = dict[str, Any]


def class_of(name: str) -> Any:
    """The member of this name."""
    return getattr(importlib.import_module(HOMES[name]), name)


def restored(name: str, parameters: Values, values: Values) -> Any:
    """The fitted model; a Fault or another ValueError says what is wrong with what was given."""
    kind = class_of(name)
    accepted = kind().get_params()
    model = kind(**{key: value for key, value in parameters.items() if key in accepted})
    threads = model.n_threads
    if threads is not None and not (type(threads) is int and 1 <= threads <= 4096):
        raise FieldError(f"n_threads is {threads!r}; None or a number up to 4096 is expected")
    found = CheckedFields(values)
    d = found.integer("n_features_in", 1)
    vars(model).update({"n_features_in_": d, "inertia_": found.number("inertia")})
    vars(model).update(_run(found))
    if found.has("feature_names"):
        model.feature_names_in_ = np.array(found.texts("feature_names", d), dtype=object)
    if found.has("output"):
        model._sklearn_output_config = _output(found)
    k, extra = _PUT[name](model, found, d)
    model._n_features_out = k
    if found.has("labels"):
        low, high = (0, k - 1) if name != "SphericalKMeans" else _range_of_labels(model, k)
        model.labels_ = found.ints("labels", (None,), low, high)
    vars(model).update(extra)
    return model


def _run(found: CheckedFields) -> Values:
    out: Values = {}
    if found.has("n_iter"):
        out["n_iter_"] = found.integer("n_iter")
    if found.has("trace"):
        kinds = {field.name: str(field.type) for field in fields(Progress)}
        out["trace_"] = Trace(tuple(Progress(**row) for row in found.columns("trace", kinds)))
    if found.has("stopped_by"):
        out["stopped_by_"] = found.text("stopped_by")
    if found.has("paths"):
        out["paths_"] = tuple(found.texts("paths"))
    return out


def _output(found: CheckedFields) -> dict[str, str]:
    config = found.mapping("output")
    known = ("default", "pandas", "polars")
    if any(key != "transform" or value not in known for key, value in config.items()):
        raise FieldError(f"output is {config!r}; a container for transform is expected")
    return config


def _range_of_labels(model: Any, k: int) -> tuple[int, int]:
    """Rows of zeros have labels of their own."""
    return {"drop": (-1, k - 1), "separate": (0, k)}.get(model.zero_rows, (0, k - 1))


def _stats(found: CheckedFields, k: int, d: int | None, least: float = 0.0) -> ClusterStats:
    stats = found.nested("stats")
    weight = stats.floats("weight", (k,))
    sse = stats.floats("sse", (k,), finite=False)
    if (weight < 0).any() or (sse < least).any():
        raise FieldError("stats has a weight or an sse below zero")
    return ClusterStats(weight, stats.floats("mean", (k, d)), sse)


def _put_centers(model: Any, found: CheckedFields, d: int) -> tuple[int, Values]:
    centers = found.floats("cluster_centers", (None, d))
    if len(centers) == 0:
        raise FieldError("cluster_centers is empty")
    out: Values = {"cluster_centers_": centers, "stats_": _stats(found, len(centers), d)}
    if found.has("start"):
        out["start_"] = found.floats("start", (None, d))
    return len(centers), out


def _put_directions(model: Any, found: CheckedFields, d: int) -> tuple[int, Values]:
    from partita.estimators.spherical import ZERO_ROWS

    if model.zero_rows not in ZERO_ROWS or type(model.normalized) is not bool:
        raise FieldError(
            f"zero_rows={model.zero_rows!r}, normalized={model.normalized!r} is not known"
        )
    return _put_centers(model, found, d)


def _put_stream(model: Any, found: CheckedFields, d: int) -> tuple[int, Values]:
    from partita._common.random_state import generator

    k, out = _put_centers(model, found, d)
    out["n_steps_"] = found.integer("n_steps", 0, 2**62)
    rng = found.generator("generator") if found.has("generator") else None
    out["_rng"] = generator(model.random_state) if rng is None else rng
    return k, out


def _put_medoids(model: Any, found: CheckedFields, d: int) -> tuple[int, Values]:
    from partita.estimators.medoids.metric import Metric, check_metric

    check_metric(model.metric, model.metric_params)
    most = d - 1 if not found.has("metric") else 2**62
    medoids = found.ints("medoid_indices", (None,), 0, most)
    k = len(medoids)
    if k == 0:
        raise FieldError("medoid_indices is empty")
    metric = centers = None
    if found.has("metric"):
        known = found.nested("metric")
        name, params = known.text("name"), known.mapping("params")
        check_metric(name, params)
        if name == "precomputed" or {"seuclidean": "V", "mahalanobis": "VI"}.get(name, "") not in (
            "",
            *params,
        ):
            raise FieldError(f"metric {name} lacks its parameters")
        for learned, shape in (("V", (d,)), ("VI", (d, d))):
            given = np.asarray(params.get(learned, np.zeros(shape)), dtype=np.float64)
            if given.shape != shape or not np.isfinite(given).all():
                raise FieldError(f"metric {name} has a {learned} of the wrong shape, or not finite")
        centers = found.rows("cluster_centers", (k, d), gaps=name == "nan_euclidean")
        metric = Metric(name, params, centers)
        metric.check(centers[:2])
    scores = None
    if found.has("silhouettes"):
        scores = found.mapping("silhouettes")
        if not all(type(n) is int and type(score) is float for n, score in scores.items()):
            raise FieldError("silhouettes are not numbers by numbers of clusters")
    out = {
        "medoid_indices_": medoids,
        "n_clusters_": k,
        "cluster_centers_": centers,
        "n_swaps_": found.integer("n_swaps", 0, 2**62),
        "start_": found.ints("start", (None,), 0, 2**62) if found.has("start") else None,
        "silhouettes_": scores,
        "_weight": found.number("weight", finite=True),
        "_metric": metric,
    }
    return k, out


def _put_kernel(model: Any, found: CheckedFields, d: int) -> tuple[int, Values]:
    from partita.estimators.kernel import kernel_input
    from partita.source.kernel_function import KernelFunction

    kernel_input.check_kernel(model)
    kernel = None
    if found.has("kernel"):
        known = found.nested("kernel")
        name, params = known.text("name"), known.mapping("params")
        kernel_input.check_kernel_params(name, params)
        origin = known.floats("origin", (d,)) if known.has("origin") else None
        kernel = KernelFunction(name, params, origin)
    k = len(found.nested("stats").floats("weight", (None,)))
    if k == 0:
        raise FieldError("stats is empty")
    interval = found.pair("objective_interval")
    out = {
        "objective_interval_": interval,
        "stats_": _stats(found, k, None, -np.inf),
        "diagonal_shift_": found.number("diagonal_shift", finite=True),
        "kernel_": kernel,
        "_space": _space(found.nested("space"), kernel, k, d),
        "_dimension": found.number("dimension", finite=True),
        "_degree": None,
    }
    if found.has("degree"):
        degree: Array = found.floats("degree", (d,))
        if kernel is not None or (degree <= 0).any():
            raise FieldError("degree is not positive, or not of a graph")
        out["_degree"] = degree
    return k, out


def _space(found: CheckedFields, kernel: Any, k: int, d: int) -> Any:
    from partita.engine.kernel.nystrom import NystromMap
    from partita.estimators.kernel.feature_space import MeansSpace, PivotSpace

    if found.has("pivots"):
        if kernel is None:
            raise FieldError("space has pivots, but no kernel")
        pivots = found.rows("pivots", (None, d))
        r = pivots.shape[0]
        factor = found.floats("factor", (r, r))
        if r == 0 or (np.diagonal(factor) == 0).any():
            raise FieldError("space.factor has no inverse")
        return PivotSpace(NystromMap(kernel, pivots, factor), found.floats("centers", (k, r)))
    m = len(found.ints("columns", (None,), 0, MAX_COUNT if kernel else d - 1))
    if m == 0:
        raise FieldError("space.columns is empty")
    mean = found.rows("mean", (k, m))
    if not hasattr(mean, "indptr"):
        raise FieldError("space.mean is not sparse")
    return MeansSpace.of_parts(
        kernel=kernel,
        rows=found.rows("rows", (m, d)) if kernel else None,
        columns=found.ints("columns", (m,), 0, MAX_COUNT),
        off=found.floats("off", (m,)),
        level=found.number("level", finite=True),
        square=found.floats("square", (k,), finite=False),
        mean=mean,
    )


_PUT: dict[str, Callable[[Any, CheckedFields, int], tuple[int, Values]]] = {
    "KMeans": _put_centers,
    "SphericalKMeans": _put_directions,
    "MiniBatchKMeans": _put_stream,
    "KMedoids": _put_medoids,
    "KernelKMeans": _put_kernel,
}
