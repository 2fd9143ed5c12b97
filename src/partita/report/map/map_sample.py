"""The rows that a map draws, and the plane in which it draws them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.random_state import generator
from partita.chart_layout.cluster_scene import marked_centers
from partita.chart_layout.model_rows import DrawnRows
from partita.chart_layout.projection import ProjectionPlane, choose_plane
from partita.report.report_input import ReportInput
from partita.source.raw_rows import row_slices

MIN_CLUSTER_ROWS = 20  # of every cluster in a sample
_PLANE_MAX_ROWS = 20_000  # that choose the plane; more would not turn it


@dataclass(frozen=True, slots=True)
class GroupPlane:
    """The plane of a map, the same for every sample of rows that is drawn in it."""

    plane: ProjectionPlane
    centers: Floats  # (k, 2) where groups are numbered
    means: Floats  # (k, 2) of the rows of every group
    note: str  # about the centers


def sample_rows(data: ReportInput, max_rows: int) -> Ints:
    """Return rows to draw, in random order, so that no group covers the others.

    A sample has about `max_rows`, and some more where small groups would be absent.
    """
    rng = generator(0)
    if data.n <= max_rows:
        return rng.permutation(data.n)
    drawn = [rng.choice(data.n, max_rows, replace=False)]
    free = np.ones(data.n, dtype=bool)
    free[drawn[0]] = False
    for rows in data.cluster_rows:
        others = rows[free[rows]]
        missing = min(len(others), MIN_CLUSTER_ROWS - (len(rows) - len(others)))
        if missing > 0:
            drawn.append(rng.choice(others, missing, replace=False))
    return rng.permutation(np.concatenate(drawn))


def group_plane(data: ReportInput) -> GroupPlane:
    """Choose the plane by all rows, or by a sample of them."""
    drawn = sample_rows(data, _PLANE_MAX_ROWS)
    values = data.points[drawn].astype(np.float64)
    labels, weight = data.labels[drawn], data.weight[drawn]
    placed = "" if data.places is None else data.places.note
    rows = DrawnRows(values, labels, weight, list(data.point_names), placed=placed)
    centers, note = marked_centers(data.model, rows)
    plane = choose_plane(rows)
    means = _group_means(plane.project(values), rows, data.k)
    return GroupPlane(plane, plane.project(centers), means, note.replace("cluster", "group"))


def project_rows(data: ReportInput, plane: ProjectionPlane, drawn: Ints) -> Floats:
    """Return the coordinates (m, 2) of rows, a slice at a time: they may have many features."""
    points = np.empty((len(drawn), 2))
    for span in row_slices(len(drawn), plane.n_features):
        points[span] = plane.project(data.points[drawn[span]].astype(np.float64))
    return points


def _group_means(points: Floats, rows: DrawnRows, k: int) -> Floats:
    """Weighted means (k, 2) of points; NaN for a group without weight."""
    inside = rows.labels >= 0
    labels, weight = rows.labels[inside], rows.weight[inside]
    total = np.bincount(labels, weight, k)
    sums = [np.bincount(labels, weight * points[inside, axis], k) for axis in (0, 1)]
    return np.column_stack(sums) / np.where(total > 0, total, np.nan)[:, None]
