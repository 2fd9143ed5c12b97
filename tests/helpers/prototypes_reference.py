"""K-prototypes in a few lines of NumPy, and by enumeration."""

from __future__ import annotations

import itertools

import numpy as np


def costs(numbers, codes, means, modes, gamma):
    """The cost (n, k) of each row in each cluster; the code −1 is missing."""
    squares = ((numbers[:, None] - means) ** 2).sum(axis=2)
    differ = (codes[:, None] != modes) & (codes[:, None] >= 0)
    return squares + gamma * differ.sum(axis=2)


def prototypes(numbers, codes, labels, k, weight):
    """Means and modes of clusters with weight; the first mode on ties, −1 for none."""
    means, modes = np.empty((k, numbers.shape[1])), np.full((k, codes.shape[1]), -1)
    for j in range(k):
        own = labels == j
        means[j] = (weight[own, None] * numbers[own]).sum(axis=0) / weight[own].sum()
        for t in range(codes.shape[1]):
            known = own & (codes[:, t] >= 0) & (weight > 0)
            if known.any():
                modes[j, t] = np.bincount(codes[known, t], weight[known]).argmax()
    return means, modes


def lloyd(numbers, codes, start, gamma, weight):
    """Labels and J where nothing changes any more, from rows `start` as prototypes."""
    means, modes, before = numbers[start], codes[start], None
    while True:
        table = costs(numbers, codes, means, modes, gamma)
        labels = table.argmin(axis=1)
        if np.array_equal(labels, before):
            return labels, float((weight * table.min(axis=1)).sum())
        if len(np.unique(labels[weight > 0])) < len(start):
            return None  # a cluster became empty
        before = labels
        means, modes = prototypes(numbers, codes, labels, len(start), weight)


def objective(numbers, codes, labels, gamma, weight=None):
    """J of a partition."""
    weight = np.ones(len(labels)) if weight is None else weight
    labels = np.unique(labels, return_inverse=True)[1]
    means, modes = prototypes(numbers, codes, labels, labels.max() + 1, weight)
    own = costs(numbers, codes, means, modes, gamma)[np.arange(len(labels)), labels]
    return float((weight * own).sum())


def optimum(numbers, codes, k, gamma):
    """The lowest J of all partitions into at most k clusters."""
    every = itertools.product(range(k), repeat=len(numbers) - 1)
    return min(objective(numbers, codes, np.array((0, *rest)), gamma) for rest in every)
