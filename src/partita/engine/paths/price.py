"""What a pass costs, by what it did: so that a path is left when another would be cheaper.

In nanoseconds of one core, as measured with AVX-512 by fitting the constants to the passes of fits
on real data. They need not be exact: they choose a path, not a result.
"""

from __future__ import annotations

from partita.source.blocks import PAIR, Pruned

ROW = 3.0, 0.2  # of a row in the plain pass
BOOKS = 9e4, 3.0  # of a pass by bounds, before it looks at a row: once, and per value of a center
LOOK = 5.4  # to look at a row's bounds
MEASURE = 20.0, 0.75  # for a row's distance to its own center
MEET = 36.0  # for a row that meets groups
SCAN = 0.34, 0.0125  # of a pair that meets in the tiles of a group
CANDIDATE = 1.4  # for a pair that the filter left, per feature


def plain_cost(n: int, k: int, d: int) -> float:
    """Every row meets every center."""
    return n * (k * (PAIR[0] + PAIR[1] * d) + ROW[0] + ROW[1] * d)


def books_cost(k: int, d: int, threads: int) -> float:
    """What a pass by bounds costs however many rows there are: all but one thread wait."""
    return (BOOKS[0] + BOOKS[1] * k * d) * threads


def bounded_cost(done: Pruned, n: int, d: int, filter_d: int) -> float:
    """What it costs for its rows."""
    return (
        n * LOOK
        + done.measured * (MEASURE[0] + MEASURE[1] * d)
        + done.met * MEET
        + done.scanned * (SCAN[0] + SCAN[1] * filter_d)
        + done.candidates * CANDIDATE * d
    )
