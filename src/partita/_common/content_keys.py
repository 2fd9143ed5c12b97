"""Keys of rows by their content: equal rows have equal keys, wherever they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.sparse_format import is_sparse

_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def content_keys(rows: Any) -> Array:
    """Return 64-bit keys (n,) of rows; those of others hardly ever agree.

    Dense and canonical sparse rows of the same values have the same keys.

    >>> keys = content_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> bool(keys[0] == keys[2] != keys[1])
    True
    """
    n, d = rows.shape
    sums, factors = np.zeros(n, np.uint64), _odd_factors(d)
    if is_sparse(rows):
        row = np.repeat(np.arange(n), np.diff(rows.indptr))
        np.add.at(sums, row, _mixed(_bits(rows.data)) * factors[rows.indices])
    else:
        for column, factor in zip(np.asarray(rows).T, factors, strict=True):
            sums += _mixed(_bits(column)) * factor  # of 0, nothing: as if it were not stored
    return _mixed(sums)


def _odd_factors(d: int) -> Array:
    """Return a different odd number (d,) for every feature."""
    return _mixed(np.arange(1, d + 1, dtype=np.uint64)) | np.uint64(1)


def _bits(values: Array) -> Array:
    return (values.astype(np.float64) + 0.0).view(np.uint64)  # −0 becomes 0


def _mixed(keys: Array) -> Array:
    """Spread every bit over all others (the finalizer of splitmix64); 0 stays 0."""
    keys = (keys ^ (keys >> np.uint64(30))) * _FIRST_FACTOR
    keys = (keys ^ (keys >> np.uint64(27))) * _SECOND_FACTOR
    return np.asarray(keys ^ (keys >> np.uint64(31)))
