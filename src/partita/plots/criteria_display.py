"""`CriteriaDisplay`: the criteria for the number of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.parameters import check_names, must_be
from partita.chart_layout.captions import join_sentences
from partita.choosing.criterion_kinds import CRITERION_KINDS
from partita.plots import style
from partita.plots.display import Display, FigureAxes
from partita.plots.style import matplotlib

_ARROWS = {"high": " ↑", "low": " ↓"}


@dataclass(frozen=True, slots=True)
class CriterionPanel:
    """One criterion over the numbers of clusters."""

    name: str
    values: Floats  # (m,), NaN where it is not defined
    errors: Floats  # (m,) standard errors; 0 where there is none
    pick: int | None
    better: str
    votes: bool

    @property
    def title(self) -> str:
        """The name, an arrow towards better values, and the number of clusters it picks."""
        choice = "no choice" if self.pick is None else str(self.pick)
        known = CRITERION_KINDS.get(self.name)
        name = known.title if known else style.label_text(self.name.replace("_", " "), 22)
        return f"{name}{_ARROWS.get(self.better, '')}: {choice}"

    @property
    def defined(self) -> Ints:
        """Positions of the finite values."""
        return np.flatnonzero(np.isfinite(self.values))


@dataclass(eq=False, repr=False, kw_only=True)
class CriteriaDisplay(Display):
    """One small panel per criterion with its pick, and the recommended K across all panels.

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
    panels: tuple[CriterionPanel, ...]
    best_k: int | None

    @classmethod
    def from_sweep(cls, sweep: Any, criteria: Sequence[str] | None = None) -> CriteriaDisplay:
        """Show the criteria of a sweep over the number of clusters: all, or those given."""
        if not hasattr(sweep, "criteria"):
            raise must_be("sweep", "a Sweep", sweep, "Use choose_k(X).")
        known = dict(sweep.criteria)
        names = check_names("criteria", tuple(known) if criteria is None else criteria, known)
        legend = "↑ high is better, ↓ low is better; a ring marks the pick; grey titles do not vote"
        if sweep.best_k is not None:
            legend += f"; the dashed line is the recommended K = {int(sweep.best_k)}"
        voters = getattr(sweep, "voters", names)
        return cls(
            title=str(sweep.verdict),
            caption=join_sentences([legend, not sweep.complete and "the sweep was interrupted"]),
            ks=tuple(int(k) for k in sweep.ks),
            panels=tuple(_panel(known[name], len(sweep.ks), name in voters) for name in names),
            best_k=None if sweep.best_k is None else int(sweep.best_k),
        )

    @property
    def _n_panels(self) -> int:
        return len(self.panels)

    def _figure_height(self) -> float:
        rows, columns = self._grid_shape()
        return 0.9 + (1.55 if columns > 1 else 2.4) * rows

    def _draw(self, target: FigureAxes) -> None:
        for ax, panel in zip(target.axes, self.panels, strict=True):
            self._draw_panel(ax, panel)
        for ax in target.axes[-self._grid_shape()[1] :]:
            ax.set_xlabel("K")
        target.write_texts(self.title, self.caption)

    def _draw_panel(self, ax: Any, panel: CriterionPanel) -> None:
        color = style.TEXT_COLOR if panel.votes else style.MUTED_COLOR
        ax.set_title(panel.title, size=style.SMALL_FONT_POINTS, loc="left", color=color)
        if self.best_k is not None:
            ax.axvline(self.best_k, color=style.CHOICE_COLOR, lw=1.0, ls="--", zorder=0)
        ticker = matplotlib(".ticker")
        if len(panel.defined):
            self._draw_curve(ax, panel)
            ax.yaxis.set_major_locator(ticker.MaxNLocator(4))
        else:
            text = {"ha": "center", "color": style.MUTED_COLOR, "transform": ax.transAxes}
            ax.text(0.5, 0.5, "not defined", **text)
            ax.set_yticks([])
        shown = self.ks if self.best_k is None else (*self.ks, self.best_k)
        low, high = min(shown), max(shown)
        margin = 0.05 * (high - low) or 0.5
        ax.set_xlim(low - margin, high + margin)
        ax.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True, min_n_ticks=1))

    def _draw_curve(self, ax: Any, panel: CriterionPanel) -> None:
        defined, color = panel.defined, style.CURVE_COLOR
        ks = np.array(self.ks)[defined]
        values, errors = panel.values[defined], panel.errors[defined]
        ax.plot(ks, values, color=color, lw=1.2, marker="o", ms=2.5)
        if errors.any():
            ax.errorbar(ks, values, errors, fmt="none", ecolor=color, elinewidth=0.8, capsize=1.5)
        picked = ks == panel.pick  # none, if it does not vote
        if picked.any():
            ring = {"mfc": "none", "mec": style.TEXT_COLOR, "mew": 1.1}
            ax.plot(ks[picked], values[picked], "o", ms=8, **ring)


def _panel(criterion: Any, m: int, votes: bool) -> CriterionPanel:
    values = np.asarray(criterion.values, dtype=np.float64)
    if values.shape != (m,):
        raise ValueError(
            f"The values of criterion {criterion.name} must have shape ({m},), one for each K, "
            f"got {values.shape}."
        )
    errors = np.zeros(m) if criterion.spread is None else np.asarray(criterion.spread, np.float64)
    errors = np.where(np.isfinite(errors), errors, 0.0)
    pick = None if criterion.pick is None else int(criterion.pick)
    return CriterionPanel(str(criterion.name), values, errors, pick, criterion.better, votes)
