"""`certify`: the certificate of anybody's clustering."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Array, Floats
from partita._common.errors import ParameterError
from partita._common.number_arrays import as_any_array
from partita._common.parameters import Got, Rule, check, must_be
from partita._common.random_state import generator
from partita._common.threads import Workers
from partita._versions import versions
from partita.certificates.bounding import (
    BoundCallback,
    CertificationLimits,
    CertifiedPartition,
    certify_partition,
)
from partita.certificates.certificate import Certificate
from partita.estimators import validation
from partita.estimators.capabilities import BOUNDS
from partita.estimators.certifiable import (
    centers_partition,
    certify_at_centers,
    counted_rows_of,
    labels_partition,
)
from partita.estimators.fitted_models import capabilities_of, unwrap_pipeline
from partita.estimators.lazy_blocks import is_partitioned
from partita.estimators.scanned_rows import is_scanned
from partita.geometry import EUCLIDEAN
from partita.observers import WatchedTask, watching
from partita.source.dataframes import is_frame, names_of

TIME_LIMIT = accept.optional(
    accept.number(0, finite=True), "Seconds; None continues until no method is left."
)
LEVEL = Rule(
    ("a number between 0 and 1",), lambda v: accept.is_number(v) and 0 < v < 1, "Such as 0.95."
)
MAX_SUM_ERROR = 1e-6  # of J: a sum in single precision has no more digits
_ADVICE = "Give labels (n,), centers (k, d), or a fitted model."


def certify(
    X: Any,
    labels_or_centers: Any,
    *,
    sample_weight: Any = None,
    time_limit: float | None = 60.0,
    level: float = 0.95,
    random_state: Any = None,
    callback: BoundCallback | None = None,
    n_threads: int | None = None,
) -> Certificate:
    """Bound how much lower than that of a clustering the objective of any other can be.

    Lower bounds are computed, the cheapest first, and the highest counts. The clustering may come
    from any program. Ctrl-C ends the search with the best bound so far. See docs/certificates.md.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        The rows; for a model that was fitted to a matrix, this matrix.
    labels_or_centers : array of shape (n,) or (k, d), or fitted model
        Labels of any kind (numbers, negative ones too, or texts): the objective is the sum of
        squared distances to the means. Centers: to the nearest of them. A fitted model, of
        scikit-learn too: its own objective on X.
    sample_weight : array of shape (n,), optional
        The weights of the rows; those of weight 0 do not count.
    time_limit : float or None, default=60
        Seconds of the search for bounds. None continues until no method is left, so that the result
        does not depend on the speed of the machine.
    level : float, default=0.95
        The probability with which bounds from samples hold.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness.
    callback : callable or None, default=None
        Called with a `BoundProgress` after every improvement; returning True stops.
    n_threads : int or None, default=None
        As in `KMeans`.

    Examples
    --------
    >>> import partita
    >>> X = [[0.0], [1.0], [10.0], [12.0]]
    >>> certificate = partita.certify(X, ["a", "a", "b", "b"])
    >>> round(certificate.objective, 9), 0 <= certificate.gap <= 1
    (2.5, True)
    """
    check("time_limit", time_limit, TIME_LIMIT)
    check("level", level, LEVEL)
    check("callback", callback, accept.optional(accept.CALLABLE))
    rng, version = generator(random_state), versions()["partita"]
    limits = CertificationLimits(time_limit, level, rng, version, callback)
    if is_partitioned(X) or is_scanned(X):
        X = validation.as_rows(X, "certify")
    with watching(WatchedTask("bounds", "certify", time_limit, keeps_result=True), callback):
        with Workers(validation.check_threads(n_threads)) as workers:
            if _is_model(labels_or_centers):
                partition = _partition_of_model(labels_or_centers, X, sample_weight, workers)
            else:
                partition = _partition_of_arrays(X, labels_or_centers, sample_weight, workers)
        return certify_partition(partition, limits)


def _is_model(given: Any) -> bool:
    return hasattr(given, "get_params") and not isinstance(given, type)


def _partition_of_arrays(
    X: Any, given: Any, sample_weight: Any, workers: Workers
) -> CertifiedPartition:
    names = names_of(X) if is_frame(X) else None
    rows = validation.as_rows(X, "certify")
    weight = validation.check_weights(sample_weight, rows.shape[0])
    values = as_any_array("labels_or_centers", given, "labels (n,) or centers (k, d)")
    n, d = rows.shape
    if values.ndim == 1 and len(values) == n:
        return labels_partition(counted_rows_of(rows, weight, workers, names), values)
    if values.ndim != 2 or values.shape[1] != d:
        wanted = f"labels of shape ({n},), or centers of shape (k, {d})"
        got = Got(f"an array of shape {values.shape}")
        raise must_be("labels_or_centers", wanted, got, _ADVICE)
    centers = validation.as_centers(given, "labels_or_centers", "k", d)
    return centers_partition(counted_rows_of(rows, weight, workers, names), centers, workers)


def _partition_of_model(
    model: Any, X: Any, sample_weight: Any, workers: Workers
) -> CertifiedPartition:
    from sklearn.utils.validation import check_is_fitted

    model, X, _ = unwrap_pipeline(model, X)
    check_is_fitted(model)
    offered = capabilities_of(model)
    if not offered.has(BOUNDS):
        raise _no_bounds(model, offered.why_not(BOUNDS))
    if offered.certified is not None:
        weight = validation.check_weights(sample_weight, _row_count(X))
        partition: CertifiedPartition = offered.certified(X, weight, workers)
        return partition
    if offered.takes_matrix or offered.geometry is not EUCLIDEAN:
        raise _no_bounds(model, "its objective is not a sum of squared distances")
    if not offered.assumes_means and getattr(model, "cluster_centers_", None) is not None:
        weight = validation.check_weights(sample_weight, _row_count(X))
        return certify_at_centers(model, X, weight, workers)
    return _partition_of_arrays(X, _labels_of(model, X), sample_weight, workers)


class NoBoundsError(ParameterError):
    """A model whose objective has no bounds; `reason` says why, without advice."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        advice = "certify(X, labels) bounds the sum of squares of any labels."
        super().__init__(f"{reason}. {advice}", parameter="model")


def _no_bounds(model: Any, why: str) -> NoBoundsError:
    return NoBoundsError(f"{type(model).__name__} cannot be certified: {why}")


def _labels_of(model: Any, X: Any) -> Array:
    """Return the labels that a model of another library gives to X."""
    if hasattr(model, "predict"):
        return np.asarray(model.predict(X))
    return np.asarray(model.labels_)


def _row_count(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def is_certificate_of(certificate: Certificate, model: Any, weight: Floats | None) -> bool:
    """Return whether a certificate is about the rows of the fit of a model, judged by J."""
    labels = getattr(model, "labels_", None)
    counted = None if labels is None or not isinstance(labels, np.ndarray) else labels >= 0
    if counted is None:
        return False
    if weight is not None:
        if len(weight) != len(counted):
            return False
        counted = counted & (weight > 0)
    inertia = float(model.inertia_)
    low, high = getattr(model, "objective_interval_", (inertia, inertia))
    low, high = min(low, inertia), max(high, inertia)
    room = MAX_SUM_ERROR * high
    same_count = certificate.n_rows == int(np.count_nonzero(counted))
    return same_count and low - room <= certificate.objective <= high + room
