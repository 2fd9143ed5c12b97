"""Greedy k-means++ (Arthur and Vassilvitskii 2007): rows far from the chosen ones are likelier."""

from __future__ import annotations

import math

import numpy as np

from partita._typing import Floats, Ints
from partita.source.blocks import Source


def plusplus(
    source: Source, k: int, rng: np.random.Generator, trials: int | None = None
) -> tuple[Floats, Ints]:
    """k rows as centers, and which rows they are.

    Each round draws `trials` rows with probability proportional to weight times squared distance to
    the nearest chosen row, and keeps the one that lowers the sum of these most. The default,
    2 + ⌊ln k⌋, is scikit-learn's. Cost: k·trials distances per row; memory: one number per row.
    """
    trials = trials or 2 + int(math.log(k))
    weight = source.weights.as_floats(source.n)
    first = _draw(np.cumsum(weight), rng.random(1))
    chosen = [int(first[0])]
    closest = source.far_away()
    potential = source.distances_to(source.take(first), closest, update=True)[:, 0]
    for _ in range(1, k):
        drawn = _draw_rows(potential, closest, weight, rng.random(trials))
        rows = source.take(drawn)
        each = source.distances_to(rows, closest, update=False).sum(axis=0)
        best = int(np.argmin(each))
        chosen.append(int(drawn[best]))
        potential = source.distances_to(rows[best : best + 1], closest, update=True)[:, 0]
    which = np.array(chosen)
    return source.take(which), which


def _draw(cumulated: Floats, uniform: Floats) -> Ints:
    """Indices drawn in proportion to the steps of a cumulated sum; never one of step zero."""
    at = np.searchsorted(cumulated, uniform * cumulated[-1], side="right")
    last = np.searchsorted(cumulated, cumulated[-1], side="left")  # the last step that is positive
    return np.minimum(at, last)


def _draw_rows(potential: Floats, closest: Floats, weight: Floats, uniform: Floats) -> Ints:
    """Rows drawn in proportion to weight·closest: first the leaf, then the row in it."""
    leaves = np.cumsum(potential)
    if not leaves[-1] > 0:  # every row equals a chosen one
        return _draw(np.cumsum(weight), uniform)
    out = np.empty(len(uniform), np.intp)
    for i, leaf in enumerate(_draw(leaves, uniform)):
        rows = slice(256 * leaf, 256 * (leaf + 1))
        before = leaves[leaf - 1] if leaf else 0.0
        inside = np.cumsum(closest[rows].astype(np.float64) * weight[rows])
        place = np.clip((uniform[i] * leaves[-1] - before) / potential[leaf], 0.0, 1.0)
        out[i] = 256 * leaf + _draw(inside, np.array([place]))[0]
    return out
