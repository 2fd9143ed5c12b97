"""The bound that every matrix of multipliers N ≥ 0 gives, rigorous.

The projections Π of partitions satisfy Πs = s, tr Π = k, 0 ⪯ Π ⪯ I and Π ≥ 0 entrywise (Peng and
Wei, SIAM J. Optim. 18, 2007). Hence for every N ≥ 0 and every vector r

    J = tr W − ⟨Π, W⟩ ≥ tr W − ⟨Π, W + N⟩ = tr W − 2sᵀr − ⟨Π, W + N − srᵀ − rsᵀ⟩
      ≥ tr W − 2sᵀr − (sum of the k largest eigenvalues of W + N − srᵀ − rsᵀ).

The best r makes s an eigenvector. Inequalities ⟨A_l, Π⟩ ≤ 0 that hold for all partitions may take
part: N then stands for N − Σ μ_l A_l with μ ≥ 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats
from partita.lower_bounds.eigenvalue_sums import sum_of_largest
from partita.lower_bounds.rounding import gamma, norm, sum_above
from partita.lower_bounds.standard_form import StandardProblem


@dataclass(frozen=True, slots=True)
class Multiplier:
    """N − Σ μ_l A_l, by its lower triangle, and a bound of the norm of its rounding error."""

    matrix: Floats  # (n, n)
    error: float = 0.0


def semidefinite_value(problem: StandardProblem, multiplier: Multiplier) -> float:
    """Return a lower bound of the optimum of the standard problem; −inf if none is proven."""
    products, error = problem.products()
    matrix, root = products + multiplier.matrix, problem.root
    size = norm(products) + norm(multiplier.matrix)
    unit = root / np.linalg.norm(root)
    image = matrix @ unit
    mean = float(unit @ image)
    # s becomes an eigenvector, with an eigenvalue among the k largest
    top = size if problem.k < problem.n else 0.0
    r = (image - 0.5 * (mean + top) * unit) / np.linalg.norm(root)
    outer = root[:, None] * r
    shifted = matrix - (outer + outer.T)
    error += multiplier.error + gamma(5) * (size + 2.0 * norm(root) * norm(r))
    pull = (2.0 * root * r).tolist()
    terms = [*pull, sum_of_largest(shifted, problem.k), math.sqrt(problem.k) * error]
    upper = sum_above(terms) + gamma(2) * math.fsum(map(abs, terms))
    value = math.nextafter(problem.total() - upper, -math.inf)
    return value if math.isfinite(value) else -math.inf
