"""Hashes of rows: an order by their values, and whether other rows are the same."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita.source.protocol import Source
from partita.source.sparse import SparseSource

BLOCK_VALUES = 1 << 20  # that are hashed at a time
MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of SplitMix64
GOLDEN = 0x9E3779B97F4A7C15  # 2⁶⁴ over the golden ratio


def row_ranks(source: Source) -> Ints:
    """Return the place (n,) of every row in an order by values and weight; equal rows as given.

    The order is that of a hash. Two rows that differ have the same hash with a probability of 2⁻⁶⁴.
    """
    hashes = _row_hashes(source)
    weight = source.weights.unless_equal()
    if weight is not None:
        hashes += _mixed(weight / weight.max()) * _odd_factors(source.d + 1)[-1]
    ranks = np.empty(source.n, np.int32)
    ranks[np.argsort(hashes, kind="stable")] = np.arange(source.n, dtype=np.int32)
    return ranks


def rows_hash(source: Source) -> str:
    """Return 16 digits that tell all rows, in their order, from others; sparse or dense."""
    hashes = _scrambled(_row_hashes(source)) * _odd_factors(source.n)
    return f"{int(hashes.sum(dtype=np.uint64)):016x}"


def _row_hashes(source: Source) -> Array:
    return _sparse_hashes(source) if isinstance(source, SparseSource) else _dense_hashes(source)


def _dense_hashes(source: Source) -> Array:
    factors, hashes = _odd_factors(source.d), np.empty(source.n, np.uint64)
    step = max(1, BLOCK_VALUES // source.d)
    for first in range(0, source.n, step):
        rows = np.arange(first, min(first + step, source.n))
        hashes[rows] = (_mixed(source.take_rows(rows)) * factors).sum(axis=1, dtype=np.uint64)
    return hashes


def _sparse_hashes(source: SparseSource) -> Array:
    rows, hashes = source.rows, np.zeros(source.n, np.uint64)
    terms = _mixed(rows.data) * _odd_factors(source.d)[rows.indices]
    np.add.at(hashes, np.repeat(np.arange(source.n), np.diff(rows.indptr)), terms)
    return hashes


def _odd_factors(d: int) -> Array:
    """A different odd number (d,) for every feature."""
    return _scrambled(np.arange(1, d + 1, dtype=np.uint64) * np.uint64(GOLDEN)) | np.uint64(1)


def _mixed(values: Floats) -> Array:
    """Integers of 64 bits that look random: the same for the same values, 0 for 0."""
    doubles = np.ascontiguousarray(values, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    return _scrambled(doubles.view(np.uint64))


def _scrambled(bits: Array) -> Array:
    """SplitMix64 (Steele, Lea and Flood 2014): every bit depends on all."""
    for shift, factor in zip((30, 27), MIXERS, strict=True):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
