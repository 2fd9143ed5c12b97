"""What every picture has in common: a page to draw on, a head, a foot, and a file."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from partita._common.optional_imports import require
from partita.plots import style


def matplotlib(part: str = "") -> Any:
    """A part of matplotlib, or an error that says how to get it."""
    return require(f"matplotlib{part}", "a picture", extra="plot")


@dataclass(frozen=True, slots=True)
class Page:
    """The axes of one picture, in a figure of its own or in one that the caller has."""

    axes: tuple[Any, ...]
    own: bool

    @property
    def figure(self) -> Any:
        """The whole figure, also where the axes lie in a part of one."""
        return self.axes[0].figure.canvas.figure

    def head(self, text: str) -> None:
        """The title, above everything."""
        if self.own:
            lines = style.wrapped(text, self._width(), style.SIZE + 1)
            self.figure.suptitle(lines, x=0.01, ha="left")
        else:
            self.axes[0].set_title(style.wrapped(text, self._width(), style.SIZE))

    def foot(self, text: str) -> None:
        """The caption, below everything; in a figure of the caller, below the label of the axis."""
        if not text:
            return
        lines = style.wrapped(text, self._width(), style.SMALL)
        if self.own:
            self.figure.supxlabel(lines, x=0.01, ha="left", size=style.SMALL, color=style.FAINT)
        else:
            axis = self.axes[-1]
            axis.set_xlabel("\n".join(filter(None, [axis.get_xlabel(), lines])))

    def settle(self) -> None:
        """Let the layout find its place, so that lengths in pixels are those of the picture."""
        self.figure.draw_without_rendering()

    def _width(self) -> float:
        inches = float(self.figure.get_figwidth())
        return inches * 0.97 if self.own else inches * self.axes[0].get_position().width


@dataclass(eq=False, repr=False, kw_only=True)
class Display(ABC):
    """A picture: arrays that were computed once, and how to draw them."""

    title: str
    caption: str = ""

    @abstractmethod
    def _shape(self) -> tuple[int, int]:
        """Rows and columns of panels."""

    @abstractmethod
    def _inches(self) -> float:
        """The height of a figure of its own."""

    @abstractmethod
    def _draw(self, page: Page) -> None:
        """Draw on axes that are as many as there are panels."""

    @property
    def _panels(self) -> int:
        rows, columns = self._shape()
        return rows * columns

    def plot(self, ax: Any = None) -> Self:
        """Draw into axes that are given (one for each panel), or into a new figure."""
        with matplotlib().rc_context(style.RC):
            page = self._new_page() if ax is None else self._page_of(ax)
            self._axes = page.axes
            self._draw(page)
        return self

    @property
    def axes_(self) -> tuple[Any, ...]:
        """The axes it was drawn on; it is drawn now, if it was not before."""
        if not hasattr(self, "_axes"):
            self.plot()
        return self._axes

    @property
    def ax_(self) -> Any:
        """The first of the axes."""
        return self.axes_[0]

    @property
    def figure_(self) -> Any:
        """The figure it was drawn in."""
        return self.ax_.figure.canvas.figure

    def save(self, path: str | Path, dpi: float = 200) -> Path:
        """Write the picture; the ending of the name says in which format."""
        self.figure_.savefig(path, dpi=dpi)
        return Path(path)

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.figure_.savefig(out, format="png", dpi=100)
        return out.getvalue()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}>"

    def _new_page(self) -> Page:
        rows, columns = self._shape()
        size = (style.WIDTH, self._inches())
        figure = matplotlib(".figure").Figure(figsize=size, layout="constrained")
        matplotlib(".backends.backend_agg").FigureCanvasAgg(figure)  # not one of pyplot's
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for spare in axes[self._panels :]:
            spare.remove()
        return Page(tuple(axes[: self._panels]), own=True)

    def _page_of(self, ax: Any) -> Page:
        axes = tuple(ax.ravel() if hasattr(ax, "ravel") else ax if _several(ax) else [ax])
        if len(axes) != self._panels or not all(hasattr(each, "get_position") for each in axes):
            raise ValueError(
                f"ax holds {len(axes)} axes; {type(self).__name__} needs {self._panels} "
                "matplotlib Axes here, one for each panel: give as many, or none for a new figure"
            )
        return Page(axes, own=False)


def _several(ax: Any) -> bool:
    return isinstance(ax, Sequence)
