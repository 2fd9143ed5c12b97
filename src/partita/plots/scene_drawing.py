"""Clusters in a plane, drawn with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita.chart_layout.cluster_scene import ClusterScene
from partita.chart_layout.palette import cluster_color, cluster_marker
from partita.chart_layout.projection import Box
from partita.plots import style
from partita.plots.display import FigureAxes
from partita.plots.style import matplotlib
from partita.plots.text_placement import place_labels

_MAX_VECTOR_POINTS = 2000  # beyond it, points are pixels also in a vector file
_MAX_NUMBERED = 100  # clusters
_CELL_ALPHA = 0.16


def draw_scene(
    ax: Any, scene: ClusterScene, box: Box, equal_scale: bool, marker_scale: float = 1.0
) -> None:
    """Draw cells or regions, then points."""
    if scene.regions is not None:
        _draw_regions(ax, scene.regions, box)
    _draw_cells(ax, scene.polygons)
    count = max(1, len(scene.points))
    look = {
        "s": marker_scale * float(np.clip(2e4 / count, 3, 18)),
        "alpha": float(np.clip(30 / np.sqrt(count), 0.3, 0.75)),
        "rasterized": count > _MAX_VECTOR_POINTS,
    }
    markers = np.array([cluster_marker(j) for j in scene.labels])
    colors = np.array([cluster_color(j) for j in scene.labels])
    for marker in dict.fromkeys(markers.tolist()):
        drawn = markers == marker
        points, color = scene.points[drawn].T, colors[drawn]
        ax.scatter(*points, c=color, marker=marker, linewidths=0, zorder=2, **look)
    ax.set(xlim=box[::2], ylim=box[1::2], aspect="equal" if equal_scale else "auto")


def number_centers(target: FigureAxes, centers: Floats) -> None:
    """Mark every center on the first axes with the number of its cluster."""
    cross = {"s": 16, "c": style.TEXT_COLOR, "marker": "+", "linewidths": 0.9}
    target.axes[0].scatter(*centers.T, **cross, zorder=4)
    if len(centers) <= _MAX_NUMBERED:
        place_labels(target, centers, [str(j) for j in range(len(centers))])


def _draw_cells(ax: Any, polygons: tuple[Floats, ...]) -> None:
    patch = matplotlib(".patches").Polygon
    for j, corners in enumerate(polygons):
        if len(corners) > 2:
            fill = {"fc": cluster_color(j), "ec": "none", "alpha": _CELL_ALPHA}
            ax.add_patch(patch(corners, **fill, zorder=0))
            ax.add_patch(patch(corners, fill=False, ec=style.MUTED_COLOR, lw=0.6, zorder=1))


def _draw_regions(ax: Any, regions: Array, box: Box) -> None:
    to_rgba = matplotlib(".colors").to_rgba
    count = int(regions.max()) + 1
    colors = np.array([to_rgba(cluster_color(j), _CELL_ALPHA) for j in range(count)])
    extent = (box[0], box[2], box[1], box[3])
    pixels = {"origin": "lower", "aspect": "auto", "interpolation": "nearest"}
    ax.imshow(colors[regions], extent=extent, zorder=0, **pixels)
    x = np.linspace(box[0], box[2], regions.shape[1])
    y = np.linspace(box[1], box[3], regions.shape[0])
    present = np.unique(regions)
    border = {"colors": style.MUTED_COLOR, "linewidths": 0.6, "levels": [0.5], "zorder": 1}
    for j in present if len(present) > 1 else ():
        ax.contour(x, y, regions == j, **border)
