"""The sum of exact one-dimensional optima over orthogonal axes.

The cost of a cluster is the sum of its costs along the axes, so for orthonormal axes
OPT ≥ Σ_axes (least cost of the coordinates on that axis). With computed axes V it is
‖(I − Π)BV‖ ≤ ‖V‖·‖(I − Π)B‖, and rounding moves BV by a distance that is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from partita.lower_bounds.rounding import gamma, norm, sum_below
from partita.lower_bounds.standard_form import StandardProblem
from partita.one_dimension import lower_costs

MAX_FEATURES = 2000  # whose principal axes are computed
MAX_AXES = 100  # of largest variance; the others would add little
MAX_TERMS = 30_000_000  # n·k·axes: some three seconds


def principal_axes_bound(problem: StandardProblem) -> Iterator[float | None]:
    """Yield None after each axis, then the bound; nothing for kernels and very wide rows."""
    if problem.rows is None or problem.rows.shape[1] > MAX_FEATURES:
        return
    rows, root = problem.rows, problem.root
    d = rows.shape[1]
    _, axes = np.linalg.eigh(rows.T @ rows)
    axes = axes[:, ::-1][:, : min(MAX_AXES, MAX_TERMS // (problem.n * problem.k))]
    if not axes.shape[1]:
        return
    defect = norm(axes.T @ axes - np.eye(axes.shape[1])) + gamma(d + 2) * norm(axes) ** 2
    moved = gamma(d + 4) * norm(rows) * norm(axes)
    weight = root * root
    costs = []
    for axis in axes.T:
        costs.append(float(lower_costs((rows @ axis) / root, weight, problem.k)[-1]))
        yield None
    on_axes = max(sum_below(costs), 0.0) * (1 - gamma(4))
    distance = max(math.sqrt(on_axes) * (1 - gamma(2)) - moved, 0.0)
    yield distance * distance / (1.0 + defect) * (1 - gamma(8))
