"""Greedy k-means++ (Arthur and Vassilvitskii 2007): rows far from the chosen ones are likelier."""

from __future__ import annotations

import math

import numpy as np

from partita._kernels.draws import draw_any, draw_rows
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
    uniform = rng.random(1 + (k - 1) * trials)
    which = source.seed_at_once(k, trials, uniform)
    if which is None:
        which = _round_by_round(source, k, trials, uniform)
    return source.take(which), which


def _round_by_round(source: Source, k: int, trials: int, uniform: Floats) -> Ints:
    weight = None if source.weights.alike else source.weights.as_floats(source.n)
    which = np.empty(k, np.int64)
    which[0] = draw_any(source.n, weight, uniform[:1])[0]
    closest = source.far_away()
    potential = source.distances_to(source.take(which[:1]), closest, update=True)[:, 0]
    for j in range(1, k):
        now = uniform[1 + (j - 1) * trials : 1 + j * trials]
        drawn = draw_rows(potential, closest, weight, now)
        rows = source.take(drawn)
        # a running sum: the same bits whatever the number of leaves is aligned to
        each = source.distances_to(rows, closest, update=False).cumsum(axis=0)[-1]
        best = int(each.argmin())
        which[j] = drawn[best]
        potential = source.distances_to(rows[best : best + 1], closest, update=True)[:, 0]
    return which
