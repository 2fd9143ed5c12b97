"""Sample weights in the form that exact sums need."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.power_of_two import ceil_log2

MAX_WEIGHT_RATIO = 2.0**30  # above it, light rows fall below the grid that heavy ones set
COUNTS_PER_UNIT = 2.0**31  # of weights that are not whole, where they must be integers
MAX_WHOLE_TOTAL = 2.0**36  # units of weight that are counted as integers


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of rows: all equal, integer multiples of a unit, or other values up to one unit.

    Integer weights multiply integers and so equal repeated rows bit for bit. Weights so unequal
    that no grid holds them all are `beyond_grid`: their sums are long integers, which take longer.
    """

    count: float  # an upper bound of the total weight in units
    unit: float = 1.0
    times: Ints | None = None  # (n,)
    values: Floats | None = None  # (n,), at most 1
    beyond_grid: bool = False

    @classmethod
    def of(cls, weight: Array | None, n: int) -> Weights:
        """Make the weights of n rows; `weight` is finite, not negative and not all zero."""
        if weight is None:
            return cls(count=n)
        w = np.asarray(weight, dtype=np.float64)
        positive = w[w > 0]
        span = WeightSpan(n, len(positive), float(positive.min()), float(positive.max()))
        return span.scale(common_unit(positive, span.peak), math.fsum(positive / span.peak)).of(w)

    def kernel_arguments(self, rows: slice | Ints) -> dict[str, Array]:
        """Return the weights of some rows as keyword arguments of the kernels."""
        if self.times is not None:
            return {"times": self.times[rows]}
        if self.values is not None:
            return {"weight": self.values[rows]}
        return {}

    def subset(self, rows: Ints) -> Weights:
        """Return the weights of some rows, in the same units."""
        times = None if self.times is None else self.times[rows]
        values = None if self.values is None else self.values[rows]
        return replace(self, times=times, values=values)

    def as_floats(self, n: int) -> Floats:
        """Return the weights (n,) as the user gave them."""
        if self.times is not None:
            return np.asarray(self.times * self.unit)
        if self.values is not None:
            return np.asarray(self.values * self.unit)
        return np.full(n, self.unit)

    def unless_equal(self) -> Floats | None:
        """Return the weights (n,) as the user gave them; None if all are equal."""
        return None if self.all_equal else self.as_floats(0)

    def counts(self) -> Ints | None:
        """Return the weights (n,) as integers, to be counted; None if all are equal.

        Whole ones are exact; others are rounded to 2^-31 of the unit.
        """
        if self.values is None:
            return self.times
        return np.asarray(np.rint(self.values * COUNTS_PER_UNIT), dtype=np.int64)

    def total_count(self, n: int) -> int:
        """Return the sum of `counts`."""
        counts = self.counts()
        return n if counts is None else int(counts.sum())

    def counted(self) -> Ints | None:
        """Return 1 for rows (n,) of positive weight, 0 for others; None if all are equal."""
        weight = self.unless_equal()
        return None if weight is None else (weight > 0).astype(np.int64)

    @property
    def all_equal(self) -> bool:
        """True if every row has the same weight."""
        return self.times is None and self.values is None

    @property
    def of_every_row(self) -> float:
        """The factor of sums over rows that leave equal weights out; 1 if they differ."""
        return self.unit if self.all_equal else 1.0

    @property
    def whole(self) -> bool:
        """True if weights are integer multiples of the unit."""
        return self.values is None


@dataclass(frozen=True, slots=True)
class WeightScale:
    """The form that all weights together have; those of some rows are made by it."""

    count: float  # as of `Weights`
    unit: float = 1.0
    form: Literal["equal", "times", "values"] = "equal"
    beyond_grid: bool = False

    @property
    def whole(self) -> bool:
        """True if weights are integer multiples of the unit."""
        return self.form != "values"

    @property
    def all_equal(self) -> bool:
        """True if every row has the same weight."""
        return self.form == "equal"

    def of(self, weight: Floats | None) -> Weights:
        """Return the weights of some rows in the form of all."""
        if weight is None or self.all_equal:
            return Weights(self.count, self.unit)
        if self.whole:
            return Weights(self.count, self.unit, (weight / self.unit).astype(np.int64))
        values = weight / self.unit
        return Weights(self.count, self.unit, values=values, beyond_grid=self.beyond_grid)


@dataclass(frozen=True, slots=True)
class WeightSpan:
    """The number of weights, of those above 0, and the range of these."""

    rows: int
    positive: int
    smallest: float  # above 0
    largest: float

    @property
    def peak(self) -> float:
        """The power of two that is not below any weight."""
        return float(2.0 ** ceil_log2(self.largest))

    def scale(self, share: float, total: float) -> WeightScale:
        """Return the form of weights with this common unit and total, both in peaks."""
        peak = self.peak
        if share * peak > 1 and total * peak <= MAX_WHOLE_TOTAL:
            share = 1 / peak  # the count, and so the grid, is that of repeated rows
        count = total / share
        if count <= MAX_WHOLE_TOTAL:
            unit = share * peak
            is_one = self.positive == self.rows and self.smallest == self.largest == unit
            return WeightScale(count, unit, "equal" if is_one else "times")
        uneven = self.largest > MAX_WEIGHT_RATIO * self.smallest
        return WeightScale(self.positive, peak, "values", beyond_grid=uneven)


def common_unit(positive: Floats, peak: float) -> float:
    """Return the largest power of two, in peaks, of which every weight is a multiple."""
    mantissa, exponent = np.frexp(positive / peak)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return float(2.0 ** np.clip((exponent - 53 + lowest).min(), -1000, 1000))


def as_repeats(weight: Floats | None, n: int) -> Floats:
    """Return weights as numbers of rows: integers as they are, others scaled to a mean of 1.

    A clustering depends on ratios of weights only; its confidence depends on the number of rows.
    """
    if weight is None:
        return np.ones(n)
    if (weight == np.floor(weight)).all():
        return weight
    share = weight / weight.max()
    return np.asarray(share * (np.count_nonzero(weight) / share.sum()))
