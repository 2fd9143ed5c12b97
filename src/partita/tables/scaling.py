"""`Scaling`: features in comparable units, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.errors import ParameterError
from partita._common.logarithm import logarithms
from partita._kernels import kernels
from partita.tables.quantiles import quantiles

FITTED_KINDS = ("none", "standard", "robust")
SCALING_KINDS = (*FITTED_KINDS, "auto")
MAX_SCALED_VALUE = 1e100  # a smaller scale would take other values out of the range of floats


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """(x − center) / scale, for each feature; "auto" may take a logarithm first.

    Attributes
    ----------
    kind : {"none", "standard", "robust", "auto"}
    center, scale : ndarray of shape (d,)
        The scale of constant features is 1.
    logged : ndarray of bool of shape (d,), or None
        Only of "auto", like the following: the features that become ln(x + offset).
    offset : ndarray of shape (d,), or None
    low, high : ndarray of shape (d,), or None
        Values beyond count as these; infinite if there is no limit.

    Examples
    --------

    >>> scaling = Scaling.fit([[0.0, 5.0], [2.0, 5.0]], "standard")
    >>> scaling.apply([[2.0, 5.0]]).tolist()
    [[1.0, 0.0]]
    >>> scaling.undo([[1.0, 0.0]]).tolist()
    [[2.0, 5.0]]
    """

    kind: str
    center: Floats
    scale: Floats
    logged: Any = None
    offset: Any = None
    low: Any = None
    high: Any = None

    @classmethod
    def fit(cls, X: Any, kind: str = "standard", weight: Any = None) -> Scaling:
        """Fit a scaling to rows.

        "standard" subtracts the mean and divides by the standard deviation. "robust" subtracts the
        median and divides by the interquartile range, which outliers do not change. "none" leaves
        the rows as they are. A row of weight 2 counts as two rows, one of weight 0 as none.
        `fit_auto` fits "auto".
        """
        if kind not in FITTED_KINDS:
            kinds = ", ".join(map(repr, FITTED_KINDS))
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
        gaps = np.isnan(X)
        if gaps.any():
            return cls._fit_to_known(X, gaps, kind, w)
        share = w / w.sum()
        center, scale = (_moments if kind == "standard" else _quartiles)(X, share)
        constant = X.min(axis=0) == X.max(axis=0)
        center = np.where(constant, X[0], center)
        reach = np.maximum(np.abs(X.max(axis=0) - center), np.abs(X.min(axis=0) - center))
        useless = constant | ~(scale > reach / MAX_SCALED_VALUE)
        return cls(kind, center, np.where(useless, 1.0, scale))

    @classmethod
    def _fit_to_known(cls, X: Floats, gaps: Any, kind: str, weight: Floats) -> Scaling:
        """Fit every feature to its own known values; one without any stays as it is."""
        center, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        for t in np.flatnonzero(~gaps.all(axis=0)).tolist():
            known = ~gaps[:, t]
            part = cls.fit(X[known, t : t + 1], kind, weight[known])
            center[t], scale[t] = part.center[0], part.scale[0]
        return cls(kind, center, scale)

    def apply(self, X: Any, *, limit: bool = True) -> Floats:
        """Return scaled rows; float32 stays float32.

        With `limit=False`, outliers keep their distance, as far as a logarithm allows.
        """
        rows: Floats = np.asarray(X)
        if self.kind == "none":
            return rows
        values: Floats = rows.astype(np.float64)
        if self.logged is not None:
            low = np.where(self.logged | limit, self.low, -np.inf)
            np.maximum(values, low, out=values)
            if limit:
                np.minimum(values, self.high, out=values)
            logged = (values + self.offset)[:, self.logged]
            gaps = np.isnan(logged)
            values[:, self.logged] = np.where(gaps, np.nan, logarithms(np.where(gaps, 1.0, logged)))
        scaled: Floats = (values - self.center) / self.scale
        return scaled.astype(np.float32) if rows.dtype == np.float32 else scaled

    def undo(self, X: Any) -> Floats:
        """Return rows or centers in the units of the data."""
        rows: Floats = np.asarray(X)
        if self.kind == "none":
            return rows
        values: Floats = rows.astype(np.float64) * self.scale + self.center
        if self.logged is not None:
            logged = np.ascontiguousarray(values[:, self.logged])
            kernels.exponentials(logged)  # those of NumPy depend on the processor
            values[:, self.logged] = logged
            values -= np.where(self.logged, self.offset, 0.0)
        return values


def _moments(X: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation; divided by the largest value, squares do not overflow."""
    largest = np.abs(X).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    Y = X / largest
    mean = (share[:, None] * Y).sum(axis=0)
    deviation = np.sqrt((share[:, None] * (Y - mean) ** 2).sum(axis=0))
    return mean * largest, deviation * largest


def _quartiles(X: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Return median and interquartile range."""
    first, median, third = np.stack([quantiles(x, share, [0.25, 0.5, 0.75]) for x in X.T], axis=1)
    return median, third - first
