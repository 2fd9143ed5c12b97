"""Partitions in the feature space of a kernel, by the squared distances of its rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.errors import ParameterError
from partita.certificates.bounding import CertifiedPartition, Improve, Report
from partita.certificates.certified_rows import EPSILON
from partita.lower_bounds.improvement import improve_bounds
from partita.lower_bounds.problem import BoundProblem
from partita.lower_bounds.record import LowerBound

SUM_IN_FEATURE_SPACE = "the sum of squared distances to the means in feature space"
MAX_INDEFINITE_SHARE = 1e-8  # of the trace: more below 0 is no rounding
PAIR_ROUNDINGS = 8  # of a squared distance and of a centred inner product


def squared_distances(closeness: Floats, weight: Floats, shift: float) -> Floats:
    """Return ‖φ_i − φ_l‖² (n, n) of inner products up to a number per row and column.

    `shift` is that of the diagonal, which is divided by the weights.
    """
    own = closeness.diagonal() + shift / weight
    squares = np.maximum((own[:, None] - closeness) + (own - closeness), 0.0)
    squares = np.maximum(squares, squares.T)
    np.fill_diagonal(squares, 0.0)
    return np.asarray(squares)


def certify_pairs(
    squares: Floats, labels: Ints, weight: Floats, k: int, *, is_definite: bool
) -> CertifiedPartition:
    """Return the partition by labels 0…k−1 of n rows of positive weight.

    `is_definite`: no eigenvalue is below 0, except by rounding; it is tested if this is not known.
    """
    n, total = len(weight), float(weight.sum())
    gram, share = _centred_products(squares, weight), n * EPSILON
    if not is_definite:
        share = MAX_INDEFINITE_SHARE
        _check_definite(gram, weight, share)
    # so that no eigenvalue is below 0: this adds at most n·shift to any objective
    shift = share * float((gram.diagonal() * weight).max())
    gram[np.diag_indices(n)] += shift / weight
    error = n * shift + PAIR_ROUNDINGS * EPSILON * total * float(squares.max(initial=0.0))
    problem = BoundProblem(k=k, weight=weight, labels=labels, gram=gram)
    optimum = None
    if len(np.unique((squares == 0.0).argmax(axis=1))) <= k:
        optimum = LowerBound(0.0, "a center for every distinct row", is_exact=True)
    return CertifiedPartition(
        objective=_objective(squares, labels, weight, k),
        n_clusters=k,
        n_rows=n,
        n_features=None,
        criterion=SUM_IN_FEATURE_SPACE,
        improve=partial(_improve_less, partial(improve_bounds, problem), error),
        optimum=optimum,
    )


def _objective(squares: Floats, labels: Ints, weight: Floats, k: int) -> float:
    """Return Σ_j 1/(2W_j) Σ_{i,l in j} w_i w_l d²_il, rounded up: no term is below 0."""
    cost = 0.0
    for j in range(k):
        members = np.flatnonzero(labels == j)
        if len(members):
            mass = weight[members]
            cost += float(mass @ squares[np.ix_(members, members)] @ mass) / (2 * mass.sum())
    return cost * (1.0 + 4 * (len(weight) + PAIR_ROUNDINGS) * EPSILON)


def _centred_products(squares: Floats, weight: Floats) -> Floats:
    """Return the inner products (n, n) about the weighted mean."""
    share = weight / weight.sum()
    mean = squares @ share
    return np.asarray(-0.5 * ((squares - mean) - (mean[:, None] - mean @ share)))


def _check_definite(gram: Floats, weight: Floats, share: float) -> None:
    root = np.sqrt(weight)
    scaled = gram * root * root[:, None]
    scaled[np.diag_indices(len(scaled))] += share * float(np.trace(scaled))
    try:
        np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        raise ParameterError(
            "A certificate needs a kernel that is positive semidefinite on these rows. Fit with "
            "diagonal_shift='auto', or choose another kernel.",
            parameter="kernel",
        ) from None


def _improve_less(
    improve: Improve,
    error: float,
    report: Report,
    *,
    deadline: float | None,
    level: float,
    rng: np.random.Generator,
) -> None:
    def report_less(bound: LowerBound) -> bool:
        value = max(0.0, bound.value - error)
        return report(replace(bound, value=value))

    improve(report_less, deadline=deadline, level=level, rng=rng)
