"""Bounds of rounding errors.

After Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter 3.
"""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats

UNIT = 2.0**-53  # rounding unit of a double


def gamma(operations: int) -> float:
    """Return an upper bound of mu/(1 − mu): the relative error of m roundings, in any order.

    A sum of m products satisfies |error| ≤ gamma(m) Σ |terms|. The factor 2 covers the rounding of
    the few operations that turn this into a bound.
    """
    return 2.0 * operations * UNIT / (1.0 - operations * UNIT)


def norm(array: Floats) -> float:
    """Return an upper bound of the Frobenius norm."""
    return float(np.linalg.norm(array)) * (1.0 + gamma(array.size + 2))


def sum_below(values: list[float]) -> float:
    """Return a lower bound of the sum of these doubles."""
    return math.nextafter(math.fsum(values), -math.inf)


def sum_above(values: list[float]) -> float:
    """Return an upper bound of the sum of these doubles."""
    return math.nextafter(math.fsum(values), math.inf)
