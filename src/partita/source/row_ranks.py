"""Rows of a source by their content: an order, and whether other rows are the same."""

from __future__ import annotations

import hashlib

import numpy as np

from partita._common.array_types import Array, Ints
from partita._common.content_keys import content_keys
from partita.source.protocol import Source
from partita.source.raw_rows import row_slices
from partita.source.sparse import SparseSource

WEIGHT_FACTOR = np.uint64(3)  # so that the key of a weight is not that of a row of one feature


def row_ranks(source: Source) -> Ints:
    """Return the place (n,) of every row in an order by values and weight; equal rows as given.

    The order is that of keys. Two rows that differ have the same key with a probability of 2⁻⁶⁴.
    """
    keys, weight = _keys(source), source.weights.unless_equal()
    if weight is not None:
        keys += WEIGHT_FACTOR * content_keys((weight / weight.max())[:, None])
    ranks = np.empty(source.n, np.int32)
    ranks[np.argsort(keys, kind="stable")] = np.arange(source.n, dtype=np.int32)
    return ranks


def rows_hash(source: Source) -> str:
    """Return 16 digits that tell all rows, in their order, from others; sparse or dense."""
    return hashlib.blake2b(_keys(source).astype("<u8").data, digest_size=8).hexdigest()


def _keys(source: Source) -> Array:
    if isinstance(source, SparseSource):
        return content_keys(source.rows)
    parts = [content_keys(source.take_rows(np.arange(rows.start, rows.stop)))
             for rows in row_slices(source.n, source.d)]  # fmt: skip
    return np.concatenate(parts)
