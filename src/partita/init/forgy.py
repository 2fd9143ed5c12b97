"""Forgy's start: k of the rows, drawn without replacement in proportion to their weight."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.source.protocol import Source
from partita.weights import Weights


def forgy(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """Rows of the data as centers."""
    return source.take_rows(forgy_rows(source.weights, source.n, k, rng))


def forgy_rows(weights: Weights, n: int, k: int, rng: np.random.Generator) -> Ints:
    """Which of n rows (k,); where fewer than k rows have weight, some are taken again."""
    if weights.all_equal:
        return np.asarray(rng.choice(n, size=k, replace=False))
    weight = weights.as_floats(n)
    some = np.flatnonzero(weight)
    share = weight[some] / weight[some].sum()
    return np.resize(rng.choice(some, size=min(k, len(some)), replace=False, p=share), k)
