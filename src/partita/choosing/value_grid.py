"""Values on a grid, such as counts and grades: clusters finer than the grid are no groups.

A value on a grid stands for an interval of one step, whose variance is step²/12 (Sheppard). With
many clusters, each holds few points of the grid, J goes to 0, and silhouettes to 1, whether there
are groups or not. Such numbers of clusters must not be compared with smaller ones. The step is the
smallest gap if all gaps are multiples of it. Uneven values, such as logarithms of counts, have the
median gap as step if features combine them freely; else they are a few repeated rows.
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats

MIN_ROWS_PER_VALUE = 10  # on average, of a feature whose values lie on a grid
MIN_VALUES = 3  # two values are categories
MAX_UNEVENNESS = 1e-6  # of a gap that is a multiple of the step
MIN_DISTINCT_ROWS_PER_VALUE = 2  # of features that combine their values freely
MAX_SHARE_OF_FEATURE = 1 / 6  # of the variance of a feature that its grid may have
MAX_GRID_SHARE = 1 / 3  # of the variance of the grid in that within clusters
MIN_COMPARABLE = 2  # numbers of clusters


def is_on_grid(values: Floats, n: int) -> bool:
    """Return whether n rows with these distinct values may lie on a grid."""
    return len(values) * MIN_ROWS_PER_VALUE <= n


def grid_variance(rows: Floats) -> float:
    """Return the sum over features on a grid of step²/12.

    A feature that is nearly always the same counts less: its variance is that of few rows.

    >>> grades = np.repeat([[1.0], [2.0], [3.0], [4.0]], 10, axis=0)
    >>> round(12 * grid_variance(grades), 9)
    1.0
    """
    total, n_distinct = 0.0, None
    for column in rows.T:
        values = np.unique(column)
        if len(values) < MIN_VALUES or not is_on_grid(values, len(column)):
            continue
        gaps = np.diff(values)
        step = float(gaps.min())
        if not _are_multiples(gaps, step):
            n_distinct = len(np.unique(rows, axis=0)) if n_distinct is None else n_distinct
            is_free = n_distinct >= MIN_DISTINCT_ROWS_PER_VALUE * len(values)
            step = float(np.median(gaps)) if is_free else 0.0
        total += min(step**2 / 12, MAX_SHARE_OF_FEATURE * float(column.var()))
    return total


def _are_multiples(gaps: Floats, step: float) -> bool:
    ratio = gaps / step
    return bool((np.abs(ratio - np.rint(ratio)) <= MAX_UNEVENNESS * ratio).all())


def count_comparable(variances: Array, grid: float) -> int:
    """Return how many of the first K are comparable, from the variance within clusters by K.

    The last of them is the first K whose clusters are finer than the grid: groups may be as tight.

    >>> count_comparable([9.0, 4.0, 0.5, 0.2, 0.0], grid=0.25)
    3
    """
    finer = np.flatnonzero(np.asarray(variances) * MAX_GRID_SHARE < grid)
    return max(int(finer[0]) + 1, MIN_COMPARABLE) if len(finer) else len(variances)
