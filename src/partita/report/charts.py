"""The charts of a report: records of `plots` and `chart_layout`, drawn as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from partita._common.array_types import Floats
from partita._common.number_text import number_text, score_text
from partita.chart_layout.axis_range import axis_range
from partita.chart_layout.merge_tree_layout import merge_tree_layout
from partita.chart_layout.silhouette_bands import SilhouetteBand, silhouette_bands
from partita.plots.criteria_display import CriteriaDisplay, CriterionPanel
from partita.plots.objective_display import ObjectiveDisplay
from partita.report import svg
from partita.report.silhouette_sample import SilhouetteSample
from partita.report.svg import AxisScale, element, line, path, text

MAX_TREE_LEAVES = 60  # clusters of a merge tree that can still be read
_WIDTH, _RIGHT = 460, 448  # of a chart, and where its drawing area ends, in pixels
_PANEL_WIDTH, _PANEL_RIGHT = 280, 268
_MAX_MARKED_KS = 40
_MAX_OUTLINE_STEPS = 120  # of a silhouette
_BANDS_PER_DRAWING = 40  # clusters whose silhouettes fit on a page
_LEAF_PIXELS = 22.0  # between two leaves of a merge tree


def share_bar(share: float, largest: float, j: int) -> str:
    """Return a bar for the share of cluster j, relative to the largest share."""
    width = 60 * share / largest if largest > 0 else 0.0
    inner = element("rect", x=0, y=0, width=width, height=8, rx=1, fill="currentColor")
    class_ = f"bar c{j % svg.N_COLORS}"
    frame = {"viewBox": "0 0 60 8", "preserveAspectRatio": "none"}
    return element("svg", inner, **frame, class_=class_, aria_hidden="true")


def category_bar(share: float, overall: float | None, j: int | None = None) -> str:
    """Return a bar for the share of a category in cluster j, with a tick at that in all rows."""
    parts = element("rect", x=0, y=1, width=60 * share, height=6, fill="currentColor")
    if overall is not None and j is not None:
        parts += element("rect", x=min(58.8, 60 * overall), y=0, width=1.2, height=8, class_="tick")
    class_ = "bar" if j is None else f"bar c{j % svg.N_COLORS}"
    frame = {"viewBox": "0 0 60 8", "preserveAspectRatio": "none"}
    return element("svg", parts, **frame, class_=class_, aria_hidden="true")


def objective_chart(display: ObjectiveDisplay) -> str:
    """Draw J by iteration: dots after an assignment, rings after an update of the centers."""
    values = axis_range(display.cost)
    if values is None:
        return ""
    finite = np.isfinite(display.cost)
    steps, cost = display.steps[finite].tolist(), display.cost[finite].tolist()
    y = AxisScale(values.low, values.high, 210, 16, log=values.log)
    left, y_axis = svg.y_axis(y, 76.0, _RIGHT)
    x = AxisScale(steps[0], steps[-1], left, _RIGHT)
    points = [(x(step), y(value)) for step, value in zip(steps, cost, strict=True)]
    parts = [
        y_axis,
        svg.x_numbers(x, [tick for tick in x.ticks(6) if tick == int(tick)], 210),
        text("iteration", (left + _RIGHT) / 2, 246, text_anchor="middle", class_="faint"),
        path(points[: len(points) - display.last_is_apart]),
    ]
    for i, (a, b) in enumerate(points):
        if display.has_markers or (display.last_is_apart and i == len(points) - 1):
            parts.append(element("circle", cx=a, cy=b, r=3, class_="ring" if i % 2 else "dot"))
    label = f"Objective by iteration, from {number_text(values.high)} to {number_text(cost[-1])}"
    return svg.drawing(_WIDTH, 252, label, *parts)


def criterion_chart(display: CriteriaDisplay, panel: CriterionPanel, last: float) -> str:
    """Draw one criterion over the numbers of clusters up to `last`; a ring marks its pick."""
    ks, values, errors = display.ks, panel.values, panel.errors
    ks = tuple(k for k in ks if k <= last) or ks
    label = f"{panel.name.replace('_', ' ')} by number of clusters"
    defined = [i for i in panel.defined.tolist() if i < len(ks)]
    if not defined:
        words = text("not defined", _PANEL_WIDTH / 2, 75, text_anchor="middle")
        return svg.drawing(_PANEL_WIDTH, 150, label, words)
    low, high = (values - errors)[defined].min(), (values + errors)[defined].max()
    y = AxisScale(float(low), float(high), 122, 12)
    left, y_axis = svg.y_axis(y, 60.0, _PANEL_RIGHT)
    x = AxisScale(float(min(ks)), float(max(ks)), left, _PANEL_RIGHT)
    step = max(1, math.ceil((max(ks) - min(ks)) / 7))
    k_ticks = [float(k) for k in range(min(ks), max(ks) + 1, step)]
    parts = [y_axis, svg.x_numbers(x, k_ticks, 122)]
    best_k = display.best_k
    if best_k is not None and min(ks) <= best_k <= max(ks):
        parts.append(line(x(best_k), 8, x(best_k), 122, "best"))
    points = [(x(float(ks[i])), y(float(values[i]))) for i in defined]
    parts.append(path(points))
    for i, (a, b) in zip(defined, points, strict=True):
        if errors[i] > 0:
            parts.append(line(a, y(values[i] - errors[i]), a, y(values[i] + errors[i]), "error"))
        if len(ks) <= _MAX_MARKED_KS:
            parts.append(element("circle", cx=a, cy=b, r=2.2, class_="dot"))
        if ks[i] == panel.pick:
            parts.append(element("circle", cx=a, cy=b, r=6, class_="pick"))
    return svg.drawing(_PANEL_WIDTH, 144, label, *parts)


def silhouette_chart(sample: SilhouetteSample, clusters: Sequence[int]) -> str:
    """Draw the sorted silhouettes of these clusters, in drawings no higher than a page."""
    bands = [b for b in silhouette_bands(sample.values, sample.labels) if b.label in clusters]
    parts = range(0, len(bands), _BANDS_PER_DRAWING)
    return "".join(
        _silhouette_drawing(sample, bands[i : i + _BANDS_PER_DRAWING], len(bands)) for i in parts
    )


def _silhouette_drawing(sample: SilhouetteSample, bands: list[SilhouetteBand], n_bands: int) -> str:
    height = float(np.clip(300 - 6 * n_bands, 60, 300))  # of all rows together
    low = min(0.0, float(sample.values.min()))
    x = AxisScale(math.floor(low * 10) / 10, 1.0, 70, 450)
    shapes, top = [], 8.0
    for j, rows in bands:
        high = max(15.0, height * len(rows) / len(sample.values))
        mean = float(sample.means[j])
        tooltip = f"group {j}: mean {number_text(round(mean, 3))}"
        outline = _band_outline(sample.values[rows], x, top, high)
        shapes.append(path(outline, f"fill c{j % svg.N_COLORS}", tooltip, end="Z"))
        middle = top + high / 2 + 4
        shapes.append(text(j, 30, middle, text_anchor="end", class_="strong"))
        shapes.append(text(score_text(mean), 62, middle, text_anchor="end", class_="faint"))
        top += high + 5
    ticks = [round(value, 2) for value in x.ticks(6)]
    first, last = bands[0].label, bands[-1].label
    which = f"of groups {first} to {last}" if len(bands) < n_bands else "by group"
    return svg.drawing(
        _WIDTH,
        top + 24,
        f"Silhouettes {which}; the mean of all is {sample.mean:.3f}",
        svg.x_grid(x, ticks, 4, top),
        line(x(0.0), 4, x(0.0), top, "zero"),
        *shapes,
        line(x(sample.mean), 4, x(sample.mean), top, "best"),
    )


def _band_outline(
    values: Floats, x: AxisScale, top: float, height: float
) -> list[tuple[float, float]]:
    """Corners of the shape between 0 and the sorted values, in a limited number of steps."""
    steps = min(len(values), _MAX_OUTLINE_STEPS)
    shown = values[np.linspace(0, len(values) - 1, steps).round().astype(int)]
    edges = top + height * np.arange(steps + 1) / steps
    corners = [(x(0.0), top)]
    for value, upper, lower in zip(shown.tolist(), edges, edges[1:], strict=False):
        corners += [(x(value), upper), (x(value), lower)]
    return [*corners, (x(0.0), top + height)]


def merge_tree_chart(linkage: Floats, weight: Floats) -> str:
    """Draw the clusters, merged pair by pair; the length is what a merge adds to J."""
    layout = merge_tree_layout(linkage)
    weights = [number_text(w) for w in weight.tolist()]
    names_end = max(76.0, 40 + svg.text_width(weights))
    x = AxisScale(layout.floor, layout.top, names_end + 8, 440, log=layout.log)
    bottom = 12 + _LEAF_PIXELS * len(layout.leaves)
    y = AxisScale(-0.5, len(layout.leaves) - 0.5, 12, bottom)
    parts = [svg.x_grid(x, x.ticks(5), 6, bottom)]
    for link in layout.links.tolist():
        parts.append(path((x(price), y(position)) for position, price in link))
    for position, j in enumerate(layout.leaves):
        baseline = y(position) + 4
        parts.append(text(j, 24, baseline, text_anchor="end", class_="strong"))
        parts.append(text(weights[j], names_end, baseline, text_anchor="end", class_="faint"))
    middle = (x.start + x.end) / 2
    label = text("price of the merge", middle, bottom + 34, text_anchor="middle", class_="faint")
    return svg.drawing(_WIDTH, bottom + 40, "Merge tree of the groups", *parts, label)
