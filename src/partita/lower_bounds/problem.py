"""The problem whose optimum is bounded."""

from __future__ import annotations

from dataclasses import dataclass

from partita._common.array_types import Floats, Ints


@dataclass(frozen=True)
class BoundProblem:
    """Weighted rows, or their Gram matrix, to be partitioned into k clusters.

    J = Σ w_i ‖x_i − mean of its cluster‖². A Gram matrix of φ_i·φ_l may have any origin;
    −½‖φ_i − φ_l‖² serves as well, for J is the same.
    """

    k: int
    weight: Floats  # (n,) > 0
    labels: Ints  # (n,) the best partition known: a guide, on which no bound's validity depends
    rows: Floats | None = None  # (n, d) float64; None for kernels
    gram: Floats | None = None  # (n, n) symmetric, for kernels
