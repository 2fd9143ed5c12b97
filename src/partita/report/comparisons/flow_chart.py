"""The flow of rows from the groups of one model to those of another, as SVG.

The picture is as wide as its place, and its texts keep their size: names are HTML in percentages
of the width, and only the ribbons between them are stretched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from partita._common.array_types import Floats
from partita.report.svg import element

_NAME_PERCENT = 29  # of the width, for the names at each side
_MARGIN_PERCENT = 1.5  # between names and ribbons
_BAR_WIDTH = 2.2  # width of the bar of a group, of 100 across the ribbons
_MIN_SLOT_PIXELS = 52.0  # pixels: three lines of text
_GAP_PIXELS = 6.0  # pixels between two groups
_PIXELS_PER_GROUP = 70.0
_MIN_PIXELS, _MAX_PIXELS = 200.0, 420.0  # of all rows together
_MIN_RIBBON_PIXELS = 0.8  # pixels
_THIN_SHARE = 0.005  # of all rows: a ribbon below it is grey


@dataclass(frozen=True, slots=True)
class FlowNode:
    """A group at one side of the picture."""

    name: str  # HTML
    note: str  # its size, in words
    color: str  # a class of the style sheet


@dataclass(frozen=True, slots=True)
class FlowRibbon:
    """Rows that two groups have in common."""

    ends: tuple[int, int]  # positions of the nodes at the left and the right, from the top
    weight: float
    tooltip: str  # empty: counted in the groups, but not drawn


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """Positions of the groups of one side, in pixels from the top."""

    slot: Floats  # (m,) where the place of the name begins
    slot_height: Floats  # (m,)
    top: Floats  # (m,) of the bar
    height: Floats  # (m,)

    @classmethod
    def of(cls, weight: Floats, scale: float) -> _Column:
        height = scale * weight
        slot_height = np.maximum(height, _MIN_SLOT_PIXELS)
        slot = np.cumsum(slot_height + _GAP_PIXELS) - slot_height - _GAP_PIXELS
        return cls(slot, slot_height, slot + (slot_height - height) / 2, height)

    @property
    def bottom(self) -> float:
        return float(self.slot[-1] + self.slot_height[-1]) if len(self.slot) else 0.0

    def lowered(self, by: float) -> _Column:
        return _Column(self.slot + by, self.slot_height, self.top + by, self.height)


def flow_chart(
    sides: tuple[Sequence[FlowNode], Sequence[FlowNode]], ribbons: Sequence[FlowRibbon], label: str
) -> str:
    """Draw ribbons between the nodes of two sides, as wide as their weights."""
    weights = [np.zeros(len(nodes)) for nodes in sides]
    for ribbon in ribbons:
        for side, node in enumerate(ribbon.ends):
            weights[side][node] += ribbon.weight
    total = float(weights[0].sum())
    pixels = np.clip(_PIXELS_PER_GROUP * max(map(len, sides)), _MIN_PIXELS, _MAX_PIXELS)
    scale = float(pixels) / total if total > 0 else 0.0
    columns = [_Column.of(weight, scale) for weight in weights]
    height = max(column.bottom for column in columns)
    columns = [column.lowered((height - column.bottom) / 2) for column in columns]
    left, right = columns
    middle = element(
        "svg",
        _ribbons(ribbons, sides[0], columns, scale)
        + _bars(sides[0], left, 0.0)
        + _bars(sides[1], right, 100 - _BAR_WIDTH),
        x=f"{_NAME_PERCENT + _MARGIN_PERCENT}%",
        y=0,
        width=f"{100 - 2 * (_NAME_PERCENT + _MARGIN_PERCENT)}%",
        height=height,
        viewBox=f"0 0 100 {height:g}",
        preserveAspectRatio="none",
    )
    names = _names(sides[0], left, "0", "at-left")
    names += _names(sides[1], right, f"{100 - _NAME_PERCENT}%", "at-right")
    box = {"width": "100%", "height": height, "role": "img", "aria_label": label}
    return element("svg", middle + names, **box, class_="flow")


def _bars(nodes: Sequence[FlowNode], column: _Column, x: float) -> str:
    return "".join(
        element(
            "rect",
            x=x,
            y=top,
            width=_BAR_WIDTH,
            height=max(height, 1.0),
            class_=f"node {node.color}",
        )
        for node, top, height in zip(
            nodes, column.top.tolist(), column.height.tolist(), strict=True
        )
    )


def _names(nodes: Sequence[FlowNode], column: _Column, x: str, class_: str) -> str:
    return "".join(
        element(
            "foreignObject",
            f'<div class="flow-name {class_}"><b>{node.name}</b> '
            f"<span>{escape(node.note)}</span></div>",
            x=x,
            y=top,
            width=f"{_NAME_PERCENT}%",
            height=height,
        )
        for node, top, height in zip(
            nodes, column.slot.tolist(), column.slot_height.tolist(), strict=True
        )
    )


def _ribbons(
    ribbons: Sequence[FlowRibbon],
    nodes: Sequence[FlowNode],
    columns: Sequence[_Column],
    scale: float,
) -> str:
    """Draw the thin ones last, so that they are on top."""
    places = _places(ribbons, columns, scale)
    thin_weight = _THIN_SHARE * sum(ribbon.weight for ribbon in ribbons)
    shapes = []
    for i in sorted(range(len(ribbons)), key=lambda i: -ribbons[i].weight):
        ribbon = ribbons[i]
        if ribbon.tooltip:
            color = "grey" if ribbon.weight < thin_weight else nodes[ribbon.ends[0]].color
            title = element("title", escape(ribbon.tooltip))
            outline = _outline(places[i].tolist(), scale * ribbon.weight)
            shapes.append(element("path", title, d=outline, class_=f"ribbon {color}"))
    return "".join(shapes)


def _places(ribbons: Sequence[FlowRibbon], columns: Sequence[_Column], scale: float) -> Floats:
    """The top (n, 2) of each ribbon at both bars: in the order of the bars at the other end."""
    places = np.zeros((len(ribbons), 2))
    for side, column in enumerate(columns):
        free = column.top.copy()  # where the next ribbon of a bar begins
        order = sorted(range(len(ribbons)), key=lambda i: ribbons[i].ends[:: 1 - 2 * side])
        for i in order:
            node = ribbons[i].ends[side]
            places[i, side] = free[node]
            free[node] += scale * ribbons[i].weight
    return places


def _outline(tops: list[float], height: float) -> str:
    height = max(height, _MIN_RIBBON_PIXELS)
    left, right, middle = _BAR_WIDTH, 100 - _BAR_WIDTH, 50
    (a, b), (c, d) = tops, [top + height for top in tops]
    over = f"M{left} {a:.1f}C{middle} {a:.1f} {middle} {b:.1f} {right} {b:.1f}"
    return f"{over}V{d:.1f}C{middle} {d:.1f} {middle} {c:.1f} {left} {c:.1f}Z"
