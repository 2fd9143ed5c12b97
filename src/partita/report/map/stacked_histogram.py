"""Rows of one feature as a histogram, stacked by group."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.number_text import count_text, day_text, value_text
from partita.chart_layout.captions import join_sentences
from partita.report import svg
from partita.report.map.axis_frame import axis_frame
from partita.report.map.label_places import LABEL_HEIGHT, number_labels
from partita.report.page_text import safe_line
from partita.report.report_input import MIN_TOLD_ROWS, ReportInput
from partita.report.svg import AxisScale, element, text
from partita.source.raw_rows import as_doubles

_N_BINS = 60  # about; at least half as many
_MIN_RELATIVE_WIDTH = 1e-14  # of a bin: narrower ones have no edges among doubles
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # round widths of bins, of a power of ten
_HIDDEN_TAIL = 0.01  # of the rows on each side, if nothing may be said about single rows
_END_GAP = 6.0  # pixels between the bins and the end bars
_LABEL_ROOM = LABEL_HEIGHT + 16.0  # pixels above the bars, for the numbers of groups


@dataclass(frozen=True, slots=True)
class BinnedRows:
    """Weight and number of rows by bin and group, in the units of the data."""

    edges: Floats  # (bins + 1,)
    weight: Floats  # (bins + 2, k + 1): first and last are below and above; last is no group
    rows: Array  # (bins + 2, k + 1)
    n_missing: int


@dataclass(frozen=True, slots=True)
class HistogramSize:
    """The drawing in pixels, and whether its axes have numbers."""

    width: float
    height: float
    has_axes: bool = True


FULL_SIZE = HistogramSize(820.0, 380.0)


def histogram(data: ReportInput, size: HistogramSize = FULL_SIZE) -> tuple[str, str]:
    """Return the drawing as SVG, and the note below it."""
    values = as_doubles(data.original).ravel()
    finite = np.sort(values[np.isfinite(values)])
    if not len(finite):
        return "", "The feature has no numbers to draw."
    binned = bin_rows(values, data.labels, data.weight, data.k, _range(data, finite))
    is_hiding = False
    if data.fitted.no_rows:
        few = (binned.rows > 0) & (binned.rows < MIN_TOLD_ROWS)
        is_hiding = bool(few.any())
        few[[0, -1]] = True  # what lies beyond the range is not shown
        binned = replace(binned, weight=np.where(few, 0.0, binned.weight))
    return _draw(data, binned, size), _note(data, binned, is_hiding)


def bin_rows(
    values: Floats, labels: Ints, weight: Floats, k: int, ends: tuple[float, float]
) -> BinnedRows:
    """Count rows in bins of a round width between two ends, and those beyond them."""
    known = np.isfinite(values)
    is_whole = bool((values[known] == np.rint(values[known])).all())
    edges = _round_edges(*ends, is_whole)
    bins = np.searchsorted(edges, values[known], side="right")
    bins[values[known] == edges[-1]] = len(edges) - 1  # the last bin holds its upper end
    group = np.where(labels < 0, k, labels)[known]
    cell, shape = bins * (k + 1) + group, (len(edges) + 1, k + 1)
    size = shape[0] * shape[1]
    return BinnedRows(
        edges,
        np.bincount(cell, weight[known], size).astype(np.float64).reshape(shape),
        np.bincount(cell, minlength=size).reshape(shape),
        int(np.count_nonzero(~known)),
    )


def _range(data: ReportInput, ordered: Floats) -> tuple[float, float]:
    """The ends of the bins: of all values, or of the central ones."""
    if data.fitted.no_rows:
        tail = max(MIN_TOLD_ROWS, math.ceil(_HIDDEN_TAIL * len(ordered)))
        tail = min(tail, (len(ordered) - 1) // 2)
        return float(ordered[tail]), float(ordered[len(ordered) - 1 - tail])
    frame = axis_frame(ordered)
    if not frame.is_squeezed:
        return float(ordered[0]), float(ordered[-1])
    return max(frame.low, float(ordered[0])), min(frame.high, float(ordered[-1]))


def _round_edges(low: float, high: float, is_whole: bool) -> Floats:
    """Edges of bins of a round width; each integer has its own bin if they are few."""
    span = high / _N_BINS - low / _N_BINS
    tiny = max(abs(low), abs(high)) * _MIN_RELATIVE_WIDTH
    if not tiny < span < np.inf:
        margin = abs(low) * 0.1 or 1.0
        return np.array([low - margin, low + margin]) if span < np.inf else np.array([low, high])
    power = 10.0 ** np.floor(np.log10(span))
    step = next(t * power for t in _STEPS if t * power >= span * (1 - 1e-9))
    if is_whole and step <= 1:
        return np.arange(np.floor(low), np.ceil(high) + 2) - 0.5
    if is_whole:
        step = np.ceil(step)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return np.asarray(np.arange(first, max(last, first + 1) + 1) * step)


def _draw(data: ReportInput, binned: BinnedRows, size: HistogramSize) -> str:
    edges, heights = binned.edges, binned.weight.sum(axis=1)
    left, right = (62.0, size.width - 14) if size.has_axes else (10.0, size.width - 10)
    bottom = size.height - (52.0 if size.has_axes else 28.0)
    y = AxisScale(0.0, float(heights.max()) or 1.0, bottom, 12 + _LABEL_ROOM)
    axis = ""
    if size.has_axes:
        left, axis = svg.y_axis(y, 48.0, right)
    bar = (right - left) / (len(edges) + 3)
    inner = left + bar + _END_GAP, right - bar - _END_GAP
    if not heights[0] and not heights[-1]:
        inner = left, right
    x = AxisScale(float(edges[0]), float(edges[-1]), *inner)
    spans = [(left, left + bar), *((x(a), x(b)) for a, b in pairwise(edges.tolist()))]
    spans.append((right - bar, right))
    ticks = [t for t in x.ticks(8 if size.has_axes else 4) if edges[0] <= t <= edges[-1]]
    numbers = _dates(x, ticks, bottom) if data.day_features else svg.x_numbers(x, ticks, bottom)
    parts = [axis, numbers, svg.line(left, bottom, right, bottom, "zero")]
    parts += [_bars(data, binned, j, spans, y) for j in range(data.k + 1)]
    parts.append(_numbers(data, x, spans, (left, 4.0, right, 8 + _LABEL_ROOM)))
    if size.has_axes:
        parts += _end_texts(binned, spans, bottom)
        name = safe_line(data.names[0], 60)
        middle = {"x": (left + right) / 2, "y": size.height - 10.0}
        parts.append(text(name, **middle, text_anchor="middle", class_="faint"))
        unit = "rows" if data.optional_weight is None else "weight"
        parts.append(text(unit, left, 14.0, text_anchor="end", class_="faint"))
    label = f"Histogram of {safe_line(data.names[0])}, stacked by group"
    return svg.drawing(size.width, size.height, label, *parts)


def _dates(x: AxisScale, ticks: list[float], bottom: float) -> str:
    return "".join(
        text(day_text(tick), x(tick), bottom + 16, text_anchor="middle") for tick in ticks
    )


def _end_texts(binned: BinnedRows, spans: list[tuple[float, float]], bottom: float) -> list[str]:
    """The words below the end bars, where there are any."""
    ends = ((0, "start", "below", spans[0][0]), (-1, "end", "above", spans[-1][1]))
    return [
        text(word, x, bottom + 32, text_anchor=anchor, class_="faint")
        for i, anchor, word, x in ends
        if binned.weight[i].any()
    ]


def _bars(
    data: ReportInput,
    binned: BinnedRows,
    j: int,
    spans: list[tuple[float, float]],
    y: AxisScale,
) -> str:
    """The bars of one group, on top of those of the groups before it; the last is no group."""
    below = binned.weight[:, :j].sum(axis=1)
    parts = []
    for i in np.flatnonzero(binned.weight[:, j]).tolist():
        start, end = spans[i]
        gap = min(1.0, (end - start) / 6)
        low, high = y(float(below[i])), y(float(below[i] + binned.weight[i, j]))
        box = {"x": start + gap / 2, "width": end - start - gap, "y": high, "height": low - high}
        title = element("title", escape(_bar_title(data, binned, i, j)))
        parts.append(element("rect", title, **box, class_="fill"))
    if j == data.k:
        return element("g", "".join(parts), class_="no-group") if parts else ""
    return element("g", "".join(parts), class_=f"c{j % svg.N_COLORS}", data_group=j)


def _bar_title(data: ReportInput, binned: BinnedRows, i: int, j: int) -> str:
    edges, shown = binned.edges.tolist(), day_text if data.day_features else value_text
    if i == 0:
        where = f"below {shown(edges[0])}"
    elif i == len(edges):
        where = f"above {shown(edges[-1])}"
    elif edges[i] - edges[i - 1] == 1 and edges[i] % 1 == 0.5:  # the bin of one integer
        where = shown(edges[i] - 0.5)
    else:
        where = f"{shown(edges[i - 1])} to {shown(edges[i])}"
    group = f"group {j}" if j < data.k else "no group"
    return f"{where}: {count_text(int(binned.rows[i, j]), 'row')} of {group}"


def _numbers(
    data: ReportInput,
    x: AxisScale,
    spans: list[tuple[float, float]],
    box: tuple[float, float, float, float],
) -> str:
    """The numbers of the groups above the bars at their medians, the largest group first."""
    order = np.argsort(-data.cluster_weight, kind="stable")
    values = as_doubles(data.original).ravel()
    anchors, numbers = [], []
    for j in order.tolist():
        rows = data.cluster_rows[j]
        if len(rows) < data.min_rows:
            continue
        known = values[rows][np.isfinite(values[rows])]
        middle = float(np.median(known)) if len(known) else np.nan
        if np.isnan(middle) or (data.fitted.no_rows and not x.low <= middle <= x.high):
            continue
        at = sum(spans[0 if middle < x.low else -1]) / 2  # of an end bar
        at = x(middle) if x.low <= middle <= x.high else at
        anchors.append((at, box[3] - LABEL_HEIGHT / 2 - 4))
        numbers.append(j)
    return number_labels(numbers, anchors, box)


def _note(data: ReportInput, binned: BinnedRows, is_hiding: bool) -> str:
    below, above = (int(binned.rows[i].sum()) for i in (0, -1))
    if data.fitted.no_rows:
        tails = "the ends of the range are left out" if below + above else ""
        below = above = 0
    else:
        tails = ""
    shown = day_text if data.day_features else value_text
    first, last = (shown(float(binned.edges[i])) for i in (0, -1))
    return join_sentences(
        [
            bool(below) and f"the first bar counts {count_text(below, 'row')} below {first}",
            bool(above) and f"the last bar counts {count_text(above, 'row')} above {last}",
            tails,
            is_hiding and f"bars of fewer than {MIN_TOLD_ROWS} rows are not drawn",
            bool(binned.n_missing)
            and f"{count_text(binned.n_missing, 'row')} without a value "
            f"{'is' if binned.n_missing == 1 else 'are'} not drawn",
        ]
    )
