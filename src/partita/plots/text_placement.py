"""Where texts go, so that none covers another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita.plots import style
from partita.plots.display import Page

_INCH = 72.0  # points


def place(
    page: Page, xy: Floats, texts: Sequence[str], size: float = style.SMALL, badge: bool = True
) -> list[Any]:
    """Write texts at points of the first axes so that none covers another.

    A text that has no room at its point moves away and is tied to it by a line; one that finds no
    room near is left out.
    """
    page.settle()
    axis, scale = page.axes[0], page.figure.dpi / _INCH
    inside, made = axis.bbox, []
    taken: list[Sequence[float]] = []
    for point, text, at in zip(xy, texts, axis.transData.transform(xy), strict=True):
        half = scale * (0.34 * size * len(text) + 2.5), scale * (0.7 * size + 2.5)
        for shift in _rings(2 * half[1]):
            box = _box(at + shift, half)
            if not (inside.x0 <= box[0] and box[2] <= inside.x1):
                continue
            if not (inside.y0 <= box[1] and box[3] <= inside.y1):
                continue
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                made.append(_write(axis, point, text, shift / scale, size, badge))
                break
    return made


def _rings(step: float) -> Iterator[Floats]:
    yield np.zeros(2)
    for ring in range(1, 7):
        for turn in range(12):
            angle = np.pi * (turn / 6 + 0.5)
            yield ring * step * 0.8 * np.array([np.cos(angle), np.sin(angle)])


def _box(middle: Floats, half: tuple[float, float]) -> tuple[float, float, float, float]:
    x, y = float(middle[0]), float(middle[1])
    return x - half[0], y - half[1], x + half[0], y + half[1]


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _write(axis: Any, point: Floats, text: str, shift: Floats, size: float, badge: bool) -> Any:
    box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": style.INK, "lw": 0.6, "alpha": 0.9}
    tie = {"arrowstyle": "-", "lw": 0.6, "color": style.INK, "shrinkA": 0, "shrinkB": 0}
    return axis.annotate(
        text,
        xy=tuple(point),
        xytext=tuple(shift),
        textcoords="offset points",
        ha="center",
        va="center",
        size=size,
        color=style.INK,
        bbox=box if badge else None,
        arrowprops=tie if shift.any() else None,
        zorder=6,
    )
