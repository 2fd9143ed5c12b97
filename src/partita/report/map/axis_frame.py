"""The part of an axis that a map shows: all rows, or those without outliers."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite

import numpy as np

from partita._common.array_types import Floats

_MARGIN = 0.05  # of the extent, on each side
_TRIMMED_SHARE = 0.005  # of the rows, on each side
_MIN_TRIMMED_ROWS = 3  # on each side, if there are many more
_MIN_ROWS_PER_TRIMMED = 20
_CENTRAL_MARGIN = 0.15  # of the extent of the central rows, on each side
_MAX_CENTRAL_SHARE = 0.5  # of the extent; beyond it outliers squeeze nothing
_MAX_READABLE_SHARE = 1 / 3  # below it, a map begins without outliers


@dataclass(frozen=True, slots=True)
class AxisFrame:
    """Positions along an axis: 0 at `low` and 1 at `high`, which hold all rows or the central ones.

    If outliers squeeze the other rows, low and high are the ends of the central part.
    """

    low: float
    high: float
    whole: tuple[float, float] = (0.0, 1.0)  # the positions of the ends of all rows
    is_squeezed: bool = False  # whether a map should begin without outliers

    @property
    def has_outliers(self) -> bool:
        """True if some rows lie beyond the central part, far enough to matter."""
        return self.whole != (0.0, 1.0)

    @property
    def ticks(self) -> list[float] | None:
        """Return the values at 0 and 1; None if no difference of values is a number."""
        return [self.low, self.high] if isfinite(self.high - self.low) else None

    def position(self, values: Floats) -> Floats:
        """Return positions of values; halves first, as the difference of doubles may overflow."""
        return (values / 2 - self.low / 2) / (self.high / 2 - self.low / 2)


@np.errstate(all="ignore")
def axis_frame(values: Floats, others: Floats | None = None) -> AxisFrame:
    """Return the frame of values along an axis; it holds `others`, such as centers, too."""
    ordered = np.sort(values[np.isfinite(values)])
    if not len(ordered):
        return AxisFrame(0.0, 1.0)
    both = ordered if others is None else np.concatenate([ordered, others[np.isfinite(others)]])
    low, high = _with_margin(float(both.min()), float(both.max()), _MARGIN)
    first, last = central_ends(ordered)
    share = (last / 2 - first / 2) / (high / 2 - low / 2)
    if not 0 < share < _MAX_CENTRAL_SHARE:
        return AxisFrame(low, high)
    inner_low, inner_high = _with_margin(first, last, _CENTRAL_MARGIN)
    inner = AxisFrame(max(low, inner_low), min(high, inner_high))
    ends = inner.position(np.array([low, high])).tolist()
    return AxisFrame(inner.low, inner.high, (ends[0], ends[1]), share < _MAX_READABLE_SHARE)


def central_ends(ordered: Floats) -> tuple[float, float]:
    """Return the ends of the central 99 % of ordered values; of few values, all but six."""
    n = len(ordered)
    few = min(_MIN_TRIMMED_ROWS, n // _MIN_ROWS_PER_TRIMMED)
    trimmed = max(ceil(_TRIMMED_SHARE * n) if n > 2 / _TRIMMED_SHARE else 0, few)
    return float(ordered[trimmed]), float(ordered[n - 1 - trimmed])


def _with_margin(low: float, high: float, share: float) -> tuple[float, float]:
    margin = share * (high - low)
    if not 0 < margin < np.inf:
        margin = 0.0 if margin > 0 else max(0.5, 1e-3 * abs(high))
    return low - margin, high + margin
