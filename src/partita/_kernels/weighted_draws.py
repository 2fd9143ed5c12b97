"""Weighted random draws of rows, for k-means++."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.weighting import weighted

LEAF_ROWS = 256  # rows whose potential is summed together


def index_in_cumsum(cumulated: Floats, place: Floats) -> Ints:
    """Indices of the steps of a cumulated sum that contain each place; never of height zero."""
    last = cumulated.searchsorted(cumulated[-1], side="left")  # the last positive step
    return np.asarray(np.minimum(cumulated.searchsorted(place, side="right"), last))


def draw_any(n: int, weight: Floats | None, uniform: Floats) -> Ints:
    """Draw rows with probability proportional to their weight."""
    if weight is None:
        return (uniform * n).astype(np.intp)
    cumulated = weight.cumsum()
    return index_in_cumsum(cumulated, uniform * cumulated[-1])


def draw_rows(potential: Floats, closest: Floats, weight: Floats | None, uniform: Floats) -> Ints:
    """Draw rows with probability proportional to weight·closest: first the leaf, then the row."""
    leaves = potential.cumsum()
    if not leaves[-1] > 0:  # every row equals a chosen row
        return draw_any(len(closest), weight, uniform)
    place = uniform * leaves[-1]
    out = np.empty(len(uniform), np.intp)
    for i, leaf in enumerate(index_in_cumsum(leaves, place).tolist()):
        rows = slice(LEAF_ROWS * leaf, LEAF_ROWS * (leaf + 1))
        leaf_weight = None if weight is None else weight[rows]
        inside = weighted(closest[rows].astype(np.float64), leaf_weight)
        before = leaves[leaf - 1] if leaf else 0.0
        out[i] = LEAF_ROWS * leaf + index_in_cumsum(inside.cumsum(), place[i] - before)
    return out
