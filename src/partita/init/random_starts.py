"""Random starts: rows, the means of a random partition, or vectors in the box of the data."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.exact_weights import Weights
from partita.moments import Moments
from partita.source.protocol import Source

MAX_ROWS_MOVED, MAX_VALUES_MOVED = 1 << 14, 1 << 18  # at a time


def forgy(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """Draw k rows as centers, without replacement, in proportion to their weight."""
    return source.take_rows(forgy_rows(source.weights, source.n, k, rng))


def forgy_rows(weights: Weights, n: int, k: int, rng: np.random.Generator) -> Ints:
    """Draw row numbers (k,); where fewer than k rows have weight, some are repeated."""
    if weights.all_equal:
        return np.asarray(rng.choice(n, size=k, replace=False))
    weight = weights.as_floats(n)
    rows = np.flatnonzero(weight)
    share = weight[rows] / weight[rows].sum()
    return np.resize(rng.choice(rows, size=min(k, len(rows)), replace=False, p=share), k)


def random_partition(
    source: Source, k: int, rng: np.random.Generator, width: int | None = None
) -> Floats:
    """Average the rows by random labels; a label without weight becomes a random row."""
    drawn = rng.integers(k, size=source.n, dtype=np.int32)
    return means_of(source, drawn, k, rng, width)


def means_of(
    source: Source, drawn: Ints, k: int, rng: np.random.Generator, width: int | None = None
) -> Floats:
    """Average the rows by labels (n,); a label without weight becomes a random row.

    `width` is how many values a row stores; None: one for each feature.
    """
    labels, moments = np.full(source.n, -1, np.int32), Moments.zero(k, source.survey().grid)
    step = max(1, min(MAX_ROWS_MOVED, MAX_VALUES_MOVED // (width or source.d)))
    for i in range(0, source.n, step):
        rows = np.arange(i, min(source.n, i + step))
        source.move(rows, drawn[rows], labels, moments)
    return means_or_rows(source, moments, rng)


def means_or_rows(source: Source, moments: Moments, rng: np.random.Generator) -> Floats:
    """Return the means of clusters; random rows in place of those without weight."""
    k, grid = len(moments.hi), moments.grid
    stats = moments.stats()
    is_empty = stats.weight == 0
    centers = stats.mean + grid.origin
    if is_empty.any():
        centers[is_empty] = forgy(source, k, rng)[is_empty]
    return np.asarray(centers)


def box(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """Draw k vectors uniformly in the smallest box that holds every row of weight."""
    survey = source.survey()
    return np.asarray(survey.low + rng.random((k, source.d)) * (survey.high - survey.low))
