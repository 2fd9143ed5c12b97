"""A picture: seconds of an iteration over workers, by cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from scaling.simulation import PARTS, PassTime

_COLORS = ("#9467bd", "#1b6ca8", "#e0a030", "#c0392b", "#2e8b57", "#7f8c8d")
_NAMES = {
    "centers": "centers sent",
    "compute": "rows",
    "scheduler": "scheduler, last wave",
    "stragglers": "stragglers",
    "reduce": "reduce",
    "driver": "driver",
}


def draw(panels: Mapping[str, Mapping[int, PassTime]], path: Path) -> None:
    """One panel for each problem; bars are shares of the time, the line is the time."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "partita"  # the same file from the same numbers
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.6 * len(panels), 3.8), layout="constrained"
    )
    for axis, (title, times) in zip(axes, panels.items(), strict=True):
        _panel(axis, list(times), list(times.values()))
        axis.set_title(title, fontsize=10)
    axes[0].set_ylabel("share of the seconds of an iteration")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=90)
    plt.close(figure)


def _panel(axis, workers: Sequence[int], times: Sequence[PassTime]) -> None:  # type: ignore[no-untyped-def]
    places = range(len(workers))
    low = [0.0] * len(workers)
    for part, color in zip(PARTS, _COLORS, strict=True):
        share = [max(0.0, getattr(time, part)) / time.total for time in times]
        axis.bar(places, share, bottom=low, color=color, width=0.75, label=_NAMES[part])
        low = [a + b for a, b in zip(low, share, strict=True)]
    for place, time in zip(places, times, strict=True):
        axis.text(place, 1.02, _short(time.total), ha="center", fontsize=8)
    axis.set_xticks(places, [f"{w:,}" for w in workers], fontsize=8)
    axis.set_xlabel("workers; the seconds of an iteration are above")
    axis.set_ylim(0, 1.1)
    axis.set_yticks([0, 0.5, 1], ["0", "½", "1"])


def _short(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.1f}"
