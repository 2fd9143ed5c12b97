"""Convex polygons in the plane: where one of many affine functions is the least."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats

_NEAR = 24  # functions that are looked at first
_ROUGH = 1e-13  # what counts as nothing, as a part of what the two functions differ by in the box


def lowest_regions(slope: Floats, level: Floats, box: Floats) -> list[Floats]:
    """The polygon (m, 2) of each i in which level_i − slope_i·p is the least, within the box.

    Corners go round against the clock; (0, 2) where i is nowhere the least. Of functions that are
    the same everywhere the first has the region. Together the polygons tile the box.
    """
    left, low, right, high = box
    corners = np.array([[left, low], [right, low], [right, high], [left, high]])
    return [_region(i, slope, level, corners) for i in range(len(slope))]


def _region(i: int, slope: Floats, level: Floats, corners: Floats) -> Floats:
    """Cut the box by the function that is farthest below, until none is below any more."""
    normal, offset = slope[i] - slope, level[i] - level  # inside: normal·p >= offset
    if _same_before(normal[:i], offset[:i]):
        return np.empty((0, 2))
    # of each pair its own: one function that is far from all others must not hide their faces
    tiny = _ROUGH * (np.abs(normal) @ np.abs(corners).max(axis=0) + np.abs(offset))
    polygon = corners
    if len(offset) > 2 * _NEAR:  # most faces are those of near ones, and then few others cut
        near = np.argpartition(np.hypot(*normal.T), _NEAR)[:_NEAR]
        polygon = _cut(polygon, normal[near], offset[near], tiny[near])
    return _cut(polygon, normal, offset, tiny)


def _cut(polygon: Floats, normal: Floats, offset: Floats, tiny: Floats) -> Floats:
    done = (normal == 0).all(axis=1) & (offset <= 0)
    while len(polygon):
        beyond = offset - (normal @ polygon.T).min(axis=1)
        beyond[done | (beyond <= tiny)] = -np.inf
        worst = int(beyond.argmax())
        if beyond[worst] == -np.inf:
            break
        done[worst] = True
        polygon = clip(polygon, normal[worst], float(offset[worst]))
    return polygon


def _same_before(normal: Floats, offset: Floats) -> bool:
    return bool(((normal == 0).all(axis=1) & (offset == 0)).any())


def clip(polygon: Floats, normal: Floats, offset: float) -> Floats:
    """The part (m, 2) of a convex polygon where normal·p >= offset.

    >>> clip(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]), np.array([1.0, 0.0]), 1.0).tolist()
    [[1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 1.0]]
    """
    above = polygon @ normal - offset
    if (above >= 0).all():
        return polygon
    parts = []
    for here, there in zip(range(len(polygon)), [*range(1, len(polygon)), 0], strict=True):
        if above[here] >= 0:
            parts.append(polygon[here])
        if (above[here] > 0 > above[there]) or (above[here] < 0 < above[there]):
            share = above[here] / (above[here] - above[there])
            parts.append(polygon[here] + share * (polygon[there] - polygon[here]))
    return np.array(parts) if len(parts) > 2 else np.empty((0, 2))


def area(polygon: Floats) -> float:
    """The area of a polygon (m, 2), positive if its corners go round against the clock.

    >>> area(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]))
    2.0
    """
    if len(polygon) < 3:
        return 0.0
    (x, y), (u, v) = (polygon - polygon[0]).T, (np.roll(polygon, -1, axis=0) - polygon[0]).T
    return float((x * v - u * y).sum() / 2)
