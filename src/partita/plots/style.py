"""How pictures look: colours, marks, sizes, and how numbers and names are written.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart. There are eight, so
from the ninth cluster on the mark differs too, and a cluster's number is always written at it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from partita._common.optional_imports import require
from partita._common.text import one_line

PALETTE = (
    "#0072B2",  # blue
    "#E69F00",  # orange
    "#009E73",  # green
    "#CC79A7",  # pink
    "#56B4E9",  # light blue
    "#D55E00",  # red
    "#B8A800",  # yellow, darkened: the original cannot be seen on white
    "#5F5F5F",  # grey in the place of black, which is for text
)
MARKS = ("o", "s", "^", "D", "v", "P", "X")
NOWHERE = "#BBBBBB"  # rows that belong to no cluster
INK, FAINT = "#222222", "#777777"
DIVERGING = "PuOr_r"  # both ends are told apart by all readers
SIZE, SMALL = 9.0, 8.0  # points
WIDTH = 6.0  # inches: 600 pixels at 100 per inch

RC: dict[str, Any] = {
    "font.size": SIZE,
    "axes.titlesize": SIZE,
    "axes.labelsize": SMALL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "figure.titlesize": SIZE + 1,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "text.usetex": False,
    "text.parse_math": True,
    "axes.unicode_minus": True,
}


def color(number: int) -> str:
    """The colour of a cluster; grey for rows that belong nowhere."""
    return PALETTE[number % len(PALETTE)] if number >= 0 else NOWHERE


def mark(number: int) -> str:
    """The mark of a cluster: another one from every ninth on."""
    return MARKS[max(0, number) // len(PALETTE) % len(MARKS)]


def plain(text: Any, most: int | None = None) -> str:
    """A name from outside as one line of text: no formula, no control characters, not too long."""
    return one_line(text, most).replace("$", r"\$")


def wrapped(text: str, inches: float, size: float) -> str:
    """The text in lines that are no wider than so many inches."""
    letters = int(inches * 72 / (0.45 * size))  # more than fit, of most texts
    while True:
        lines = textwrap.wrap(text, letters)
        if letters <= 12 or all(_width(line, size) <= inches for line in lines):
            return "\n".join(lines)
        letters -= 2


def _width(line: str, size: float) -> float:
    """How many inches a line takes."""
    font = require("matplotlib.font_manager", "a picture", "plot").FontProperties(size=size)
    measure = require("matplotlib.textpath", "a picture", "plot").text_to_path
    return float(measure.get_text_width_height_descent(line, font, False)[0]) / 72


def sentences(parts: Iterable[str]) -> str:
    """Remarks as one caption: each begins with a capital and ends with a full stop."""
    whole = (part[0].upper() + part[1:].rstrip(".") for part in parts if part)
    return " ".join(part if part.endswith(("?", "!")) else f"{part}." for part in whole)
