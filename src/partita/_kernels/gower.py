"""Gower's dissimilarity between rows of mixed features, in NumPy."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats
from partita._kernels.crew import Crew
from partita._kernels.pairwise import PANEL_ROWS


def gower_columns(
    panels: Array,
    centers: Floats,
    weights: Floats,
    numbers: int,
    nominal: int,
    out: Floats,
    crew: Crew | None = None,
) -> None:
    """Set out (k, n) to Σ w·s / Σ w of rows in panels (n / 64, d, 64) to centers (k, d).

    The sums are over the features that both rows have (NaN: missing), in order. First come
    `numbers`, already times their weights (d): s is their difference; then `nominal` ones: s is 1
    if they differ; then those present (1) or absent (0), which do not count where both are absent.
    Rows that share only such absences are at 0, rows that share nothing at 1.
    """
    n = out.shape[1]
    total, mass = np.zeros((2, len(centers), len(panels) * PANEL_ROWS))
    both_absent = np.zeros(total.shape, bool)
    for t in range(panels.shape[1]):
        a, b = panels[:, t].ravel(), centers[:, t, None]
        counts = ~(np.isnan(a) | np.isnan(b))
        if t >= numbers + nominal:
            both_absent |= (a == 0) & (b == 0)
            counts &= ~((a == 0) & (b == 0))
        term = np.abs(a - b) if t < numbers else np.where(a == b, 0.0, weights[t])
        total += np.where(counts, term, 0.0)
        mass += np.where(counts, weights[t], 0.0)
    nothing = np.where(both_absent, 0.0, 1.0)
    out[:] = np.divide(total, mass, out=nothing, where=mass > 0)[:, :n]
