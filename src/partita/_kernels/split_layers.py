"""The dynamic programme of K-means on a line, one layer at a time, in NumPy."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._kernels.crew import Crew
from partita._kernels.twofold import Twofold, add, divide, multiply

PREFIX_ROWS = 6  # Σ w·y², Σ w·y and Σ w, heads and tails


def range_costs(prefix: Floats, first: Ints, last: Ints) -> Twofold:
    """Σ w·y² − (Σ w·y)²/Σ w over the points first…last−1, and 0 where rounding makes it negative.

    `prefix` (6, n + 1) has the sums over the first i points as twofold numbers.
    """
    squares, line, weight = (
        add(prefix[row : row + 2, last], -prefix[row : row + 2, first])  # type: ignore[arg-type]
        for row in (0, 2, 4)
    )
    head, tail = divide(multiply(line, line), weight)
    head, tail = add(squares, (-head, -tail))
    is_negative = head < 0
    return np.where(is_negative, 0.0, head), np.where(is_negative, 0.0, tail)


def split_layer(
    prefix: Floats,
    layer: int,
    before: Floats,
    after: Floats,
    split: Ints,
    crew: Crew | None = None,
) -> None:
    """Set after_j = min_i before_i + cost(i, j), and split_j to the lowest i that attains it.

    j = layer…n is the number of points in `layer` clusters, i = layer − 1…j − 1 that in the first
    layer − 1 of them (0 if layer = 1). Costs are twofold numbers: `before` and `after` are
    (2, n + 1). Divide and conquer: split_j lies between those of the nearest j done before.
    """
    n = prefix.shape[1] - 1
    count = n - layer + 1
    step = 1 << (count.bit_length() - 1) if count > 0 else 0
    while step > 0:
        rank = np.arange(step, count + 1, 2 * step)  # 1…count; odd multiples of the step
        j = layer - 1 + rank
        left, right = rank - step, rank + step
        low = np.where(left > 0, split[layer - 1 + left], layer - 1)
        high = np.where(right <= count, split[np.minimum(n, layer - 1 + right)], n)
        high = np.minimum(high, j - 1 if layer > 1 else 0)
        _best_splits(prefix, (j, low, high), before, after, split)
        step >>= 1


def _best_splits(
    prefix: Floats, ranges: tuple[Ints, Ints, Ints], before: Floats, after: Floats, split: Ints
) -> None:
    """Set after_j and split_j for the given j, from the splits low…high of each."""
    j, low, high = ranges
    size = high - low + 1
    start = np.cumsum(size) - size
    i = np.arange(int(size.sum())) - np.repeat(start - low, size)
    head, tail = add(
        (before[0, i], before[1, i]),
        range_costs(prefix, i, np.repeat(j, size)),
    )
    best_head = np.minimum.reduceat(head, start)
    tail = np.where(head == np.repeat(best_head, size), tail, np.inf)
    best_tail = np.minimum.reduceat(tail, start)
    place = np.where(tail == np.repeat(best_tail, size), i, np.iinfo(np.int64).max)
    after[0, j], after[1, j] = best_head, best_tail
    split[j] = np.minimum.reduceat(place, start)


def as_twofold(numbers: Array) -> Twofold:
    """Return integers (n,) below 2^63 as twofold numbers."""
    head = numbers.astype(np.float64)
    return head, (numbers - head.astype(np.int64)).astype(np.float64)
