"""Sums of distances to clusters, for the silhouette, in NumPy."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._kernels.crew import Crew
from partita._kernels.twofold import quiet

PANEL_ROWS = 64
STRIP_LANES = 16  # of the sums over a strip
_BLOCK_DISTANCES = 1 << 20  # computed at a time


@quiet
def _pairs(rows: Floats, points: Floats, metric: str) -> Floats:
    """Distances (rows, points), features in order."""
    total = np.zeros((len(rows), len(points)))
    for t in range(rows.shape[1]):
        gap = points[None, :, t] - rows[:, t, None]
        total += np.abs(gap) if metric == "manhattan" else gap * gap
    return np.asarray(np.sqrt(total)) if metric == "euclidean" else total


def _sums(rows: Floats, weight: Floats, points: Floats, metric: str) -> Floats:
    """Σ w·distance of every point to the rows, in their order."""
    total = np.zeros(len(points))
    step = max(1, _BLOCK_DISTANCES // max(1, len(points)))
    for i in range(0, len(rows), step):
        terms = weight[i : i + step, None] * _pairs(rows[i : i + step], points, metric)
        total = np.add.accumulate(np.vstack([total, terms]), axis=0)[-1]  # one row after the other
    return total


def silhouette(
    panels: Array,
    own: Ints,
    rows: Floats,
    weight: Floats,
    start: Ints,
    mass: Floats,
    metric: str,
    inside: Floats,
    outside: Floats,
    crew: Crew | None = None,
) -> None:
    """Compare points in panels (n / 64, d, 64) with rows sorted by cluster.

    `inside`: Σ w·distance to the own cluster; `outside`: mean distance to the nearest other.
    """
    points = np.ascontiguousarray(
        panels.transpose(0, 2, 1).reshape(-1, panels.shape[1])[: len(own)]
    )
    inside[:], outside[:] = 0.0, np.inf
    for j in np.flatnonzero(mass > 0):
        cluster = slice(start[j], start[j + 1])
        total = _sums(rows[cluster], weight[cluster], points, metric)
        mine = own == j
        inside[mine] = total[mine]
        np.minimum(outside, total / mass[j], out=outside, where=~mine)


def _lanes(terms: Floats) -> Floats:
    """Σ over the columns of (m, 64): in 16 lanes, added in halves."""
    total = np.add.accumulate(terms.reshape(len(terms), -1, STRIP_LANES), axis=1)[:, -1]
    while total.shape[1] > 1:
        half = total.shape[1] // 2
        total = total[:, :half] + total[:, half:]
    return np.asarray(total[:, 0])


def silhouette_strips(
    rows: Floats,
    weight: Floats,
    start: Ints,
    mass: Floats,
    metric: str,
    begin: int,
    most: int,
    lower: Floats,
    inside: Floats,
    outside: Floats,
    crew: Crew | None = None,
) -> int:
    """The same for all rows, every pair once: strips of up to 64 rows against the rows after them.

    Compute up to `most` strips from row `begin` on; return the row after the last. `lower` holds
    the sums of the current cluster for later rows until the cluster ends.
    """
    for _ in range(most):
        if begin == len(rows):
            break
        own = int(np.searchsorted(start, begin, side="right")) - 1
        end = int(start[own + 1])
        last = min(end, begin + PANEL_ROWS)
        strip = slice(begin, last)
        inside[strip] = _sums(rows[begin:end], weight[begin:end], rows[strip], metric)
        for j in range(own + 1, len(mass)):
            cluster = slice(start[j], start[j + 1])
            if mass[j] > 0:
                mean = _sums(rows[cluster], weight[cluster], rows[strip], metric) / mass[j]
                np.minimum(outside[strip], mean, out=outside[strip])
        point = np.zeros((1, PANEL_ROWS))
        point[0, : last - begin] = weight[strip]
        step = _BLOCK_DISTANCES // PANEL_ROWS
        for i in range(last, len(rows), step):
            terms = np.zeros((len(rows[i : i + step]), PANEL_ROWS))
            terms[:, : last - begin] = _pairs(rows[i : i + step], rows[strip], metric)
            lower[i : i + step] += _lanes(terms * point)
        begin = last
        if last == end:
            inside[start[own] : end] += lower[start[own] : end]
            if mass[own] > 0:
                outside[end:] = np.minimum(outside[end:], lower[end:] / mass[own])
            lower[end:] = 0.0
    return begin
