"""`IterationsDisplay`: a fit step by step, from its start to its end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.text import format_number
from partita.chart_layout import model_rows
from partita.chart_layout.projection import Box, axis_names, box_around, even, plane_of
from partita.estimators import validation
from partita.estimators.fitted_models import unwrap_pipeline, without_feature_names
from partita.plots import style
from partita.plots.cluster_display import Scene, scene_of, spread
from partita.plots.display import Display, Page, matplotlib
from partita.plots.replay import replay

_COLUMNS = 3
_POINTS = 3000  # that are drawn in every panel


@dataclass(frozen=True, slots=True)
class Frame:
    """One moment of a run."""

    iteration: int
    cost: float
    scene: Scene


@dataclass(eq=False, repr=False, kw_only=True)
class IterationsDisplay(Display):
    """The start, some iterations and the result side by side, with the ways of the centers.

    The fit is run again: from the same start it takes the same way. `animate()` shows the moments
    one after the other.

    Examples
    --------
    >>> from partita import KMeans
    >>> from partita.plots import IterationsDisplay
    >>> X = [[0], [1], [5], [6]]
    >>> display = IterationsDisplay.from_estimator(KMeans(2, init=[[0], [1]]).fit(X), X)
    >>> [(frame.iteration, frame.cost) for frame in display.frames]
    [(0, 41.0), (1, 6.0), (2, 1.0), (3, 1.0)]
    """

    frames: tuple[Frame, ...]
    box: Box
    equal: bool
    names: tuple[str, str]

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        sample_weight: Any = None,
        *,
        features: Any = None,
        most: int = 6,
        random_state: Any = 0,
    ) -> IterationsDisplay:
        """Up to `most` moments of the run that led to a fitted model; X as it was fitted."""
        most = validation.whole("most", most, 2)
        model, X, names = unwrap_pipeline(model, X)
        run = replay(model, X, sample_weight, most)
        rows = model_rows.read(
            model, X, sample_weight, names=names, most=_POINTS, random_state=random_state
        )
        plane, d = plane_of(rows, features), rows.values.shape[1]
        points = spread(plane.project(rows.values), d)
        centers = [plane.project(_scaled(step.centers, rows, model)) for step in run.steps]
        box, equal = even(box_around(points, *centers), d)
        frames, note = [], ""
        for step, at in zip(run.steps, centers, strict=True):
            labels = np.asarray(without_feature_names(step.model).predict(rows.values))
            scene, note = scene_of(step.model, plane, points, labels, box, at)
            frames.append(Frame(step.iteration, step.cost, scene))
        other = "" if run.same else "another run from the same start: the fit cannot be repeated"
        ways = "lines: the ways of the centers, by the moments shown"
        return cls(
            title=f"{model_rows.title_of(model)}, step by step",
            caption=style.sentences([ways, other, note, rows.note]),
            frames=tuple(frames),
            box=box,
            equal=equal,
            names=axis_names(plane),
        )

    def _shape(self) -> tuple[int, int]:
        columns = min(_COLUMNS, len(self.frames))
        return math.ceil(len(self.frames) / columns), columns

    @property
    def _panels(self) -> int:
        return len(self.frames)

    def _inches(self) -> float:
        rows, columns = self._shape()
        return 0.8 + rows * (1.5 if columns > 1 else 3.4)

    def _draw(self, page: Page) -> None:
        for at, ax in enumerate(page.axes):
            self._frame(ax, at, scale=0.35)
        page.head(self.title)
        page.foot(self.caption)

    def _frame(self, ax: Any, at: int, scale: float = 1.0) -> None:
        frame = self.frames[at]
        frame.scene.draw(ax, self.box, scale)
        if self.equal:
            ax.set_aspect("equal")
        ways = np.stack([part.scene.centers for part in self.frames[: at + 1]], axis=1)
        for way in ways:  # (moments, 2) of one center
            ax.plot(*way.T, color=style.INK, lw=0.8, marker=".", ms=2, zorder=3)
        ax.scatter(*frame.scene.centers.T, s=22, c=style.INK, marker="+", linewidths=1.2, zorder=4)
        ax.set_title(
            f"{_moment(frame.iteration)}: J = {format_number(frame.cost)}", size=style.SMALL
        )
        ax.set_xticks([])
        ax.set_yticks([])

    def animate(self, seconds: float = 0.8) -> Any:
        """A matplotlib animation in a new figure, so long for every moment."""
        with matplotlib().rc_context(style.RC):
            figure = matplotlib(".figure").Figure(figsize=(style.WIDTH, 4.2), layout="constrained")
            matplotlib(".backends.backend_agg").FigureCanvasAgg(figure)
            ax = figure.add_subplot()

        def draw(at: int) -> list[Any]:
            with matplotlib().rc_context(style.RC):
                ax.clear()
                self._frame(ax, at)
            return [ax]

        return matplotlib(".animation").FuncAnimation(
            figure,
            draw,
            frames=len(self.frames),
            init_func=list,
            interval=1000 * seconds,
            repeat=True,
        )

    def save_animation(self, path: str | Path, seconds: float = 0.8, dpi: float = 100) -> Path:
        """Write the animation as a GIF."""
        writer = matplotlib(".animation").PillowWriter(fps=1 / seconds)
        self.animate(seconds).save(path, writer=writer, dpi=dpi)
        return Path(path)


def _moment(iteration: int) -> str:
    return "start" if iteration == 0 else f"iteration {iteration}"


def _scaled(centers: Floats, rows: model_rows.Rows, model: Any) -> Floats:
    """Centers as they are drawn: directions at the mean length of the rows."""
    if not model_rows.is_spherical(model):
        return centers
    return centers * float(np.sqrt(model_rows.squares(rows.values)).mean())
