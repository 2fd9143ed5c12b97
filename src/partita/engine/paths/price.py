"""Estimated cost of a pass from what it did: a path is left when another would be cheaper.

In nanoseconds of one core, measured with AVX-512 by fitting the constants to passes on real data;
pairs in tiles are priced by source/pass_price.py. They need not be exact: they choose a path, not a
result.
"""

from __future__ import annotations

from dataclasses import dataclass

from partita.source.pass_price import PRICES

# pairs of numbers: once, and per feature (of BOOKKEEPING_NS: per value of a center)
BOOKKEEPING_NS = 9e4, 3.0  # of a pass by bounds, before it reads a row
READ_BOUNDS_NS = 5.4  # per row
MEASURE_NS = 20.0, 0.75  # for a row's distance to its own center
OPEN_ROW_NS = 36.0  # for a row that is compared with other centers
CANDIDATE_NS = 1.4  # of a pair that the filter left, per feature
MEASURE_BYTES_NS = 30.0, 0.03  # for a bound of a row's distance to its own center, in bytes
GATHER_BYTES_NS = 90.0, 0.1  # for a row that is gathered, in bytes
OWN_TOO = 1.5  # of a candidate: its row is measured to its own center, too


@dataclass(frozen=True, slots=True)
class PrunedCounts:
    """Counts of a pruned pass, as its kernel returns them."""

    moved: int
    measured: int  # by bounds: rows measured to their own center; by leaves: rows that were read
    open_rows: int  # rows that were compared with other centers
    scanned: int  # pairs of rows and centers that were compared
    candidates: int  # what that left open: pairs by bounds, rows by leaves

    @classmethod
    def sum_of(cls, calls: list[list[int]]) -> PrunedCounts:
        """Add up the counts of several calls."""
        return cls(*(sum(counts) for counts in zip(*calls, strict=True)))


def byte_bounded_cost(counts: PrunedCounts, n: int, d: int) -> float:
    """Cost of a pass by bounds for its n rows, whose open rows are compared in bytes."""
    pair, own = PRICES.byte_pair, PRICES.byte_candidate
    return (
        n * READ_BOUNDS_NS
        + counts.measured * (MEASURE_BYTES_NS[0] + MEASURE_BYTES_NS[1] * d)
        + counts.open_rows * (GATHER_BYTES_NS[0] + GATHER_BYTES_NS[1] * d)
        + counts.scanned * (pair[0] + pair[1] * d)
        + counts.candidates * OWN_TOO * (own[0] + own[1] * d)
    )


def bookkeeping_cost(k: int, d: int, threads: int) -> float:
    """Cost of a pass by bounds that does not depend on n: all threads but one wait."""
    return (BOOKKEEPING_NS[0] + BOOKKEEPING_NS[1] * k * d) * threads


def bounded_cost(counts: PrunedCounts, n: int, d: int, filter_d: int) -> float:
    """Cost of a pass by bounds for its n rows; groups are scanned in `filter_d` features."""
    return (
        n * READ_BOUNDS_NS
        + counts.measured * (MEASURE_NS[0] + MEASURE_NS[1] * d)
        + counts.open_rows * OPEN_ROW_NS
        + counts.scanned * (PRICES.scan_pair[0] + PRICES.scan_pair[1] * filter_d)
        + counts.candidates * CANDIDATE_NS * d
    )
