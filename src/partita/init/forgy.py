"""Forgy's start: k of the rows, drawn without replacement in proportion to their weight."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.exact_weights import Weights
from partita.source.protocol import Source


def forgy(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """Draw k rows as centers."""
    return source.take_rows(forgy_rows(source.weights, source.n, k, rng))


def forgy_rows(weights: Weights, n: int, k: int, rng: np.random.Generator) -> Ints:
    """Draw row numbers (k,); where fewer than k rows have weight, some are repeated."""
    if weights.all_equal:
        return np.asarray(rng.choice(n, size=k, replace=False))
    weight = weights.as_floats(n)
    rows = np.flatnonzero(weight)
    share = weight[rows] / weight[rows].sum()
    return np.resize(rng.choice(rows, size=min(k, len(rows)), replace=False, p=share), k)
