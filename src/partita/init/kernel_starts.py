"""Starts of kernel K-means: rows, a partition, or given points."""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_totals
from partita._common.random_state import spawn_generators
from partita._common.weighting import weighted
from partita._kernels.weighted_draws import LEAF_ROWS, draw_rows
from partita.centers import Centers
from partita.empty_clusters import POLICIES
from partita.engine.kernel.definiteness import leading
from partita.engine.lloyd import LloydOptions
from partita.engine.restarts import best_of
from partita.halting import MaxIter, SamePartition
from partita.init.plusplus import plusplus
from partita.init.random_starts import forgy_rows
from partita.source.dense import DenseSource
from partita.source.gram_matrix import Gram

SPECTRAL_RUNS = 10  # of K-means on the relaxed solution


def plusplus_rows(gram: Gram, k: int, rng: np.random.Generator) -> Ints:
    """Choose rows (k,) by greedy k-means++ in feature space, as `init.plusplus` does for rows."""
    trials = 2 + int(math.log(k))
    uniform = rng.random(1 + (k - 1) * trials)
    weight = None if gram.weights.all_equal else gram.weight
    closest = np.full(gram.n, np.inf)
    closest[gram.weight == 0] = 0.0
    potential = np.zeros(-(-gram.n // LEAF_ROWS))
    which = np.empty(k, np.int64)
    for j in range(k):
        now = uniform[1 + (j - 1) * trials : 1 + j * trials] if j else uniform[:1]
        drawn = draw_rows(potential, closest, weight, now)
        squares = np.minimum(_squares(gram, drawn), closest)
        left = [float(weighted(row, weight).cumsum()[-1]) for row in squares]
        best = int(np.argmin(left))
        which[j], closest = drawn[best], squares[best]
        lost = weighted(closest, weight)
        potential = np.add.reduceat(lost, np.arange(0, gram.n, LEAF_ROWS))
    return which


def _squares(gram: Gram, which: Ints) -> Floats:
    """Squared distances (m, n) of rows to all."""
    inner = gram.rows(which)
    squares = (gram.diagonal - inner) + (gram.diagonal[which, None] - inner)
    squares[np.arange(len(which)), which] = 0.0
    return np.maximum(squares, 0.0)  # rounding may make those of duplicates negative


def spectral_labels(gram: Gram, k: int, rng: np.random.Generator) -> Ints:
    """Return a partition (n,) of the relaxed solution by K-means."""
    if k == 1:
        return np.zeros(gram.n, np.int32)
    rows = np.ascontiguousarray(leading(gram, k - 1))
    return best_partition(DenseSource(rows, gram.weights, gram.workers), k, rng)


def best_partition(source: DenseSource, k: int, rng: np.random.Generator) -> Ints:
    """Return the labels (n,) of the best of several runs of K-means."""
    seeds = spawn_generators(rng, SPECTRAL_RUNS)
    options = LloydOptions(k, SamePartition() | MaxIter(300), POLICIES["relocate"])
    starts = [lambda seed=seed: plusplus(source, k, seed)[0] for seed in seeds]
    return best_of(source, starts, options).labels


def at_rows(gram: Gram, which: Ints, sigma: float = 0.0) -> Centers:
    """Return centers at rows of the data."""
    values = np.column_stack([gram.rows(which), gram.diagonal[which]])
    if sigma:
        raised = gram.diagonal[which] + sigma / np.where(gram.weight > 0, gram.weight, 1.0)[which]
        values[np.arange(len(which)), which] = raised
        values[:, -1] = raised
    return Centers(values, np.zeros(0))


def at_points(closeness: Floats) -> Centers:
    """Return centers at points, from their closeness (k, n) to the rows."""
    return Centers(np.column_stack([closeness, np.zeros(len(closeness))]), np.zeros(0))


def at_means(
    gram: Gram, labels: Ints, k: int, rng: np.random.Generator, sigma: float = 0.0
) -> Centers:
    """Return centers at the means of a partition; a random row for a cluster without weight."""

    def add(values: Floats) -> Floats:
        return exact_totals(values, labels, k, gram.weight)

    sums, mass = gram.sums(k), exact_totals(gram.weight, labels, k)
    gram.move(np.arange(gram.n), np.full(gram.n, -1, np.int32), labels, sums)
    whole = np.where(mass > 0, mass, 1.0)
    values = np.empty((k, gram.n + 1))
    values[:, :-1] = gram.values(sums) / whole[:, None]
    values[:, -1] = add(gram.own(sums, labels)) / whole**2
    if sigma:
        rows = np.flatnonzero(gram.weight)
        values[labels[rows], rows] += sigma / whole[labels[rows]]
        values[:, -1] += sigma / whole
    if (mass == 0).any():
        drawn = forgy_rows(gram.weights, gram.n, k, rng)
        values[mass == 0] = at_rows(gram, drawn, sigma).values[mass == 0]
    return Centers(values, np.zeros(0))
