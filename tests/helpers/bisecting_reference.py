"""Bisecting K-means in a few lines of NumPy."""

from __future__ import annotations

import numpy as np


def extremes(X, k, random_state=None):
    """A start that depends on the rows as a set only: the first and the last in their order."""
    order = np.lexsort(X.T[::-1])
    return X[order[[0, -1]]]


def two_means(rows, weight, centers):
    """Lloyd's iterations to a fixed point."""
    labels = np.full(len(rows), -1)
    while True:
        before, labels = labels, ((rows[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        if np.array_equal(before, labels):
            return labels
        centers = np.array(
            [np.average(rows[labels == j], axis=0, weights=weight[labels == j]) for j in (0, 1)]
        )


def sse(rows, weight):
    return weight @ ((rows - np.average(rows, axis=0, weights=weight)) ** 2).sum(axis=1)


def bisecting(rows, weight, k, strategy):
    """Labels (n,) of different rows, numbered from left to right, and the objective."""
    leaves = [np.arange(len(rows))]
    while len(leaves) < k:
        if strategy == "largest_cluster":
            scores = [weight[leaf].sum() for leaf in leaves]
        else:
            scores = [sse(rows[leaf], weight[leaf]) for leaf in leaves]
        is_final = [len(leaf) == 1 for leaf in leaves]
        at = int(np.argmax(np.where(is_final, -np.inf, scores)))
        leaf = leaves[at]
        side = two_means(rows[leaf], weight[leaf], extremes(rows[leaf], 2))
        leaves[at : at + 1] = [leaf[side == 0], leaf[side == 1]]
    labels = np.empty(len(rows), int)
    for j, leaf in enumerate(leaves):
        labels[leaf] = j
    return labels, sum(sse(rows[leaf], weight[leaf]) for leaf in leaves)
