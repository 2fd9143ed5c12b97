"""What a pass costs, by what it did: so that a path is left when another would be cheaper.

The unit is one feature of one pair in the plain tiles; constants are measured (1 unit is about
0.02 ns of one core with AVX-512). They need not be exact: they choose a path, not a result.
"""

from __future__ import annotations

from partita.source.blocks import Pruned

PAIR = 6  # of a pair in the tiles, beside its features
SCAN = 1.35  # of a pair that meets in the tiles of a group, to one of the plain pass
ROW = 270  # to look at a row's bounds
READ = 10.0  # to read and pack a feature of a row
MEASURE = 1100, 10.0  # for a row's distance to its own center: once, and per feature
MEET = 1600, 16.0  # for a row that meets groups: once, and per feature of the filter
CANDIDATE = 1300, 12.0  # for a pair that the filter left: once, and per feature


def plain_cost(n: int, k: int, d: int) -> float:
    """Every row meets every center, and is read and packed once."""
    return float(n) * (k * (d + PAIR) + READ * d)


def bounded_cost(done: Pruned, n: int, d: int, filter_d: int) -> float:
    """A pass by bounds."""
    return (
        n * ROW
        + done.measured * (MEASURE[0] + MEASURE[1] * d)
        + done.met * (MEET[0] + MEET[1] * filter_d)
        + SCAN * done.scanned * (filter_d + PAIR)
        + done.candidates * (CANDIDATE[0] + CANDIDATE[1] * d)
    )
