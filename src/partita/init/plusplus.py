"""Greedy k-means++ (Arthur and Vassilvitskii 2007): far rows are more likely to be chosen.

k-means|| (Bahmani et al. 2012) samples many rows in a few rounds, then chooses k of them.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.weighting import weighted
from partita._kernels.weighted_draws import draw_any
from partita.centers import Centers
from partita.exact_weights import Weights
from partita.source.protocol import SeedingState, Source

N_ROUNDS = 5
ROWS_AT_ONCE = 1 << 16
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


class SampledRows(Protocol):
    """The rows that k-means|| has sampled so far, and how far all rows are from them."""

    rows: Ints

    def draw_first(self, uniform: Floats) -> Ints:
        """Draw a row in proportion to its weight."""

    def add(self, rows: Ints) -> None:
        """Add rows to those sampled."""

    def potential(self) -> float:
        """Σ w·D² of all rows to the nearest sampled one."""

    def draw(self, factor: float, rng: np.random.Generator) -> Ints:
        """Draw every row independently with probability w·D²·factor."""

    def masses(self) -> Floats:
        """The weight of the rows nearest to each of the sampled rows."""


def parallel(
    source: Source,
    k: int,
    rng: np.random.Generator,
    memory: float = math.inf,
    sampled: SampledRows | None = None,
) -> Floats:
    """Choose k rows as centers, by a few passes over the data instead of k.

    Each round samples every row independently with probability OVERSAMPLING·k·w·D²/Σ w·D². Greedy
    k-means++ then chooses k of the sampled rows, each with the weight of the rows nearest to it. If
    the rounds would sample most rows, or found too few different ones, all rows are used instead.
    `sampled` is where the rounds are made; by default, arrays over all rows.
    """
    if source.n <= OVERSAMPLING * k * N_ROUNDS:
        return plusplus(source, k, rng, memory=memory)[0]
    if sampled is None:
        sampled = RowsInMemory(source)
    sampled.add(sampled.draw_first(rng.random(1)))
    for _ in range(N_ROUNDS):
        potential = sampled.potential()
        if not 0 < potential < math.inf:
            break
        sampled.add(sampled.draw(OVERSAMPLING * k / potential, rng))
    mass = sampled.masses()
    if np.count_nonzero(mass) < k:
        return plusplus(source, k, rng, memory=memory)[0]
    few = source.subset(sampled.rows, Weights.of(mass, len(mass)))
    return plusplus(few, k, rng, memory=memory)[0]


def draw_each(terms: Floats, factor: float, rng: np.random.Generator) -> Ints:
    """Draw every row independently with probability terms·factor."""
    drawn = []
    for i in range(0, len(terms), ROWS_AT_ONCE):
        chance = terms[i : i + ROWS_AT_ONCE] * factor
        drawn.append(i + np.flatnonzero(rng.random(len(chance)) < chance))
    return np.concatenate(drawn)


class RowsInMemory:
    """`SampledRows`, with arrays over all rows: the nearest sampled row, and D64 to it."""

    def __init__(self, source: Source) -> None:
        self._source, self._weight = source, source.weights.unless_equal()
        self.rows: Ints = np.empty(0, np.intp)
        self._count = 0
        self.labels = np.zeros(source.n, np.int32)
        self.closest = np.full(source.n, np.inf)

    def draw_first(self, uniform: Floats) -> Ints:
        return draw_any(self._source.n, self._weight, uniform)

    def add(self, rows: Ints) -> None:
        if len(rows):
            self.add_values(self._source.take_rows(rows))
            self.rows = np.concatenate([self.rows, rows])

    def add_values(self, values: Floats) -> None:
        """Add rows by their values."""
        centers = Centers(values, np.zeros(self._source.d))
        self._source.lower_distances(centers, self._count, self.closest, self.labels)
        self._count += len(values)

    def potential(self) -> float:
        return exact_total(self.terms())

    def terms(self) -> Floats:
        """The products w·D² (n,)."""
        return weighted(self.closest, self._weight)

    def draw(self, factor: float, rng: np.random.Generator) -> Ints:
        return draw_each(self.terms(), factor, rng)

    def masses(self) -> Floats:
        mass, weight = np.zeros(self._count), self._weight
        for i in range(0, len(self.labels), ROWS_AT_ONCE):  # one after the other, as in a loop
            rows = slice(i, i + ROWS_AT_ONCE)
            np.add.at(mass, self.labels[rows], 1.0 if weight is None else weight[rows])
        return mass
