"""Points on their principal axes, and what that changes of J at most."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats
from partita._common.power_of_two import power_of_two


@dataclass(frozen=True, slots=True)
class PrincipalFrame:
    """Points about their mean on their principal axes, scaled by powers of two."""

    points: Floats
    weight: Floats
    cost_scale: float  # J of the rows is that of the points, times this
    stretch: float  # bounds the relative change of lengths: the axes are not quite orthonormal
    shift: float  # bounds the distance of a point from where it should be

    @classmethod
    def of(cls, rows: Floats, weight: Floats) -> PrincipalFrame:
        scale = power_of_two(float(np.abs(rows).max()) or 1.0)
        gap = rows * scale
        gap = gap - np.average(gap, axis=0, weights=weight)
        second = power_of_two(float(np.abs(gap).max()) or 1.0)
        heavy = power_of_two(float(weight.max()))
        gap, weight = gap * second, weight * heavy
        axes = np.linalg.eigh((gap.T * weight) @ gap)[1][:, ::-1]
        d, eps = gap.shape[1], float(np.finfo(np.float64).eps)
        skew = float(np.linalg.norm(axes.T @ axes - np.eye(d))) + 4.0 * d * d * eps
        longest = float(np.sqrt(np.einsum("nd,nd->n", gap, gap).max()))
        points = np.ascontiguousarray(gap @ axes)
        spread = np.abs(points).max(axis=0) > 8.0 * d * eps * longest
        shift = 4.0 * (d + 2) * eps * longest
        return cls(
            np.ascontiguousarray(points[:, spread]), weight, 1 / (scale * second) ** 2 / heavy,
            skew, shift,
        )  # fmt: skip

    def bound_of_rows(self, low: float) -> float:
        """Return the bound of the rows' J: √J changes by at most the shifts, as a norm does."""
        slack = self.shift * math.sqrt(float(self.weight.sum()))
        root = math.sqrt(max(low, 0.0)) * (1 - self.stretch) - slack
        return max(0.0, root) ** 2 * self.cost_scale * (1 - 1e-15)
