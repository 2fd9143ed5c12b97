"""Convex polygons in the plane on which one of many affine functions is the minimum."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats

NEAREST_FIRST = 24  # functions whose faces are cut first; after them few others cut
TOLERANCE_SHARE = 1e-13  # of the largest difference of two functions in the box


def lowest_regions(slope: Floats, level: Floats, box: Floats) -> list[Floats]:
    """Polygons (m, 2) on which level_i − slope_i·p is the minimum, within the box.

    Vertices are counter-clockwise. Empty, shape (0, 2), if function i is never the minimum. Of
    equal functions the first has the region. Together the polygons tile the box.
    """
    left, low, right, high = box
    vertices = np.array([[left, low], [right, low], [right, high], [left, high]])
    return [_region(i, slope, level, vertices) for i in range(len(slope))]


def _region(i: int, slope: Floats, level: Floats, vertices: Floats) -> Floats:
    """Cut the box by the function that is farthest below, until none is below."""
    normal, offset = slope[i] - slope, level[i] - level  # inside: normal·p >= offset
    equal = (normal == 0).all(axis=1) & (offset == 0)
    if equal[:i].any():
        return np.empty((0, 2))
    # one tolerance per pair: a function far from all others must not hide their faces
    tolerance = TOLERANCE_SHARE * (np.abs(normal) @ np.abs(vertices).max(axis=0) + np.abs(offset))
    polygon = vertices
    if len(offset) > 2 * NEAREST_FIRST:
        near = np.argpartition(np.hypot(*normal.T), NEAREST_FIRST)[:NEAREST_FIRST]
        polygon = _cut(polygon, normal[near], offset[near], tolerance[near])
    return _cut(polygon, normal, offset, tolerance)


def _cut(polygon: Floats, normal: Floats, offset: Floats, tolerance: Floats) -> Floats:
    done = (normal == 0).all(axis=1) & (offset <= 0)
    while len(polygon):
        beyond = offset - (normal @ polygon.T).min(axis=1)
        beyond[done | (beyond <= tolerance)] = -np.inf
        worst = int(beyond.argmax())
        if beyond[worst] == -np.inf:
            break
        done[worst] = True
        polygon = clip(polygon, normal[worst], float(offset[worst]))
    return polygon


def clip(polygon: Floats, normal: Floats, offset: float) -> Floats:
    """Part (m, 2) of a convex polygon where normal·p >= offset.

    >>> clip(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]), np.array([1.0, 0.0]), 1.0).tolist()
    [[1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 1.0]]
    """
    above = polygon @ normal - offset
    if (above >= 0).all():
        return polygon
    clipped = []
    for i, following in zip(range(len(polygon)), [*range(1, len(polygon)), 0], strict=True):
        if above[i] >= 0:
            clipped.append(polygon[i])
        if (above[i] > 0 > above[following]) or (above[i] < 0 < above[following]):
            share = above[i] / (above[i] - above[following])
            clipped.append(polygon[i] + share * (polygon[following] - polygon[i]))
    return np.array(clipped) if len(clipped) > 2 else np.empty((0, 2))
