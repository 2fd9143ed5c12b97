"""The optimum of one feature, by dynamic programming."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats
from partita.one_dimension import optimal_partition
from partita.source.protocol import Source


def centers_1d(source: Source, k: int) -> tuple[Floats, bool]:
    """Return the centers (k, 1) of an optimal partition of rows with one feature.

    And whether it is proven: weights or values beyond all proportion leave room for better ones.
    """
    values = source.take_rows(np.arange(source.n))[:, 0]
    weight = source.weights.as_floats(source.n)
    optimum = optimal_partition(values, weight, k, source.workers.n)
    centers = optimum.centers
    missing = k - len(centers)  # if fewer values are distinct
    centers = np.append(centers, np.repeat(centers[-1:], missing)).reshape(-1, 1)
    return centers, optimum.is_proven
