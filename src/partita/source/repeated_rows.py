"""Rows that repeat: the different ones, each with the weight of all rows that are equal to it.

Sums are exact, so a weight of w equals w rows bit for bit, and a pass may read every row once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Array, Ints
from partita._kernels import kernels
from partita.source.dense import DenseSource
from partita.source.protocol import Source
from partita.source.row_views import are_far

MAX_DISTINCT_SHARE = 0.7  # of the rows: with more, the search and copies cost what they save
SAMPLE_FACTOR = 10.0  # of √n: a sample of so many rows has 20 pairs where a third of them repeats
MIN_SAMPLED_ROWS = 2048  # fewer are searched at once
MAX_SAMPLE_SHARE = 1 / 32  # of the rows, where these are more than
MIN_SAMPLE_BYTES = 1 << 17
MIN_SAMPLE_REPEATS = 10  # fewer may be chance
FIRST_ROOM = 3.0  # of the estimated number of different rows, that the first search has room for
SEARCH_NS = 20.0, 0.2  # of a row: once, and per byte
ROW_BYTES = 24  # of a different row, beside its values: weight, count, first row and label


@dataclass(frozen=True, slots=True)
class MergedRows:
    """The different rows of a source, in the order of the first of each."""

    source: DenseSource  # on the grid of all rows
    first: Ints  # (m,) the first of the rows that are equal
    repeats: Ints  # (m,) how many rows are equal
    inverse: Ints  # (n,) the number of every row

    def __str__(self) -> str:
        return f"{self.source.n} distinct rows of {len(self.inverse)}"


def as_bytes(source: Source) -> Array | None:
    """Return all rows as bytes (n, b), if equal rows of the source may be merged."""
    if not isinstance(source, DenseSource) or not isinstance(source.rows, np.ndarray):
        return None
    rows, weights = source.rows, source.weights
    if are_far(rows) or not rows.flags.c_contiguous or len(rows) > np.iinfo(np.int32).max:
        return None
    if not weights.whole or (weights.times is not None and not weights.times.all()):
        return None  # rows without weight keep their label where others move
    return None if source.survey().beyond_grid else rows.view(np.uint8)


def search_cost(source: Source) -> float:
    """Cost of a search and of the copies, in nanoseconds of one core."""
    assert isinstance(source, DenseSource)
    return source.n * (SEARCH_NS[0] + SEARCH_NS[1] * source.row_bytes)


def estimate_distinct(rows: Array) -> float:
    """Estimate how many of the rows (n, b) are different, from a random sample."""
    n, sample = len(rows), rows
    if n > MIN_SAMPLED_ROWS:
        most = max(MAX_SAMPLE_SHARE * n, MIN_SAMPLE_BYTES / rows.shape[1])
        size = min(most, SAMPLE_FACTOR * math.sqrt(n))
        sample = rows.take(_random_pairs(n, max(1, int(size / 2))), axis=0)
    found = _search(sample, len(sample), None)
    if found is None:
        return n
    counts = found[1]
    if sample is rows:
        return len(counts)
    if len(sample) - len(counts) < MIN_SAMPLE_REPEATS:
        return n
    return math.sqrt(_if_alike(counts, n) * _if_skewed(counts, n))


def _if_alike(counts: Ints, n: int) -> float:
    """Estimate the different rows of n, too low where some are there more often than others.

    A row that is there r times has a second one among s rows with a chance of about s·(r − 1)/n.
    Those that the sample holds more often are few, and count as one each.
    """
    single, pairs = (int(np.count_nonzero(counts == c)) for c in (1, 2))
    rare = single + 2 * pairs  # rows of the sample
    all_rare = rare * (n / int(counts.sum()))
    return (
        all_rare / (1.0 + 2.0 * all_rare * pairs / max(1, rare) ** 2) + len(counts) - single - pairs
    )


def _if_skewed(counts: Ints, n: int) -> float:
    """Estimate the same, too high where they are there as often as each other (Shlosser 1981)."""
    q, (times, rows) = int(counts.sum()) / n, np.unique(counts, return_counts=True)
    unseen = ((1 - q) ** times * rows).sum() / (times * q * (1 - q) ** (times - 1.0) * rows).sum()
    return float(len(counts) + np.count_nonzero(counts == 1) * unseen)


def _random_pairs(n: int, parts: int) -> Ints:
    """Draw two different rows in each of so many parts of n rows, as equal rows may be near."""
    rng, length = np.random.default_rng(0), n // parts
    one, gap = rng.integers(0, length, parts), rng.integers(1, length, parts)
    begin = np.arange(parts) * length
    return np.concatenate([begin + one, begin + (one + gap) % length])


def find_distinct(source: Source, estimate: float, memory: float) -> MergedRows | None:
    """Find the different rows, if they are few enough, and the copies fit `memory` bytes."""
    rows = as_bytes(source)
    if rows is None:
        return None
    assert isinstance(source, DenseSource)
    n = source.n
    fitting = (memory - copy_bytes(source, 0)) / (source.row_bytes + ROW_BYTES)
    most = int(max(0, min(MAX_DISTINCT_SHARE * n, fitting)))
    room = min(most, int(FIRST_ROOM * estimate) + MIN_SAMPLED_ROWS)
    found = None
    while most and found is None:
        if search_bytes(n, room) > memory:
            return None
        found = _search(rows, room, source.workers.crew)
        if room == most:
            break
        room = most
    if found is None:
        return None
    first, repeats, inverse = found
    times, weights = source.weights.times, repeats
    if times is not None:
        weights = np.bincount(inverse, times, len(first)).astype(np.int64)  # exact: below 2^53
    merged = replace(source.weights, times=weights)
    return MergedRows(source.subset(first, merged, source.survey()), first, repeats, inverse)


def search_bytes(n: int, most: int) -> int:
    """Memory that a search takes while it runs: hashes and numbers, the table, and its results."""
    return 8 * n + 44 * most


def copy_bytes(source: Source, m: int) -> int:
    """Memory of m different rows, and of the numbers of all rows."""
    assert isinstance(source, DenseSource)
    return m * (source.row_bytes + ROW_BYTES) + 4 * source.n


def _search(rows: Array, most: int, crew: object) -> tuple[Ints, Ints, Ints] | None:
    """Return the first of each of the different rows, their counts, and the number of every row."""
    inverse, first = np.empty(len(rows), np.int32), np.empty(most, np.int32)
    counts = np.empty(most, np.int64)
    m = kernels.distinct_rows(rows, inverse, first, counts, crew)
    return None if m < 0 else (first[:m].copy(), counts[:m].copy(), inverse)
