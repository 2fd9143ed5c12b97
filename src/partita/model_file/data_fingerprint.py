"""A short text that says which data a model was fitted to."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from partita._common.array_types import Array

_PIECE = 1 << 22  # values that are brought in order at once


def fingerprint(X: Any, sample_weight: Any = None) -> str:
    """A hash of X and its weights: of the shape, the dtype and every bit, in the order of the rows.

    It does not depend on the container: an array, whatever its memory layout, a list and a frame of
    the same numbers of the same dtype give the same text. Sparse rows are another kind than
    dense ones; of these indices and values count, stored zeros included. 0.0 and −0.0 differ, and
    so do no weights and weights that are all 1.

    >>> fingerprint([[1.0, 2.0]]) == fingerprint(np.array([[1.0, 2.0]]))
    True
    >>> fingerprint([[1.0, 2.0]])[:12]
    'blake2b-128:'
    """
    from scipy.sparse import issparse

    from partita.estimators import validation

    flat = np.asarray(X) if getattr(X, "ndim", None) == 1 else None  # a triangle of dissimilarities
    rows: Any = validation.as_rows(X) if flat is None or flat.dtype.kind not in "fiub" else flat
    weight = validation.check_weights(sample_weight, rows.shape[0])
    found = hashlib.blake2b(digest_size=16)
    kind = "csr" if issparse(rows) else "dense"
    found.update(f"partita 1 {kind} {rows.shape} {rows.dtype.newbyteorder('<').str}".encode())
    if kind == "csr":
        for part in (rows.indptr, rows.indices):
            _add(found, part, np.dtype("<i8"))
        _add(found, rows.data, rows.dtype)
    else:
        _add(found, rows, rows.dtype)
    if weight is not None:
        _add(found, weight, weight.dtype)
    return f"blake2b-128:{found.hexdigest()}"


def _add(found: Any, values: Array, kind: np.dtype[Any]) -> None:
    """The values in the order of the rows, in the byte order that all machines agree on."""
    little = kind.newbyteorder("<")
    step = max(1, _PIECE // max(1, values[:1].size))
    for i in range(0, len(values), step):
        found.update(np.ascontiguousarray(values[i : i + step], dtype=little).data)
