"""`IterationsDisplay`: a fit step by step, from its start to its end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partita._common.parameters import check, check_integer, check_path, must_be, number
from partita._common.text import format_number
from partita.chart_layout import model_rows
from partita.chart_layout.captions import join_sentences
from partita.chart_layout.cluster_scene import ClusterScene, build_scene
from partita.chart_layout.projection import Box, view_rows
from partita.estimators.fitted_models import unwrap_pipeline, without_feature_names
from partita.plots import style
from partita.plots.cluster_display import axis_labels
from partita.plots.display import DPI, Display, FigureAxes, new_figure
from partita.plots.replay import replay
from partita.plots.scene_drawing import draw_scene
from partita.plots.style import matplotlib
from partita.source.raw_rows import as_doubles

_SECONDS = number(0.02, 600)  # of a frame; a GIF counts in hundredths
_MAX_POINTS = 3000  # in every panel
_PANEL_MARKER_SCALE = 0.35


@dataclass(frozen=True, slots=True)
class IterationFrame:
    """The clusters after one iteration; 0 is the start."""

    iteration: int
    cost: float
    scene: ClusterScene

    @property
    def title(self) -> str:
        """The iteration and its J."""
        name = f"iteration {self.iteration}" if self.iteration else "start"
        return f"{name}: J = {format_number(self.cost)}"


@dataclass(eq=False, repr=False, kw_only=True)
class IterationsDisplay(Display):
    """The start, some iterations and the result side by side, with the paths of the centers.

    The fit is run again: from the same start it takes the same steps. `animate()` shows one frame
    after the other.

    Examples
    --------
    >>> from partita import KMeans
    >>> from partita.plots import IterationsDisplay
    >>> X = [[0], [1], [5], [6]]
    >>> display = IterationsDisplay.from_estimator(KMeans(2, init=[[0], [1]]).fit(X), X)
    >>> [(frame.iteration, frame.cost) for frame in display.frames]
    [(0, 41.0), (1, 6.0), (2, 1.0), (3, 1.0)]
    """

    frames: tuple[IterationFrame, ...]
    box: Box
    equal: bool  # whether a unit has the same length along both axes
    names: tuple[str, str]  # of the axes

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
        """Replay the run that led to a fitted model, in up to `most` frames; X as it was fitted."""
        most = check_integer("most", most, 2)
        model, X, names = unwrap_pipeline(model, X)
        fits, same = replay(model, X, sample_weight, most)
        rows = model_rows.select_rows(
            model, X, sample_weight, names=names, most=_MAX_POINTS, random_state=random_state
        )
        scale = 1.0
        if model_rows.is_spherical(model):  # directions are drawn with the mean length of the rows
            scale = float(np.sqrt(model_rows.squared_lengths(rows.values)).mean())
        centers = [scale * as_doubles(fit.cluster_centers_) for fit in fits.values()]
        view = view_rows(rows, centers, features)
        frames, cell_note = [], ""
        for i, (iteration, fit) in enumerate(fits.items()):
            labels = np.asarray(without_feature_names(fit).predict(rows.values))
            scene, cell_note = build_scene(fit, view, labels, view.box, i)
            frames.append(IterationFrame(iteration, float(fit.inertia_), scene))
        other = "another run from the same start: the fit cannot be repeated"
        paths = "lines: the paths of the centers through the frames shown"
        return cls(
            title=f"{model_rows.title_text(model)}, step by step",
            caption=join_sentences([paths, not same and other, cell_note, rows.note]),
            frames=tuple(frames),
            box=view.box,
            equal=view.equal_scale,
            names=axis_labels(view.plane.names),
        )

    @property
    def _n_panels(self) -> int:
        return len(self.frames)

    def _figure_height(self) -> float:
        rows, columns = self._grid_shape()
        return 0.8 + rows * (1.5 if columns > 1 else 3.4)

    def _draw(self, target: FigureAxes) -> None:
        for i, ax in enumerate(target.axes):
            self._draw_frame(ax, i, _PANEL_MARKER_SCALE)
        target.write_texts(self.title, self.caption)

    def _draw_frame(self, ax: Any, i: int, marker_scale: float = 1.0) -> None:
        frame, ink = self.frames[i], style.TEXT_COLOR
        draw_scene(ax, frame.scene, self.box, self.equal, marker_scale)
        paths = np.stack([past.scene.centers for past in self.frames[: i + 1]], axis=1)
        for path in paths:  # (frames, 2) of one center
            ax.plot(*path.T, color=ink, lw=0.8, marker=".", ms=2, zorder=3)
        ax.scatter(*frame.scene.centers.T, s=22, c=ink, marker="+", linewidths=1.2, zorder=4)
        ax.set_title(frame.title, size=style.SMALL_FONT_POINTS)
        ax.set(xticks=[], yticks=[])

    def animate(self, seconds: float = 0.8) -> Any:
        """Return a matplotlib animation in a new figure, with so many seconds for every frame."""
        check("seconds", seconds, _SECONDS)
        figure = new_figure(4.2)

        def draw(i: int) -> Any:
            with matplotlib().rc_context(style.RC_PARAMS):
                figure.clear()
                self._draw_frame(figure.add_subplot(), i)
            return figure.axes

        return matplotlib(".animation").FuncAnimation(
            figure, draw, frames=len(self.frames), init_func=list, interval=1000 * seconds
        )

    def save_animation(self, path: str | Path, seconds: float = 0.8, dpi: float = 100) -> Path:
        """Write the animation as a GIF."""
        path = check_path("path", path)
        check("seconds", seconds, _SECONDS)
        check("dpi", dpi, DPI)
        if not path.lower().endswith(".gif"):
            raise must_be("path", "a name that ends in .gif", path)
        writer = matplotlib(".animation").PillowWriter(fps=1 / seconds)
        self.animate(seconds).save(path, writer=writer, dpi=dpi)
        return Path(path)
