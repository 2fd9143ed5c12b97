"""Random rows for k-means++, in proportion to weight times squared distance."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.weighting import weighted

LEAF_ROWS = 256  # rows whose potential is summed as one


def index_in_cumsum(cumulated: Floats, place: Floats) -> Ints:
    """Which step of a cumulated sum each place falls on; never a step of height zero."""
    last = cumulated.searchsorted(cumulated[-1], side="left")  # the last step that is positive
    return np.asarray(np.minimum(cumulated.searchsorted(place, side="right"), last))


def draw_any(n: int, weight: Floats | None, uniform: Floats) -> Ints:
    """Rows drawn in proportion to their weight."""
    if weight is None:
        return (uniform * n).astype(np.intp)
    cumulated = weight.cumsum()
    return index_in_cumsum(cumulated, uniform * cumulated[-1])


def draw_rows(potential: Floats, closest: Floats, weight: Floats | None, uniform: Floats) -> Ints:
    """Rows drawn in proportion to weight·closest: first the leaf, then the row in it."""
    leaves = potential.cumsum()
    if not leaves[-1] > 0:  # every row equals a chosen one
        return draw_any(len(closest), weight, uniform)
    place = uniform * leaves[-1]
    out = np.empty(len(uniform), np.intp)
    for i, at in enumerate(index_in_cumsum(leaves, place).tolist()):
        rows = slice(LEAF_ROWS * at, LEAF_ROWS * (at + 1))
        part = None if weight is None else weight[rows]
        inside = weighted(closest[rows].astype(np.float64), part)
        before = leaves[at - 1] if at else 0.0
        out[i] = LEAF_ROWS * at + index_in_cumsum(inside.cumsum(), place[i] - before)
    return out
