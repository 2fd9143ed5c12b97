"""The base of all displays: axes to draw on, a title, a caption, and a file."""

from __future__ import annotations

import io
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from partita._common.parameters import check, check_path, must_be, number
from partita.plots import style
from partita.plots.style import matplotlib

DPI = number(10, 10_000)
_MAX_COLUMNS = 3
_TEXT_SHARE = 0.94  # of the width: hinted glyphs are up to 4 % wider than measured ones


def new_figure(height: float) -> Any:
    """Return a figure without pyplot's state, as wide as all displays, `height` inches high."""
    with matplotlib().rc_context(style.RC_PARAMS):
        size = (style.FIGURE_INCHES, height)
        figure = matplotlib(".figure").Figure(figsize=size, layout="constrained")
        matplotlib(".backends.backend_agg").FigureCanvasAgg(figure)
    return figure


@dataclass(frozen=True, slots=True)
class FigureAxes:
    """The axes of one display, in a figure of its own or of the caller."""

    axes: tuple[Any, ...]
    owns_figure: bool

    @property
    def figure(self) -> Any:
        """The whole figure, also if the axes are in a subfigure."""
        return self.axes[0].figure.canvas.figure

    def write_texts(self, title: str, caption: str) -> None:
        """Write the title above all axes and the caption below.

        In a figure of the caller, they are above the first axes and below the last axis label.
        """
        inches = float(self.figure.get_figwidth()) * _TEXT_SHARE
        if not self.owns_figure:
            inches *= self.axes[0].get_position().width
        points, small = style.FONT_POINTS + self.owns_figure, style.SMALL_FONT_POINTS
        heading = style.wrap_text(style.label_text(title), inches, points)
        lines = style.wrap_text(caption, inches, small)
        if self.owns_figure:
            left = {"x": 0.01, "ha": "left"}
            self.figure.suptitle(heading, **left)
            if caption:
                self.figure.supxlabel(lines, **left, size=small, color=style.MUTED_COLOR)
        else:
            last = self.axes[-1]
            self.axes[0].set_title(heading)
            last.set_xlabel("\n".join(filter(None, [last.get_xlabel(), lines])))

    def update_layout(self) -> None:
        """Run the layout, so that lengths in pixels are those of the finished picture."""
        self.figure.draw_without_rendering()

    def line_height(self) -> float:
        """Return the height of a line of small text in pixels."""
        return float(style.SMALL_FONT_POINTS * self.figure.dpi / style.POINTS_PER_INCH)


@dataclass(eq=False, repr=False, kw_only=True)
class Display(ABC):
    """A picture: arrays that were computed once, and how to draw them."""

    title: str
    caption: str = ""

    @abstractmethod
    def _figure_height(self) -> float:
        """Return the height in inches of a figure of its own."""

    @abstractmethod
    def _draw(self, target: FigureAxes) -> None:
        """Draw on one axes per panel."""

    @property
    def _n_panels(self) -> int:
        return 1

    def _grid_shape(self) -> tuple[int, int]:
        """Return the rows and columns of the panels."""
        columns = min(_MAX_COLUMNS, self._n_panels)
        return math.ceil(self._n_panels / columns), columns

    def plot(self, ax: Any = None) -> Self:
        """Draw into the axes given (one per panel), or into a new figure."""
        with matplotlib().rc_context(style.RC_PARAMS):
            self._target = self._new_axes() if ax is None else self._check_axes(ax)
            self._draw(self._target)
        return self

    @property
    def axes_(self) -> tuple[Any, ...]:
        """The axes of the picture; reading it draws the picture if necessary."""
        if not hasattr(self, "_target"):
            self.plot()
        return self._target.axes

    @property
    def ax_(self) -> Any:
        """The first of the axes."""
        return self.axes_[0]

    @property
    def figure_(self) -> Any:
        """The figure of the picture."""
        return self.ax_.figure.canvas.figure

    def save(self, path: str | Path, dpi: float = 200) -> Path:
        """Write the picture to a file; its extension sets the format."""
        path = check_path("path", path)
        check("dpi", dpi, DPI)
        known = self.figure_.canvas.get_supported_filetypes()
        if (suffix := Path(path).suffix) and suffix[1:].lower() not in known:
            raise must_be("path", f"a name that ends in .{', .'.join(sorted(known))}", path)
        self.figure_.savefig(path, dpi=dpi)
        return Path(path)

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.figure_.savefig(out, format="png", dpi=100)
        return out.getvalue()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}>"

    def _new_axes(self) -> FigureAxes:
        figure = new_figure(self._figure_height())
        axes = figure.subplots(*self._grid_shape(), squeeze=False).ravel()
        for unused in axes[self._n_panels :]:
            unused.remove()
        return FigureAxes(tuple(axes[: self._n_panels]), owns_figure=True)

    def _check_axes(self, ax: Any) -> FigureAxes:
        axes = tuple(np.ravel(np.asarray(ax, dtype=object)))
        if len(axes) != self._n_panels or not all(hasattr(one, "get_position") for one in axes):
            raise ValueError(
                f"`ax` must hold {self._n_panels} matplotlib Axes, one for each panel of "
                f"{type(self).__name__}, got {len(axes)}. Omit `ax` to draw into a new figure."
            )
        return FigureAxes(axes, owns_figure=False)
