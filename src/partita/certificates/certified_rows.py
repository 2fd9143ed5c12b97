"""Partitions of rows in Euclidean space: their objective, rounded up, and the problem of bounds.

For the bounds, equal rows become one of their total weight, and rows are sorted by their content:
the bits of a bound do not depend on the order of the rows.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.content_keys import content_keys
from partita._common.exact_sum import exact_total, exact_totals
from partita.certificates.bounding import CertifiedPartition
from partita.lower_bounds.improvement import improve_bounds
from partita.lower_bounds.problem import BoundProblem
from partita.lower_bounds.record import LowerBound

SUM_OF_SQUARES = "the sum of squared distances to the centers"
ROUNDINGS = 8  # of a squared distance beside those of its d terms
EPSILON = float(np.finfo(np.float64).eps)


def certify_labels(rows: Floats, labels: Ints, weight: Floats, k: int) -> CertifiedPartition:
    """Return the partition by labels 0…k−1 of rows (n, d) of positive weight, at its means."""
    return certify_costs(rows, labels, weight, k, objective_of_labels(rows, labels, weight, k))


def certify_costs(
    rows: Floats, labels: Ints, weight: Floats, k: int, objective: float
) -> CertifiedPartition:
    """Return the partition of rows whose objective, rounded up, is known."""
    problem = bound_problem(rows, labels, weight, k)
    optimum = None
    if len(problem.weight) <= k:
        optimum = LowerBound(0.0, "a center for every distinct row", is_exact=True)
    return CertifiedPartition(
        objective=objective,
        n_clusters=k,
        n_rows=len(rows),
        n_features=rows.shape[1],
        criterion=SUM_OF_SQUARES,
        improve=partial(improve_bounds, problem),
        optimum=optimum,
    )


def bound_problem(rows: Floats, labels: Ints, weight: Floats, k: int) -> BoundProblem:
    """Return the problem of the distinct rows, sorted by their content."""
    keys = content_keys(rows)
    # equal keys of different rows are as rare as they are harmless: such rows are not merged
    order = np.lexsort((labels, keys))
    sorted_rows, sorted_keys = rows[order] + 0.0, keys[order]
    is_first = np.ones(len(rows), bool)
    same_key = np.flatnonzero(sorted_keys[1:] == sorted_keys[:-1]) + 1
    is_first[same_key] = (sorted_rows[same_key] != sorted_rows[same_key - 1]).any(axis=1)
    number = np.cumsum(is_first) - 1
    total = exact_totals(weight[order], number, int(number[-1]) + 1)
    return BoundProblem(
        k=k, weight=total, labels=labels[order][is_first], rows=sorted_rows[is_first]
    )


def objective_of_labels(rows: Floats, labels: Ints, weight: Floats, k: int) -> float:
    """Return Σ w‖x − mean‖², rounded up.

    Any point in place of a mean gives an upper bound, so errors of the means do no harm. Rows are
    subtracted from one row of their cluster first: an offset costs no digits, and equal rows cost
    nothing.
    """
    d = rows.shape[1]
    origin = np.zeros((k, d))
    origin[labels[::-1]] = rows[::-1]  # the first row of each cluster
    y = rows - origin[labels]
    mass = exact_totals(weight, labels, k)
    mean = np.stack([exact_totals(column, labels, k, weight) for column in y.T], axis=1)
    mean /= np.where(mass > 0, mass, 1.0)[:, None]
    spread = exact_total(np.einsum("ij,ij->i", y, y), weight)
    y -= mean[labels]
    cost = exact_total(np.einsum("ij,ij->i", y, y), weight)
    # each difference is rounded once: by ε of itself, or of the distance to the origin
    root = math.sqrt(cost) + 2 * EPSILON * math.sqrt(spread)
    return round_up(root * root, d)


def round_up(value: float, d: int) -> float:
    """Return more than a sum of squares in d features can be that was computed as `value`."""
    return value * (1.0 + 2 * (d + ROUNDINGS) * EPSILON)
