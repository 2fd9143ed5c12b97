"""Sample weights in the form that exact sums need."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Array, Floats, Ints

# Beyond this ratio a light row would fall below the grid that a heavy one sets.
MOST_UNEQUAL = 2.0**30
MOST_WHOLE = 2.0**36


@dataclass(frozen=True, slots=True)
class Weights:
    """None (every row counts once), whole multiples of a unit, or other values up to one unit.

    Whole weights multiply integers and so equal repeated rows bit for bit. Weights so unequal that
    no grid holds them all are `ordered`: their sums are floats added in the order of the rows.
    """

    count: float  # the total weight in units, at least: what sums may reach
    unit: float = 1.0
    times: Ints | None = None  # (n,)
    values: Floats | None = None  # (n,), at most 1
    ordered: bool = False

    @classmethod
    def of(cls, weight: Array | None, n: int) -> Weights:
        """Weights of n rows; `weight` is finite, not negative and not all zero."""
        if weight is None:
            return cls(count=n)
        w = np.asarray(weight, dtype=np.float64)
        positive = w[w > 0]
        most = float(positive.max())
        peak = 2.0 ** math.ceil(math.log2(most))
        share = _common_unit(positive / peak)
        count = math.fsum(positive / peak) / share
        if count <= MOST_WHOLE:
            unit = share * peak
            times = (w / unit).astype(np.int64)
            return cls(count, unit, None if (times == 1).all() else times)
        unit = peak
        uneven = most > MOST_UNEQUAL * float(positive.min())
        return cls(len(w), unit, values=w / unit, ordered=uneven)

    def of_rows(self, rows: slice) -> dict[str, Array]:
        """The keyword arguments that the kernels take for some of the rows."""
        if self.times is not None:
            return {"times": self.times[rows]}
        if self.values is not None:
            return {"weight": self.values[rows]}
        return {}

    def part(self, rows: Ints) -> Weights:
        """The weights of some rows, in the same units."""
        times = None if self.times is None else self.times[rows]
        values = None if self.values is None else self.values[rows]
        return replace(self, times=times, values=values)

    def as_floats(self, n: int) -> Floats:
        """The plain weights (n,)."""
        if self.times is not None:
            return np.asarray(self.times * self.unit)
        if self.values is not None:
            return np.asarray(self.values * self.unit)
        return np.full(n, self.unit)

    @property
    def alike(self) -> bool:
        """Whether every row counts the same."""
        return self.times is None and self.values is None


def _common_unit(positive: Floats) -> float:
    """The largest power of two of which every weight is a whole multiple."""
    mantissa, exponent = np.frexp(positive)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return float(2.0 ** np.clip((exponent - 53 + lowest).min(), -1000, 1000))


def as_repeats(weight: Floats | None, n: int) -> Floats:
    """Weights in rows: whole numbers as they are, others such that they add up to their number.

    Only ratios of weights matter for a clustering, but how sure one can be of it depends on how
    many rows there are.
    """
    if weight is None:
        return np.ones(n)
    if (weight == np.floor(weight)).all():
        return weight
    share = weight / weight.max()
    return np.asarray(share * (np.count_nonzero(weight) / share.sum()))
