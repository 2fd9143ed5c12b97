"""A map of groups without their rows: one bubble each, at its mean."""

from __future__ import annotations

from html import escape

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.number_text import percent_text
from partita._common.text import plural
from partita.chart_layout.captions import join_sentences
from partita.chart_layout.projection import with_equal_scale
from partita.report import svg
from partita.report.map.axis_words import feature_words, principal_words
from partita.report.map.label_places import number_labels
from partita.report.map.map_sample import group_plane
from partita.report.report_input import MIN_TOLD_ROWS, ReportInput
from partita.report.svg import element, text

_WIDTH, _HEIGHT = 820.0, 500.0  # pixels
_MAX_RADIUS = 64.0  # pixels, of the largest group
_MIN_RADIUS = 5.0
_PADDING = 10.0  # pixels around the bubbles
_CHARACTER_PIXELS = 6.9  # of a caption, on average


def bubble_map(data: ReportInput) -> tuple[str, str]:
    """Return the drawing as SVG, and the note below it."""
    place, shown = group_plane(data), shown_groups(data)
    hidden = data.k - len(shown)
    note = join_sentences(
        [
            "each bubble is at the mean of its group, and its area is the share of the group",
            bool(hidden)
            and f"{plural(hidden, 'group')} of fewer than {MIN_TOLD_ROWS} rows "
            f"{'is' if hidden == 1 else 'are'} not drawn",
        ]
    )
    if not len(shown):
        return "", note
    plane = place.plane
    if plane.n_features > 2:
        words = principal_words(plane, data.point_names)
    else:
        words = (feature_words(data.names[0]), feature_words(data.names[1]))
    box = (40.0, 12.0, _WIDTH - 12, _HEIGHT - 40)
    bubbles = draw_bubbles(data, place.means, shown, box, _MAX_RADIUS)
    across, up = (box[2] - box[0]) / _CHARACTER_PIXELS, (box[3] - box[1]) / _CHARACTER_PIXELS
    middle = {"x": (box[0] + box[2]) / 2, "y": _HEIGHT - 12}
    turned = f"translate(18 {(box[1] + box[3]) / 2:.1f}) rotate(-90)"
    frame = {"x": box[0], "y": box[1], "width": box[2] - box[0], "height": box[3] - box[1]}
    drawing = svg.drawing(
        _WIDTH,
        _HEIGHT,
        "Map of the groups",
        element("rect", **frame, rx=6, class_="back"),
        bubbles,
        text(words[0].caption(across), **middle, text_anchor="middle", class_="faint"),
        text(words[1].caption(up), 0, 0, transform=turned, text_anchor="middle", class_="faint"),
    )
    return drawing, note


def shown_groups(data: ReportInput) -> Ints:
    """Return the groups with enough rows to be shown, the largest first."""
    order = np.argsort(-data.cluster_weight, kind="stable")
    return order[data.is_told[order] & (data.cluster_weight[order] > 0)]


def draw_bubbles(
    data: ReportInput,
    means: Floats,
    shown: Ints,
    box: tuple[float, float, float, float],
    max_radius: float,
) -> str:
    """Return bubbles of the groups shown, with their numbers, inside a box of pixels."""
    shown = shown[np.isfinite(means[shown]).all(axis=1)]
    if not len(shown):
        return ""
    at = _in_pixels(means[shown], box, max_radius + _PADDING)
    weight = data.cluster_weight[shown]
    radius = np.maximum(max_radius * np.sqrt(weight / weight.max()), _MIN_RADIUS).tolist()
    total = float(data.cluster_weight.sum())
    circles = "".join(
        element(
            "circle",
            element("title", escape(f"group {j}: {percent_text(w / total)}")),
            cx=x,
            cy=y,
            r=r,
            class_=f"bubble c{j % svg.N_COLORS}",
            data_group=j,
        )
        for j, (x, y), r, w in zip(shown.tolist(), at, radius, weight.tolist(), strict=True)
    )
    return circles + number_labels(shown.tolist(), at, box)


def _in_pixels(
    means: Floats, box: tuple[float, float, float, float], margin: float
) -> list[tuple[float, float]]:
    """Means (n, 2) in pixels, with the same scale along both axes if they allow it."""
    low, high = means.min(axis=0), means.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    low = np.where(high > low, low, low - 0.5)
    inner = np.array([box[2] - box[0], box[3] - box[1]]) - 2 * margin
    scale = inner / span
    ends = (*low.tolist(), *(low + span).tolist())
    if with_equal_scale((ends[0], ends[1], ends[2], ends[3]), 2)[1]:
        scale = np.full(2, scale.min())
    middle = low + span / 2
    x0, y0 = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    moved = (means - middle) * scale
    return [(x0 + a, y0 - b) for a, b in np.nan_to_num(moved, posinf=0, neginf=0).tolist()]
