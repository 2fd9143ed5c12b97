"""`fingerprint`: a short text that identifies the data of a fit."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

CHUNK_VALUES = 1 << 22  # copied and hashed at once


def fingerprint(X: Any, sample_weight: Any = None) -> str:
    """Return a hash of X and its weights: of the shape, the dtype and every bit, row by row.

    It does not depend on the container: an array of any memory layout, a list and a frame of the
    same numbers of the same dtype have the same fingerprint. Sparse rows differ from dense ones;
    their indices and values count, stored zeros included. 0.0 and −0.0 differ, and so do no
    weights and weights that are all 1.

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
    digest = hashlib.blake2b(digest_size=16)
    kind = "csr" if issparse(rows) else "dense"
    digest.update(f"partita 1 {kind} {rows.shape} {rows.dtype.newbyteorder('<').str}".encode())
    parts = [(rows, rows.dtype)]
    if kind == "csr":
        index = np.dtype(np.int64)
        parts = [(rows.indptr, index), (rows.indices, index), (rows.data, rows.dtype)]
    if weight is not None:
        parts.append((weight, weight.dtype))
    for values, dtype in parts:
        step = max(1, CHUNK_VALUES // max(1, values[:1].size))
        for i in range(0, len(values), step):
            block = np.ascontiguousarray(values[i : i + step], dtype=dtype.newbyteorder("<"))
            digest.update(block.data)
    return f"blake2b-128:{digest.hexdigest()}"
