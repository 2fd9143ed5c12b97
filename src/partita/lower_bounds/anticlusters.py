"""Blocks of rows in which every cluster has its mean where it has it as a whole.

The optimum of a block is at most the cost of its rows in the whole partition. What lies between is
Σ_C ‖Σ w(x − c)‖²/w(C) over the parts of the clusters in the block. Rows of a cluster are dealt to
the blocks in the order of decreasing ‖w(x − c)‖, as many at a time as there are blocks, by the
assignment that keeps the sums of the blocks near zero (Croella, Piccialli and Sudoso, 2025, swap
rows for the same aim).
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.row_squares import row_squares
from partita._common.spaced_rows import evenly_spaced
from partita.lower_bounds.standard_form import StandardProblem

MAX_COORDINATES = 20  # of rows that are given by their products


def anticlusters(problem: StandardProblem, count: int) -> list[Ints]:
    """Partition the rows into `count` blocks; returns their row numbers, in order."""
    moves = pulls(problem)
    block = np.zeros(problem.n, np.intp)
    sizes = np.zeros(count)
    for label in range(problem.k):
        members = np.flatnonzero(problem.labels == label)
        if len(members):
            block[members] = _dealt(moves[members], sizes)
            sizes += np.bincount(block[members], minlength=count)
    order = np.argsort(block, kind="stable")
    return np.split(order, np.cumsum(sizes.astype(np.intp))[:-1])


def pulls(problem: StandardProblem) -> Floats:
    """Return w(x − c) (n, m) of the rows."""
    rows, root = problem.rows, problem.root
    if rows is None:  # products with some rows are coordinates too
        assert problem.gram is not None
        rows = problem.gram[:, evenly_spaced(problem.n, MAX_COORDINATES)]
    weight = np.bincount(problem.labels, root * root, minlength=problem.k)
    sums = np.zeros((problem.k, rows.shape[1]))
    np.add.at(sums, problem.labels, root[:, None] * rows)
    centers = sums / np.where(weight > 0, weight, 1.0)[:, None]
    return np.asarray(root[:, None] * (rows - root[:, None] * centers[problem.labels]))


def _dealt(pulls: Floats, sizes: Floats) -> Ints:
    """Return the block (m,) of each row of a cluster; smaller blocks come first."""
    from scipy.optimize import linear_sum_assignment

    count = len(sizes)
    order = np.argsort(-row_squares(pulls), kind="stable")
    sums = np.zeros((count, pulls.shape[1]))
    block = np.zeros(len(pulls), np.intp)
    for start in range(0, len(pulls), count):
        rows = order[start : start + count]
        # fewer rows than blocks go to the smallest
        free = np.argsort(sizes, kind="stable")[: len(rows)]
        cost = pulls[rows] @ sums[free].T
        row, column = linear_sum_assignment(cost)
        block[rows[row]] = free[column]
        sums[free[column]] += pulls[rows[row]]
    return block
