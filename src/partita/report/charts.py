"""The charts of a report, each a function from records to SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.plots.criteria_display import Panel
from partita.report.safe_text import number, percent, ticks
from partita.report.silhouette_sample import Silhouettes
from partita.report.svg import COLORS, Scale, axes, drawing, element, line, room_for, text

_ORDERS = 30.0  # how often the largest is the least before the scale is logarithmic
_ROUNDING = 1e-7  # differences of J that are none
_DOTS = 40  # iterations up to which each has a dot
_STEPS = 120  # points of the outline of a silhouette
_PER_PICTURE = 40  # clusters whose silhouettes fit on a page
LEAVES = 60  # clusters up to which a merge tree can be read


def shares(share: Sequence[float]) -> str:
    """One bar, divided as the clusters divide the rows."""
    parts, at = [], 0.0
    for j, part in enumerate(share):
        wide = 300 * part
        parts.append(
            element(
                "rect",
                element("title", f"cluster {j}: {percent(part)}"),
                x=at,
                y=0,
                width=max(0.0, wide - (1.0 if wide > 3 else 0.0)),
                height=10,
                class_=f"c{j % COLORS}",
                fill="currentColor",
            )
        )
        at += wide
    return element(
        "svg",
        "".join(parts),
        viewBox="0 0 300 10",
        class_="shares",
        role="img",
        preserveAspectRatio="none",
        aria_label="shares of the clusters",
    )


def bar(share: float, most: float, j: int) -> str:
    """How large a cluster is, against the largest."""
    wide = 60 * share / most if most > 0 else 0.0
    inner = element("rect", x=0, y=0, width=wide, height=8, rx=1, fill="currentColor")
    return element(
        "svg", inner, viewBox="0 0 60 8", class_=f"bar c{j % COLORS}", aria_hidden="true"
    )


def objective(steps: Floats, cost: Floats) -> str:
    """J by iteration: filled dots after an assignment, rings after an update of the centers."""
    fine = np.isfinite(cost)
    steps, cost = steps[fine], cost[fine]
    if not len(cost):
        return ""
    low, high = float(cost.min()), float(cost.max())
    if high - low <= _ROUNDING * abs(high):
        low = high  # what rounding did is not worth a picture
    log = low > 0 and high > _ORDERS * low
    y = Scale.over(low, high, 210, 16, log=log)
    left = max(76.0, 12 + room_for(ticks(y.ticks(4))))
    x = Scale.over(float(steps[0]), float(steps[-1]), left, 448)
    places = [(x(float(s)), y(float(c))) for s, c in zip(steps, cost, strict=True)]
    parts = [axes(x, y, xs=[t for t in x.ticks(6) if t == int(t)])]
    parts.append(text("iteration", (left + 448) / 2, 246, text_anchor="middle", class_="faint"))
    parts.append(_path(places))
    if len(places) <= 2 * _DOTS:
        for at, (a, b) in enumerate(places):
            parts.append(element("circle", cx=a, cy=b, r=3, class_="ring" if at % 2 else "dot"))
    label = f"Objective by iteration, from {number(high)} to {number(float(cost[-1]))}"
    return drawing(460, 252, label, *parts)


def criterion(panel: Panel, ks: Sequence[int], best_k: int | None) -> str:
    """One criterion over the numbers of clusters; the ring is its vote."""
    values = np.asarray(panel.values, dtype=np.float64)
    fine = np.flatnonzero(np.isfinite(values)).tolist()
    label = f"{panel.name.replace('_', ' ')} by number of clusters"
    if not fine:
        return drawing(280, 150, label, text("not defined", 140, 75, text_anchor="middle"))
    error = np.zeros(len(values)) if panel.spread is None else np.nan_to_num(panel.spread)
    low, high = float((values - error)[fine].min()), float((values + error)[fine].max())
    y = Scale.over(low, high, 122, 12)
    left = max(60.0, 10 + room_for(ticks(y.ticks(4))))
    x = Scale.over(float(min(ks)), float(max(ks)), left, 268)
    parts = [axes(x, y, xs=_whole(ks), ys=y.ticks(4))]
    if best_k is not None and min(ks) <= best_k <= max(ks):
        parts.append(line(x(best_k), 8, x(best_k), 122, "best"))
    places = [(x(float(ks[at])), y(float(values[at]))) for at in fine]
    parts.append(_path(places))
    for at, (a, b) in zip(fine, places, strict=True):
        if error[at] > 0:
            parts.append(line(a, y(values[at] - error[at]), a, y(values[at] + error[at]), "error"))
        if len(ks) <= _DOTS:
            parts.append(element("circle", cx=a, cy=b, r=2.2, class_="dot"))
        if ks[at] == panel.pick:
            parts.append(element("circle", cx=a, cy=b, r=6, class_="pick"))
    return drawing(280, 144, label, *parts)


def _whole(ks: Sequence[int]) -> list[float]:
    step = max(1, math.ceil((max(ks) - min(ks)) / 7))
    return [float(k) for k in range(min(ks), max(ks) + 1, step)]


def silhouette(found: Silhouettes, numbers: Sequence[int]) -> str:
    """The silhouettes of these clusters, sorted, as shapes; left of 0 rows lie wrong."""
    count = np.bincount(found.labels, minlength=len(found.means))
    seen = [j for j in numbers if count[j]]
    parts = [seen[i : i + _PER_PICTURE] for i in range(0, len(seen), _PER_PICTURE)]
    return "".join(_silhouettes(found, part, count, len(seen)) for part in parts)


def _silhouettes(found: Silhouettes, numbers: Sequence[int], count: Ints, of: int) -> str:
    """Some of the clusters: one picture is not higher than a page."""
    order, end = np.argsort(found.labels, kind="stable"), np.cumsum(count)
    room = float(np.clip(300 - 6 * of, 60, 300))
    low = min(0.0, float(found.values.min()))
    x = Scale.over(math.floor(low * 10) / 10, 1.0, 70, 450)
    parts, body, top = [], [], 8.0
    for j in numbers:
        high = max(15.0, room * count[j] / len(found.values))
        values = np.sort(found.values[order[end[j] - count[j] : end[j]]])[::-1]
        words = f"cluster {j}: mean {number(round(float(found.means[j]), 3))}"
        body.append(_outline(values, j, x, (top, high), words))
        body.append(text(f"{j}", 30, top + high / 2 + 4, text_anchor="end", class_="strong"))
        mean = f"{found.means[j]:.2f}".replace("-", "−")
        body.append(text(mean, 62, top + high / 2 + 4, text_anchor="end", class_="faint"))
        top += high + 5
    for value in x.ticks(6):
        parts.append(line(x(value), 4, x(value), top, "grid"))
        parts.append(text(number(round(value, 2)), x(value), top + 16, text_anchor="middle"))
    parts.append(line(x(0.0), 4, x(0.0), top, "zero"))
    over = line(x(found.mean), 4, x(found.mean), top, "best")
    some = "" if len(numbers) == of else f" of clusters {numbers[0]} to {numbers[-1]}"
    label = f"Silhouettes{some or ' by cluster'}; the mean of all is {found.mean:.3f}"
    return drawing(460, top + 24, label, *parts, *body, over)


def _outline(values: Floats, j: int, x: Scale, at: tuple[float, float], words: str) -> str:
    """The sorted values from top to bottom, by at most so many steps, and what to say of them."""
    top, high = at
    few = min(len(values), _STEPS)
    some = np.linspace(0, len(values) - 1, few).round().astype(int)
    edges = top + high * np.arange(few + 1) / few
    places = []
    for value, upper, lower in zip(values[some], edges, edges[1:], strict=False):
        places += [(x(float(value)), upper), (x(float(value)), lower)]
    zero = x(0.0)
    outline = [(zero, top), *places, (zero, top + high)]
    return _path(outline, f"fill c{j % COLORS}", closed=True, words=words)


def tree(linkage: Floats, weight: Floats) -> str:
    """The clusters, fused pair by pair; the length is what a merge adds to J."""
    from scipy.cluster.hierarchy import dendrogram

    k = len(linkage) + 1
    found = dendrogram(linkage, no_plot=True)
    row = 22.0
    prices = linkage[:, 2]
    paid = prices[prices > 0]
    log = bool(len(paid)) and float(paid.max()) > _ORDERS * float(paid.min())
    low = float(paid.min()) / 3 if log else 0.0
    sizes = [number(w) for w in weight.tolist()]
    second = max(76.0, 40 + room_for(sizes))  # where the weights end
    x = Scale.over(low, float(prices.max()), second + 8, 440, log=log)
    bottom = 12 + row * k
    parts = []
    prices_at = x.ticks(5)
    for value, words in zip(prices_at, ticks(prices_at), strict=True):
        parts.append(line(x(value), 6, x(value), bottom, "grid"))
        parts.append(text(words, x(value), bottom + 16, text_anchor="middle"))
    for across, price in zip(found["icoord"], found["dcoord"], strict=True):
        places = [(x(max(p, low)), 12 + row * a / 10) for a, p in zip(across, price, strict=True)]
        parts.append(_path(places))
    for at, j in enumerate(found["leaves"]):
        y = 12 + row * (at + 0.5)
        parts.append(text(str(j), 24, y + 4, text_anchor="end", class_="strong"))
        parts.append(text(sizes[j], second, y + 4, text_anchor="end", class_="faint"))
    middle = (x.start + x.end) / 2
    parts.append(
        text("price of the merge", middle, bottom + 34, text_anchor="middle", class_="faint")
    )
    return drawing(460, bottom + 40, "Merge tree of the clusters", *parts)


def _path(
    places: list[tuple[float, float]], kind: str = "line", *, closed: bool = False, words: str = ""
) -> str:
    """A line through these places; pointing at it shows the words."""
    d = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places) + "Z" * closed
    return element("path", element("title", escape(words)) if words else "", d=d, class_=kind)
