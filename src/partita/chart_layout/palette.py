"""Colours and markers of clusters.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart. There are eight;
from the ninth cluster on the marker changes too, and the number of a cluster is always written.
"""

from __future__ import annotations

PALETTE = (
    "#0072B2",  # blue
    "#E69F00",  # orange
    "#009E73",  # green
    "#CC79A7",  # pink
    "#56B4E9",  # light blue
    "#D55E00",  # red
    "#B8A800",  # yellow, darkened: the original is invisible on white
    "#5F5F5F",  # grey instead of black, which is for text
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")  # matplotlib's names
UNASSIGNED_COLOR = "#BBBBBB"  # of rows without a cluster


def cluster_color(number: int) -> str:
    """Return the colour of a cluster; grey for a negative number: no cluster."""
    return PALETTE[number % len(PALETTE)] if number >= 0 else UNASSIGNED_COLOR


def cluster_marker(number: int) -> str:
    """Return the marker of a cluster; it changes with every eighth cluster."""
    return MARKERS[max(0, number) // len(PALETTE) % len(MARKERS)]
