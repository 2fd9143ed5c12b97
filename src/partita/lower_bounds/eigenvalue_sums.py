"""A verified upper bound of the sum of the largest eigenvalues (Ky Fan).

For every θ, and every F: if θI + FFᵀ − H + δI is positive semidefinite, then the k largest
eigenvalues of H add up to at most k(θ + δ) + ‖F‖². Computed eigenvectors give a good F; that they
are inexact does no harm. A Cholesky factorization that runs to its end in floating point proves
semidefiniteness up to a δ that is known (Rump, Verification of positive definiteness, BIT 46,
2006): it holds for every order of summation, hence for every LAPACK, and rests on no bound of the
error of an eigenvalue solver.
"""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats
from partita.lower_bounds.rounding import gamma, sum_above

SHIFT_FACTOR = 16.0  # by which the shift grows where a factorization fails
MAX_FACTORIZATIONS = 12
UNDERFLOW = 1e-280  # more than all that underflow may lose


def sum_of_largest(matrix: Floats, k: int) -> float:
    """Return an upper bound of the sum of the k largest eigenvalues; inf if none is proven.

    The matrix is symmetric, given by its lower triangle.
    """
    from scipy.linalg import LinAlgError, eigh

    n = len(matrix)
    if k >= n:
        return sum_above(np.diag(matrix).tolist())
    if not np.isfinite(np.tril(matrix)).all():
        return math.inf
    try:
        values, vectors = eigh(matrix, subset_by_index=(n - k, n - 1), check_finite=False)
    except LinAlgError:
        return math.inf
    threshold = float(values[0])
    factor = vectors * np.sqrt(np.maximum(values - threshold, 0.0))
    delta = _semidefinite_within(matrix, threshold, factor)
    squares = np.square(factor).ravel().tolist()
    terms = [threshold] * k + [delta] * k + squares
    return sum_above(terms) + gamma(4) * math.fsum(map(abs, terms))


def _semidefinite_within(matrix: Floats, threshold: float, factor: Floats) -> float:
    """Return a δ for which θI + FFᵀ − H + δI is positive semidefinite; inf if none is found."""
    from scipy.linalg.lapack import dpotrf

    n, rank = factor.shape
    difference = factor @ factor.T - matrix
    diagonal = np.diag(difference) + threshold
    lower = np.tril(matrix)
    size = math.sqrt(n) * abs(threshold) + float(np.square(factor).sum())
    size += 1.5 * float(np.linalg.norm(lower))  # √2 at most: the other triangle
    rounding = gamma(rank + 4) * size + UNDERFLOW
    shift = gamma(n + 2) * max(float(diagonal.sum()), 0.0) + rounding
    for _ in range(MAX_FACTORIZATIONS):
        np.fill_diagonal(difference, diagonal + shift)
        _, info = dpotrf(difference, lower=1, clean=0)
        if info == 0:
            proven = gamma(n + 2) * float(np.diag(difference).sum())
            # of the diagonal, two more sums are rounded
            return (shift + proven + 2.0 * rounding + gamma(2) * shift) * (1 + gamma(8))
        shift *= SHIFT_FACTOR
    return math.inf
