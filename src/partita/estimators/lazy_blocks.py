"""Rows in partitions given to a fitted model: labels, distances and costs, block by block."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array
from partita._common.exact_sum import PartialSums
from partita._common.parameters import Got, must_be
from partita._common.text import listed
from partita.estimators import validation
from partita.estimators.capabilities import set_known
from partita.source.dask_rows import as_dask_array, is_dask, map_rows, open_dask
from partita.source.partition_tasks import WeightFacts, weight_facts
from partita.source.partitions import Part, Partitions, readable_rows
from partita.source.spark_frames import is_spark, open_spark, scored_columns, spark_rows_mapped

Method = TypeVar("Method", bound=Callable[..., Any])
# attributes of a fit that are of no use to label rows, or that cannot travel
NOT_SENT = (
    "labels_", "trace_", "start_", "paths_", "stopped_by_", "saved_", "_rng",
    "certificate_", "_sklearn_output_config",
)  # fmt: skip


def is_partitioned(X: Any) -> bool:
    """Return whether X is rows in partitions: of Dask, Spark, or an engine that says so."""
    if type(X) is np.ndarray:
        return False
    return is_dask(X) or is_spark(X) or hasattr(X, "__partita_partitions__")


def refuse_partitions(X: Any) -> None:
    """Raise an error if X is in partitions: for members that fit rows in memory only."""
    if is_partitioned(X):
        advice = "Fit a part of the rows in memory; `predict` labels rows in partitions."
        raise must_be("X", "rows in memory", Got(f"a {type(X).__name__}"), advice)


def open_partitions(X: Any, sample_weight: Any) -> Partitions:
    """Return the partitions of X, with one weight per row if given."""
    if hasattr(X, "__partita_partitions__"):
        partitions: Partitions = X.__partita_partitions__(sample_weight)
        return partitions
    opened: Partitions = (open_spark if is_spark(X) else open_dask)(X, sample_weight)
    return opened


def lazy_rows(model: Any, X: Any) -> tuple[Callable[..., Any], Any]:
    """Return how functions are mapped over new rows, and their dtype; they must fit the model."""
    if is_spark(X):
        return spark_rows_mapped(X, getattr(model, "feature_names_in_", None), model.n_features_in_)
    if hasattr(X, "__partita_partitions__"):
        opened = X.__partita_partitions__(None)
        d, names, mapped, dtype = opened.d, opened.names, opened.map_rows, opened.dtype
    else:
        rows, names = as_dask_array(X)
        d, mapped, dtype = int(rows.shape[1]), partial(map_rows, rows), rows.dtype
    expected = getattr(model, "feature_names_in_", None)
    if d != model.n_features_in_:
        wanted = f"rows with {model.n_features_in_} features, as in the fit"
        raise must_be("X", wanted, Got(f"{d} features"))
    if names is not None and expected is not None and list(names) != list(expected):
        wanted = f"rows with the features of the fit, in their order ({listed(list(expected))})"
        raise must_be("X", wanted, Got(listed(list(names))))
    return mapped, dtype


def labels_by_blocks(method: Method) -> Method:
    """Let a method that labels rows take rows in partitions; the result is lazy."""

    def answer(model: Any, mapped: Callable[..., Any], dtype: Any, call: BlockCall) -> Any:
        return mapped(call, None, np.int32)

    return _by_blocks(method, answer)


def distances_by_blocks(method: Method) -> Method:
    """Let a method that returns a number for each cluster, in the dtype of X, take partitions."""

    def answer(model: Any, mapped: Callable[..., Any], dtype: Any, call: BlockCall) -> Any:
        return mapped(call, model._n_features_out, _floating(dtype))

    return _by_blocks(method, answer)


def memberships_by_blocks(method: Method) -> Method:
    """Let a method that returns a double for each cluster take rows in partitions."""

    def answer(model: Any, mapped: Callable[..., Any], dtype: Any, call: BlockCall) -> Any:
        return mapped(call, model._clusters, np.float64)

    return _by_blocks(method, answer)


def _by_blocks(method: Method, answer: Callable[..., Any]) -> Method:
    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_partitioned(X):
            return method(self, X, *args, **kwargs)
        check_is_fitted(self)
        mapped, dtype = lazy_rows(self, X)
        return answer(self, mapped, dtype, BlockCall(self, method.__name__, (args, kwargs)))

    return wrapped  # type: ignore[return-value]


def lazy_labels(model: Any, partitions: Partitions) -> Any:
    """Return the labels of the rows of a fit, in the type of their engine."""
    return partitions.map_rows(BlockCall(model, "predict"), None, np.int32)


class BlockCall:
    """A method of a fitted model, called with blocks of rows elsewhere."""

    def __init__(self, model: Any, method: str, arguments: Any = ((), {})) -> None:
        self.model, self.method, self.arguments = block_model(model), method, arguments

    def __call__(self, block: Array) -> Any:
        args, kwargs = self.arguments
        rows = readable_rows(block)
        if len(rows):
            return getattr(self.model, self.method)(rows, *args, **kwargs)
        # no estimator takes no rows: the answer about a row of zeros has the shape and the dtype
        self_made = np.zeros((1, self.model.n_features_in_), rows.dtype)
        if self.method == "predict":
            return np.empty(0, np.int32)
        return getattr(self.model, self.method)(self_made, *args, **kwargs)[:0]


def block_model(model: Any) -> Any:
    """Return a copy of a model that labels blocks of rows elsewhere: no code, and one thread."""
    twin = copy.copy(model)
    for name in NOT_SENT:
        vars(twin).pop(name, None)
    twin._reads_blocks = True
    # blocks are labelled by one thread: an engine runs one task per core
    return set_known(twin, init="random", halt=None, callback=None, random_state=None, n_threads=1)


def _floating(dtype: Any) -> Any:
    return np.float32 if dtype == np.float32 else np.float64


# --- scores ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RowCosts:
    """Adds up the costs of the rows of a partition at the centers of a model."""

    model: Any

    def __call__(self, part: Part) -> PartialSums:
        rows, cost = self.model._own_costs(part.rows)
        weight = None if part.weight is None else part.weight[rows]
        return PartialSums.of(cost, weight=weight)


def score_partitions(model: Any, X: Any, sample_weight: Any) -> float:
    """Add up the costs of rows in partitions at the centers of a model, exactly."""
    if is_spark(X):
        names = getattr(model, "feature_names_in_", None)
        X = scored_columns(X, names, model.n_features_in_, sample_weight)
    else:
        lazy_rows(model, X)  # checks the features
    given = open_partitions(X, sample_weight)
    try:
        if given.weighted:
            check_facts(given.total(weight_facts, operator.add))
        sums = given.total(RowCosts(block_model(model)), operator.add)
        return float(sums.totals()[0])
    finally:
        given.close()


def check_facts(facts: WeightFacts) -> None:
    """Require valid weights."""
    span = facts.span
    validation.check_weight_facts(
        span.rows, facts.wrong, facts.negative, span.largest, "sample_weight"
    )
