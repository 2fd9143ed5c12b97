"""SVG elements, scales and axes. Text is escaped here; colours come from CSS."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Any

from partita._common.number_text import tick_texts
from partita.chart_layout.palette import MARKERS, PALETTE

N_COLORS = len(PALETTE)
_DIGIT_PIXELS = 7.6  # width of a digit in a chart

# Outlines of the markers around 0, as large as a circle of radius 1 looks; the map draws them too.
_OUTLINES = {
    "o": "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0Z",
    "s": "M-.88-.88H.88V.88H-.88Z",
    "^": "M0-1.1 1.05.8H-1.05Z",
    "D": "M0-1.2 1.2 0 0 1.2-1.2 0Z",
    "v": "M0 1.1 1.05-.8H-1.05Z",
    "P": "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "X": "M-1-.5-.5-1 0-.5.5-1 1-.5.5 0 1 .5.5 1 0 .5-.5 1-1 .5-.5 0Z",
}
MARKER_OUTLINES = tuple(_OUTLINES[marker] for marker in MARKERS)


def element(name: str, content: str = "", /, **attributes: Any) -> str:
    """Return an element; in attribute names, `_` stands for a hyphen and `class_` for class."""
    parts = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_attribute_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{parts}>{content}</{name}>"


def text(words: Any, x: float, y: float, **attributes: Any) -> str:
    """Return text at a point."""
    return element("text", escape(str(words)), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Return a straight line with a class of the style sheet."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(
    points: Iterable[tuple[float, float]], class_: str = "line", tooltip: str = "", end: str = ""
) -> str:
    """Return a line through points; `end="Z"` closes it. Pointing at it shows the tooltip."""
    d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + end
    title = element("title", escape(tooltip)) if tooltip else ""
    return element("path", title, d=d, class_=class_)


def drawing(width: float, height: float, label: str, *parts: str) -> str:
    """Return a whole picture; screen readers read the label."""
    view = f"0 0 {_attribute_text(width)} {_attribute_text(height)}"
    box = {"viewBox": view, "width": width, "height": height}
    return element("svg", "".join(parts), **box, role="img", aria_label=label, class_="chart")


def chip(j: int) -> str:
    """Return the marker of cluster j in its colour."""
    outline = MARKER_OUTLINES[j // N_COLORS % len(MARKER_OUTLINES)]
    shape = element("path", d=outline, fill="currentColor")
    class_ = f"chip c{j % N_COLORS}"
    return element("svg", shape, viewBox="-1.3 -1.3 2.6 2.6", class_=class_, aria_hidden="true")


def _attribute_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"
    return str(value)


class AxisScale:
    """The map from values to pixels along an axis, linear or logarithmic.

    It holds both values, with a margin if they are equal.
    """

    def __init__(
        self, low: float, high: float, start: float, end: float, *, log: bool = False
    ) -> None:
        margin = 0.0 if high > low else abs(low) * 0.1 or 1.0
        self.low, self.high, self.log = low - margin, high + margin, log and margin == 0
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, 1e-300))
        # halves first: the difference of two doubles may overflow
        share = (value / 2 - low / 2) / (high / 2 - low / 2)
        return self.start + share * (self.end - self.start)

    def ticks(self, max_count: int = 5) -> list[float]:
        """Return round values, about `max_count` at most."""
        if self.log:
            low, high = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            if high > low:
                every = max(1, math.ceil((high - low + 1) / max_count))
                return [10.0**power for power in range(low, high + 1, every)]
        span = self.high / max_count - self.low / max_count
        power = 10.0 ** math.floor(math.log10(span)) if 0 < span < math.inf else 1.0
        step = next((m * power for m in (1, 2, 2.5, 5, 10) if m * power >= span), power)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        if last - first > 4 * max_count:
            return [self.low, self.high]
        return [t * step for t in range(first, last + 1)]


def text_width(texts: Iterable[str]) -> float:
    """Return the width of the longest text in pixels, in the widest font of the page."""
    return _DIGIT_PIXELS * max(map(len, texts), default=0)


def y_axis(y: AxisScale, min_left: float, right: float) -> tuple[float, str]:
    """Return the left end of the drawing area, and a grid line and a number for each tick of y."""
    values = y.ticks(4)
    labels = tick_texts(values)
    left = max(min_left, 12 + text_width(labels))
    return left, "".join(
        line(left, y(value), right, y(value), "grid")
        + text(label, left - 6, y(value) + 4, text_anchor="end")
        for value, label in zip(values, labels, strict=True)
    )


def x_numbers(x: AxisScale, values: list[float], top: float) -> str:
    """Return the numbers below a horizontal axis."""
    return "".join(
        text(label, x(value), top + 16, text_anchor="middle")
        for value, label in zip(values, tick_texts(values), strict=True)
    )


def x_grid(x: AxisScale, values: list[float], top: float, bottom: float) -> str:
    """Return vertical grid lines, with their numbers below."""
    lines = "".join(line(x(value), top, x(value), bottom, "grid") for value in values)
    return lines + x_numbers(x, values, bottom)
