"""Numbers along the axis of a feature, in the units of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.report.map.axis_frame import AxisFrame
from partita.report.report_input import ReportInput
from partita.source.raw_rows import as_doubles

_MAX_DEVIATION = 1e-6  # from a straight line, of the range of the values


@dataclass(frozen=True, slots=True)
class AxisUnits:
    """A feature in the data's units is offset + slope · the feature as clustered."""

    offset: float = 0.0
    slope: float = 1.0
    suffix: str = ""  # of the name, if the units are not those of the data

    def ticks(self, frame: AxisFrame) -> list[float] | None:
        """Return the values at both ends of a frame; None if they overflow."""
        ends = frame.ticks
        return None if ends is None else [self.offset + self.slope * end for end in ends]


def axis_units(data: ReportInput, feature: int, drawn: Ints) -> AxisUnits:
    """Undo the scaling of a feature if it is a straight line; else say that it is scaled."""
    if data.original is data.points:
        return AxisUnits(suffix="" if data.scaling == "none" else " (scaled)")
    scaled = as_doubles(data.points[drawn][:, [feature]]).ravel()
    values = as_doubles(data.original[drawn][:, [feature]]).ravel()
    known = np.isfinite(values) & np.isfinite(scaled)
    line = _increasing_line(scaled[known], values[known])
    return AxisUnits(suffix=" (scaled)") if line is None else AxisUnits(*line)


def _increasing_line(x: Floats, y: Floats) -> tuple[float, float] | None:
    """Return offset and slope of the line through all points; None if there is none."""
    if not len(x):
        return None
    first, last = x.argmin(), x.argmax()
    width = x[last] - x[first]
    slope = (y[last] - y[first]) / width if width > 0 else np.nan
    offset = y[first] - slope * x[first]
    deviation = np.abs(offset + slope * x - y).max()
    if not (0 < slope < np.inf and deviation <= _MAX_DEVIATION * np.ptp(y)):
        return None
    return float(offset), float(slope)
