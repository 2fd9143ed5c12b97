"""The plane in which rows are drawn: two features, or the two widest directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.parameters import describe_value, is_integer
from partita._common.text import listed
from partita.chart_layout.cluster_profile import feature_moments
from partita.chart_layout.model_rows import DrawnRows
from partita.source.raw_rows import as_doubles
from partita.voronoi.principal_plane import pca_plane

Box = tuple[float, float, float, float]  # xmin, ymin, xmax, ymax
_PANEL_ASPECT = 1.5  # width to height
_MARGIN = 0.05  # of the extent of the points, on each side
WITHIN_GROUPS_SHARE = 0.05  # of distances to means, where means alone would span no plane
_MAX_STRETCH = 2.0  # of one side of the box, for equal scales


@dataclass(frozen=True, slots=True)
class ProjectionPlane:
    """The points origin + s·axes[0] + t·axes[1]."""

    origin: Floats  # (d,)
    axes: Floats  # (2, d), orthonormal; the second is 0 if d = 1
    names: tuple[str, str]  # of the axes; the second is "" if d = 1
    note: str = ""  # for the caption, if the plane cuts cells of more than two features
    variance_share: tuple[float, float] | None = None  # along principal axes

    @property
    def n_features(self) -> int:
        """The number of features of the rows."""
        return len(self.origin)

    def project(self, rows: Any) -> Floats:
        """Return the coordinates (n, 2) of rows in the plane."""
        if sp.issparse(rows):
            return np.asarray(rows @ self.axes.T - self.axes @ self.origin)
        return np.asarray((rows - self.origin) @ self.axes.T)


@dataclass(frozen=True, slots=True)
class PlaneView:
    """Rows and centers in a plane, and the part of it that a picture shows."""

    plane: ProjectionPlane
    points: Floats  # (m, 2)
    centers: tuple[Floats, ...]  # (k, 2), one array for each set of centers
    box: Box
    equal_scale: bool  # whether a unit has the same length along both axes


def view_rows(rows: DrawnRows, centers: Sequence[Floats], features: Any = None) -> PlaneView:
    """Project rows and sets of centers on the plane of two features, or on the widest one.

    Rows of one feature get random heights, so that they do not overlap.
    """
    plane = choose_plane(rows, features)
    points = plane.project(rows.values)
    if plane.n_features == 1:
        points[:, 1] = np.random.default_rng(0).uniform(-0.5, 0.5, len(points))
    projected = tuple(map(plane.project, centers))
    box, equal_scale = with_equal_scale(_bounding_box(points, *projected), plane.n_features)
    return PlaneView(plane, points, projected, box, equal_scale)


def choose_plane(rows: DrawnRows, features: Any = None) -> ProjectionPlane:
    """Return the plane of the features given; else of the only two, or of the widest directions.

    Rows with categories are drawn where groups differ most: the widest directions are often those
    of the numbers alone.
    """
    d = rows.values.shape[1]
    if features is not None:
        return _feature_plane(rows, *_two_features(features, rows.names))
    k = int(rows.labels.max(initial=-1)) + 1
    if rows.placed and k > 1:
        return between_groups_plane(rows, k)
    if d > 2:
        return _principal_plane(rows)
    names = (rows.names[0], rows.names[1] if d == 2 else "")
    return ProjectionPlane(np.zeros(d), np.eye(2, d), names)


def _feature_plane(rows: DrawnRows, i: int, j: int) -> ProjectionPlane:
    d = rows.values.shape[1]
    axes = np.zeros((2, d))
    axes[0, i] = axes[1, j] = 1.0
    origin = np.average(as_doubles(rows.values), axis=0, weights=_positive(rows.weight))
    origin[[i, j]] = 0.0
    note = "cut by the plane of these two features, through the mean of the others"
    return ProjectionPlane(origin, axes, (rows.names[i], rows.names[j]), note if d > 2 else "")


def _principal_plane(rows: DrawnRows) -> ProjectionPlane:
    """The plane of the first two principal axes (PCA), through the mean."""
    weight = _positive(rows.weight)
    mean, axes = pca_plane(rows.values, weight)
    plane = ProjectionPlane(mean, axes, ("", ""), "cut by the plane through the mean")
    along = weight @ plane.project(rows.values) ** 2 / weight.sum()
    deviation = feature_moments(rows.values, weight)[1]
    share = along / (float(deviation @ deviation) or 1.0)
    names = (
        f"first principal axis ({share[0]:.0%} of the variance)",
        f"second principal axis ({share[1]:.0%})",
    )
    return replace(plane, names=names, variance_share=(float(share[0]), float(share[1])))


def between_groups_plane(rows: DrawnRows, k: int) -> ProjectionPlane:
    """Return the plane in which the means of k groups differ most.

    If the means span less than a plane, the widest direction within groups is added.
    """
    values, weight = as_doubles(rows.values), _positive(rows.weight)
    labels = np.where((rows.labels >= 0) & (rows.labels < k), rows.labels, k)
    total = np.maximum(np.bincount(labels, weight, k + 1), np.finfo(float).tiny)
    sums = np.zeros((k + 1, values.shape[1]))
    np.add.at(sums, labels, values * weight[:, None])
    means = (sums / total[:, None])[labels]
    drawn_in = means + WITHIN_GROUPS_SHARE * (values - means)
    plane = _principal_plane(replace(rows, values=drawn_in))
    along = weight @ plane.project(values) ** 2 / weight.sum()
    deviation = feature_moments(values, weight)[1]
    share = along / (float(deviation @ deviation) or 1.0)
    names = ("first axis between groups", "second axis between groups")
    return replace(plane, names=names, variance_share=(float(share[0]), float(share[1])))


def _two_features(features: Any, names: list[str]) -> tuple[int, int]:
    try:
        i, j = (_feature_number(feature, names) for feature in features)
    except (TypeError, ValueError):
        i = j = 0
    if i == j:
        raise ValueError(
            f"`features` must be two different names or numbers below {len(names)}, got "
            f"{describe_value(features)}. The names are {listed(names)}."
        )
    return i, j


def _feature_number(feature: Any, names: list[str]) -> int:
    """Return the number of a feature; a ValueError if there is no such feature."""
    return range(len(names)).index(feature) if is_integer(feature) else names.index(feature)


def _positive(weight: Floats) -> Floats:
    """Weights of a sample; equal ones if it has only rows of weight 0."""
    return weight if weight.any() else np.ones(len(weight))


def _bounding_box(*points: Floats) -> Box:
    """The box around all points, with a margin."""
    together = np.concatenate([part for part in points if len(part)])
    low, high = together.min(axis=0), together.max(axis=0)
    margin = _MARGIN * (high - low)
    margin = np.where(margin > 0, margin, np.maximum(0.5, 1e-3 * np.abs(high)))
    return (*(low - margin).tolist(), *(high + margin).tolist())


def with_equal_scale(box: Box, d: int) -> tuple[Box, bool]:
    """Return the box with the aspect of a panel, so that right angles look right, and True.

    The box as it is, and False, if that would leave more than half of the panel empty.
    """
    width, height = box[2] - box[0], box[3] - box[1]
    if d == 1 or not 1 / _MAX_STRETCH <= width / height / _PANEL_ASPECT <= _MAX_STRETCH:
        return box, False
    x = max(0.0, height * _PANEL_ASPECT - width) / 2
    y = max(0.0, width / _PANEL_ASPECT - height) / 2
    return (box[0] - x, box[1] - y, box[2] + x, box[3] + y), True
