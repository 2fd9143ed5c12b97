"""Criteria for the quality of a partition: pure functions of summaries and distances.

None is right for all data; each docstring gives the direction, the range and the weakness. A
criterion that is not defined is NaN. Clusters without weight are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.exact_sum import exact_total, exact_totals
from partita._common.logarithm import logarithm, logarithms
from partita._common.row_squares import row_squares
from partita.stats import ClusterStats

__all__ = [
    "adjusted_rand",
    "bic",
    "calinski_harabasz",
    "crossed",
    "davies_bouldin",
    "elbow",
    "mean_distances",
    "simplified_silhouette",
]

MIN_SHARE_OF_VARIANCE = 1e-4  # within clusters, of the variance of a feature
MIN_RATIO_OF_VARIANCES = 1e-2  # of one cluster to all, along a feature
MIN_BEND = 1e-9  # of the height of the curve; a straighter curve has no elbow


def calinski_harabasz(stats: ClusterStats) -> float:
    """Variance between clusters over variance within: (B / (K − 1)) / (W / (n − K)).

    Higher is better; from 0 to infinity (if W = 0, where scikit-learn returns 1). NaN for K = 1 or
    a total weight of K or less. Weakness: prefers round clusters of similar size, and is not
    defined for one cluster, so it cannot recommend one.

    >>> rows, labels = [[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]
    >>> calinski_harabasz(ClusterStats.of_block(rows, labels, k=2))
    200.0
    """
    weight, mean, sse = _filled(stats)
    k, n = len(weight), exact_total(weight)
    if k < 2 or n <= k:
        return math.nan
    between = exact_total(row_squares(_from_overall_mean(weight, mean)), weight) / (k - 1)
    within = exact_total(sse) / (n - k)
    if within == 0:
        return math.inf if between > 0 else math.nan
    return between / within


def mean_distances(distance: Array, labels: Array, k: int, weight: Array | None = None) -> Floats:
    """Mean distance (k,) of the rows of each cluster to its center; 0 if it is empty.

    >>> mean_distances([1.0, 3.0, 5.0], [0, 0, 1], 3)
    array([2., 5., 0.])
    """
    d, label = np.asarray(distance, dtype=np.float64), np.asarray(labels)
    w = None if weight is None else np.asarray(weight, dtype=np.float64)
    mass = exact_totals(np.ones(len(d)), label, k, w)
    sums = exact_totals(d, label, k, w)
    return np.divide(sums, mass, out=np.zeros(k), where=mass > 0)


def davies_bouldin(stats: ClusterStats, spread: Array) -> float:
    """Mean over clusters of the largest (spread_j + spread_l) / ‖mean_j − mean_l‖.

    `spread` (k,) is `mean_distances` to the means. Lower is better; from 0 to infinity (if two
    means coincide and their clusters have an extent). NaN for K = 1. Weakness: uses only means and
    spreads, so that a long cluster next to a round one looks bad.

    >>> stats = ClusterStats.of_block([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1], k=2)
    >>> davies_bouldin(stats, [0.5, 0.5])
    0.1
    """
    filled = stats.weight > 0
    mean, s = stats.mean[filled], np.asarray(spread, dtype=np.float64)[filled]
    if len(mean) < 2:
        return math.nan
    worst = np.zeros(len(mean))
    for j, center in enumerate(mean):  # row by row: K² distances are not kept
        gap = np.sqrt(row_squares(mean - center))
        both = s + s[j]
        ratio = np.divide(both, gap, out=np.where(both > 0, np.inf, 0.0), where=gap > 0)
        ratio[j] = 0.0
        worst[j] = ratio.max()
    return exact_total(worst) / len(worst)


def simplified_silhouette(first: Array, second: Array, weight: Array | None = None) -> float:
    """Mean of 1 − d₁/d₂, with distances to the nearest two centers; 0/0 counts as 1.

    Higher is better; from 0 (every row between two centers) to 1. NaN for K = 1, where d₂ is
    infinite. Costs no more than labels. Weakness: uses centers instead of clusters, so that sparse
    clusters look as good as dense ones.

    >>> simplified_silhouette([1.0, 0.0], [4.0, 5.0])
    0.875
    """
    d1, d2 = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    w = None if weight is None else np.asarray(weight, dtype=np.float64)
    mass = len(d1) if w is None else exact_total(w)
    if mass == 0 or not np.isfinite(d2).all():
        return math.nan
    share = np.divide(d1, d2, out=np.ones_like(d1), where=d2 > 0)
    return exact_total(1.0 - share, w) / mass


def bic(stats: ClusterStats, n: float | None = None, by_feature: Array | None = None) -> float:
    """−2·log L + p·log n of K Gaussians with hard assignment; p is the number of parameters.

    Lower is better; any real number. Cluster j has the share w_j/n of the rows. The Gaussians are
    round and of one variance σ² = J / (d(n − K)):

        log L = Σ w_j·log(w_j/n) − (n·d/2)·log(2πσ²) − d(n − K)/2.

    K·d coordinates, K − 1 shares and one variance make p = K(d + 1) parameters. With `by_feature`
    (k, d), the sums of squared deviations along each feature, or numbers in proportion to them,
    Gaussians with a variance for each feature, or for each feature and cluster, are tried too, and
    the least value is returned. `n` defaults to the total weight. −∞ if J = 0; NaN if n ≤ K.
    Weakness: if clusters are not Gaussian, more clusters always fit better.

    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[0.0], [9.0]], 50, axis=0) + rng.normal(size=(100, 1))
    >>> one = ClusterStats.of_block(rows)
    >>> two = ClusterStats.of_block(rows, np.repeat([0, 1], 50), k=2)
    >>> bic(two) < bic(one)
    True
    """
    weight, mean, sse = _filled(stats)
    k, d = mean.shape
    rows = exact_total(weight) if n is None else float(n)
    if k == 0 or rows <= k or d == 0:
        return math.nan
    variance = exact_total(sse) / (d * (rows - k))
    if variance == 0:
        return -math.inf
    logs = np.array([logarithm(share) for share in (weight / rows).tolist()])
    shares = exact_total(logs, weight)
    fit = shares - rows * d / 2 * logarithm(2 * math.pi * variance) - d * (rows - k) / 2
    best = float(-2 * fit + k * (d + 1) * logarithm(rows))
    if by_feature is None or d == 1:
        return best
    squares = _in_proportion(np.asarray(by_feature, dtype=np.float64)[stats.weight > 0], sse)
    for variances, count in _variances(squares, weight, mean):
        fit = shares - _half_deviance(squares, weight, variances)
        best = min(best, float(-2 * fit + (k * (d + 1) - 1 + count) * logarithm(rows)))
    return best


def _in_proportion(by_feature: Floats, sse: Floats) -> Floats:
    """Squares (k, d) with the given sums; equal for all features where nothing is known."""
    total = _added(by_feature.T)
    even = np.full_like(by_feature, 1.0 / by_feature.shape[1])
    share = np.divide(by_feature, total[:, None], out=even, where=total[:, None] > 0)
    return np.asarray(share * sse[:, None])


def _variances(squares: Floats, weight: Floats, mean: Floats) -> Iterator[tuple[Floats, int]]:
    """Variances (k, d) of the kinds of Gaussians, and how many of them are parameters."""
    (k, d), n = squares.shape, exact_total(weight)
    gap = _from_overall_mean(weight, mean)
    within, between = _added(squares) / n, _added(weight[:, None] * gap * gap) / n
    within = np.maximum(within, MIN_SHARE_OF_VARIANCE * (within + between))
    within[within == 0] = 1.0  # a constant feature fits all Gaussians alike
    yield np.broadcast_to(within, (k, d)), d
    yield np.maximum(squares / weight[:, None], MIN_RATIO_OF_VARIANCES * within), k * d


def _half_deviance(squares: Floats, weight: Floats, variances: Floats) -> float:
    """−log of the densities of all rows."""
    terms = weight[:, None] * logarithms(2 * math.pi * variances) + squares / variances
    return 0.5 * exact_total(terms.ravel())


def _added(terms: Floats) -> Floats:
    """Sums over the first axis, in the order of the rows on every machine."""
    return np.asarray(np.ascontiguousarray(terms).sum(axis=0))


def elbow(ks: Sequence[int] | Array, values: Array) -> int | None:
    """K at which a decreasing curve bends most: farthest below the chord of its two ends.

    Both axes are scaled to [0, 1] first; K need not be evenly spaced, and the lowest K wins ties.
    None for fewer than three K or a curve without a bend. Weakness: nearly every curve has an
    elbow, even that of data without clusters, and it moves with the largest K.

    >>> elbow([1, 2, 3, 4, 5], [100.0, 40.0, 10.0, 8.0, 6.0])
    3
    """
    k, value = np.asarray(ks, dtype=np.float64), np.asarray(values, dtype=np.float64)
    known = np.isfinite(value)
    k, value = k[known], value[known]
    order = np.argsort(k, kind="stable")
    k, value = k[order], value[order]
    if len(k) < 3 or k[0] == k[-1] or not value[0] > value[-1]:
        return None
    across = (k - k[0]) / (k[-1] - k[0])
    down = (value[0] - value) / (value[0] - value[-1])
    below = down - across
    best = int(below.argmax())
    return int(k[best]) if below[best] > MIN_BEND else None


def adjusted_rand(one: Any, other: Any, weight: Array | None = None) -> float:
    """Adjusted Rand index: the agreement of two partitions, corrected for chance.

    Higher is better; 1 for equal partitions, 0 on average for random ones, at least −½. Without
    weights it is scikit-learn's. With weights, a pair is two draws in proportion to them, with
    replacement. Weakness: large clusters dominate it.

    >>> adjusted_rand([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    """
    if weight is None:
        return _adjusted_rand_of_rows(crossed(one, other, None))
    w = np.asarray(weight, dtype=np.float64)
    both = crossed(one, other, w / w.sum())
    rows, columns = both.sum(axis=1), both.sum(axis=0)
    first, second = float((rows * rows).sum()), float((columns * columns).sum())
    chance, largest = first * second, 0.5 * (first + second)
    agreement = float((both * both).sum())
    return (agreement - chance) / (largest - chance) if largest > chance else 1.0


def _adjusted_rand_of_rows(both: Array) -> float:
    """Adjusted Rand index of a contingency table, by integers: pairs are of different rows."""
    n, squares = int(both.sum()), [int((t * t).sum()) for t in (both, both.sum(1), both.sum(0))]
    together, first, second = (square - n for square in squares)  # ordered pairs
    chance, pairs = 2 * first * second, n * (n - 1)
    largest = (first + second) * pairs
    return (2 * together * pairs - chance) / (largest - chance) if largest > chance else 1.0


def crossed(one: Any, other: Any, weight: Floats | None) -> Array:
    """Contingency table (a, b): the weight, or the rows, that clusters of two partitions share."""
    first, second = (np.unique(labels, return_inverse=True)[1].ravel() for labels in (one, other))
    shape = first.max(initial=-1) + 1, second.max(initial=-1) + 1
    cells = np.bincount(first * shape[1] + second, weight, minlength=shape[0] * shape[1])
    return cells.reshape(shape)


def _from_overall_mean(weight: Floats, mean: Floats) -> Floats:
    """Means (k, d) relative to that of all rows; an offset of the data costs no digits."""
    away = mean - mean[0]
    return np.asarray(away - _added(weight[:, None] * away) / exact_total(weight))


def _filled(stats: ClusterStats) -> tuple[Floats, Floats, Floats]:
    filled = stats.weight > 0
    return stats.weight[filled], stats.mean[filled], stats.sse[filled]
