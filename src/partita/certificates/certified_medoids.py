"""Partitions about medoids: their objective, and bounds of the p-median problem."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita.certificates.bounding import CertifiedPartition, Improve, Report
from partita.lower_bounds.p_median import improve_p_median_bounds
from partita.lower_bounds.record import LowerBound

SUM_TO_MEDOIDS = "the sum of dissimilarities to the medoids"


def certify_medoids(
    dissimilarity: Floats, medoids: Ints, weight: Floats, n_features: int | None, error: float
) -> CertifiedPartition:
    """Return the partition of n points about some of m candidates.

    `dissimilarity` is (m, n), `medoids` are places among the candidates, `error` is the relative
    rounding error of a dissimilarity; 0 for those that are given.
    """
    cost = exact_total(dissimilarity[medoids].min(axis=0), weight)
    objective = cost if cost.is_integer() else math.nextafter(cost, math.inf)
    k = len(medoids)
    return CertifiedPartition(
        objective=objective * (1.0 + error),
        n_clusters=k,
        n_rows=len(weight),
        n_features=n_features,
        criterion=SUM_TO_MEDOIDS,
        improve=_improving(dissimilarity, weight, k, (cost, error)),
    )


def _improving(
    dissimilarity: Floats, weight: Floats, k: int, cost_and_error: tuple[float, float]
) -> Improve:
    cost, error = cost_and_error

    def improve(
        report: Report, *, deadline: float | None, level: float, rng: np.random.Generator
    ) -> None:
        del level, rng  # nothing is random

        def report_less(bound: LowerBound) -> bool:
            return report(replace(bound, value=bound.value * (1.0 - error)))

        improve_p_median_bounds(dissimilarity, weight, k, cost, report_less, deadline=deadline)

    return improve
