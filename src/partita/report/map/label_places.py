"""Places for the numbers of groups, such that none covers another."""

from __future__ import annotations

import math
from collections.abc import Sequence

from partita.report.svg import N_COLORS, element, text

Point = tuple[float, float]
LABEL_HEIGHT = 20.0  # pixels
_RING_STEP = 21.0  # pixels between rings of places around a center
N_RINGS = 6
_N_DIRECTIONS = 12
_GAP = 2.0  # pixels between two labels
_DIGIT_PIXELS = 7.5


def label_width(number: int) -> float:
    """Return the width of the label of a group in pixels."""
    return max(LABEL_HEIGHT, 11.0 + _DIGIT_PIXELS * len(str(number)))


def place_labels(
    anchors: Sequence[Point],
    widths: Sequence[float],
    box: tuple[float, float, float, float],
    n_rings: int = N_RINGS,
) -> list[Point | None]:
    """Return the middle of every label: at its anchor, else near it, else None.

    The first labels choose first. The box has left, top, right and bottom.

    >>> place_labels([(50, 50), (50, 50)], [20, 20], (0, 0, 100, 100))[0]
    (50, 50)
    """
    placed: list[tuple[float, float, float]] = []
    places: list[Point | None] = []
    for (x, y), width in zip(anchors, widths, strict=True):
        found = next(
            (
                place
                for place in _candidates(x, y, n_rings)
                if _is_inside(place, width, box) and _is_free(place, width, placed)
            ),
            None,
        )
        places.append(found)
        if found is not None:
            placed.append((*found, width))
    return places


def number_labels(
    numbers: Sequence[int],
    anchors: Sequence[Point],
    box: tuple[float, float, float, float],
    n_rings: int = N_RINGS,
) -> str:
    """Return the numbers of groups in pills, with a thin line to the anchors of those moved.

    Lines lie below all pills. A number without room is left out.
    """
    places = place_labels(anchors, [label_width(j) for j in numbers], box, n_rings)
    placed = [
        (j, anchor, place)
        for j, anchor, place in zip(numbers, anchors, places, strict=True)
        if place is not None
    ]
    lines = (_leader(j, *ends) for j, *ends in placed if ends[0] != ends[1])
    return "".join((*lines, *(_pill(j, place) for j, _, place in placed)))


def _leader(j: int, anchor: Point, place: Point) -> str:
    ends = {"x1": anchor[0], "y1": anchor[1], "x2": place[0], "y2": place[1]}
    dot = element("circle", cx=anchor[0], cy=anchor[1], r=2.5, class_="fill")
    line = element("line", **ends, class_="leader")
    return element("g", line + dot, class_=f"c{j % N_COLORS}", data_group=j)


def _pill(j: int, place: Point) -> str:
    width, (x, y) = label_width(j), place
    shape = {"x": x - width / 2, "y": y - LABEL_HEIGHT / 2, "rx": LABEL_HEIGHT / 2}
    pill = element("rect", **shape, width=width, height=LABEL_HEIGHT, class_="pill")
    digits = text(j, x, y + 4.4, text_anchor="middle", class_="strong pill-text")
    return element("g", pill + digits, class_=f"c{j % N_COLORS}", data_group=j)


def _candidates(x: float, y: float, n_rings: int) -> list[Point]:
    places: list[Point] = [(x, y)]
    for ring in range(1, n_rings + 1):
        for step in range(_N_DIRECTIONS):
            angle = 2 * math.pi * (step + 0.5 * (ring % 2)) / _N_DIRECTIONS
            radius = ring * _RING_STEP
            places.append((x + radius * math.cos(angle), y + radius * math.sin(angle)))
    return places


def _is_inside(place: Point, width: float, box: tuple[float, float, float, float]) -> bool:
    x, y = place
    across, along = LABEL_HEIGHT / 2, width / 2
    return box[0] + along <= x <= box[2] - along and box[1] + across <= y <= box[3] - across


def _is_free(place: Point, width: float, placed: list[tuple[float, float, float]]) -> bool:
    x, y = place
    return all(
        abs(x - a) >= (width + other) / 2 + _GAP or abs(y - b) >= LABEL_HEIGHT + _GAP
        for a, b, other in placed
    )
