"""The means of a random partition."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats
from partita.init.forgy import forgy
from partita.moments import Moments
from partita.source.protocol import Source


def random_partition(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """Give every row a random label and average; a label nobody drew becomes a random row."""
    grid = source.survey().grid
    labels, drawn = np.full(source.n, -1, np.int32), rng.integers(k, size=source.n, dtype=np.int32)
    moments = Moments.zero(k, grid)
    for i in range(0, source.n, 1 << 14):
        rows = np.arange(i, min(source.n, i + (1 << 14)))
        source.move(rows, drawn[rows], labels, moments)
    stats = moments.stats()
    nobody = stats.weight == 0
    centers = stats.mean + grid.origin
    if nobody.any():
        centers[nobody] = forgy(source, k, rng)[nobody]
    return np.asarray(centers)
