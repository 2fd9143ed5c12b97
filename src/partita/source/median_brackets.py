"""Features without outliers, found by counting.

The median of a feature and the typical deviation from it take whole columns. Most features are
cleared without them, by counts over all rows: a sample suggests an interval, and the counts prove
that it holds the median and that most values are not near it. The sample decides how features are
examined, never what is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints

# half the width of a bracket in ranks of a sample of m rows, over √m. A wide one surely holds the
# median; a narrow one holds few values, which clears a feature with many equal values at one side
# of its median
RANKS, NARROW_RANKS = 1.8, 0.7
MIN_TIED_SHARE = 1 / 8  # of a sample at its median: the values are discrete


@dataclass(frozen=True, slots=True)
class MedianBrackets:
    """Intervals that are supposed to hold the lower medians of d features."""

    ranked: Floats  # (d, m) sorted values of a sample
    low: Floats  # (d,)
    high: Floats  # (d,), equal to `low` where one value is supposed to be the median
    near: Floats  # (d,) the deviation in question

    @classmethod
    def of_sample(cls, sample: Floats, near: Floats) -> MedianBrackets:
        """Make brackets from some rows (m, d)."""
        ranked = np.array(sample.T, order="C")  # the sample may be the rows themselves
        ranked.sort(axis=1)
        m = ranked.shape[1]
        at, many = (m - 1) // 2, math.ceil(MIN_TIED_SHARE * m)
        middle = ranked[:, at]
        # so many equal values in a row, the middle among them
        tied = (ranked[:, at - many + 1 : at + 1] == ranked[:, at : at + many]).any(axis=1)
        low, high = _ends(ranked, RANKS)
        if tied.any():
            low, high = np.where(tied, middle, low), np.where(tied, middle, high)
        return cls(ranked, low, high, near)

    def cuts(self, dtype: Any) -> Floats:
        """Return what to count beyond (4, d): the bracket, and all that is near to it.

        The latter is rounded outwards.
        """
        cuts = np.empty((4, len(self.low)), dtype)
        with np.errstate(over="ignore"):  # beyond infinity there is nothing to count
            cuts[0], cuts[1] = self.low, self.high
            cuts[2], cuts[3] = self.low - self.near, self.high + self.near
        for cut, outwards in ((cuts[2], -np.inf), (cuts[3], np.inf)):
            np.nextafter(cut, cuts.dtype.type(outwards), out=cut)
        return cuts

    def cleared(self, counts: Ints, total: int) -> Array:
        """Return which features have a typical deviation of at least `near`, by counts (4, d).

        The typical deviation is the lower median of the deviations from the median M that are not
        0. With e values equal to M, it is at least `near` if less than half of the other total − e
        are nearer than that: if N − e < (total − e) / 2, where N counts all that are near to the
        bracket. Where a bracket is wider than a point, e is unknown, but at least 1.
        """
        below, above, far_below, far_above = counts
        inside = (2 * below < total) & (2 * above <= total)
        equal = np.where(self.low == self.high, total - below - above, 1)
        return np.asarray(inside & (2 * (total - far_below - far_above) < total + equal))

    def refined(self, counts: Ints, total: int, which: Array) -> MedianBrackets | None:
        """Return brackets for another try at `which` features; None if no other is at hand.

        The next value of the sample on the side where the median is; a narrower one where it is
        inside. No other is better where the median is known.
        """
        m = self.ranked.shape[1]
        down, up = 2 * counts[0] >= total, 2 * counts[1] > total
        place = np.full(len(self.low), (m - 1) // 2)
        place[down] = (self.ranked[down] < self.low[down, None]).sum(axis=1) - 1
        place[up] = (self.ranked[up] <= self.high[up, None]).sum(axis=1)
        beside = which & (down | up) & (place >= 0) & (place < m)
        narrow_low, narrow_high = _ends(self.ranked, NARROW_RANKS)
        inside = which & ~(down | up) & (self.near < self.high - self.low)
        inside &= (narrow_low > self.low) | (narrow_high < self.high)
        if not (beside | inside).any():
            return None
        value = self.ranked[np.arange(len(place)), np.clip(place, 0, m - 1)]
        low = np.where(beside, value, np.where(inside, narrow_low, self.low))
        high = np.where(beside, value, np.where(inside, narrow_high, self.high))
        return replace(self, low=low, high=high)


def _ends(ranked: Floats, ranks: float) -> tuple[Floats, Floats]:
    """The values (d,) of a sorted sample (d, m) between which its middle is."""
    m = ranked.shape[1]
    outside, middle = max(0, int(m / 2 - ranks * math.sqrt(m))), (m - 1) // 2
    return ranked[:, min(outside, middle)], ranked[:, max(m - 1 - outside, middle)]
