"""The small map of the first screen: a drawing of points and numbers, without axes."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.random_state import generator
from partita.chart_layout.projection import with_equal_scale
from partita.description.group_profile import GroupProfile
from partita.report import svg
from partita.report.map.group_bubbles import draw_bubbles, shown_groups
from partita.report.map.label_places import number_labels
from partita.report.map.map_sample import group_plane, project_rows
from partita.report.map.stacked_histogram import HistogramSize, histogram
from partita.report.report_input import ReportInput
from partita.report.svg import element

_WIDTH, _HEIGHT = 360.0, 240.0  # pixels
_BOX = (6.0, 6.0, _WIDTH - 6, _HEIGHT - 6)  # left, top, right, bottom
_MAX_POINTS = 600
_OUTSIDE_SHARE = 0.01  # of the points on each side, which do not stretch the box
_MARGIN = 0.06  # of the box, on each side
_MIN_RADIUS, _MAX_RADIUS = 1.7, 3.0  # of a point, in pixels
_MAX_BUBBLE_RADIUS = 34.0
_MAX_NUMBERS = 20  # of the largest groups
_LABEL_RINGS = 2  # numbers stay near their groups


@np.errstate(all="ignore")
def small_map(data: ReportInput, profile: GroupProfile | None) -> str:
    """Return an SVG drawing of the groups, or "" if there is nothing to draw."""
    if profile is None:
        return ""
    if data.points.shape[1] == 1:
        return histogram(data, HistogramSize(_WIDTH, _HEIGHT, has_axes=False))[0]
    place, groups = group_plane(data), shown_groups(data)
    if data.fitted.no_rows:
        if not len(groups):
            return ""
        parts = draw_bubbles(data, place.means, groups, _BOX, _MAX_BUBBLE_RADIUS)
    else:
        drawn = generator(0).permutation(data.n)[:_MAX_POINTS]
        points = project_rows(data, place.plane, drawn)
        at, centers = _in_pixels(points, place.centers)
        parts = _points(at, data.labels[drawn], data.k) + _numbers(data, centers)
    back = element("rect", x=0.5, y=0.5, width=_WIDTH - 1, height=_HEIGHT - 1, rx=10, class_="back")
    return svg.drawing(_WIDTH, _HEIGHT, "Small map of the groups", back, parts)


def _in_pixels(points: Floats, centers: Floats) -> tuple[Floats, Floats]:
    """Points and centers in pixels: the central 98 % of the points fill the box."""
    finite = points[np.isfinite(points).all(axis=1)]
    if not len(finite):
        return points, centers
    low, high = np.quantile(finite, [_OUTSIDE_SHARE, 1 - _OUTSIDE_SHARE], axis=0)
    margin = np.where(high > low, _MARGIN * (high - low), 0.5)
    corners = (*(low - margin).tolist(), *(high + margin).tolist())
    box, _ = with_equal_scale((corners[0], corners[1], corners[2], corners[3]), 2)
    low, high = np.reshape(box, (2, 2))

    def place(values: Floats) -> Floats:
        share = (values - low) / (high - low)
        x = _BOX[0] + share[:, 0] * (_BOX[2] - _BOX[0])
        return np.column_stack([x, _BOX[3] - share[:, 1] * (_BOX[3] - _BOX[1])])

    return place(points), place(centers)


def _is_inside(at: Floats) -> Floats:
    x, y = at[:, 0], at[:, 1]
    return np.asarray((x >= _BOX[0]) & (x <= _BOX[2]) & (y >= _BOX[1]) & (y <= _BOX[3]))


def _points(at: Floats, labels: Ints, k: int) -> str:
    """One path for the points of each group; those outside the box are left out."""
    inside = _is_inside(at)
    radius = float(np.clip(42 / np.sqrt(max(1, len(at))), _MIN_RADIUS, _MAX_RADIUS))
    parts = []
    for j in np.unique(labels[inside]).tolist():
        chosen = at[inside & (labels == j)].tolist()
        ring = f"a{radius:.1f} {radius:.1f} 0 1 0 {2 * radius:.1f} 0"
        d = "".join(
            f"M{x - radius:.1f} {y:.1f}{ring}{ring.replace(' 0 1 0 ', ' 0 1 0 -')}Z"
            for x, y in chosen
        )
        colour = f"c{j % svg.N_COLORS}" if 0 <= j < k else "no-group"
        shape = element("path", d=d, class_="fill points")
        parts.append(element("g", shape, class_=colour, data_group=j if j >= 0 else None))
    return "".join(parts)


def _numbers(data: ReportInput, centers: Floats) -> str:
    order = np.argsort(-data.cluster_weight, kind="stable")
    inside = _is_inside(centers)
    shown = [j for j in order.tolist() if inside[j] and data.cluster_weight[j] > 0]
    numbers = shown[:_MAX_NUMBERS]
    anchors = [(x, y) for x, y in centers[numbers].tolist()]
    return number_labels(numbers, anchors, _BOX, _LABEL_RINGS)
