"""A picture of all ratios on a logarithmic axis, and of the growth curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.kmeans_peers import OURS
from tasks.fit_race import Row
from tasks.growth import NAMES, Curve

_GROUPS = (("d ≤ 3", 0, 3), ("4 ≤ d ≤ 64", 4, 64), ("d ≥ 100", 65, 10**9))
_COLORS = ("#1b6ca8", "#2e8b57", "#b5651d")  # by group
_LINES = dict(zip(NAMES, ("#1b6ca8", "#c0392b", "#7f8c8d"), strict=True))
_STYLES = ("-", "--", ":")
_LABELS = {"n": "rows n", "k": "centers K", "d": "features d"}


def draw(rows: Sequence[Row], curves: Sequence[Curve], path: Path) -> None:
    """One figure: the ratios, the growth curves, or both side by side."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    judged = [row for row in rows if row.ratio is not None]
    height = max(9.0, 1.5 + 0.22 * len(judged))
    both = bool(judged and curves)
    figure = plt.figure(figsize=(15 if both else 8, height), layout="constrained")
    left = right = figure
    if both:
        left, right = figure.subfigures(1, 2, width_ratios=(1, 1.1))
    if judged:
        _ratios(left.subplots(), judged)
    if curves:
        right.suptitle("Growth: milliseconds per iteration, and fitted exponents")
        for axes, vary in zip(right.subplots(3, 1), _LABELS, strict=True):
            _growth(axes, [curve for curve in curves if curve.sweep.vary == vary], vary)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _ratios(axes: Any, rows: Sequence[Row]) -> None:
    """One line per row, groups of dimension apart, the first group on top."""
    place, ticks = 0.0, []
    for (_, least, most), color in zip(_GROUPS, _COLORS, strict=True):
        group = [row for row in rows if least <= row.d <= most]
        for row in sorted(group, key=lambda row: (row.d, row.task.name, row.task.k)):
            _ratio(axes, row, place, color)
            ticks.append((place, f"{row.task.name}  d={row.d}  K={row.task.k}"))
            place += 1
        place += 0.8 if group else 0
    _key(axes)
    marks = _marks(rows)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlim(marks[0], marks[-1])
    axes.set_xticks(marks, [f"{mark:g}×" for mark in marks])
    axes.minorticks_off()
    axes.set_yticks([at for at, _ in ticks], [text for _, text in ticks], fontsize=8)
    axes.set_ylim(place - 0.3, -0.8)
    axes.grid(axis="x", alpha=0.3)
    axes.set_title("Fits to convergence: a peer's time over partita's")


def _ratio(axes: Any, row: Row, place: float, color: str) -> None:
    """A disc at the fastest peer's ratio, a ring if that is below the target; others are dots."""
    assert row.ratio is not None
    ours = row.cells[OURS].best.seconds
    peers = [cell.best.seconds / ours for n, cell in row.cells.items() if n != OURS and cell.done]
    fill = color if row.ratio >= row.target else "white"
    axes.plot(peers, [place] * len(peers), ".", color="#b0b0b0", markersize=4)
    axes.plot([1, row.ratio], [place, place], color=color, alpha=0.35, linewidth=1.5)
    axes.plot(row.target, place, "|", color="black", markersize=9, mew=1.6)
    axes.plot(row.ratio, place, "o", color=color, mfc=fill, markersize=6)


def _key(axes: Any) -> None:
    for (title, *_), color in zip(_GROUPS, _COLORS, strict=True):
        axes.plot([], [], "o", color=color, label=f"fastest peer, {title}")
    axes.plot([], [], "o", color="gray", mfc="white", label="the same, below target")
    axes.plot([], [], "|", color="black", markersize=9, mew=1.6, label="target")
    axes.plot([], [], ".", color="#b0b0b0", label="other peers")
    axes.figure.legend(loc="outside lower center", ncols=3, fontsize=8)


def _marks(rows: Sequence[Row]) -> list[float]:
    """Ticks from just below the least to just above the most that is drawn as a disc or a mark."""
    ends = [1.0, *(row.target for row in rows), *(row.ratio or 1.0 for row in rows)]
    marks = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    first = max(i for i, mark in enumerate(marks) if mark < min(ends) or i == 0)
    last = min(i for i, mark in enumerate(marks) if mark > max(ends) or i == len(marks) - 1)
    return list(marks[first : last + 1])


def _growth(axes: Any, curves: Sequence[Curve], vary: str) -> None:
    """Colours are peers, line styles the fixed numbers."""
    for curve, style in zip(curves, _STYLES, strict=False):
        for name, points in curve.seconds.items():
            slope = curve.exponent(name)
            power = "" if slope is None else f": ${_LABELS[vary][-1]}^{{{slope:.2f}}}$"
            axes.plot(
                list(points),
                [1e3 * seconds for seconds in points.values()],
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
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
