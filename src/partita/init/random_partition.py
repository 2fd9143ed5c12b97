"""The means of a random partition."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats
from partita.init.forgy import forgy
from partita.moments import Moments
from partita.source.protocol import Source

ROWS_PER_CALL = 1 << 14


def random_partition(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """Average the rows by random labels; a label without weight becomes a random row."""
    grid = source.survey().grid
    labels, drawn = np.full(source.n, -1, np.int32), rng.integers(k, size=source.n, dtype=np.int32)
    moments = Moments.zero(k, grid)
    for i in range(0, source.n, ROWS_PER_CALL):
        rows = np.arange(i, min(source.n, i + ROWS_PER_CALL))
        source.move(rows, drawn[rows], labels, moments)
    stats = moments.stats()
    is_empty = stats.weight == 0
    centers = stats.mean + grid.origin
    if is_empty.any():
        centers[is_empty] = forgy(source, k, rng)[is_empty]
    return np.asarray(centers)
