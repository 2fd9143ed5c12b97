"""Pieces of SVG: elements, scales and axes. All text is escaped here; colours come from CSS."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

from partita.plots import style
from partita.report.safe_text import ticks

COLORS = len(style.PALETTE)
_LETTER = 7.6  # pixels of a digit of a chart

# The marks of clusters, about 0, as wide as a circle of radius 1 looks; drawn alike by the map.
_MARKS = {
    "o": "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0Z",
    "s": "M-.88-.88H.88V.88H-.88Z",
    "^": "M0-1.1 1.05.8H-1.05Z",
    "D": "M0-1.2 1.2 0 0 1.2-1.2 0Z",
    "v": "M0 1.1 1.05-.8H-1.05Z",
    "P": "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "X": "M-1-.5-.5-1 0-.5.5-1 1-.5.5 0 1 .5.5 1 0 .5-.5 1-1 .5-.5 0Z",
}
MARKS = tuple(_MARKS[mark] for mark in style.MARKS)


def element(name: str, content: str = "", /, **attributes: Any) -> str:
    """An element; underscores in the names of attributes stand for dashes, `class_` for class."""
    parts = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{parts}>{content}</{name}>"


def text(words: Any, x: float, y: float, **attributes: Any) -> str:
    """Words at a point."""
    return element("text", escape(str(words)), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line of a kind that CSS knows."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def drawing(width: float, height: float, label: str, *parts: str) -> str:
    """A whole picture, which says what it shows to those who cannot see it."""
    return element(
        "svg",
        "".join(parts),
        viewBox=f"0 0 {_text(width)} {_text(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
        class_="chart",
    )


def chip(j: int) -> str:
    """The mark of a cluster in its colour."""
    shape = element("path", d=MARKS[j // COLORS % len(MARKS)], fill="currentColor")
    return element(
        "svg", shape, viewBox="-1.3 -1.3 2.6 2.6", class_=f"chip c{j % COLORS}", aria_hidden="true"
    )


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"
    return str(value)


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places: along a line, or along one of logarithms."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def over(cls, low: float, high: float, start: float, end: float, *, log: bool = False) -> Scale:
        """A scale that has room for both, also where they are the same."""
        if not high > low:
            air = abs(low) * 0.1 or 1.0
            low, high, log = low - air, high + air, False
        return cls(low, high, start, end, log)

    def __call__(self, value: float) -> float:
        """Where a value lies."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(max(value, 1e-300))
        # halves first: the difference of two doubles may be beyond them
        share = (at / 2 - low / 2) / (high / 2 - low / 2)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Round values, at most about so many."""
        if self.log:
            low, high = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            if high > low:
                every = max(1, math.ceil((high - low + 1) / most))
                return [10.0**power for power in range(low, high + 1, every)]
        span = self.high / most - self.low / most
        unit = 10.0 ** math.floor(math.log10(span)) if 0 < span < math.inf else 1.0
        step = next((m * unit for m in (1, 2, 2.5, 5, 10) if m * unit >= span), unit)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        if last - first > 4 * most:
            return [self.low, self.high]
        return [t * step for t in range(first, last + 1)]


def room_for(texts: Iterable[str]) -> float:
    """How wide these texts are at most, in any of the fonts of the page."""
    return _LETTER * max(map(len, texts), default=0)


def axes(x: Scale, y: Scale, *, xs: list[float], ys: list[float] | None = None) -> str:
    """Lines across for values of y, their numbers at the left, and those of x below."""
    parts = []
    ys = y.ticks(4) if ys is None else ys
    for value, words in zip(ys, ticks(ys), strict=True):
        at = y(value)
        parts.append(line(x.start, at, x.end, at, "grid"))
        parts.append(text(words, x.start - 6, at + 4, text_anchor="end"))
    for value, words in zip(xs, ticks(xs), strict=True):
        parts.append(text(words, x(value), y.start + 16, text_anchor="middle"))
    return "".join(parts)
