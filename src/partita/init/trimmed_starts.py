"""k-means++ that passes outliers by: rows that trimming would leave out are never drawn."""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.weighting import weighted
from partita._kernels.weighted_draws import draw_any, index_in_cumsum
from partita.centers import Centers
from partita.source.own_lengths import own_lengths
from partita.source.protocol import Source
from partita.trimming import cut_farthest

SAMPLE_ROWS = 1 << 12  # of more rows, centers are drawn from a sample; or
SAMPLE_ROWS_PER_CLUSTER = 1 << 4
GUESSED_SHARE = 0.8  # of the last threshold: few rows but those left out are farther


def trimmed_plusplus(source: Source, k: int, rng: np.random.Generator, trim: float) -> Floats:
    """Choose k rows as centers: greedy k-means++ among the rows that trimming keeps.

    Before every draw, the share `trim` of the weight that is farthest from the rows chosen so far
    is left out: those are the outliers, which plain k-means++ would choose first. The others are
    drawn in proportion to weight times squared distance. Of a few candidates the one is kept that
    leaves the lowest sum of squares, of which none counts for more than that at the cut: so the
    cut is made once for all of them.
    """
    source = _sample_of(source, max(SAMPLE_ROWS, SAMPLE_ROWS_PER_CLUSTER * k), rng)
    trials, weight = 2 + int(math.log(k)), source.weights.unless_equal()
    which = draw_any(source.n, weight, rng.random(1))
    closest, near = _lengths_to(source, which), 0.0
    for _ in range(1, k):
        cut = cut_farthest(closest, weight, trim, near)
        limit = min(cut.threshold, float(closest.max()))
        near = GUESSED_SHARE * limit
        if limit == 0:  # every row that counts equals a chosen one
            which = np.append(which, draw_any(source.n, weight, rng.random(1)))
            continue
        terms = weighted(np.square(np.minimum(closest / limit, 1.0)), cut.counted(weight, source.n))
        cumulated = terms.cumsum()
        lowest = math.inf
        for row in index_in_cumsum(cumulated, rng.random(trials) * cumulated[-1]).tolist():
            lower = np.minimum(closest, _lengths_to(source, np.array([row])))
            potential = exact_total(np.square(np.minimum(lower / limit, 1.0)), weight)
            if potential < lowest:
                lowest, best = potential, (row, lower)
        row, closest = best
        which = np.append(which, row)
    return source.take_rows(which)


def _sample_of(source: Source, most: int, rng: np.random.Generator) -> Source:
    """Some of the rows that have weight; all, if they are few."""
    weight = source.weights.unless_equal()
    rows = np.arange(source.n) if weight is None else np.flatnonzero(weight)
    if len(rows) <= most:
        return source
    rows = np.sort(rng.choice(rows, most, replace=False))
    return source.subset(rows, source.weights.subset(rows))


def _lengths_to(source: Source, row: Ints) -> Floats:
    """Distances (n,) to a row."""
    center = Centers(source.take_rows(row), np.zeros(source.d))
    return own_lengths(source, center, np.zeros(source.n, np.int32))
