"""Random rows for k-means++, in proportion to weight times squared distance."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints

LEAF = 256  # rows whose potential is summed as one


def weighed(distance: Floats, weight: Floats | None) -> Floats:
    """weight·distance, where a row of weight zero may be infinitely far."""
    if weight is None:
        return distance
    return np.multiply(distance, weight, out=np.zeros_like(distance), where=weight > 0)


def step_of(cumulated: Floats, place: Floats) -> Ints:
    """Which step of a cumulated sum each place falls on; never a step of height zero."""
    last = cumulated.searchsorted(cumulated[-1], side="left")  # the last step that is positive
    return np.asarray(np.minimum(cumulated.searchsorted(place, side="right"), last))


def draw_any(n: int, weight: Floats | None, uniform: Floats) -> Ints:
    """Rows drawn in proportion to their weight."""
    if weight is None:
        return (uniform * n).astype(np.intp)
    cumulated = weight.cumsum()
    return step_of(cumulated, uniform * cumulated[-1])


def draw_rows(potential: Floats, closest: Floats, weight: Floats | None, uniform: Floats) -> Ints:
    """Rows drawn in proportion to weight·closest: first the leaf, then the row in it."""
    leaves = potential.cumsum()
    if not leaves[-1] > 0:  # every row equals a chosen one
        return draw_any(len(closest), weight, uniform)
    place = uniform * leaves[-1]
    out = np.empty(len(uniform), np.intp)
    for i, at in enumerate(step_of(leaves, place).tolist()):
        rows = slice(LEAF * at, LEAF * (at + 1))
        part = None if weight is None else weight[rows]
        inside = weighed(closest[rows].astype(np.float64), part)
        before = leaves[at - 1] if at else 0.0
        out[i] = LEAF * at + step_of(inside.cumsum(), place[i] - before)
    return out
