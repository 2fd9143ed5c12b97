"""The look of pictures: colours, sizes, matplotlib settings, and text as labels show it."""

from __future__ import annotations

import textwrap
from typing import Any

from partita._common.optional_imports import require
from partita._common.text import one_line
from partita.chart_layout.palette import PALETTE

TEXT_COLOR, MUTED_COLOR = "#222222", "#777777"
CURVE_COLOR, CHOICE_COLOR = PALETTE[0], PALETTE[5]
DIVERGING_COLORMAP = "PuOr_r"  # colour-blind readers can tell both ends apart
FONT_POINTS, SMALL_FONT_POINTS = 9.0, 8.0
FIGURE_INCHES = 6.0  # width: 600 pixels at 100 per inch
POINTS_PER_INCH = 72

_SMALL_TEXTS = ("axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
_DARK_TEXTS = ("axes.labelcolor", "text.color", "xtick.labelcolor", "ytick.labelcolor")

RC_PARAMS: dict[str, Any] = {
    "font.size": FONT_POINTS,
    "axes.titlesize": FONT_POINTS,
    "figure.titlesize": FONT_POINTS + 1,
    **dict.fromkeys(_SMALL_TEXTS, SMALL_FONT_POINTS),
    **dict.fromkeys(_DARK_TEXTS, TEXT_COLOR),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), MUTED_COLOR),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), "white"),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "axes.grid", "text.usetex"), False),
    **dict.fromkeys(("text.parse_math", "axes.unicode_minus"), True),
}


def matplotlib(submodule: str = "") -> Any:
    """Import matplotlib or a submodule (".figure"); the error names the extra to install."""
    return require(f"matplotlib{submodule}", "a picture", extra="plot")


def label_text(text: Any, max_length: int | None = None) -> str:
    """Return text from outside as one line that matplotlib does not read as a formula."""
    return one_line(text, max_length).replace("$", r"\$")


def wrap_text(text: str, inches: float, points: float) -> str:
    """Return the text in lines of at most so many inches."""
    letters = int(inches * POINTS_PER_INCH / (0.45 * points))  # for most texts, more than fit
    while True:
        lines = textwrap.wrap(text, letters)
        if letters <= 12 or all(_width(line, points) <= inches for line in lines):
            return "\n".join(lines)
        letters -= 2


def _width(line: str, points: float) -> float:
    """Return the width of a line in inches."""
    font = matplotlib(".font_manager").FontProperties(size=points)
    to_path = matplotlib(".textpath").text_to_path
    return float(to_path.get_text_width_height_descent(line, font, False)[0]) / POINTS_PER_INCH
