"""Keys of rows by their content: equal rows have equal keys, wherever they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.sparse_format import is_sparse

_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def content_keys(rows: Any) -> Array:
    """Return 64-bit keys (n,) of dense or canonical sparse rows; those of others hardly ever agree.

    >>> keys = content_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> bool(keys[0] == keys[2] != keys[1])
    True
    """
    keys = np.zeros(rows.shape[0], np.uint64)
    if not is_sparse(rows):
        for column in np.asarray(rows).T:
            keys = _mixed(keys ^ _bits(column))
        return keys
    terms = _mixed(_bits(rows.data) ^ _mixed(rows.indices.astype(np.uint64) + np.uint64(1)))
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    np.add.at(keys, row, terms)
    return _mixed(keys)


def _bits(values: Array) -> Array:
    return (values.astype(np.float64) + 0.0).view(np.uint64)  # −0 becomes 0


def _mixed(keys: Array) -> Array:
    """Spread every bit over all others (the finalizer of splitmix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * _FIRST_FACTOR
    keys = (keys ^ (keys >> np.uint64(27))) * _SECOND_FACTOR
    return np.asarray(keys ^ (keys >> np.uint64(31)))
