"""One clustering in a plane: points, centers, and the cell or region of every cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita.chart_layout import model_rows
from partita.chart_layout.projection import Box, PlaneView, ProjectionPlane
from partita.estimators.capabilities import CELLS
from partita.estimators.fitted_models import (
    capabilities_of,
    count_clusters,
    without_feature_names,
)
from partita.source.raw_rows import as_doubles
from partita.voronoi.voronoi_cells import Cells, cells

_GRID_SHAPE = (130, 180)  # rows and columns of predictions, if borders are not straight


@dataclass(frozen=True, slots=True)
class ClusterScene:
    """The contents of one picture of clusters."""

    points: Floats  # (m, 2)
    labels: Ints  # (m,)
    centers: Floats  # (k, 2); empty if they have no place in the plane
    polygons: tuple[Floats, ...] = ()  # cells; empty where the plane misses one
    regions: Array | None = None  # (rows, columns) labels on a grid, if borders are not straight


def build_scene(
    model: Any, view: PlaneView, labels: Ints, box: Box, number: int = 0
) -> tuple[ClusterScene, str]:
    """Return the scene of a model within a box, with its `number`-th set of centers, and a note."""
    plane, centers = view.plane, view.centers[number]
    if capabilities_of(model).has(CELLS):
        note = f"cells: {plane.note}; points are projected, so some lie outside their cell"
        scene = ClusterScene(view.points, labels, centers, slice_cells(cells(model), plane, box))
        return scene, note if plane.n_features > 2 else ""
    scene = ClusterScene(view.points, labels, centers)
    if capabilities_of(model).mixed is not None:
        return scene, ""
    if plane.n_features > 2:
        return scene, "no cells are drawn, because their borders are not straight"
    high, wide = _GRID_SHAPE
    s, t = np.meshgrid(np.linspace(box[0], box[2], wide), np.linspace(box[1], box[3], high))
    grid = np.column_stack([s.ravel(), t.ravel()]) @ plane.axes + plane.origin
    regions = np.asarray(without_feature_names(model).predict(grid)).reshape(s.shape)
    scene = ClusterScene(view.points, labels, centers, regions=regions)
    return scene, f"regions: predictions on a grid of {wide} by {high} points"


def slice_cells(whole: Cells, plane: ProjectionPlane, box: Box) -> tuple[Floats, ...]:
    """Cut cells by a plane, within a box; about its middle, so that offsets cost no digits."""
    middle = np.array([box[0] + box[2], box[1] + box[3]]) / 2
    cut = whole.slice(plane.origin + middle @ plane.axes, plane.axes)
    return tuple(part + middle for part in cut.polygons(np.array(box) - np.tile(middle, 2)))


def marked_centers(model: Any, rows: model_rows.DrawnRows) -> tuple[Floats, str]:
    """Return the points (k, d) at which clusters are numbered, and a note for the caption."""
    centers = model_rows.centers_of(model)
    if centers is None:
        nearest = _rows_nearest_to_means(rows, count_clusters(model))
        return nearest, "each number is at the row nearest to the mean of its cluster"
    if not model_rows.is_spherical(model):
        return centers, ""
    length = np.sqrt(model_rows.squared_lengths(rows.values))
    mean = _means_by_cluster(length, rows.labels, len(centers))
    note = "centers are directions, drawn as long as their rows are on average"
    return centers * mean[:, None], note


def _rows_nearest_to_means(rows: model_rows.DrawnRows, k: int) -> Floats:
    """Rows (k, d): the mean itself may lie in another cluster."""
    values = as_doubles(rows.values)
    means = _means_by_cluster(values, rows.labels, k)
    for j in range(k):
        members = values[rows.labels == j]
        if len(members):
            means[j] = members[model_rows.squared_lengths(members - means[j]).argmin()]
    return means


def _means_by_cluster(values: Floats, labels: Ints, k: int) -> Floats:
    """Means (k, …) of values (m, …); an empty cluster has the mean of all."""
    members = [values[labels == j] for j in range(k)]
    return np.array([(rows if len(rows) else values).mean(axis=0) for rows in members])
