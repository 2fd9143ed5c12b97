"""Exact K-means on a line, by dynamic programming, for every number of clusters at once.

Optimal clusters of numbers are intervals, so D_k(j) = min_i D_{k−1}(i) + cost(i, j) over the sorted
distinct values, where cost is the sse of the values i…j−1. Splits do not cross, so divide and
conquer takes O(n log n) for each k. Costs are differences of prefix sums about a value in the
middle: terms are added as integers and costs are twofold numbers (106 bits), so neither an offset
nor outliers take digits from them.

References: Wang and Song, Ckmeans.1d.dp (2011); Grønlund et al., Fast exact k-means, k-medians and
Bregman divergence clustering in 1D (2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total, exact_totals
from partita._common.threads import Workers
from partita._kernels import kernels
from partita._kernels.split_layers import PREFIX_ROWS, as_twofold
from partita._kernels.twofold import Twofold, add, multiply, two_sum

TERM_BITS = 120  # terms are rounded to multiples of 2^-120
SUM_BITS = 62  # of the integers that digits of terms are added as
MAX_DIGIT_BITS = 50  # fewer than those of a head, so that a digit leaves a rest below its unit
MIN_SHARE = 2.0**-80  # of all weight; rows with less are left out of the search
# Of all weight plus the number of points, for |y| ≤ 1: bounds the error of the cost of a range.
# Terms have a relative error of 2^-100, and 2|t/w| ≤ 2 multiplies that of Σ w·y.
RANGE_ERROR = 2.0**-94
MAX_ROUNDING = 1e-9  # share of J that may be lost where the optimum is claimed


@dataclass(frozen=True, slots=True)
class SortedLine:
    """Distinct values in order, and their prefix sums about the middle one, scaled to |y| ≤ 1."""

    value: Floats  # (u,)
    prefix: Floats  # (6, u + 1) Σ w·y², Σ w·y, Σ w over the first values, heads and tails
    cost_exponent: int  # costs of the rows are those of the scaled values, times 2^this
    error: float  # bounds that of the cost of a range of scaled values

    @classmethod
    def of(cls, x: Floats, weight: Floats | None) -> SortedLine:
        """Sort finite numbers (n,) with weights (n,) >= 0, at least one of them positive."""
        if weight is not None:
            scale = -math.frexp(float(weight.max()))[1]
            weight = np.ldexp(weight, scale)
            kept = weight >= MIN_SHARE * float(weight.sum())
            x, weight = x[kept], weight[kept]
            order = np.argsort(x, kind="stable")
            x, weight = x[order], weight[order]
        else:
            scale, x = 0, np.sort(x)
        ends = np.append(np.flatnonzero(x[1:] != x[:-1]), len(x) - 1)
        y, exponent = _centered(x, x[ends[len(ends) // 2]])
        prefix = np.zeros((PREFIX_ROWS, len(ends) + 1))
        if weight is None:
            prefix[4, 1:] = ends + 1
            line = y
        else:
            w = weight, np.zeros_like(weight)
            prefix[4:, 1:] = _prefix_sums(w, ends)
            line = multiply(y, w)
        prefix[2:4, 1:] = _prefix_sums(line, ends)
        prefix[:2, 1:] = _prefix_sums(multiply(line, y), ends)
        error = RANGE_ERROR * (float(prefix[4, -1]) + len(x))
        return cls(x[ends], prefix, 2 * exponent - scale, error)

    def cost_of(self, scaled: float) -> float:
        """Return the cost of the rows for a cost of the scaled values."""
        return _times_power_of_two(scaled, self.cost_exponent)


def optimal_costs(x: Floats, weight: Floats | None, k_max: int, n_threads: int = 1) -> Floats:
    """Return the least J (k_max,) of x (n,) in at most 1, 2, …, k_max clusters.

    Memory is O(n), time O(k_max·n log n).

    >>> optimal_costs(np.array([1.0, 2.0, 6.0, 8.0]), None, 4)
    array([32.75,  2.5 ,  0.5 ,  0.  ])
    """
    line = SortedLine.of(x, weight)
    costs = _layer_costs(line, k_max, n_threads)
    return np.array([line.cost_of(float(cost)) for cost in costs])


def lower_costs(x: Floats, weight: Floats | None, k_max: int, n_threads: int = 1) -> Floats:
    """Return rigorous lower bounds (k_max,) of `optimal_costs`: rounding errors are subtracted.

    A value is lower by 2·k·(2 + log2 n) times the error of a range: for a million rows and k = 20
    that is 1e-25·Σ w·max y², with y relative to the middle value. It is 0 where J is even less.

    >>> bool(0 < 2.5 - lower_costs(np.array([1.0, 2.0, 6.0, 8.0]), None, 2)[1] < 1e-14)
    True
    """
    line = SortedLine.of(x, weight)
    costs = _layer_costs(line, k_max, n_threads)
    return np.array([_rounded_down(line, float(cost), k) for k, cost in enumerate(costs, 1)])


def _rounded_down(line: SortedLine, cost: float, k: int) -> float:
    """Return a lower bound of the rows' J from the scaled cost that was computed for k clusters."""
    levels = 2 + len(line.value).bit_length()  # a split may lose twice the error at each of them
    low = math.nextafter(cost * (1 - 2.0**-52) - 2.0 * line.error * levels * k, -math.inf)
    return math.nextafter(line.cost_of(max(0.0, low)), 0.0)


