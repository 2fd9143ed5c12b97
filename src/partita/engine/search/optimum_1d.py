"""The optimum of one feature, by dynamic programming."""

from __future__ import annotations

import importlib

import numpy as np

from partita._common.array_types import Floats
from partita.source.protocol import Source


def centers_1d(source: Source, k: int) -> Floats:
    """Return the centers (k, 1) of an optimal partition of rows with one feature."""
    optimal_partition = importlib.import_module("partita.one_dimension").optimal_partition
    values = source.take_rows(np.arange(source.n))[:, 0]
    _, centers, _ = optimal_partition(values, source.weights.as_floats(source.n), k)
    return np.asarray(centers, dtype=np.float64).reshape(-1, 1)
