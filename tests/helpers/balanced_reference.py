"""Assignments with limits on the sizes of clusters, by other solvers and by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog


def cost_by_linear_program(costs, low, high):
    """The least Σ cost of one cluster (k) for every row (n), with low…high rows each (HiGHS)."""
    n, k = costs.shape
    per_row = np.kron(np.eye(n), np.ones(k))
    per_cluster = np.tile(np.eye(k), n)
    solved = linprog(
        costs.ravel(), A_eq=per_row, b_eq=np.ones(n), bounds=(0, 1),
        A_ub=np.vstack([per_cluster, -per_cluster]), b_ub=np.concatenate([high, -low]),
    )  # fmt: skip
    return solved.fun


def cost_by_places(costs, low, high):
    """The same by one column for every place of a cluster; those up to `low` must be taken."""
    bonus = 1e6 * (1 + np.abs(costs).max())
    place = np.concatenate([np.arange(h) for h in high])
    owner = np.repeat(np.arange(len(high)), high)
    paid = costs[:, owner] - bonus * (place < low[owner])
    rows, taken = linear_sum_assignment(paid)
    return costs[rows, owner[taken]].sum()


def best_cost(rows, k, low, high):
    """The lowest J over all partitions of a few rows into k clusters of low…high rows."""
    best = np.inf
    for labels in itertools.product(range(k), repeat=len(rows)):
        sizes = np.bincount(labels, minlength=k)
        if sizes.min() >= low and sizes.max() <= high:
            labels = np.array(labels)
            parts = [rows[labels == j] for j in range(k)]
            best = min(best, sum(((x - x.mean(axis=0)) ** 2).sum() for x in parts if len(x)))
    return best
