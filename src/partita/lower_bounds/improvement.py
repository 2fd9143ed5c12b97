"""Bounds, cheapest first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partita.lower_bounds.problem import BoundProblem
from partita.lower_bounds.record import LowerBound


def improve_bounds(
    problem: BoundProblem,
    report: Callable[[LowerBound], bool],
    *,
    deadline: float | None,
    level: float = 0.95,
    rng: np.random.Generator,
) -> None:
    """Report the spectral bound."""
    root = np.sqrt(problem.weight)
    if problem.rows is not None:
        mean = problem.weight @ problem.rows / problem.weight.sum()
        centred = (problem.rows - mean) * root[:, None]
        values = np.linalg.svd(centred, compute_uv=False) ** 2
    else:
        along = root / np.linalg.norm(root)
        gram = problem.gram * root * root[:, None]
        gram = gram - np.outer(along, along @ gram)
        gram = gram - np.outer(gram @ along, along)
        values = np.linalg.eigvalsh(gram)[::-1]
    bound = max(0.0, float(values[problem.k - 1 :].sum()) - 1e-9 * float(np.abs(values).sum()))
    report(LowerBound(bound, "spectral"))
