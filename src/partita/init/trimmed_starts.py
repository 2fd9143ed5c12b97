"""k-means++ that passes outliers by: rows that trimming would leave out are never drawn."""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.weighting import weighted
from partita._kernels.weighted_draws import draw_any, index_in_cumsum
from partita.centers import Centers
from partita.source.protocol import Source
from partita.trimming import cut_farthest


def trimmed_plusplus(source: Source, k: int, rng: np.random.Generator, trim: float) -> Floats:
    """Choose k rows as centers: greedy k-means++ among the rows that trimming keeps.

    Before every draw, the share `trim` of the weight that is farthest from the rows chosen so far
    is left out: those are the outliers, which plain k-means++ would choose first. The others are
    drawn in proportion to weight times squared distance. Of a few candidates the one is kept that
    leaves the lowest trimmed sum of these.
    """
    trials, weight = 2 + int(math.log(k)), source.weights.unless_equal()
    which = draw_any(source.n, weight, rng.random(1))
    closest = _squares_to(source, which)
    terms = _trimmed_terms(closest, weight, trim)
    for _ in range(1, k):
        cumulated = terms.cumsum()
        if not 0 < cumulated[-1] < math.inf:  # every row that counts equals a chosen one
            which = np.append(which, draw_any(source.n, weight, rng.random(1)))
            continue
        lowest = math.inf
        for row in index_in_cumsum(cumulated, rng.random(trials) * cumulated[-1]).tolist():
            lower = np.minimum(closest, _squares_to(source, np.array([row])))
            left = _trimmed_terms(lower, weight, trim)
            potential = exact_total(left)
            if potential < lowest:
                lowest, best = potential, (row, lower, left)
        row, closest, terms = best
        which = np.append(which, row)
    return source.take_rows(which)


def _squares_to(source: Source, row: Ints) -> Floats:
    """Squared distances (n,) to a row."""
    center = Centers(source.take_rows(row), np.zeros(source.d))
    return source.own_distances(center, np.zeros(source.n, np.int32))


def _trimmed_terms(squares: Floats, weight: Floats | None, trim: float) -> Floats:
    """Weight times square (n,) of the rows that count, 0 for the others."""
    return weighted(squares, cut_farthest(squares, weight, trim).counted(weight, len(squares)))
