"""Labels at points, placed so that none covers another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita.plots import style
from partita.plots.display import FigureAxes

_MAX_RINGS = 6  # how far from its point a label may move, in rings of 12 positions


def place_labels(target: FigureAxes, points: Floats, texts: Sequence[str]) -> None:
    """Write texts at points of the first axes.

    A text without room at its point moves away and a line ties it to the point; one without room
    nearby is left out.
    """
    target.update_layout()
    axis, pixels_per_point = target.axes[0], target.figure.dpi / style.POINTS_PER_INCH
    font, edge = style.SMALL_FONT_POINTS, axis.bbox
    height = pixels_per_point * (0.7 * font + 2.5)  # half of a label
    taken: list[tuple[float, float, float]] = []  # middle and half width of the labels placed
    for point, text, middle in zip(points, texts, axis.transData.transform(points), strict=True):
        width = pixels_per_point * (0.34 * font * len(text) + 2.5)
        for offset in _offsets(2 * height):
            x, y = (middle + offset).tolist()
            inside = edge.x0 <= x - width and x + width <= edge.x1
            inside = inside and edge.y0 <= y - height and y + height <= edge.y1
            if inside and not any(
                abs(x - other_x) < width + other_width and abs(y - other_y) < 2 * height
                for other_x, other_y, other_width in taken
            ):
                taken.append((x, y, width))
                _write_label(axis, point, text, offset / pixels_per_point)
                break


def _offsets(step: float) -> Iterator[Floats]:
    yield np.zeros(2)
    for ring in range(1, _MAX_RINGS + 1):
        for turn in range(12):
            angle = np.pi * (turn / 6 + 0.5)
            yield ring * step * 0.8 * np.array([np.cos(angle), np.sin(angle)])


def _write_label(axis: Any, point: Floats, text: str, offset: Floats) -> None:
    ink = style.TEXT_COLOR
    box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": ink, "lw": 0.6, "alpha": 0.9}
    tie = {"arrowstyle": "-", "lw": 0.6, "color": ink, "shrinkA": 0, "shrinkB": 0}
    look = {"ha": "center", "va": "center", "size": style.SMALL_FONT_POINTS, "color": ink}
    place = {"xy": tuple(point), "xytext": tuple(offset), "textcoords": "offset points"}
    line = tie if offset.any() else None
    axis.annotate(text, **place, **look, bbox=box, arrowprops=line, zorder=6)
