"""PAM by its definition: every swap is tried, every loss is summed anew."""

from __future__ import annotations

import math

import numpy as np


def loss(table, medoids, weight):
    """Σ w·d to the nearest medoid, rounded once."""
    return math.fsum((weight * table[:, list(medoids)].min(axis=1)).tolist())


def build(table, k, weight):
    """One medoid after the other, each the best to add; the lower row on ties."""
    medoids = []
    for _ in range(k):
        rest = [j for j in range(len(table)) if j not in medoids]
        medoids.append(min(rest, key=lambda j: loss(table, [*medoids, j], weight)))
    return medoids


def best_swap(table, medoids, weight):
    """(loss, candidate, place) of the best swap; the lower candidate, then place, on ties."""
    rest = [j for j in np.flatnonzero(weight > 0).tolist() if j not in medoids]
    swaps = [
        (loss(table, [*medoids[:m], j, *medoids[m + 1 :]], weight), j, m)
        for j in rest
        for m in range(len(medoids))
    ]
    return min(swaps, default=(math.inf, 0, 0))


def pam(table, k, weight=None):
    """BUILD, then the best swap until none lowers the loss: (loss, medoids)."""
    weight = np.ones(len(table)) if weight is None else weight
    medoids = build(table, k, weight)
    while True:
        now, (cost, candidate, place) = (
            loss(table, medoids, weight),
            best_swap(table, medoids, weight),
        )
        if not cost < now:
            return now, sorted(medoids)
        medoids[place] = candidate