class LineOptimum(NamedTuple):
    """A best partition of numbers, and a rigorous lower bound of its J."""

    labels: Ints  # (n,)
    centers: Floats  # (k,) in order
    cost: float
    lower_bound: float  # as `lower_costs` has it

    @property
    def is_proven(self) -> bool:
        """Return whether rounding left the optimum, but for 1e-9 of J."""
        return self.lower_bound >= (1 - MAX_ROUNDING) * self.cost


def optimal_partition(x: Floats, weight: Floats | None, k: int, n_threads: int = 1) -> LineOptimum:
    """Return a best partition in at most k clusters.

    There are min(k, distinct values) clusters; rows of no weight join the nearest. Memory is O(n·k)
    integers.

    >>> optimum = optimal_partition(np.array([8.0, 1.0, 2.0, 6.0]), None, 2)
    >>> optimum.labels, optimum.centers, optimum.cost, optimum.is_proven
    (array([1, 0, 0, 1], dtype=int32), array([1.5, 7. ]), 2.5, True)
    """
    line = SortedLine.of(x, weight)
    k = min(k, len(line.value))
    places, cost = _starts(line, k, n_threads)
    starts = line.value[places]
    labels = np.maximum(0, np.searchsorted(starts, x, side="right") - 1).astype(np.int32)
    return LineOptimum(*_with_centers(x, weight, labels, starts), _rounded_down(line, cost, k))


def _with_centers(
    x: Floats, weight: Floats | None, labels: Ints, starts: Floats
) -> tuple[Ints, Floats, float]:
    """Add the means of the clusters, and J; move rows without weight to the nearest mean."""
    k, scale = len(starts), -math.frexp(float(np.abs(x).max()))[1]
    anchor = np.ldexp(starts, scale)  # of each cluster: an offset costs no digits
    y = np.ldexp(x, scale) - anchor[labels]
    mass = np.bincount(labels, weights=weight, minlength=k).astype(np.float64)
    mean = exact_totals(y, labels, k, weight) / mass
    gap = y - mean[labels]
    cost = exact_total(gap * gap, weight)
    centers = np.ldexp(anchor + mean, -scale)
    if weight is not None and (weight == 0).any():
        idle = weight == 0
        middles = centers[:-1] + (centers[1:] - centers[:-1]) / 2
        labels[idle] = np.searchsorted(middles, x[idle])
    return labels, centers, _times_power_of_two(cost, -2 * scale)


def _layer_costs(line: SortedLine, k_max: int, n_threads: int) -> Floats:
    """Return the least scaled costs (k_max,) of all values."""
    n = len(line.value)
    costs = np.zeros(k_max)
    before, after = np.zeros((2, 2, n + 1))
    split = np.zeros(n + 1, np.int32)
    with Workers(n_threads) as workers:
        for layer in range(1, min(k_max, n - 1) + 1):
            kernels.split_layer(line.prefix, layer, before, after, split, workers.crew)
            before, after = after, before
            costs[layer - 1] = before[0, n]
    return costs


def _starts(line: SortedLine, k: int, n_threads: int) -> tuple[Ints, float]:
    """Return the first value (k,) of each of the best k clusters, and their scaled cost."""
    n = len(line.value)
    before, after = np.zeros((2, 2, n + 1))
    splits = np.zeros((k, n + 1), np.int32)
    with Workers(n_threads) as workers:
        for layer, split in enumerate(splits, 1):
            kernels.split_layer(line.prefix, layer, before, after, split, workers.crew)
            before, after = after, before
    starts, end = np.zeros(k, np.int64), n
    for layer in range(k - 1, -1, -1):
        end = starts[layer] = int(splits[layer, end])
    return starts, float(before[0, n])


def _centered(x: Floats, origin: float) -> tuple[Twofold, int]:
    """Return y = (x − origin)·2^−exponent, exactly, with |y| ≤ 1."""
    first = math.frexp(max(abs(float(x[0])), abs(float(x[-1]))))[1] + 1  # differences are finite
    head, tail = two_sum(np.ldexp(x, -first), np.full(1, -math.ldexp(origin, -first)))
    second = math.frexp(float(np.abs(head).max()))[1] if len(x) else 0
    return (np.ldexp(head, -second), np.ldexp(tail, -second)), first + second


def _prefix_sums(term: Twofold, ends: Ints) -> Floats:
    """Return Σ of the terms up to each of `ends`, as twofold numbers (2, len(ends)).

    Terms |t| ≤ 1 are rounded to multiples of 2^-TERM_BITS and added as integers, some bits at a
    time, so that no sum depends on the order of the rows.
    """
    head, tail = term
    total: Twofold = np.zeros(len(ends)), np.zeros(len(ends))
    bits = min(MAX_DIGIT_BITS, SUM_BITS - len(head).bit_length())
    for digit in range(1, -(-TERM_BITS // bits) + 1):
        scale = 2.0 ** (bits * digit)
        whole = np.rint(head * scale)
        sums = np.cumsum(whole.astype(np.int64))
        high, low = as_twofold(sums if len(ends) == len(sums) else sums[ends])
        total = add(total, (high / scale, low / scale))
        head, tail = two_sum(head - whole / scale, tail)
    return np.stack(total)


def _times_power_of_two(value: float, exponent: int) -> float:
    """Return value·2^exponent; infinity beyond the largest double."""
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.inf
