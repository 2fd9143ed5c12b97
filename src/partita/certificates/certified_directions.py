"""Partitions of directions: bounds of J_cos by those of K-means of the rows at unit length.

Let x_i be rows of unit length with weights w_i, W = Σ w_i, and m_j, W_j the mean and the weight of
cluster j. The best center of unit length is m_j/‖m_j‖, so J_cos = Σ_j W_j(1 − ‖m_j‖), whereas the
objective of K-means is J = Σ_j W_j(1 − ‖m_j‖²). By Cauchy–Schwarz

    Σ_j W_j‖m_j‖ ≤ √(W · Σ_j W_j‖m_j‖²) = √(W(W − J)),

so a bound L ≤ J of every partition gives J_cos ≥ W − √(W(W − L)) = L / (1 + √(1 − L/W)). That is at
least L/2, the bound by 1 − cos = ½‖x − c‖², and up to twice as high where clusters are wide.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita.certificates.bounding import CertifiedPartition, Improve, Report
from partita.certificates.certified_rows import EPSILON, certify_costs, round_up
from partita.lower_bounds.record import LowerBound

SUM_OF_COSINES = "the sum of 1 − cos of the angles to the centers"
UNIT_ROUNDINGS = 4  # of a row at unit length, in units of ε
ROUNDING_SHARE = 16 * EPSILON  # of the few operations of `cosine_bound`


def certify_directions(
    rows: Floats, labels: Ints, weight: Floats, centers: Floats
) -> CertifiedPartition:
    """Return the partition of rows at unit length about centers at unit length, as doubles."""
    d = rows.shape[1]
    gap = rows - centers[labels]
    half = 0.5 * exact_total(np.einsum("ij,ij->i", gap, gap), weight)
    total = exact_total(weight)
    root, error = math.sqrt(half), _rounding_error(total, d)
    # rows that differ by rounding only have one direction
    objective = 0.0 if root <= 2 * error else round_up((root + error) ** 2, d)
    squares = certify_costs(rows, labels, weight, len(centers), objective)
    return replace(
        squares,
        criterion=SUM_OF_COSINES,
        improve=partial(_improve_cosines, squares.improve, len(centers), (total, d)),
    )


def _rounding_error(total: float, d: int) -> float:
    """Return how far rounding may move √J, for rows at unit length of this total weight."""
    return UNIT_ROUNDINGS * EPSILON * math.sqrt(d * total)


def cosine_bound(squares: float, total: float) -> float:
    """Return the bound of J_cos for rows of this total weight, by a bound of K-means.

    >>> cosine_bound(0.0, 4.0), cosine_bound(4.0, 4.0), cosine_bound(3.0, 4.0)
    (0.0, 4.0, 2.0)
    """
    share = min(max(squares / total, 0.0), 1.0)
    return share * total / (1.0 + math.sqrt(1.0 - share))


def _improve_cosines(
    improve: Improve,
    k: int,
    rows: tuple[float, int],
    report: Report,
    *,
    deadline: float | None,
    level: float,
    rng: np.random.Generator,
) -> None:
    total, d = rows
    error = _rounding_error(total, d)

    def report_cosines(bound: LowerBound) -> bool:
        root = max(0.0, math.sqrt(max(0.0, bound.value)) - error)
        value = cosine_bound(root * root, total) * (1.0 - ROUNDING_SHARE)
        # with one cluster, Cauchy–Schwarz is an equality
        return report(replace(bound, value=value, is_exact=bound.is_exact and k == 1))

    improve(report_cosines, deadline=deadline, level=level, rng=rng)
