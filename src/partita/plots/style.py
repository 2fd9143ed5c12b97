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

RC_PARAMS: dict[str, Any] = {
    "font.size": FONT_POINTS,
    "axes.titlesize": FONT_POINTS,
    "axes.labelsize": SMALL_FONT_POINTS,
    "xtick.labelsize": SMALL_FONT_POINTS,
    "ytick.labelsize": SMALL_FONT_POINTS,
    "legend.fontsize": SMALL_FONT_POINTS,
    "figure.titlesize": FONT_POINTS + 1,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.edgecolor": MUTED_COLOR,
    "axes.labelcolor": TEXT_COLOR,
    "text.color": TEXT_COLOR,
    "xtick.color": MUTED_COLOR,
    "ytick.color": MUTED_COLOR,
    "xtick.labelcolor": TEXT_COLOR,
    "ytick.labelcolor": TEXT_COLOR,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "text.usetex": False,
    "text.parse_math": True,
    "axes.unicode_minus": True,
}


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
    font = require("matplotlib.font_manager", "a picture", "plot").FontProperties(size=points)
    to_path = require("matplotlib.textpath", "a picture", "plot").text_to_path
    return float(to_path.get_text_width_height_descent(line, font, False)[0]) / POINTS_PER_INCH
