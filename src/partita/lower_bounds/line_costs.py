"""Lower bounds of the least cost of weighted numbers in at most k intervals."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.lower_bounds.rounding import gamma


def lower_costs(x: Floats, weight: Floats, k_max: int) -> Floats:
    """Return lower bounds (k_max,) of the least J of x (n,) in at most 1, 2, …, k_max clusters.

    Dynamic programming; splits do not cross, so divide and conquer takes O(n log n) for each k.
    """
    order = np.argsort(x, kind="stable")
    y, w = x[order] - x[order[len(x) // 2]], weight[order]
    scale = float(np.abs(y).max(initial=0.0)) or 1.0
    y = y / scale
    prefix = np.zeros((3, len(y) + 1))
    prefix[:, 1:] = np.cumsum([w, w * y, w * y * y], axis=1)
    costs = np.zeros(k_max)
    layer = _ranges(prefix, np.zeros(len(y) + 1, np.intp), np.arange(len(y) + 1))
    costs[0] = layer[-1]
    for k in range(1, k_max):
        layer = _next_layer(prefix, layer)
        costs[k] = layer[-1]
    # |Σ w·y| and Σ w·y² are at most Σ w; a split may lose twice the error of a range at each level
    error = 8.0 * gamma(len(y) + 8) * float(prefix[0, -1])
    levels = 2 + len(y).bit_length()
    lost = 2.0 * error * levels * np.arange(1, k_max + 1)
    return np.asarray(np.maximum(costs - lost, 0.0) * scale * scale * (1 - gamma(8)))


def _ranges(prefix: Floats, start: Ints, end: Ints) -> Floats:
    """Costs of the values start…end − 1."""
    mass, first, second = prefix[:, end] - prefix[:, start]
    part = np.divide(first * first, mass, out=np.zeros_like(mass), where=mass > 0)
    return np.asarray(np.maximum(second - part, 0.0))


def _next_layer(prefix: Floats, before: Floats) -> Floats:
    """min_i before(i) + cost(i, j) for every j, all ranges of a level at once."""
    n = len(before) - 1
    after, split = np.zeros(n + 1), np.zeros(n + 1, np.intp)
    split[n] = n
    step = 1 << n.bit_length()
    known = np.array([0, n])
    ends = np.array([n])
    while True:
        low = split[known[np.searchsorted(known, ends, side="left") - 1]]
        high = np.minimum(split[known[np.searchsorted(known, ends, side="left")]], ends)
        counts = high - low + 1
        offsets = np.concatenate([[0], np.cumsum(counts)[:-1]])
        start = np.arange(counts.sum()) - np.repeat(offsets - low, counts)
        cost = before[start] + _ranges(prefix, start, np.repeat(ends, counts))
        after[ends] = least = np.minimum.reduceat(cost, offsets)
        first = np.flatnonzero(cost == np.repeat(least, counts))
        split[ends] = start[first[np.searchsorted(first, offsets)]]
        step >>= 1
        if step == 0:
            return after
        known = np.unique(np.concatenate([known, ends]))
        ends = np.setdiff1d(np.arange(step, n, step), known)
        while len(ends) == 0 and step > 1:
            step >>= 1
            ends = np.setdiff1d(np.arange(step, n, step), known)
        if len(ends) == 0:
            return after
