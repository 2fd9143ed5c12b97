"""Dask's collections as rows: arrays, frames and lists of delayed blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.optional_imports import require
from partita._common.parameters import Got, must_be

DASK_MODULES = ("dask", "dask_expr")


def is_dask(X: Any) -> bool:
    """Return whether X is a collection of Dask, or a list of delayed blocks."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and is_dask(X[0])
    return type(X).__module__.partition(".")[0] in DASK_MODULES


def client_of(X: Any) -> Any:
    """Return the distributed client that would compute X; None if there is none."""
    base = require("dask.base", "rows in a dask array", "dask")
    client = getattr(base.get_scheduler(collections=[X]), "__self__", None)
    return client if hasattr(client, "scatter") else None


def open_dask(X: Any, sample_weight: Any) -> Any:
    """Return the partitions of a collection of Dask, with one weight per row if given."""
    from partita.source.dask_partitions import DaskPartitions

    rows, names = as_dask_array(X)
    held = rows
    if any(np.isnan(size) for size in rows.chunks[0]):
        # sizes take the rows themselves: they are computed once
        held = rows.persist()
        held.compute_chunk_sizes()
        rows = type(rows)(rows.dask, rows.name, held.chunks, meta=rows)
    if rows.shape[0] == 0:
        raise must_be("X", "rows of numbers", Got("no rows"))
    weight = None if sample_weight is None else _as_weights(sample_weight, rows.shape[0])
    return DaskPartitions(rows, held, weight, names)


def as_dask_array(X: Any) -> tuple[Any, Any]:
    """Return X as a dask array with one chunk along the features, and the names of these."""
    array = require("dask.array", "rows in a dask array", "dask")
    names = None
    if isinstance(X, list | tuple):
        X = _joined(X)
    elif hasattr(X, "to_dask_array"):
        columns = [name for name in X.columns if isinstance(name, str)]
        names = np.array(columns, object) if len(columns) == len(X.columns) else None
        X = X.to_dask_array()
    if not isinstance(X, array.Array) or X.ndim != 2 or X.shape[1] == 0:
        shape = getattr(X, "shape", None)
        got = Got(f"a {type(X).__name__} of shape {shape}")
        raise must_be("X", "a dask array or frame with rows and features", got)
    if X.dtype.kind not in "fiub":
        raise must_be("X", "numeric", Got(f"values of type {X.dtype}"), "Encode it as numbers.")
    if type(X._meta).__module__.partition(".")[0] != "numpy":
        got = Got(f"blocks of {type(X._meta).__name__}")
        raise must_be("X", "a dask array of NumPy blocks", got, "Use X.map_blocks to convert them.")
    return X.rechunk({1: -1}), names


def _joined(blocks: Any) -> Any:
    """Return delayed blocks as one array; they are computed to know their shapes."""
    dask = require("dask", "delayed blocks", "dask")
    array = require("dask.array", "delayed blocks", "dask")
    held = dask.persist(*blocks)
    kinds = dask.compute(*(dask.delayed(_shape_and_dtype)(block) for block in held))
    return array.concatenate(
        [
            array.from_delayed(dask.delayed(np.asarray)(block), shape, dtype)
            for block, (shape, dtype) in zip(blocks, kinds, strict=True)
        ]
    )


def _shape_and_dtype(block: Any) -> tuple[tuple[int, ...], Any]:
    values = np.asarray(block)
    return values.shape, values.dtype


def _as_weights(weight: Any, n: int) -> Any:
    """Return weights as a dask array (n,) with known chunks."""
    array = require("dask.array", "rows in a dask array", "dask")
    if is_dask(weight):
        weight = weight.to_dask_array() if hasattr(weight, "to_dask_array") else weight
        weight = weight.copy()
        if any(np.isnan(size) for size in weight.chunks[0]):
            weight.compute_chunk_sizes()
    else:
        from partita._common.number_arrays import as_float_array

        weight = as_float_array("sample_weight", weight, "numeric")
        weight = array.from_array(np.full(n, weight) if weight.ndim == 0 else weight)
    if weight.shape != (n,):
        got = Got(f"an array of shape {weight.shape}")
        raise must_be("sample_weight", f"of shape ({n},), one number for each row", got)
    return weight


def map_rows(rows: Any, function: Callable[[Array], Array], columns: int | None, dtype: Any) -> Any:
    """Return the lazy result of a function of blocks of rows: one number a row, or `columns`."""
    if columns is None:
        return rows.map_blocks(function, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
    chunks = rows.chunks[0], (columns,)
    return rows.map_blocks(function, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype))


def renumber_labels(labels: Any, new_label: Array) -> Any:
    """Return labels in which clusters have new numbers (k,), and other labels stay.

    Those of a dask array are lazy; None for a type of labels that has no blocks.
    """
    if isinstance(labels, np.ndarray):
        return _renumbered(labels, new_label)
    if not hasattr(labels, "map_blocks"):
        return None
    return labels.map_blocks(_renumbered, new_label=new_label, dtype=np.int32)


def _renumbered(labels: Array, new_label: Array) -> Array:
    out, known = labels.copy(), (labels >= 0) & (labels < len(new_label))
    out[known] = new_label[labels[known]]
    return out
