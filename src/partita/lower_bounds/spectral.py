"""The spectral bound (Ding and He, K-means clustering via principal component analysis, 2004)."""

from __future__ import annotations

import math

import numpy as np

from partita.lower_bounds.eigenvalue_sums import sum_of_largest
from partita.lower_bounds.rounding import gamma, norm, sum_above
from partita.lower_bounds.semidefinite_value import Multiplier, semidefinite_value
from partita.lower_bounds.standard_form import StandardProblem

MAX_ORDER = 3000  # of the matrix, whose eigenvalues take time with its cube


def spectral_bound(problem: StandardProblem) -> float:
    """tr W less the k − 1 largest eigenvalues of the centered products; −inf beyond MAX_ORDER.

    With q = s/‖s‖, Π = qqᵀ + Π' where Π' ⪰ 0 has k − 1 eigenvalues 1 and is orthogonal to q, so
    ⟨Π, BBᵀ⟩ ≤ ‖Bᵀq‖² + (sum of the k − 1 largest eigenvalues of BᵀB).
    """
    if problem.rows is None or problem.rows.shape[1] > problem.n:
        if problem.n > MAX_ORDER:
            return -math.inf
        return semidefinite_value(problem, Multiplier(np.zeros((problem.n, problem.n))))
    rows, root = problem.rows, problem.root
    n, d = rows.shape
    if d > MAX_ORDER:
        return -math.inf
    size = norm(rows)
    squares = rows.T @ rows
    to_mean = float(np.linalg.norm(rows.T @ (root / np.linalg.norm(root)))) + gamma(n + 4) * size
    rounding = math.sqrt(problem.k) * gamma(n + 2) * size**2
    largest = sum_of_largest(squares, problem.k - 1) if problem.k > 1 else 0.0
    upper = sum_above([largest, to_mean**2 * (1 + gamma(4)), rounding])
    return math.nextafter(problem.total() - upper, -math.inf)
