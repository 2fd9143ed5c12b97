"""Values on a grid, such as counts and grades: clusters finer than the grid are no groups.

A value on a grid stands for an interval of one step, whose variance is step²/12 (Sheppard). With
many clusters, each holds few points of the grid, J goes to 0, and silhouettes to 1, whether there
are groups or not. Such numbers of clusters must not be compared with smaller ones.
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats

MIN_ROWS_PER_VALUE = 10  # on average, of a feature whose values lie on a grid
MIN_VALUES = 3  # two values are categories
MAX_SHARE_OF_FEATURE = 1 / 6  # of the variance of a feature that its grid may have
MAX_GRID_SHARE = 1 / 3  # of the variance of the grid in that within clusters


def is_on_grid(values: Floats, n: int) -> bool:
    """Return whether n rows with these distinct values lie on a grid."""
    return len(values) * MIN_ROWS_PER_VALUE <= n


def grid_variance(rows: Floats) -> float:
    """Return the sum over features on a grid of step²/12; the step is the median gap.

    A feature that is nearly always the same counts less: its variance is that of few rows.

    >>> grades = np.repeat([[1.0], [2.0], [3.0], [4.0]], 10, axis=0)
    >>> round(12 * grid_variance(grades), 9)
    1.0
    """
    total = 0.0
    for column in rows.T:
        values = np.unique(column)
        if len(values) >= MIN_VALUES and is_on_grid(values, len(column)):
            within_step = float(np.median(np.diff(values))) ** 2 / 12
            total += min(within_step, MAX_SHARE_OF_FEATURE * float(column.var()))
    return total


def count_comparable(variances: Array, grid: float) -> int:
    """Return how many of the first K are comparable, from the variance within clusters by K.

    The last of them is the first K whose clusters are finer than the grid: groups may be as tight.

    >>> count_comparable([9.0, 4.0, 0.5, 0.2, 0.0], grid=0.25)
    3
    """
    finer = np.flatnonzero(np.asarray(variances) * MAX_GRID_SHARE < grid)
    return int(finer[0]) + 1 if len(finer) else len(variances)
