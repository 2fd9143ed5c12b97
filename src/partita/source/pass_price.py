"""Estimated cost of a pass that compares every row with every center, plain or over bytes.

In nanoseconds of one core, measured by fitting the constants to passes on real data. They need not
be exact: they choose a way, not a result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from partita._kernels import kernels
from partita._kernels.byte_tiles import MAX_BYTE_FEATURES

Price = tuple[float, float]  # once, and per feature


@dataclass(frozen=True, slots=True)
class PassPrices:
    """Prices on machines of one kind."""

    pair: Price  # of a row and a center in the tiles
    plain_row: Price
    byte_pair: Price  # over bytes
    byte_row: Price
    byte_candidate: Price  # of a candidate of a row that has several
    scan_pair: Price  # of a row and a center in the tiles of a group, see engine/paths/price.py


AVX512 = PassPrices(
    pair=(0.07, 0.0125),
    plain_row=(3.0, 0.3),
    byte_pair=(0.14, 0.0033),
    byte_row=(8.4, 0.05),
    byte_candidate=(20.0, 0.33),
    scan_pair=(0.34, 0.0125),
)
AVX2 = PassPrices(
    pair=(0.17, 0.0216),
    plain_row=(3.0, 0.3),
    byte_pair=(0.42, 0.0105),
    byte_row=(8.4, 0.05),
    byte_candidate=(20.0, 0.6),
    scan_pair=(0.5, 0.0216),
)
PRICES = AVX512 if kernels.instruction_set().startswith("avx512") else AVX2
ROUNDING_NS = 25.0, 0.6  # of a row to bytes, besides reading it
READ_NS = 0.08  # per byte of a row that is not packed, beyond the price of a plain pass
RECHECK_NS = 300.0, 4.0  # of a row that is compared again, besides its pairs

MIN_GAIN_SHARE = 0.35  # of a plain pass, that bytes must save: packed rows save some of it too
USUAL_CANDIDATES = 0.12  # of a row with several, for all rows and times ln K: before a pass tells
MAX_WAIT_PASSES = 8  # plain ones, that rounding the rows may take


def _of(price: Price, d: int) -> float:
    return price[0] + price[1] * d


def pair_cost(d: int) -> float:
    """Cost of comparing a row with a center in the tiles."""
    return _of(PRICES.pair, d)


def plain_cost(n: int, k: int, d: int) -> float:
    """Cost of comparing every row with every center."""
    return n * (k * _of(PRICES.pair, d) + _of(PRICES.plain_row, d))


def recheck_cost(rows: int, k: int, d: int) -> float:
    """Cost of comparing rows again that the scores left open."""
    return rows * (_of(RECHECK_NS, d) + k * _of(PRICES.pair, d))


def byte_cost(n: int, k: int, d: int, candidates: float) -> float:
    """Cost of comparing every row with every center in bytes, and candidates in double."""
    per_row = k * _of(PRICES.byte_pair, d) + _of(PRICES.byte_row, d)
    return n * per_row + candidates * _of(PRICES.byte_candidate, d)


def rounding_cost(n: int, d: int, row_bytes: int) -> float:
    """Cost of rounding every row to bytes: rows are read, and read again while in cache."""
    return n * (_of(ROUNDING_NS, d) + 2 * READ_NS * row_bytes)


def passes_before_bytes(n: int, k: int, d: int, row_bytes: int) -> int | None:
    """Number of plain passes after which rounding the rows pays; None: never.

    As long as the passes have not cost as much as rounding, the fit may be over before it pays.
    """
    if not kernels.has_byte_products() or d > MAX_BYTE_FEATURES or k < 2:
        return None
    plain = plain_cost(n, k, d)
    saved = plain - byte_cost(n, k, d, USUAL_CANDIDATES * math.log(k) * n)
    if saved < MIN_GAIN_SHARE * plain:
        return None
    saved += n * READ_NS * row_bytes  # rows that are to be rounded are not packed before
    wait = int(rounding_cost(n, d, row_bytes) / saved)
    return wait if wait <= MAX_WAIT_PASSES else None
