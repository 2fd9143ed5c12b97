"""`Scaling`: features in units that can be compared, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats

SCALING_KINDS = ("none", "standard", "robust")
_FARTHEST = 1e100  # how far out a scaled value may be


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """(x − center) / scale, feature by feature.

    >>> scaling = Scaling.fit([[0.0, 5.0], [2.0, 5.0]], "standard")
    >>> scaling.apply([[2.0, 5.0]]).tolist()
    [[1.0, 0.0]]
    >>> scaling.undo([[1.0, 0.0]]).tolist()
    [[2.0, 5.0]]
    """

    kind: str
    center: Floats  # (d,)
    scale: Floats  # (d,), 1 for features that are constant

    @classmethod
    def fit(cls, X: Any, kind: str = "standard", weight: Any = None) -> Scaling:
        """The scaling of some rows.

        "standard": less the mean, by the standard deviation. "robust": less the median, by the
        range of the middle half, which outliers do not move. "none": as they are. Rows of weight 0
        have no say, and a weight of 2 is a repeated row.
        """
        if kind not in SCALING_KINDS:
            raise ValueError(
                f"kind={kind!r} was given; one of {', '.join(SCALING_KINDS)} is expected"
            )
        X = np.asarray(X, dtype=np.float64)
        w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
        X, w = X[w > 0], w[w > 0]
        if len(X) == 0:
            raise ValueError("X has no row with weight; at least one is needed for a scaling")
        if kind == "none":
            return cls(kind, np.zeros(X.shape[1]), np.ones(X.shape[1]))
        share = w / w.sum()
        center, scale = (_moments if kind == "standard" else _quartiles)(X, share)
        constant = X.min(axis=0) == X.max(axis=0)
        center = np.where(constant, X[0], center)
        # nor is a scale of use by which other values would leave the range of numbers
        reach = np.maximum(np.abs(X.max(axis=0) - center), np.abs(X.min(axis=0) - center))
        useless = constant | ~(scale > reach / _FARTHEST)
        return cls(kind, center, np.where(useless, 1.0, scale))

    def apply(self, X: Any) -> Floats:
        """Scaled rows; float32 stays float32."""
        rows: Floats = np.asarray(X)
        if self.kind == "none":
            return rows
        out: Floats = (rows.astype(np.float64) - self.center) / self.scale
        return out.astype(np.float32) if rows.dtype == np.float32 else out

    def undo(self, X: Any) -> Floats:
        """Rows, or centers, in the units of the data."""
        rows: Floats = np.asarray(X)
        if self.kind == "none":
            return rows
        return rows.astype(np.float64) * self.scale + self.center


def _moments(X: Floats, share: Floats) -> tuple[Floats, Floats]:
    unit = np.abs(X).max(axis=0)
    unit = np.where(unit > 0, unit, 1.0)  # squares of what is divided by this do not overflow
    Y = X / unit
    mean = (share[:, None] * Y).sum(axis=0)
    deviation = np.sqrt((share[:, None] * (Y - mean) ** 2).sum(axis=0))
    return mean * unit, deviation * unit


def _quartiles(X: Floats, share: Floats) -> tuple[Floats, Floats]:
    low, middle, high = np.array([_quantiles(x, share) for x in X.T]).reshape(-1, 3).T
    return middle, high - low


def _quantiles(x: Floats, share: Floats) -> Floats:
    """Where the cumulated weight reaches ¼, ½ and ¾; midway to the next value if exactly there."""
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(share[order])
    q, slack = np.array([0.25, 0.5, 0.75]), 1e-12  # the sums are rounded
    first = np.searchsorted(reached, q - slack, side="left").clip(max=len(x) - 1)
    beyond = np.searchsorted(reached, q + slack, side="right").clip(max=len(x) - 1)
    return np.asarray(x[order[first]] / 2 + x[order[beyond]] / 2)
