"""Distances of rows to their own clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita._common.weighting import weighted
from partita.chart_layout.model_rows import centers_of
from partita.estimators.fitted_models import capabilities_of, label_rows
from partita.report.report_input import Case

_MAX_VALUES = 1 << 22  # distances held at a time


@dataclass(frozen=True, slots=True)
class ClusterDistances:
    """Distances of all rows to their own cluster; NaN if not known."""

    values: Floats  # (n,)
    name: str
    squared: bool  # whether J adds up their squares

    @property
    def spread_is(self) -> str:
        """The name of `spread`."""
        return f"{'root mean square' if self.squared else 'mean'} {self.name}"

    def spread(self, rows: Ints, weight: Floats) -> float:
        """The mean or the root mean square over rows; NaN if they have no weight."""
        values, mass = self.values[rows], float(weight.sum())
        if not mass > 0:
            return math.nan
        if not self.squared:
            return float(weight @ values / mass)
        largest = float(values.max())
        if not 0 < largest < math.inf:
            return largest
        return largest * math.sqrt(float(weight @ (values / largest) ** 2 / mass))

    def cost(self, weight: Floats | None) -> float:
        """J of these rows."""
        costs = self.values**2 if self.squared else self.values
        return exact_total(weighted(costs, weight))


def measure_distances(case: Case) -> ClusterDistances:
    """Measure every row of a case."""
    capabilities, centers = capabilities_of(case.model), centers_of(case.model)
    name, squared = capabilities.distance_name, capabilities.squared
    geometry = capabilities.geometry
    if geometry is None:
        return ClusterDistances(_by_blocks(case), name, squared)
    if centers is None:
        return ClusterDistances(np.full(case.n, np.nan), "distance", True)
    rows = label_rows(case.model, case.rows)
    unit = square_scale(largest_magnitude(rows.rows, centers))
    squares = replace(rows, rows=scaled(rows.rows, unit)).squares_to(scaled(centers, unit))
    values = np.sqrt(squares) / unit if squared else geometry.price * squares
    return ClusterDistances(values, name, squared)


def _by_blocks(case: Case) -> Floats:
    """Read the row's own column of `transform`, block by block."""
    if not hasattr(case.model, "transform"):  # not available for some matrices
        return np.full(case.n, np.nan)
    step = case.n if case.is_matrix else max(1, _MAX_VALUES // case.k)
    out = np.empty(case.n)
    for i in range(0, case.n, step):
        block = slice(i, i + step)
        rows = case.rows if case.is_matrix else case.rows[block]
        distances = np.asarray(case.model.transform(rows))
        own = np.maximum(case.labels[block], 0)
        out[block] = distances[np.arange(len(own)), own]
    return out
