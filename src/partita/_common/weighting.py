"""Weights of rows applied to their distances."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats


def weighted(distance: Floats, weight: Floats | None) -> Floats:
    """Return weight·distance; 0 where the weight is zero, even if the distance is infinite."""
    if weight is None:
        return distance
    return np.multiply(distance, weight, out=np.zeros_like(distance), where=weight > 0)
