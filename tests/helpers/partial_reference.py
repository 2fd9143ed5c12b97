"""K-means over the values that rows have, in a few lines of NumPy, and by enumeration."""

from __future__ import annotations

import itertools

import numpy as np


def squares(rows, centers):
    """Squared distances (n, k) over the values of each row."""
    gap = rows[:, None] - centers
    return np.where(np.isnan(gap), 0.0, gap**2).sum(axis=2)


def means(rows, weight, labels, before):
    """Means over the values of the rows of each cluster; a feature without values stays."""
    out = before.copy()
    for j, t in np.ndindex(before.shape):
        own = (labels == j) & ~np.isnan(rows[:, t]) & (weight > 0)
        if own.any():
            out[j, t] = np.average(rows[own, t], weights=weight[own])
    return out


def iterate(rows, weight, centers, iterations):
    """Lloyd's iterations: the costs before each, and the last centers; None if one is empty."""
    costs, centers = [], centers.astype(float)
    for _ in range(iterations):
        square = squares(rows, centers)
        labels = square.argmin(axis=1)
        costs.append((weight * square.min(axis=1)).sum())
        if any(weight[labels == j].sum() == 0 for j in range(len(centers))):
            return costs, None
        centers = means(rows, weight, labels, centers)
    return costs, centers


def best_cost(rows, k):
    """The lowest J over all partitions of a few rows."""

    def cost(labels):
        centers = means(rows, np.ones(len(rows)), np.array(labels), np.zeros((k, rows.shape[1])))
        return np.nansum((rows - centers[list(labels)]) ** 2)

    return min(map(cost, itertools.product(range(k), repeat=len(rows))))  # fmt: skip
