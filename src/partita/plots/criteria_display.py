"""`CriteriaDisplay`: what every criterion says about the number of clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.text import listed
from partita.choosing.criterion_kinds import CRITERION_KINDS
from partita.plots import style
from partita.plots.display import Display, Page, matplotlib

_COLUMNS = 3
_SIGN = {"high": " ↑", "low": " ↓"}


@dataclass(frozen=True, slots=True)
class Panel:
    """One criterion over the numbers of clusters."""

    name: str
    values: Floats  # (m,), NaN where it is not defined
    spread: Floats | None  # (m,) standard errors
    pick: int | None
    better: str
    votes: bool = True

    @property
    def title(self) -> str:
        """Its name, what is better, and the number it chooses."""
        choice = "no choice" if self.pick is None else str(self.pick)
        known = CRITERION_KINDS.get(self.name)
        name = known.title if known else style.plain(self.name.replace("_", " "), 22)
        return f"{name}{_SIGN.get(self.better, '')}: {choice}"


@dataclass(eq=False, repr=False, kw_only=True)
class CriteriaDisplay(Display):
    """One small panel per criterion, its vote marked, and the recommended K through all of them.

    `criteria=("inertia",)` gives the elbow alone.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from partita import choose_k
    >>> from partita.plots import CriteriaDisplay
    >>> X = make_blobs(300, centers=4, cluster_std=0.5, random_state=3)[0]
    >>> sweep = choose_k(X, range(2, 7), criteria=("inertia", "silhouette"), random_state=0)
    >>> display = CriteriaDisplay.from_sweep(sweep)
    >>> [(panel.name, panel.pick) for panel in display.panels]
    [('inertia', 4), ('silhouette', 4)]
    """

    ks: tuple[int, ...]
    panels: tuple[Panel, ...]
    best_k: int | None

    @classmethod
    def from_sweep(cls, sweep: Any, criteria: Sequence[str] | None = None) -> CriteriaDisplay:
        """The criteria of a sweep over the number of clusters: all, or those that are named."""
        known = dict(sweep.criteria)
        wanted = known if criteria is None else criteria
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        wrong = [name for name in names if name not in known]
        if wrong or not names:
            raise ValueError(
                f"criteria={criteria!r} was given; the sweep has {listed(known) or 'none'}"
            )
        notes = [] if getattr(sweep, "complete", True) else ["the sweep was ended before its time"]
        signs = "↑ high is better, ↓ low is better; a ring is the choice; grey titles have no vote"
        voters = getattr(sweep, "voters", names)
        return cls(
            title=str(sweep.verdict),
            caption=style.sentences([signs, *notes]),
            ks=tuple(int(k) for k in sweep.ks),
            panels=tuple(_panel(known[name], len(sweep.ks), name in voters) for name in names),
            best_k=None if sweep.best_k is None else int(sweep.best_k),
        )

    def _shape(self) -> tuple[int, int]:
        columns = min(_COLUMNS, len(self.panels))
        return math.ceil(len(self.panels) / columns), columns

    @property
    def _panels(self) -> int:
        return len(self.panels)

    def _inches(self) -> float:
        rows, columns = self._shape()
        return 0.9 + (1.55 if columns > 1 else 2.4) * rows

    def _draw(self, page: Page) -> None:
        for at, (ax, panel) in enumerate(zip(page.axes, self.panels, strict=True)):
            self._panel(ax, panel)
            if at >= len(self.panels) - self._shape()[1]:
                ax.set_xlabel("K")
        page.head(style.plain(self.title))
        page.foot(self.caption)

    def _panel(self, ax: Any, panel: Panel) -> None:
        ks, fine = np.array(self.ks), np.isfinite(panel.values)
        color = style.INK if panel.votes else style.FAINT
        ax.set_title(panel.title, size=style.SMALL, loc="left", color=color)
        if self.best_k is not None:
            ax.axvline(self.best_k, color=style.color(5), lw=1.0, ls="--", zorder=0)
        ax.plot(ks[fine], panel.values[fine], color=style.color(0), lw=1.2, marker="o", ms=2.5)
        if panel.spread is not None:
            error = np.where(np.isfinite(panel.spread), panel.spread, 0.0)
            ax.errorbar(
                ks[fine],
                panel.values[fine],
                error[fine],
                fmt="none",
                ecolor=style.color(0),
                elinewidth=0.8,
                capsize=1.5,
            )
        at = np.flatnonzero((ks == panel.pick) & fine)  # none, if it has no vote
        if len(at):
            ax.plot(ks[at], panel.values[at], "o", ms=8, mfc="none", mec=style.INK, mew=1.1)
        if not fine.any():
            ax.text(0.5, 0.5, "not defined", transform=ax.transAxes, ha="center", color=style.FAINT)
            ax.set_yticks([])
        every = (*self.ks, self.ks[0] if self.best_k is None else self.best_k)
        low, high = min(every), max(every)
        air = 0.05 * (high - low) or 0.5
        ax.set_xlim(low - air, high + air)
        ticker = matplotlib(".ticker")
        ax.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True, min_n_ticks=1))
        if fine.any():
            ax.yaxis.set_major_locator(ticker.MaxNLocator(4))


def _panel(criterion: Any, m: int, votes: bool) -> Panel:
    values = np.asarray(criterion.values, dtype=np.float64)
    if values.shape != (m,):
        raise ValueError(f"{criterion.name} has values of shape {values.shape}; ({m},) is expected")
    spread = None if criterion.spread is None else np.asarray(criterion.spread, dtype=np.float64)
    pick = None if criterion.pick is None else int(criterion.pick)
    return Panel(str(criterion.name), values, spread, pick, str(criterion.better), votes)
