"""`ClusterDisplay`: points in their clusters, with centers and cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import default_rng

from partita._common.array_types import Array, Floats, Ints
from partita.chart_layout import model_rows
from partita.chart_layout.projection import Box, Plane, axis_names, box_around, even, plane_of
from partita.estimators.fitted_models import count_clusters, unwrap_pipeline, without_feature_names
from partita.plots import style
from partita.plots.display import Display, Page, matplotlib
from partita.plots.text_placement import place
from partita.source.plain_rows import doubles
from partita.voronoi.voronoi_cells import Cells

_GRID = (180, 130)  # where regions without straight borders are asked for
_NUMBERS = 100  # clusters whose numbers are written


@dataclass(frozen=True, slots=True)
class Scene:
    """What is drawn of one clustering: points, centers, and what belongs to each cluster."""

    points: Floats  # (m, 2)
    labels: Ints  # (m,)
    centers: Floats  # (k, 2); no rows if they have no place in the plane
    polygons: tuple[Floats, ...] = ()  # of the cells; no rows where the plane misses one
    regions: Array | None = None  # (rows, columns) labels on a grid, where borders are not straight

    def draw(self, ax: Any, box: Box, scale: float = 1.0) -> None:
        """Cells, then points, whose marks are `scale` times as large as in a picture alone."""
        if self.regions is not None:
            self._tint(ax, box)
        self._cells(ax)
        size = scale * float(np.clip(2e4 / max(1, len(self.points)), 3, 18))
        alpha = float(np.clip(30 / np.sqrt(max(1, len(self.points))), 0.3, 0.75))
        marks = np.array([style.mark(j) for j in self.labels])
        colors = np.array([style.color(j) for j in self.labels])
        for shape in dict.fromkeys(marks.tolist()):
            some = marks == shape
            ax.scatter(
                *self.points[some].T,
                s=size,
                c=colors[some],
                marker=shape,
                linewidths=0,
                alpha=alpha,
                rasterized=len(self.points) > 2000,
                zorder=2,
            )
        ax.set_xlim(box[0], box[2])
        ax.set_ylim(box[1], box[3])

    def _cells(self, ax: Any) -> None:
        polygon = matplotlib(".patches").Polygon
        for j, corners in enumerate(self.polygons):
            if len(corners) > 2:
                ax.add_patch(polygon(corners, fc=style.color(j), ec="none", alpha=0.16, zorder=0))
                ax.add_patch(polygon(corners, fill=False, ec=style.FAINT, lw=0.6, zorder=1))

    def _tint(self, ax: Any, box: Box) -> None:
        rgba = matplotlib(".colors").to_rgba
        assert self.regions is not None
        colors = np.array([rgba(style.color(j), 0.16) for j in range(int(self.regions.max()) + 1)])
        x = np.linspace(box[0], box[2], self.regions.shape[1])
        y = np.linspace(box[1], box[3], self.regions.shape[0])
        ax.imshow(
            colors[self.regions],
            extent=(box[0], box[2], box[1], box[3]),
            origin="lower",
            aspect="auto",
            interpolation="nearest",
            zorder=0,
        )
        for j in np.unique(self.regions):
            if (self.regions == j).any() and not (self.regions == j).all():
                ax.contour(
                    x,
                    y,
                    self.regions == j,
                    levels=[0.5],
                    colors=style.FAINT,
                    linewidths=0.6,
                    zorder=1,
                )


@dataclass(eq=False, repr=False, kw_only=True)
class ClusterDisplay(Display):
    """The rows in two dimensions, with the cell of every center.

    Of more than two features it shows the plane of the two widest directions, or that of two
    `features`. The cells are those of all features, cut by that plane; points are projected on it,
    so some lie outside their cell.

    Examples
    --------
    >>> from partita import KMeans
    >>> from partita.plots import ClusterDisplay
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1]]
    >>> display = ClusterDisplay.from_estimator(KMeans(2, random_state=0).fit(X), X)
    >>> len(display.scene.polygons)
    2
    >>> display.plot().ax_.get_xlabel()
    'feature 0'
    """

    scene: Scene
    box: Box
    equal: bool  # whether a length is the same along both axes
    names: tuple[str, str]  # of both axes

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        sample_weight: Any = None,
        *,
        features: Any = None,
        random_state: Any = 0,
    ) -> ClusterDisplay:
        """Rows of X, of which 20 000 are drawn, and the clusters of a fitted model."""
        model, X, names = unwrap_pipeline(model, X)
        rows = model_rows.read(model, X, sample_weight, names=names, random_state=random_state)
        plane = plane_of(rows, features)
        points = spread(plane.project(rows.values), rows.values.shape[1])
        centers, remark = shown_centers(model, rows)
        at = plane.project(centers)
        box, equal = even(box_around(points, at), len(plane.origin))
        scene, note = scene_of(model, plane, points, rows.labels, box, at)
        caption = style.sentences([note, remark, rows.note])
        return cls(
            title=model_rows.title_of(model),
            caption=caption,
            scene=scene,
            box=box,
            equal=equal,
            names=axis_names(plane),
        )

    def _shape(self) -> tuple[int, int]:
        return 1, 1

    def _inches(self) -> float:
        return 4.4 if self.names[1] else 2.6

    def _draw(self, page: Page) -> None:
        ax = page.axes[0]
        self.scene.draw(ax, self.box)
        if self.equal:
            ax.set_aspect("equal")
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        if not self.names[1]:
            ax.set_yticks([])
        page.head(self.title)
        page.foot(self.caption)
        number_centers(page, self.scene.centers)


def number_centers(page: Page, centers: Floats) -> None:
    """Mark every center, and write the number of its cluster at it."""
    if not len(centers):
        return
    page.axes[0].scatter(*centers.T, s=16, c=style.INK, marker="+", linewidths=0.9, zorder=4)
    if len(centers) <= _NUMBERS:
        place(page, centers, [str(j) for j in range(len(centers))])


def scene_of(
    model: Any, plane: Plane, points: Floats, labels: Ints, box: Box, centers: Floats
) -> tuple[Scene, str]:
    """The scene of a model in a plane, and what to say of its cells."""
    d = plane.axes.shape[1]
    cells = model_rows.cells_of(model)
    if cells is not None:
        note = f"cells: {plane.note}; points are projected, so some lie outside their cell"
        scene = Scene(points, labels, centers, polygons(cells, plane, box))
        return scene, note if plane.is_cut else ""
    if d > 2:
        return Scene(points, labels, centers), "no cells are drawn: their borders are not straight"
    across, up = np.linspace(box[0], box[2], _GRID[0]), np.linspace(box[1], box[3], _GRID[1])
    s, t = np.meshgrid(across, up)
    grid = np.column_stack([s.ravel(), t.ravel()]) @ plane.axes + plane.origin
    regions = np.asarray(without_feature_names(model).predict(grid)).reshape(s.shape)
    note = f"regions: what predict says on a grid of {_GRID[0]} by {_GRID[1]} points"
    return Scene(points, labels, centers, regions=regions), note


def polygons(cells: Cells, plane: Plane, box: Box) -> tuple[Floats, ...]:
    """The cells that a plane cuts, within the box; about its middle, far offsets cost no digits."""
    middle = np.array([box[0] + box[2], box[1] + box[3]]) / 2
    cut = cells.slice(plane.origin + middle @ plane.axes, plane.axes)
    return tuple(part + middle for part in cut.polygons(np.array(box) - np.tile(middle, 2)))


def shown_centers(model: Any, rows: model_rows.Rows) -> tuple[Floats, str]:
    """Where to mark the clusters, and what to say of that."""
    found = model_rows.centers_of(model)
    if found is None:
        return _inmost(rows, count_clusters(model)), "numbers: at the row next to the mean"
    if not model_rows.is_spherical(model):
        return found, ""
    length = np.sqrt(np.asarray(model_rows.squares(rows.values)))
    mean = _average(length, rows.labels, len(found))
    return found * mean[:, None], "centers are directions, drawn as long as their rows on average"


def _inmost(rows: model_rows.Rows, k: int) -> Floats:
    """The row of each cluster that is next to its mean: a mean may lie in another cluster."""
    values = doubles(rows.values)
    means = np.column_stack([_average(column, rows.labels, k) for column in values.T])
    for j in range(k):
        some = values[rows.labels == j]
        if len(some):
            means[j] = some[model_rows.squares(some - means[j]).argmin()]
    return means


def _average(values: Floats, labels: Ints, k: int) -> Floats:
    """The mean of each cluster; of an empty one, that of all rows."""
    some = (labels >= 0) & (labels < k)
    count = np.bincount(labels[some], minlength=k)
    found = np.bincount(labels[some], values[some], minlength=k)
    whole = values.mean() if len(values) else 0.0
    return np.where(count > 0, found / np.maximum(count, 1), whole)


def spread(points: Floats, d: int) -> Floats:
    """Points of a line, moved up and down by chance so that they can be told apart."""
    if d > 1:
        return points
    up = default_rng(0).uniform(-0.5, 0.5, len(points))
    return np.column_stack([points[:, 0], up])
