"""Distances of rows to the centers of their clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita.chart_layout.model_rows import centers_of
from partita.estimators.fitted_models import capabilities_of, label_rows
from partita.report.report_input import ReportInput

_BLOCK_VALUES = 1 << 22  # distances in memory at once


@dataclass(frozen=True, slots=True)
class RowDistances:
    """The distance of every row to its center, or what replaces it; NaN if not known."""

    values: Floats  # (n,)
    name: str
    squared: bool  # whether J adds up their squares

    @property
    def spread_name(self) -> str:
        """The name of `spread`."""
        return f"{'root mean square' if self.squared else 'mean'} {self.name}"

    def spread(self, rows: Ints, weight: Floats) -> float:
        """Return the mean, or root mean square, over these rows; NaN if they have no weight."""
        values, total = self.values[rows], float(weight.sum())
        if not total > 0:
            return math.nan
        if not self.squared:
            return float(weight @ values / total)
        largest = float(values.max())
        if not 0 < largest < math.inf:
            return largest
        return largest * math.sqrt(float(weight @ (values / largest) ** 2 / total))

    def cost(self, weight: Floats | None) -> float:
        """Return J of these rows."""
        return exact_total(self.values**2 if self.squared else self.values, weight)


def measure_distances(data: ReportInput) -> RowDistances:
    """Measure every row."""
    capabilities, centers = capabilities_of(data.model), centers_of(data.model)
    name, squared = capabilities.distance_name, capabilities.squared
    geometry = capabilities.geometry
    if geometry is None:
        return RowDistances(_by_transform(data), name, squared)
    if centers is None:
        return RowDistances(np.full(data.n, np.nan), "distance", True)
    rows = label_rows(data.model, data.rows)
    scale = square_scale(largest_magnitude(rows.rows, centers))
    squares = replace(rows, rows=scaled(rows.rows, scale)).squares_to(scaled(centers, scale))
    values = np.sqrt(squares) / scale if squared else geometry.price * squares
    return RowDistances(values, name, squared)


def _by_transform(data: ReportInput) -> Floats:
    """The column of `transform` of each row's own cluster, by blocks of rows."""
    if not hasattr(data.model, "transform"):  # as for some matrices
        return np.full(data.n, np.nan)
    step = data.n if data.is_matrix else max(1, _BLOCK_VALUES // data.k)
    out = np.empty(data.n)
    for i in range(0, data.n, step):
        block = slice(i, i + step)
        distances = data.model.transform(data.rows if data.is_matrix else data.rows[block])
        own = np.maximum(data.labels[block], 0)
        out[block] = np.asarray(distances)[np.arange(len(own)), own]
    return out
