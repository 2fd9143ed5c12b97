"""Statistics of the data before a fit, and the exact sum of doubles, in NumPy."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._kernels.crew import Crew
from partita._kernels.exact_sums import Sums, move_rows

DIGITS = 136  # 32-bit digits of an exact sum of products of doubles
POINT = 2176  # bits of them after the binary point
MOST_WHOLE = 2.0**20  # magnitude up to which values are tested for whole numbers


def extent(
    rows: Floats,
    low: Floats,
    high: Floats,
    taint: Floats,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None:
    """Lower `low`, raise `high`; `taint` becomes NaN where a column holds NaN or infinity."""
    with np.errstate(invalid="ignore"):
        taint += (rows * 0).sum(axis=0, dtype=rows.dtype)
    if weight is not None:
        rows = rows[weight > 0]
    if len(rows):
        np.fmin(low, np.fmin.reduce(rows, axis=0), out=low)
        np.fmax(high, np.fmax.reduce(rows, axis=0), out=high)


def are_whole(rows: Floats) -> bool:
    """Return whether all values are whole numbers of at most `MOST_WHOLE`."""
    return bool(((rows == np.rint(rows)) & (np.abs(rows) <= MOST_WHOLE)).all())


def crowded_features(
    rows: Floats, low: Floats, extent: Floats, near: Floats, out: Array, crew: Crew | None = None
) -> None:
    """Set out_t to 1 where half of the values that differ from the lower median are near to it.

    `near` (d,) is how far at most, a small part of the `extent` above `low`.
    """
    ranked = np.sort(rows, axis=0)
    deviation = np.abs(ranked - ranked[(len(rows) - 1) // 2])
    close, equal = (deviation <= near).sum(axis=0), (deviation == 0).sum(axis=0)
    out[:] = (extent > 0) & (2 * close >= len(rows) + equal)


def count_beyond(
    rows: Floats, cuts: Floats, counts: Ints, times: Ints | None = None, crew: Crew | None = None
) -> None:
    """Add to counts (4, d) the values below cuts[0], above cuts[1], below cuts[2], above cuts[3].

    A row of `times` t counts t times.
    """
    weight = np.ones(len(rows), np.int64) if times is None else times
    for count, cut, is_beyond in zip(counts, cuts, (np.less, np.greater) * 2, strict=True):
        count += weight @ is_beyond(rows, cut)


def total_rows(
    sums: Sums,
    rows: Floats,
    cuts: Floats,
    counts: Ints,
    counted: Ints | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None:
    """Add all rows to cluster 0 of the sums, and count as `count_beyond`, each `counted` times."""
    none, first = np.full(len(rows), -1, np.int32), np.zeros(len(rows), np.int32)
    move_rows(sums, rows, none, first, times, weight)
    count_beyond(rows, cuts, counts, counted)


def exact_sum(
    values: Floats, digits: Ints, weight: Floats | None = None, labels: Ints | None = None
) -> None:
    """Add finite values, or weight·values, to `digits` (k, 136) of their labels without rounding.

    digits[j, i] counts units of 2^(32·i − 2176).
    """
    column = np.zeros(len(values), np.int32) if labels is None else labels
    whole, exponent, sign = _integers(values)
    place = exponent + POINT
    limbs = [whole]
    if weight is not None:
        times, more, other = _integers(weight)
        place, sign = place + more, sign * other
        # the product of 32 lower and 21 higher bits each: limbs 32 bits apart
        (a, b), (c, d) = _halves(whole), _halves(times)
        limbs = [a * c, a * d + b * c, b * d]
    shift, first = (place & 31).astype(np.uint64), place >> 5
    for i, limb in enumerate(limbs):
        low, high = (half << shift for half in _halves(limb))
        for j, part in enumerate([*_halves(low), *_halves(high)]):
            term = sign * part.astype(np.int64)
            np.add.at(digits, (column, first + i + (0, 1, 1, 2)[j]), term)


def _integers(values: Floats) -> tuple[Array, Ints, Ints]:
    """Return mantissas < 2^53, exponents and signs: values = sign·mantissa·2^exponent."""
    mantissa, exponent = np.frexp(values)
    whole = (np.abs(mantissa) * 2.0**53).astype(np.uint64)
    # frexp normalises subnormal values, the core does not; the sum is the same.
    short = np.maximum(0, -1074 - (exponent - 53))
    return whole >> short.astype(np.uint64), exponent - 53 + short, np.where(values < 0, -1, 1)


def _halves(whole: Array) -> tuple[Array, Array]:
    """Return the lower and the higher 32 bits."""
    return whole & np.uint64(0xFFFFFFFF), whole >> np.uint64(32)
