"""Trimmed K-means in a few lines of NumPy, and by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import reject


def cut(distance, weight, trim):
    """With which share of its weight each row counts, the farthest rows first to go."""
    share, left = np.ones(len(distance)), trim * weight.sum()
    for level in np.unique(distance)[::-1]:
        if left <= 1e-9:
            break
        at = distance == level
        gone = min(1.0, left / weight[at].sum()) if weight[at].any() else 1.0
        share[at] = 0.0 if gone > 1 - 1e-9 else 1 - gone
        left -= gone * weight[at].sum()
    if trim:  # rows of weight 0 are left out beyond the farthest row that counts
        share[distance > distance[(share > 0) & (weight > 0)].max()] = 0.0
    return share


def concentrate(rows, weight, centers, trim, iterations):
    """Concentration steps: the costs before each, and the last centers, labels and shares."""
    costs, centers = [], centers.astype(float)
    for _ in range(iterations):
        squares = ((rows[:, None] - centers) ** 2).sum(axis=2)
        labels, distance = squares.argmin(axis=1), np.sqrt(squares.min(axis=1))
        share = cut(distance, weight, trim)
        border = distance[(share > 0) & (weight > 0)].max()
        if len(np.unique(rows[np.abs(distance - border) < 1e-9 * border], axis=0)) > 1:
            reject()  # rounding decides which of several rows is farther
        mass = weight * share
        costs.append((mass * squares.min(axis=1)).sum())
        if any(mass[labels == j].sum() == 0 for j in range(len(centers))):
            return costs, None, labels, share
        moved = [np.average(rows[labels == j], axis=0, weights=mass[labels == j])
                 for j in range(len(centers))]  # fmt: skip
        centers = np.array(moved)
    return costs, centers, labels, share


def best_cost(rows, k, trim):
    """The lowest J over all trimming functions and partitions of a few rows into k clusters.

    J is linear in the shares of the rows, so at most one row counts partly at the optimum.
    """
    n, best = len(rows), np.inf
    whole, part = int(trim * n + 1e-9), trim * n - int(trim * n + 1e-9)
    for out in itertools.combinations(range(n), whole):
        kept = [i for i in range(n) if i not in out]
        for partial in kept if part > 1e-9 else kept[:1]:
            mass = np.array([1 - part * (i == partial and part > 1e-9) for i in kept])
            for labels in itertools.product(range(k), repeat=len(kept)):
                best = min(best, _cost(rows[kept], mass, np.array(labels)))
    return best


def _cost(rows, mass, labels):
    cost = 0.0
    for j in np.unique(labels):
        x, w = rows[labels == j], mass[labels == j]
        cost += w @ ((x - np.average(x, axis=0, weights=w)) ** 2).sum(axis=1)
    return cost
