"""Forgy's start: k of the rows, drawn without replacement in proportion to their weight."""

from __future__ import annotations

import numpy as np

from partita._typing import Floats
from partita.source.blocks import Source


def forgy(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """Rows of the data as centers; where fewer than k rows have weight, some are taken again."""
    if source.weights.alike:
        return source.take(rng.choice(source.n, size=k, replace=False))
    weight = source.weights.as_floats(source.n)
    some = np.flatnonzero(weight)
    share = weight[some] / weight[some].sum()
    drawn = rng.choice(some, size=min(k, len(some)), replace=False, p=share)
    return source.take(np.resize(drawn, k))
