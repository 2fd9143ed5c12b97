"""Rows of many features on their first principal axes, where references cost less.

Clusters that K-means can find lie in few directions; the others add the same noise to all
distances. On the first hundred axes a reference costs what a narrow table costs, also for sparse
rows of any width, and the data is compared with it in the same space.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.threads import one_blas_thread
from partita.choosing.sweep_problem import SweepProblem
from partita.geometry import EUCLIDEAN
from partita.source.raw_rows import as_doubles

MAX_FEATURES = 100  # of rows that stay as they are, and the number of axes for others
MAX_ROWS = 4096  # whose inner products are computed
ROUNDING = 1e-12  # of the largest variance: an axis of less has nothing else


def on_principal_axes(problem: SweepProblem) -> SweepProblem:
    """Return the problem on the first principal axes of its rows, if it is wide and has centers."""
    if problem.capabilities.geometry is None or problem.n > MAX_ROWS:
        return problem
    if problem.capabilities.mixed is not None or min(problem.X.shape) <= MAX_FEATURES:
        return problem
    is_centered = problem.capabilities.geometry is EUCLIDEAN  # directions are about the origin
    weight = np.ones(problem.n) if problem.weight is None else problem.weight
    placed = principal_coordinates(problem.X, weight, is_centered)
    return problem.like(placed) if placed.shape[1] else problem  # equal rows have no axis


def principal_coordinates(X: Any, weight: Floats, is_centered: bool) -> Floats:
    """Return coordinates (n, m) on the axes of the largest variance, or of the largest squares.

    m is at most 100. If the rows have no more directions, their distances are kept.
    """
    from scipy.linalg import eigh

    share, rows = weight / weight.sum(), X if sp.issparse(X) else as_doubles(X)
    if is_centered and not sp.issparse(rows):
        rows = rows - share @ rows
    with one_blas_thread():
        products: Any = rows @ rows.T
        gram = np.asarray(products.toarray() if sp.issparse(products) else products)
        if is_centered:
            to_mean = gram @ share
            gram = gram - to_mean - to_mean[:, None] + share @ to_mean
        scale = np.sqrt(share)
        last = len(gram) - 1
        values, vectors = eigh(
            gram * scale * scale[:, None], subset_by_index=(last - MAX_FEATURES + 1, last)
        )
    kept = np.flatnonzero(values > ROUNDING * max(values[-1], 0.0))[::-1]
    return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]) / scale[:, None])
