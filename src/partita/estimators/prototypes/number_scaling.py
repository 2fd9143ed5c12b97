"""Numbers on comparable scales: standardized columns, and the default cost of a mismatch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total, exact_totals
from partita._common.power_of_two import square_scale
from partita.estimators.saved_state import FieldReader

GAMMA_SHARE = 0.5  # of the mean standard deviation (Huang 1998)


@dataclass(frozen=True, slots=True, eq=False)
class NumberScaling:
    """Columns of numbers less a location, divided by a scale."""

    location: Floats  # (p,)
    scale: Floats  # (p,) positive

    @classmethod
    def identity(cls, p: int) -> NumberScaling:
        """Return the scaling that changes nothing."""
        return cls(np.zeros(p), np.ones(p))

    @property
    def changes(self) -> bool:
        """True if it changes any number."""
        return bool(self.location.any() or (self.scale != 1).any())

    def apply(self, numbers: Floats) -> Floats:
        """Return numbers (n, p) as distances take them."""
        with np.errstate(over="ignore"):  # of rows without weight
            return np.ascontiguousarray((numbers - self.location) / self.scale)

    def undo(self, numbers: Floats) -> Floats:
        """Return scaled numbers (n, p) in the units of the table."""
        return np.asarray(numbers * self.scale + self.location)

    def state(self) -> dict[str, Floats]:
        """Return plain values for a model file."""
        return {"location": self.location, "scale": self.scale}

    @classmethod
    def restored(cls, saved: FieldReader, p: int) -> NumberScaling:
        """Return the scaling of a file, checked."""
        scaling = cls(saved.floats("location", (p,)), saved.floats("scale", (p,)))
        if not (scaling.scale > 0).all():
            raise ValueError("scale must be positive")
        return scaling


def standardizing(numbers: Floats, weight: Floats | None) -> NumberScaling:
    """Return the scaling to mean 0 and standard deviation 1; constant columns have scale 1.

    Means and variances are those of weighted rows, from sums that are rounded once: the order of
    rows does not matter, and a weight of 3 is three rows.
    """
    pairs = [_mean_and_deviation(column, weight) for column in numbers.T]
    mean, deviation = np.array(pairs).reshape(-1, 2).T
    return NumberScaling(mean.copy(), np.where(deviation > 0, deviation, 1.0))


def plain_means(numbers: Floats, labels: Ints, weight: Floats | None, otherwise: Floats) -> Floats:
    """Return the means (k, p) of clusters in the units of the table.

    They are rounded less than `otherwise`, the means of scaled numbers, which clusters without
    weight keep.
    """
    label, k = np.maximum(labels, 0), len(otherwise)  # rows without a label have no weight
    mass = exact_totals(np.ones(len(label)), label, k, weight)
    means = otherwise.copy()
    for t, column in enumerate(numbers.T):
        total = exact_totals(column, label, k, weight)
        known = (mass > 0) & np.isfinite(total)
        np.divide(total, mass, out=means[:, t], where=known)
    return means


def default_gamma(numbers: Floats, weight: Floats | None, is_standardized: bool) -> float:
    """Return half the mean standard deviation of the columns that vary; 1 if none does."""
    deviations = [_mean_and_deviation(column, weight)[1] for column in numbers.T]
    vary = [deviation for deviation in deviations if deviation > 0]
    if not vary:
        return 1.0
    if is_standardized:  # the deviations are 1, but for rounding
        return GAMMA_SHARE
    return GAMMA_SHARE * exact_total(np.array(vary)) / len(vary)


def _mean_and_deviation(column: Floats, weight: Floats | None) -> tuple[float, float]:
    """Return the weighted mean of a column, and its standard deviation: 0 if it is constant."""
    if weight is not None:
        column, weight = column[weight > 0], weight[weight > 0]
    low, high = float(column.min()), float(column.max())
    if low == high:
        return low, 0.0
    scale = square_scale(max(abs(low), abs(high)))
    column = np.ascontiguousarray(column) * scale
    total = float(len(column)) if weight is None else exact_total(weight)
    mean = exact_total(column, weight) / total
    gap = column - mean
    return mean / scale, float(np.sqrt(exact_total(gap * gap, weight) / total)) / scale
