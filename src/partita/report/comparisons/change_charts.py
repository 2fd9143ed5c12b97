"""Small pictures of changes: the share of a group, and the mean of a feature, then and now."""

from __future__ import annotations

import math

from partita.report import svg
from partita.report.svg import element, line, path

MAX_DEVIATIONS = 2.0  # standard deviations at the end of the scale of a mean
_MEAN_WIDTH, _MEAN_HEIGHT = 132.0, 18.0  # pixels
_TIP_PIXELS = 7.0  # length of the tip of an arrow


def share_pair(fit: float, now: float, largest: float, j: int) -> str:
    """Return two bars for the shares of group j: in the fit (grey), and now (its colour).

    The picture is as wide as its place; `largest` is the share that fills it.
    """
    widths = [100 * share / largest if largest > 0 else 0.0 for share in (fit, now)]
    then = element("rect", x=0, y=1, width=widths[0], height=7, class_="then")
    bar = element("rect", x=0, y=10, width=widths[1], height=9, fill="currentColor")
    frame = {"viewBox": "0 0 100 20", "preserveAspectRatio": "none"}
    class_ = f"bars c{j % svg.N_COLORS}"
    return element("svg", then + bar, **frame, class_=class_, aria_hidden="true")


def mean_arrow(deviations: float) -> str:
    """Return an arrow from the mean of the fit, in the middle, to that of the new rows."""
    middle, y = _MEAN_WIDTH / 2, _MEAN_HEIGHT / 2
    share = max(-1.0, min(1.0, deviations / MAX_DEVIATIONS)) if math.isfinite(deviations) else 0.0
    end = middle + share * (middle - 2)
    tip = math.copysign(min(_TIP_PIXELS, abs(end - middle)), share)
    parts = [
        line(2, y, _MEAN_WIDTH - 2, y, "grid"),
        line(middle, 2, middle, _MEAN_HEIGHT - 2, "zero"),
        element(
            "rect",
            x=min(middle, end - tip),
            y=y - 2,
            width=abs(end - tip - middle),
            height=4,
            class_="shaft",
        ),
        path([(end - tip, y - 5), (end, y), (end - tip, y + 5)], "shaft", end="Z"),
    ]
    view = f"0 0 {_MEAN_WIDTH:g} {_MEAN_HEIGHT:g}"
    size = {"viewBox": view, "width": _MEAN_WIDTH, "height": _MEAN_HEIGHT}
    return element("svg", "".join(parts), **size, class_="mean-arrow", aria_hidden="true")
