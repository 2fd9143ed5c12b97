"""The pass over rows with gaps (NaN) in NumPy: only values that a row has count."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.crew import Crew
from partita._kernels.exact_sums import Sums, move_rows
from partita._kernels.twofold import quiet

__all__ = ["assign_partial", "distances_partial", "own_distance_partial", "wide_rows"]

_BLOCK_SCORES = 1 << 20  # distances computed at a time


@quiet
def d64_partial(
    rows: Floats, centers: Floats, origin: Floats | None = None, scale: float = 1.0
) -> Floats:
    """D64 (n, k) over the values that each row has; centers are times `scale` already."""
    out = np.zeros((len(rows), len(centers)))
    for t in range(rows.shape[1]):
        y = rows[:, t].astype(np.float64)
        gap = ((y if origin is None else y - origin[t]) * scale)[:, None] - centers[:, t]
        gap[np.isnan(rows[:, t])] = 0.0
        out += gap * gap
    return out


def wide_rows(rows: Floats, origin: Floats, mark: float) -> Floats:
    """Rows (n, 2d) as the sums take them: values, the origin (2d) in place of gaps; then marks.

    A gap adds nothing to sums about the origin, and `mark` counts the values that rows have.
    """
    known = ~np.isnan(rows)
    return np.hstack([np.where(known, rows, origin[: rows.shape[1]]), np.where(known, mark, 0.0)])


def assign_partial(
    rows: Floats,
    centers: Floats,
    origin: Floats,
    scale: float,
    mark: float,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> int:
    """Label every row and move changed rows in the sums, of `wide_rows`; return how many changed.

    Centers (k, d) are relative to `origin` (d), and times `scale`.
    """
    before = labels.copy()
    step = max(1, _BLOCK_SCORES // len(centers))
    for i in range(0, len(rows), step):
        scores = d64_partial(rows[i : i + step], centers, origin, scale)
        labels[i : i + step] = scores.argmin(axis=1)
    if sums is not None:
        move_rows(sums, wide_rows(rows, sums.origin, mark), before, labels, times, weight)
    return int((before != labels).sum())


def distances_partial(rows: Floats, centers: Floats, out: Floats) -> None:
    """Set out (n, k) to √D64 over the values that each row has."""
    out[:] = np.sqrt(d64_partial(rows, centers))


@quiet
def own_distance_partial(
    rows: Floats,
    centers: Floats,
    origin: Floats,
    labels: Ints,
    out: Floats,
    crew: Crew | None = None,
) -> None:
    """Set out_i to D64(x_i, centers[label_i]) over the values that the row has."""
    out[:] = 0.0
    for t in range(rows.shape[1]):
        gap = (rows[:, t].astype(np.float64) - origin[t]) - centers[labels, t]
        out += np.where(np.isnan(rows[:, t]), 0.0, gap * gap)
