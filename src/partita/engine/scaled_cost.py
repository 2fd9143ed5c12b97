"""Sums of squares of any magnitude, to compare clusters whose squares leave the doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Ints
from partita._common.exact_sum import exact_total, exact_totals
from partita._common.power_of_two import power_of_two
from partita.centers import Centers
from partita.source.own_lengths import scaled_lengths
from partita.source.protocol import Source

MIN_COST = 1e-280  # below it, squares may have lost digits


@dataclass(frozen=True, slots=True)
class ScaledCost:
    """The cost `value` / `scale`², where the scale is a power of two; 1 if squares are doubles.

    >>> ScaledCost(3.0, 1.0).order < ScaledCost(2.0, 2.0**-600).order
    True
    """

    value: float
    scale: float

    def __float__(self) -> float:
        return self.value / self.scale / self.scale

    @property
    def order(self) -> tuple[float, float]:
        """A key that orders costs: exponent and mantissa."""
        mantissa, exponent = math.frexp(self.value)
        if mantissa == 0:
            return -math.inf, 0.0
        return exponent - 2.0 * math.frexp(self.scale)[1], mantissa

    def __add__(self, other: ScaledCost) -> ScaledCost:
        scale = min(self.scale, other.scale)  # that of the larger squares
        parts = [(scale / cost.scale) ** 2 * cost.value for cost in (self, other)]
        return ScaledCost(sum(parts), scale)


def cluster_costs(source: Source, centers: Centers, labels: Ints) -> list[ScaledCost]:
    """Σ w·‖x − c‖² of every cluster, rounded once; each at a scale of its own if need be."""
    weight, k = source.weights.unless_equal(), len(centers.values)
    unit = source.weights.of_every_row
    squares = source.own_distances(centers, labels)
    costs = []
    for j, total in enumerate((unit * exact_totals(squares, labels, k, weight)).tolist()):
        if MIN_COST < total < math.inf:
            costs.append(ScaledCost(total, 1.0))
            continue
        rows = np.flatnonzero((labels == j) if weight is None else (labels == j) & (weight > 0))
        lengths = scaled_lengths(source, centers, labels, rows)
        largest = float(lengths.max(initial=0.0))
        scale = power_of_two(largest) if largest else 1.0
        total = exact_total(np.square(lengths * scale), None if weight is None else weight[rows])
        costs.append(ScaledCost(unit * total, scale))
    return costs
