"""How far rows are from their clusters, and what that says of both."""

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

_VALUES = 1 << 22  # distances that are held at once


@dataclass(frozen=True, slots=True)
class Distances:
    """Of every row to its cluster; NaN if not known."""

    values: Floats  # (n,)
    what: str
    squared: bool  # whether J adds up their squares

    @property
    def spread_is(self) -> str:
        """What `spread` is called."""
        return f"{'root mean square' if self.squared else 'mean'} {self.what}"

    def spread(self, some: Ints, weight: Floats) -> float:
        """The mean over some rows, or its root; NaN if they weigh nothing."""
        far, mass = self.values[some], float(weight.sum())
        if not mass > 0:
            return math.nan
        if not self.squared:
            return float(weight @ far / mass)
        most = float(far.max())
        if not 0 < most < math.inf:
            return most
        return most * math.sqrt(float(weight @ (far / most) ** 2 / mass))

    def cost(self, weight: Floats | None) -> float:
        """J of these rows."""
        each = self.values**2 if self.squared else self.values
        return exact_total(weighted(each, weight))


def distances_of(case: Case) -> Distances:
    """Measure every row of a case."""
    capabilities, centers = capabilities_of(case.model), centers_of(case.model)
    name, squared = capabilities.distance_name, capabilities.squared
    geometry = capabilities.geometry
    if geometry is None:
        return Distances(_by_blocks(case), name, squared)
    if centers is None:
        return Distances(np.full(case.n, np.nan), "distance", True)
    rows = label_rows(case.model, case.rows)
    unit = square_scale(largest_magnitude(rows.rows, centers))
    squares = replace(rows, rows=scaled(rows.rows, unit)).squares_to(scaled(centers, unit))
    values = np.sqrt(squares) / unit if squared else geometry.price * squares
    return Distances(values, name, squared)


def _by_blocks(case: Case) -> Floats:
    """The own column of `transform`; few rows at once, as there are k numbers for each."""
    if not hasattr(case.model, "transform"):  # some matrices do not tell
        return np.full(case.n, np.nan)
    step = case.n if case.is_matrix else max(1, _VALUES // case.k)
    out = np.empty(case.n)
    for i in range(0, case.n, step):
        some = slice(i, i + step)
        far = np.asarray(case.model.transform(case.rows if case.is_matrix else case.rows[some]))
        own = np.maximum(case.labels[some], 0)
        out[some] = far[np.arange(len(own)), own]
    return out
