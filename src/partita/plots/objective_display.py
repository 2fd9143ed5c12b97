"""`ObjectiveDisplay`: how the objective fell, and why the fit stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita.chart_layout import model_rows
from partita.estimators.fitted_models import check_fitted, count_clusters, unwrap_pipeline
from partita.plots import style
from partita.plots.display import Display, Page, matplotlib

_OWN, _GUEST = "partita: own figure", "partita: guest"  # how lines of other fits are known
_MARKED = 40  # iterations up to which each has a mark
_ORDERS = 30.0  # how often the largest is the least before the scale is logarithmic


@dataclass(eq=False, repr=False, kw_only=True)
class ObjectiveDisplay(Display):
    """J after every assignment and, half a step later, after every update of the centers.

    The last point is `inertia_`: one more assignment, to the centers that the fit returns. Several
    fits go into one picture by `plot(ax=other.ax_)`.

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

    name: str
    steps: Floats  # (m,): t at the assignment of iteration t, t + ½ at its update
    cost: Floats  # (m,)
    stopped_by: str

    @classmethod
    def from_estimator(cls, model: Any, *, name: str | None = None) -> ObjectiveDisplay:
        """The trace of a fitted model of this package; `name` is for a legend."""
        model, _, _ = unwrap_pipeline(model)
        check_fitted(model)
        trace = getattr(model, "trace_", None)
        if not trace:
            raise ValueError(
                f"{type(model).__name__} keeps no trace of its iterations; fit a model of partita, "
                "which has trace_"
            )
        last = len(trace) + 1
        steps = [(s.iteration, s.iteration + 0.5) for s in trace]
        cost = [(s.cost, s.cost_after) for s in trace]
        final = getattr(model, "inertia_", cost[-1][1])
        turns = f"{len(trace)} iteration{'s' * (len(trace) > 1)}"
        return cls(
            title=f"{model_rows.title_of(model)} after {turns}",
            caption=style.sentences([f"it stopped because {_because(model.stopped_by_)}"]),
            name=f"{type(model).__name__}, K = {count_clusters(model)}" if name is None else name,
            steps=np.array([*np.ravel(steps), last], dtype=np.float64),
            cost=np.array([*np.ravel(cost), final], dtype=np.float64),
            stopped_by=str(model.stopped_by_),
        )

    def _shape(self) -> tuple[int, int]:
        return 1, 1

    def _inches(self) -> float:
        return 3.4

    def _draw(self, page: Page) -> None:
        ax = page.axes[0]
        before = [line for line in ax.lines if line.get_gid() in (_OWN, _GUEST)]
        number, many = len(before), len(self.steps) > 2 * _MARKED
        color, shape = style.color(number), style.MARKS[number % len(style.MARKS)]
        label = style.wrapped(f"{style.plain(self.name)}: {self.stopped_by}", 2.6, style.SMALL)
        ax.plot(
            self.steps,
            self.cost,
            color=color,
            lw=1.2,
            gid=_OWN if page.own else _GUEST,
            label=label,
            marker=None if many else shape,
            ms=4,
            markevery=2,
            ls=("-", "--", "-.", ":")[number % 4],
        )
        if not many:
            ax.plot(
                self.steps[1::2],
                self.cost[1::2],
                ls="none",
                marker=shape,
                ms=3,
                mfc="white",
                mec=color,
            )
        ax.set_xlabel("iteration")
        ax.set_ylabel("objective J")
        ax.xaxis.set_major_locator(matplotlib(".ticker").MaxNLocator(integer=True, min_n_ticks=1))
        self._scale(ax)
        if page.own:
            page.head(self.title)
            page.foot(self.caption)
        if number:
            ax.legend(frameon=False)
        if any(line.get_gid() == _OWN for line in before):  # the head spoke of one fit only
            page.figure.suptitle("Objective by iteration", x=0.01, ha="left")
            page.figure.supxlabel("")

    def _scale(self, ax: Any) -> None:
        """A logarithmic scale, where J falls by orders and is never 0."""
        drawn = [line.get_ydata() for line in ax.lines]
        values = np.concatenate([np.asarray(part, dtype=np.float64) for part in drawn])
        values = values[np.isfinite(values)]
        if len(values) and values.min() > 0 and values.max() > _ORDERS * values.min():
            ax.set_yscale("log")


def _because(reason: str) -> str:
    return reason[0].lower() + reason[1:] if reason[:2].istitle() else reason
