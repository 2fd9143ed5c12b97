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
from partita.estimators.fitted_models import (
    capabilities_of,
    check_fitted,
    count_clusters,
    unwrap_pipeline,
)
from partita.plots import style
from partita.plots.display import Display, FigureAxes
from partita.plots.style import matplotlib

MAX_MARKED_ITERATIONS = 40  # beyond it, the curve has no markers
_OWN_LINE, _GUEST_LINE = "partita: own figure", "partita: guest"  # gids of the lines of other fits
_LINE_STYLES = ("-", "--", "-.", ":")


@dataclass(eq=False, repr=False, kw_only=True)
class ObjectiveDisplay(Display):
    """J after t updates of the centers, at t; and half a step later, after the update that follows.

    At 0 the rows are assigned to the start, and the last point is `inertia_`: J at the centers that
    the fit returns. Iterations are counted as in `IterationsDisplay`. If they see samples only, as
    mini-batches do, J of all rows is a point of its own. To show several fits in one picture, use
    `plot(ax=other.ax_)`.

    Examples
    --------
    >>> from partita import KMeans
    >>> from partita.plots import ObjectiveDisplay
    >>> model = KMeans(2, init=[[0], [1]]).fit([[0], [1], [5], [6]])
    >>> display = ObjectiveDisplay.from_estimator(model)
    >>> display.steps.tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    >>> display.cost.tolist()
    [41.0, 14.0, 6.0, 1.0, 1.0, 1.0, 1.0]
    """

    name: str  # for the legend
    steps: Floats  # (m,): t at the assignment to the centers after t updates, t + ½ at the next one
    cost: Floats  # (m,)
    stopped_by: str
    last_is_apart: bool = False  # the last cost is of all rows, the others are of samples

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
        steps = [t for i in range(len(trace)) for t in (i, i + 0.5)]
        cost = [value for step in trace for value in (step.cost, step.cost_after)]
        sampled = capabilities_of(model).sampled_trace
        if not sampled or hasattr(model, "labels_"):  # else the inertia is an estimate, too
            steps.append(len(trace))
            cost.append(getattr(model, "inertia_", cost[-1]))
        apart = sampled and len(cost) % 2 == 1
        of_what = "J of samples" if sampled else "J"
        remarks = [
            len(steps) <= 2 * MAX_MARKED_ITERATIONS
            and f"{of_what} after assignments (filled) and after updates of the centers (hollow)",
            apart and "the diamond is J of all rows",
            stop_remark(str(model.stopped_by_)),
        ]
        return cls(
            title=f"{model_rows.title_text(model)} after {plural(len(trace), 'iteration')}",
            caption=join_sentences(remarks),
            name=f"{type(model).__name__}, K = {count_clusters(model)}" if name is None else name,
            steps=np.array(steps, dtype=np.float64),
            cost=np.array(cost, dtype=np.float64),
            stopped_by=str(model.stopped_by_),
            last_is_apart=apart,
        )

    @property
    def curve(self) -> slice:
        """The points that a line connects."""
        return slice(len(self.steps) - self.last_is_apart)

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
        steps, cost = self.steps[self.curve], self.cost[self.curve]
        ax.plot(steps, cost, gid=gid, label=label, **line, **marks)
        if self.has_markers:
            hollow = {"ls": "none", "marker": marker, "ms": 3, "mfc": "white", "mec": color}
            ax.plot(steps[1::2], cost[1::2], **hollow)
        if self.last_is_apart:
            ax.plot(self.steps[-1:], self.cost[-1:], color=color, ls="none", marker="D", ms=6)
            text = {"xytext": (4, 7), "textcoords": "offset points", "ha": "right"}
            ax.annotate("all rows", (self.steps[-1], self.cost[-1]), color=color, **text)


def stop_remark(reason: str) -> str:
    """Return why a fit stopped, as a remark for captions."""
    inside = reason[0].lower() + reason[1:] if reason[:2].istitle() else reason
    return f"stopped because {inside}"
