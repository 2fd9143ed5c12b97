"""Random rows and centers for tests of Voronoi cells, and a test of membership in a polygon."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


@st.composite
def clouds(draw, d=None, offsets=(0.0, 1e6)):
    """(rows, centers): with ties, duplicates and coincident centers, sometimes far from 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, k = draw(st.integers(1, 40)), d or draw(st.integers(1, 5)), draw(st.integers(1, 12))
    whole = draw(st.booleans())
    pick = (lambda m: rng.integers(-3, 4, (m, d)) * 1.0) if whole else rng.standard_normal
    rows, centers = (pick(m if whole else (m, d)) for m in (n, k))
    offset = draw(st.sampled_from(offsets))
    return rows + offset, centers + offset


def inside(polygon, points, room=1e-9):
    """Whether points are in a convex polygon that is counter-clockwise."""
    if len(polygon) == 0:
        return np.zeros(len(points), dtype=bool)
    edge = np.roll(polygon, -1, axis=0) - polygon
    away = points[:, None] - polygon
    return (edge[:, 0] * away[..., 1] - edge[:, 1] * away[..., 0] >= -room).all(axis=1)


def area(polygon):
    """Area of a polygon (m, 2), positive if its vertices are counter-clockwise."""
    if len(polygon) < 3:
        return 0.0
    (x, y), (u, v) = (polygon - polygon[0]).T, (np.roll(polygon, -1, axis=0) - polygon[0]).T
    return float((x * v - u * y).sum() / 2)
