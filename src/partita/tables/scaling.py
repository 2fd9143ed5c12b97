"""`Scaling`: features in comparable units, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.errors import ParameterError

SCALING_KINDS = ("none", "standard", "robust")
MAX_SCALED_VALUE = 1e100  # a smaller scale would take other values out of the range of floats
QUANTILE_SLACK = 1e-12  # rounding of cumulated weights


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """(x − center) / scale, for each feature.

    >>> scaling = Scaling.fit([[0.0, 5.0], [2.0, 5.0]], "standard")
    >>> scaling.apply([[2.0, 5.0]]).tolist()
    [[1.0, 0.0]]
    >>> scaling.undo([[1.0, 0.0]]).tolist()
    [[2.0, 5.0]]
    """

    kind: str
    center: Floats  # (d,)
    scale: Floats  # (d,), 1 for constant features

    @classmethod
    def fit(cls, X: Any, kind: str = "standard", weight: Any = None) -> Scaling:
        """Fit a scaling to rows.

        "standard" subtracts the mean and divides by the standard deviation. "robust" subtracts the
        median and divides by the interquartile range, which outliers do not change. "none" leaves
        the rows as they are. A row of weight 2 counts as two rows, one of weight 0 as none.
        """
        if kind not in SCALING_KINDS:
            kinds = ", ".join(map(repr, SCALING_KINDS))
            raise ParameterError(f"`kind` must be one of {kinds}, got {kind!r}.", parameter="kind")
        X = np.asarray(X, dtype=np.float64)
        w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
        X, w = X[w > 0], w[w > 0]
        if len(X) == 0:
            raise ParameterError(
                "`X` must have at least one row of positive weight, got none.", parameter="X"
            )
        if kind == "none":
            return cls(kind, np.zeros(X.shape[1]), np.ones(X.shape[1]))
        share = w / w.sum()
        center, scale = (_moments if kind == "standard" else _quartiles)(X, share)
        constant = X.min(axis=0) == X.max(axis=0)
        center = np.where(constant, X[0], center)
        reach = np.maximum(np.abs(X.max(axis=0) - center), np.abs(X.min(axis=0) - center))
        useless = constant | ~(scale > reach / MAX_SCALED_VALUE)
        return cls(kind, center, np.where(useless, 1.0, scale))

    def apply(self, X: Any) -> Floats:
        """Return scaled rows; float32 stays float32."""
        rows: Floats = np.asarray(X)
        if self.kind == "none":
            return rows
        scaled: Floats = (rows.astype(np.float64) - self.center) / self.scale
        return scaled.astype(np.float32) if rows.dtype == np.float32 else scaled

    def undo(self, X: Any) -> Floats:
        """Return rows or centers in the units of the data."""
        rows: Floats = np.asarray(X)
        if self.kind == "none":
            return rows
        return rows.astype(np.float64) * self.scale + self.center


def _moments(X: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation; divided by the largest value, squares do not overflow."""
    largest = np.abs(X).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    Y = X / largest
    mean = (share[:, None] * Y).sum(axis=0)
    deviation = np.sqrt((share[:, None] * (Y - mean) ** 2).sum(axis=0))
    return mean * largest, deviation * largest


def _quartiles(X: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Return median and interquartile range.

    A quartile is where the cumulated weight reaches ¼, ½, ¾; halfway to the next value if exactly.
    """
    quartiles, q = np.empty((3, X.shape[1])), np.array([0.25, 0.5, 0.75])
    for t, x in enumerate(X.T):
        order = np.argsort(x, kind="stable")
        cumulated = np.cumsum(share[order])
        first = np.searchsorted(cumulated, q - QUANTILE_SLACK, side="left").clip(max=len(x) - 1)
        after = np.searchsorted(cumulated, q + QUANTILE_SLACK, side="right").clip(max=len(x) - 1)
        quartiles[:, t] = x[order[first]] / 2 + x[order[after]] / 2
    return quartiles[1], quartiles[2] - quartiles[0]
