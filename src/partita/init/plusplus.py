"""Greedy k-means++ (Arthur and Vassilvitskii 2007): rows far from the chosen ones are likelier."""

from __future__ import annotations

import math

import numpy as np

from partita._typing import Floats, Ints
from partita.source.blocks import Source

LEAF = 256  # rows whose potential the kernels sum as one


def plusplus(
    source: Source, k: int, rng: np.random.Generator, trials: int | None = None
) -> tuple[Floats, Ints]:
    """k rows as centers, and which rows they are.

    Each round draws `trials` rows with probability proportional to weight times squared distance to
    the nearest chosen row, and keeps the one that lowers the sum of these most. The default,
    2 + ⌊ln k⌋, is scikit-learn's. Cost: k·trials distances per row; memory: one number per row.
    """
    trials = trials or 2 + int(math.log(k))
    weight = None if source.weights.alike else source.weights.as_floats(source.n)
    chosen = _draw_any(source.n, weight, rng.random(1))
    centers = np.empty((k, source.d))
    centers[0] = source.take(chosen)[0]
    closest = source.far_away()
    potential = source.distances_to(centers[:1], closest, update=True)[:, 0]
    which = [int(chosen[0])]
    for j in range(1, k):
        drawn = _draw_rows(potential, closest, weight, rng.random(trials))
        rows = source.take(drawn)
        best = int(source.distances_to(rows, closest, update=False).sum(axis=0).argmin())
        which.append(int(drawn[best]))
        centers[j] = rows[best]
        potential = source.distances_to(centers[j : j + 1], closest, update=True)[:, 0]
    return centers, np.array(which)


def _draw_any(n: int, weight: Floats | None, uniform: Floats) -> Ints:
    """Rows drawn in proportion to their weight."""
    if weight is None:
        return (uniform * n).astype(np.intp)
    return _steps(weight.cumsum(), uniform * float(np.sum(weight)))


def _draw_rows(potential: Floats, closest: Floats, weight: Floats | None, uniform: Floats) -> Ints:
    """Rows drawn in proportion to weight·closest: first the leaf, then the row in it."""
    leaves = potential.cumsum()
    if not leaves[-1] > 0:  # every row equals a chosen one
        return _draw_any(len(closest), weight, uniform)
    place = uniform * leaves[-1]
    leaf = _steps(leaves, place)
    out = np.empty(len(uniform), np.intp)
    for i, at in enumerate(leaf.tolist()):
        rows = slice(LEAF * at, LEAF * (at + 1))
        inside = closest[rows].astype(np.float64)
        if weight is not None:
            inside = inside * weight[rows]
        before = leaves[at - 1] if at else 0.0
        out[i] = LEAF * at + _steps(inside.cumsum(), place[i] - before)
    return out


def _steps(cumulated: Floats, place: Floats) -> Ints:
    """Which step of a cumulated sum each place falls on; never a step of height zero."""
    last = cumulated.searchsorted(cumulated[-1], side="left")  # the last step that is positive
    return np.asarray(np.minimum(cumulated.searchsorted(place, side="right"), last))
