"""Rows of files, in the form that estimators take."""

from __future__ import annotations

import math
import os
import tempfile
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.memory import free_memory
from partita._common.parameters import Got, must_be
from partita.scanning.scan import OpenedRows, Scan, files_of
from partita.scanning.stored_rows import StoredRows

# that every fit needs: per row without and with weights, per value of a center, at all, per thread
FIT_ROW_BYTES, CENTER_VALUE_BYTES, FIT_BYTES, THREAD_BYTES = (20, 60), 160, 4e6, 2e6
FREE_MEMORY_SHARE = 0.25  # that new rows may take


def is_scanned(X: Any) -> bool:
    """Return whether X is a scan of files, or the path of one."""
    return isinstance(X, (Scan, str, os.PathLike))


def open_scan(
    X: Any, sample_weight: Any, memory: float, k: int, threads: int
) -> tuple[Any, Any, float]:
    """Return rows to fit, their weights, and the bytes of `memory` that are left for them.

    A path or a scan becomes `OpenedRows`; all else is returned as it is. All that a fit of a file
    needs counts towards its limit.
    """
    if not is_scanned(X):
        return X, sample_weight, memory
    opened = _as_scan(X).open(memory)
    if opened.weight is not None and sample_weight is not None:
        got = Got("weights besides those of the scan")
        raise must_be("sample_weight", "None for a scan with weights", got)
    weight = sample_weight if opened.weight is None else opened.weight
    n, d = opened.rows.shape
    per_thread = THREAD_BYTES + 16 * k * d
    needed = n * FIT_ROW_BYTES[weight is not None] + CENTER_VALUE_BYTES * k * d + FIT_BYTES
    return opened, weight, max(0.0, memory - needed - threads * per_thread)


def scanned_features(opened: OpenedRows) -> dict[str, Any]:
    """Return the number of features, and their names if the files have names."""
    names = {} if opened.names is None else {"feature_names_in_": np.array(opened.names, object)}
    return {"n_features_in_": opened.rows.shape[1], **names}


def rows_like_fit(estimator: Any, X: Any, parameter: str) -> Any:
    """Return the rows of a scan for a fitted estimator; of files with names, the fitted columns."""
    given, names = _as_scan(X, parameter), getattr(estimator, "feature_names_in_", None)
    if names is not None:
        given = given.with_features(names.tolist())
    opened, d = given.open(free_memory() * FREE_MEMORY_SHARE), estimator.n_features_in_
    if opened.rows.shape[1] != d:
        raise must_be(parameter, f"of {d} features, as in the fit", Got(f"{opened.rows.shape[1]}"))
    return opened.rows


def scanned_array(X: Any, parameter: str) -> Array:
    """Return the rows of a scan in memory, for members that need all of them."""
    return np.asarray(_as_scan(X, parameter).open(math.inf).rows)


def labels_in_file(labels: Array) -> Array:
    """Return labels as an array that is mapped from a temporary file, to free their memory.

    The file has no name, and is gone when the array is. Where it cannot be written, the labels stay
    in memory.
    """
    try:
        with tempfile.TemporaryFile(prefix="partita-") as file:
            labels.tofile(file)
            return np.memmap(file, labels.dtype, "c", shape=labels.shape)
    except OSError:
        return labels


def reading_note(rows: StoredRows) -> str:
    """Say how often a file was read, and how much that was."""
    times = rows.bytes_read / max(1, rows.nbytes)
    return f"file: {times:.1f} passes over {rows.nbytes / 1e6:.0f} MB of rows"


def _as_scan(X: Any, parameter: str = "X") -> Scan:
    return X if isinstance(X, Scan) else Scan(*files_of(X, parameter))
