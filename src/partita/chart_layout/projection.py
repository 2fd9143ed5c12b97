"""The plane of a picture: two features, or the two widest directions of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.text import listed
from partita.chart_layout.model_rows import Rows
from partita.plots import style
from partita.source.plain_rows import doubles
from partita.voronoi.principal_plane import pca_plane

Box = tuple[float, float, float, float]  # xmin, ymin, xmax, ymax
_PAGE = 1.5  # width of a panel to its height


@dataclass(frozen=True, slots=True)
class Plane:
    """The points origin + s·axes[0] + t·axes[1]."""

    origin: Floats  # (d,)
    axes: Floats  # (2, d), of unit length and perpendicular
    names: tuple[str, str]
    note: str = ""  # what to say of cells that it cuts

    @property
    def is_cut(self) -> bool:
        """Whether there are more directions than the two that are seen."""
        return len(self.origin) > 2

    def project(self, rows: Any) -> Floats:
        """The coordinates (n, 2) of rows in the plane."""
        if sp.issparse(rows):
            return np.asarray(rows @ self.axes.T - self.axes @ self.origin)
        return np.asarray((rows - self.origin) @ self.axes.T)


def plane_of(rows: Rows, features: Any = None) -> Plane:
    """The plane to draw rows in: of two features, if they are named; else as their shape asks."""
    d = rows.values.shape[1]
    if features is not None:
        return _of_features(rows, *_columns(features, rows.names))
    if d == 1:
        return Plane(np.zeros(1), np.array([[1.0], [0.0]]), (rows.names[0], ""))
    if d == 2:
        return Plane(np.zeros(2), np.eye(2), (rows.names[0], rows.names[1]))
    return _principal(rows)


def _of_features(rows: Rows, i: int, j: int) -> Plane:
    d = rows.values.shape[1]
    axes = np.zeros((2, d))
    axes[0, i] = axes[1, j] = 1.0
    origin = np.average(doubles(rows.values), axis=0, weights=_some(rows.weight))
    origin[[i, j]] = 0.0
    note = "cut by the plane of these two features, through the mean of the others"
    return Plane(origin, axes, (rows.names[i], rows.names[j]), note if d > 2 else "")


def _principal(rows: Rows) -> Plane:
    """The mean and the two widest directions (PCA)."""
    weight = _some(rows.weight)
    mean, axes = pca_plane(rows.values, weight)
    plane = Plane(mean, axes, ("", ""), "cut by the plane through the mean")
    along = weight @ plane.project(rows.values) ** 2
    share = along / (float(weight @ _squares(rows.values, mean)) or 1.0)
    names = (
        f"first principal axis ({share[0]:.0%} of the variance)",
        f"second principal axis ({share[1]:.0%})",
    )
    return replace(plane, names=names)


def _squares(values: Any, mean: Floats) -> Floats:
    """‖x − mean‖² (n,)."""
    if not sp.issparse(values):
        return np.asarray(np.square(values - mean).sum(axis=1))
    length = np.asarray(values.multiply(values).sum(axis=1)).ravel()
    return np.asarray(length - 2 * (values @ mean) + mean @ mean).clip(0)


def _columns(features: Any, names: list[str]) -> tuple[int, int]:
    wanted = f"two different features are expected, by name or by number below {len(names)}"
    try:
        pair = [_column(which, names) for which in features]
    except TypeError as error:
        raise ValueError(f"features={features!r} was given; {wanted}") from error
    if len(pair) != 2 or pair[0] == pair[1] or None in pair:
        known = f" (of {listed(names)})" if any(isinstance(f, str) for f in features) else ""
        raise ValueError(f"features={features!r} was given; {wanted}{known}")
    return int(pair[0] or 0), int(pair[1] or 0)


def _column(which: Any, names: list[str]) -> int | None:
    if isinstance(which, str):
        return names.index(which) if which in names else None
    whole = isinstance(which, (int, np.integer)) and not isinstance(which, bool)
    return int(which) if whole and 0 <= which < len(names) else None


def _some(weight: Floats) -> Floats:
    """Weights of a sample: all alike, if the sample happens to have none but zeros."""
    return weight if weight.any() else np.ones(len(weight))


def box_around(*points: Floats) -> Box:
    """Where a picture of these points ends: xmin, ymin, xmax, ymax, with some air."""
    both = np.concatenate([part for part in points if len(part)])
    low, high = both.min(axis=0), both.max(axis=0)
    air = 0.05 * (high - low)
    air = np.where(air > 0, air, np.maximum(0.5, 1e-3 * np.abs(high)))
    return (*(low - air).tolist(), *(high + air).tolist())


def even(box: Box, d: int) -> tuple[Box, bool]:
    """The box, made as wide or as high as the page is, so that right angles can be drawn as such.

    It stays as it is, and False is said, if that would leave more than half of the page empty.
    """
    width, height = box[2] - box[0], box[3] - box[1]
    if d == 1 or not 0.5 <= width / height / _PAGE <= 2:
        return box, False
    more = max(0.0, height * _PAGE - width) / 2, max(0.0, width / _PAGE - height) / 2
    return (box[0] - more[0], box[1] - more[1], box[2] + more[0], box[3] + more[1]), True


def axis_names(plane: Plane) -> tuple[str, str]:
    """The names of both axes, as text."""
    return style.plain(plane.names[0], 60), style.plain(plane.names[1], 45)
