"""Estimated cost of a pass that compares every row with every center, plain or over bytes.

In nanoseconds of one core, measured with AVX-512 by fitting the constants to passes on real data.
They need not be exact: they choose a way, not a result. Pairs of numbers: once, and per feature.
"""

from __future__ import annotations

import math

from partita._kernels import kernels
from partita._kernels.byte_tiles import MAX_BYTE_FEATURES

PAIR_NS, PLAIN_ROW_NS = (0.07, 0.0125), (3.0, 0.3)  # of a row and a center in the tiles, of a row
# over bytes: of a pair, a row, a candidate of a row that has several; of rounding a row
BYTE_PAIR_NS, BYTE_ROW_NS, BYTE_CANDIDATE_NS = (0.14, 0.0033), (8.4, 0.03), (20.0, 0.33)
ROUNDING_NS = 25.0, 1.0

RECHECK_NS = 300.0, 4.0  # of a row that is compared again, besides its pairs
MIN_GAIN_SHARE = 0.35  # of a plain pass, that bytes must save: packed rows save some of it too
USUAL_CANDIDATES = 0.12  # of a row with several, for all rows and times ln K: before a pass tells
MAX_WAIT_PASSES = 8  # plain ones, that rounding the rows may take


def plain_cost(n: int, k: int, d: int) -> float:
    """Cost of comparing every row with every center."""
    return n * (k * (PAIR_NS[0] + PAIR_NS[1] * d) + PLAIN_ROW_NS[0] + PLAIN_ROW_NS[1] * d)


def recheck_cost(rows: int, k: int, d: int) -> float:
    """Cost of comparing rows again that the scores left open."""
    return rows * (RECHECK_NS[0] + RECHECK_NS[1] * d + k * (PAIR_NS[0] + PAIR_NS[1] * d))


def byte_cost(n: int, k: int, d: int, candidates: float) -> float:
    """Cost of comparing every row with every center in bytes, and candidates in double."""
    pairs = k * (BYTE_PAIR_NS[0] + BYTE_PAIR_NS[1] * d)
    left = candidates * (BYTE_CANDIDATE_NS[0] + BYTE_CANDIDATE_NS[1] * d)
    return n * (pairs + BYTE_ROW_NS[0] + BYTE_ROW_NS[1] * d) + left


def rounding_cost(n: int, d: int) -> float:
    """Cost of rounding every row to bytes."""
    return n * (ROUNDING_NS[0] + ROUNDING_NS[1] * d)


def passes_before_bytes(n: int, k: int, d: int) -> int | None:
    """Number of plain passes after which rounding the rows pays; None: never.

    As long as the passes have not cost as much as rounding, the fit may be over before it pays.
    """
    if not kernels.has_byte_products() or d > MAX_BYTE_FEATURES or k < 2:
        return None
    plain = plain_cost(n, k, d)
    saved = plain - byte_cost(n, k, d, USUAL_CANDIDATES * math.log(k) * n)
    if saved < MIN_GAIN_SHARE * plain:
        return None
    wait = int(rounding_cost(n, d) / saved)
    return wait if wait <= MAX_WAIT_PASSES else None
