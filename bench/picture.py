"""The ratios of all rows on a logarithmic axis, and the growth curves beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from growth import NAMES, Curve
from race import Row

_GROUPS = (("d ≤ 3", 0, 3), ("4 ≤ d ≤ 64", 4, 64), ("d ≥ 100", 65, 10**9))
_COLORS = ("#1b6ca8", "#2e8b57", "#b5651d")  # by group
_LINES = dict(zip(NAMES, ("#1b6ca8", "#c0392b", "#7f8c8d"), strict=True))
_STYLES = ("-", "--", ":")
_LABELS = {"n": "rows n", "k": "centers K", "d": "features d"}


def draw(rows: Sequence[Row], curves: Sequence[Curve], path: Path) -> None:
    """One figure; a side without results stays empty."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    judged = [row for row in rows if row.ratio is not None]
    height = max(9.0, 2.0 + 0.24 * len(judged))
    figure = plt.figure(figsize=(14, height), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.15, 1))
    _ratios(left.subplots(), judged)
    for axes, vary in zip(right.subplots(3, 1), ("n", "k", "d"), strict=True):
        _growth(axes, [curve for curve in curves if curve.sweep.vary == vary], vary)
    right.suptitle("One iteration, seconds (both axes logarithmic)")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _ratios(axes: Any, rows: Sequence[Row]) -> None:
    """One line per row, groups of dimension apart, the first group on top."""
    place, ticks = 0.0, []
    for (title, least, most), color in zip(_GROUPS, _COLORS, strict=True):
        group = sorted(
            (row for row in rows if least <= row.d <= most),
            key=lambda row: (row.d, row.task.name, row.task.k),
        )
        for index, row in enumerate(group):
            assert row.ratio is not None
            reached = row.ratio >= row.target
            label = f"partita, {title}" if index == 0 else None
            axes.plot([1, row.ratio], [place, place], color=color, alpha=0.3, linewidth=1.5)
            axes.plot([row.target] * 2, [place - 0.38, place + 0.38], color="black", linewidth=1.5)
            fill = color if reached else "white"
            axes.plot(row.ratio, place, "o", color=color, mfc=fill, markersize=6, label=label)
            ticks.append((place, f"{row.task.name}  d={row.d}  K={row.task.k}"))
            place += 1
        place += 1 if group else 0
    axes.axvline(1, color="black", linewidth=0.8)
    axes.plot([], [], "|", color="black", markersize=9, mew=1.5, label="target")
    axes.plot([], [], "o", color="gray", mfc="white", label="below target")
    axes.set_xscale("log")
    axes.set_xticks(_marks(rows), [f"{mark:g}×" for mark in _marks(rows)])
    axes.minorticks_off()
    axes.set_yticks([at for at, _ in ticks], [text for _, text in ticks], fontsize=8)
    axes.set_ylim(place - 0.5, -1)
    axes.grid(axis="x", alpha=0.3)
    axes.set_title("Fits to convergence: the fastest peer's time over partita's")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.09), ncols=3, fontsize=8)


def _marks(rows: Sequence[Row]) -> list[float]:
    ends = [1.0, *(row.target for row in rows), *(row.ratio or 1.0 for row in rows)]
    marks = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
    return [mark for mark in marks if min(ends) / 2 <= mark <= max(ends) * 2]


def _growth(axes: Any, curves: Sequence[Curve], vary: str) -> None:
    """Colours are contestants, line styles the fixed numbers."""
    for curve, style in zip(curves, _STYLES, strict=False):
        for name, points in curve.seconds.items():
            slope = curve.exponent(name)
            power = "" if slope is None else f": {_LABELS[vary][-1]}^{slope:.2f}"
            axes.plot(
                list(points),
                list(points.values()),
                style,
                marker="o",
                markersize=3.5,
                color=_LINES[name],
                label=f"{name}, {curve.sweep}{power}",
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(_LABELS[vary])
    axes.grid(alpha=0.3)
    if curves:
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
