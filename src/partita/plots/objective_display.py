"""`ObjectiveDisplay`: J by iteration, and why the fit stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.parameters import TEXT, check, optional
from partita._common.text import plural
from partita.chart_layout import model_rows
from partita.chart_layout.axis_range import axis_range
from partita.chart_layout.captions import join_sentences
from partita.chart_layout.palette import MARKERS, cluster_color
from partita.estimators.fitted_models import check_fitted, count_clusters, unwrap_pipeline
from partita.plots import style
from partita.plots.display import Display, FigureAxes
from partita.plots.style import matplotlib

MAX_MARKED_ITERATIONS = 40  # beyond it, the curve has no markers
_OWN_LINE, _GUEST_LINE = "partita: own figure", "partita: guest"  # gids of the lines of other fits
_LINE_STYLES = ("-", "--", "-.", ":")


@dataclass(eq=False, repr=False, kw_only=True)
class ObjectiveDisplay(Display):
    """J after every assignment and, half a step later, after every update of the centers.

    The last point is `inertia_`: one more assignment, to the centers that the fit returns. To show
    several fits in one picture, use `plot(ax=other.ax_)`.

    Examples
    --------
    >>> from partita import KMeans
    >>> from partita.plots import ObjectiveDisplay
    >>> model = KMeans(2, init=[[0], [1]]).fit([[0], [1], [5], [6]])
    >>> display = ObjectiveDisplay.from_estimator(model)
    >>> display.steps.tolist()
    [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    >>> display.cost.tolist()
    [41.0, 14.0, 6.0, 1.0, 1.0, 1.0, 1.0]
    """

    name: str  # for the legend
    steps: Floats  # (m,): t at the assignment of iteration t, t + ½ at its update
    cost: Floats  # (m,)
    stopped_by: str

    @classmethod
    def from_estimator(cls, model: Any, *, name: str | None = None) -> ObjectiveDisplay:
        """Read the trace of a fitted model of this package; `name` is for the legend."""
        check("name", name, optional(TEXT))
        model, _, _ = unwrap_pipeline(model)
        check_fitted(model)
        trace = getattr(model, "trace_", None)
        if not trace:
            raise ValueError(
                f"{type(model).__name__} keeps no trace of its iterations. Fit a model of partita, "
                "which has `trace_`."
            )
        steps = [(step.iteration, step.iteration + 0.5) for step in trace]
        cost = [(step.cost, step.cost_after) for step in trace]
        final = getattr(model, "inertia_", cost[-1][1])
        return cls(
            title=f"{model_rows.title_text(model)} after {plural(len(trace), 'iteration')}",
            caption=join_sentences([f"stopped because {_inside_sentence(model.stopped_by_)}"]),
            name=f"{type(model).__name__}, K = {count_clusters(model)}" if name is None else name,
            steps=np.array([*np.ravel(steps), len(trace) + 1], dtype=np.float64),
            cost=np.array([*np.ravel(cost), final], dtype=np.float64),
            stopped_by=str(model.stopped_by_),
        )

    @property
    def has_markers(self) -> bool:
        """True if there are few enough iterations to mark each of them."""
        return len(self.steps) <= 2 * MAX_MARKED_ITERATIONS

    def _figure_height(self) -> float:
        return 3.4

    def _draw(self, target: FigureAxes) -> None:
        ax = target.axes[0]
        others = [line for line in ax.lines if line.get_gid() in (_OWN_LINE, _GUEST_LINE)]
        self._draw_curve(ax, len(others), _OWN_LINE if target.owns_figure else _GUEST_LINE)
        ax.set(xlabel="iteration", ylabel="objective J")
        ax.xaxis.set_major_locator(matplotlib(".ticker").MaxNLocator(integer=True, min_n_ticks=1))
        drawn = [np.asarray(line.get_ydata(), dtype=np.float64) for line in ax.lines]
        values = axis_range(np.concatenate(drawn))
        if values is not None and values.log:
            ax.set_yscale("log")
        if target.owns_figure:
            target.write_texts(self.title, self.caption)
        if others:
            ax.legend(frameon=False)
        if any(line.get_gid() == _OWN_LINE for line in others):  # whose title is of one fit
            target.figure.suptitle("Objective by iteration", x=0.01, ha="left")
            target.figure.supxlabel("")

    def _draw_curve(self, ax: Any, number: int, gid: str) -> None:
        color, marker = cluster_color(number), MARKERS[number % len(MARKERS)]
        name = f"{style.label_text(self.name)}: {self.stopped_by}"
        label = style.wrap_text(name, 2.6, style.SMALL_FONT_POINTS)
        line = {"color": color, "lw": 1.2, "ls": _LINE_STYLES[number % len(_LINE_STYLES)]}
        marks = {"marker": marker if self.has_markers else None, "ms": 4, "markevery": 2}
        ax.plot(self.steps, self.cost, gid=gid, label=label, **line, **marks)
        if self.has_markers:
            hollow = {"ls": "none", "marker": marker, "ms": 3, "mfc": "white", "mec": color}
            ax.plot(self.steps[1::2], self.cost[1::2], **hollow)


def _inside_sentence(reason: str) -> str:
    return reason[0].lower() + reason[1:] if reason[:2].istitle() else reason
