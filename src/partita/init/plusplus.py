"""Greedy k-means++ (Arthur and Vassilvitskii 2007): far rows are more likely to be chosen.

k-means|| (Bahmani et al. 2012) samples many rows in a few rounds, then chooses k of them.
"""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.weighting import weighted
from partita._kernels.weighted_draws import draw_any
from partita.centers import Centers
from partita.exact_weights import Weights
from partita.source.protocol import SeedingState, Source

N_ROUNDS = 5
ROWS_DRAWN_AT_ONCE = 1 << 16
OVERSAMPLING = 2  # rows expected in a round, times k


def plusplus(
    source: Source,
    k: int,
    rng: np.random.Generator,
    trials: int | None = None,
    memory: float = math.inf,
) -> tuple[Floats, Ints]:
    """Choose k rows as centers; return them and their row numbers.

    Each round draws `trials` rows with probability proportional to weight times squared distance to
    the nearest chosen row, and keeps the one that lowers the sum of these most. The default,
    2 + ⌊ln k⌋, is scikit-learn's. Memory: some 16 bytes a row, and within `memory` bytes a sketch
    of one byte for every value.
    """
    trials = trials or 2 + int(math.log(k))
    uniform = rng.random(1 + (k - 1) * trials)
    which = np.empty(k, np.int64)
    run_rounds(source, source.seeding(k, trials, memory), uniform, which)
    return source.take_rows(which), which


def run_rounds(source: Source, seeding: SeedingState, uniform: Floats, which: Ints) -> None:
    """Fill `which`: one draw for the first row, then equally many of `uniform` for each other."""
    trials = (len(uniform) - 1) // max(1, len(which) - 1)
    for j in range(len(which)):
        if seeding.at_once(j, uniform, which):
            return
        drawn = seeding.draw(uniform[1 + (j - 1) * trials : 1 + j * trials] if j else uniform[:1])
        best = int(seeding.gains(source.take_rows(drawn)).argmax())
        which[j] = drawn[best]
        seeding.choose(best)


def parallel(source: Source, k: int, rng: np.random.Generator, memory: float = math.inf) -> Floats:
    """Choose k rows as centers, by a few passes over the data instead of k.

    Each round samples every row independently with probability OVERSAMPLING·k·w·D²/Σ w·D². Greedy
    k-means++ then chooses k of the sampled rows, each with the weight of the rows nearest to it. If
    the rounds would sample most rows, or found too few different ones, all rows are used instead.
    """
    if source.n <= OVERSAMPLING * k * N_ROUNDS:
        return plusplus(source, k, rng, memory=memory)[0]
    weight = source.weights.unless_equal()
    sampled = _SampledRows(source)
    sampled.add(draw_any(source.n, weight, rng.random(1)))
    for _ in range(N_ROUNDS):
        terms = weighted(sampled.closest, weight)
        potential = exact_total(terms)
        if not 0 < potential < math.inf:
            break
        sampled.add(_draw_each(terms, OVERSAMPLING * k / potential, rng))
    mass = np.bincount(sampled.labels, weight, minlength=len(sampled.rows)).astype(np.float64)
    if np.count_nonzero(mass) < k:
        return plusplus(source, k, rng, memory=memory)[0]
    few = source.subset(sampled.rows, Weights.of(mass, len(mass)))
    return plusplus(few, k, rng, memory=memory)[0]


def _draw_each(terms: Floats, factor: float, rng: np.random.Generator) -> Ints:
    """Draw every row independently with probability terms·factor."""
    drawn = []
    for i in range(0, len(terms), ROWS_DRAWN_AT_ONCE):
        chance = terms[i : i + ROWS_DRAWN_AT_ONCE] * factor
        drawn.append(i + np.flatnonzero(rng.random(len(chance)) < chance))
    return np.concatenate(drawn)


class _SampledRows:
    """The rows sampled so far; for every row, the nearest of them and D64 to it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.rows = np.empty(0, np.intp)
        self.labels = np.zeros(source.n, np.int32)
        self.closest = np.full(source.n, np.inf)

    def add(self, rows: Ints) -> None:
        if len(rows) == 0:
            return
        source = self._source
        centers = Centers(source.take_rows(rows), np.zeros(source.d))
        labels = np.full(source.n, -1, np.int32)
        source.assign(centers, labels, None)
        distance = source.own_distances(centers, labels)
        labels += len(self.rows)
        nearer = distance < self.closest
        np.copyto(self.labels, labels, where=nearer)
        np.copyto(self.closest, distance, where=nearer)
        self.rows = np.concatenate([self.rows, rows])
