"""Costs of rows of numbers and categories in clusters with prototypes, in NumPy.

Rows are in panels: numbers (n / 64, p, 64) and codes (n / 64, q, 64). A prototype is a center (p)
and a mode (q). The code of a missing value is the largest of its type (`missing_code`). A row costs
D64 to the center, about an origin, plus γ for each value that is known and not the mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.weighting import weighted
from partita._kernels.crew import Crew
from partita._kernels.pairwise import PANEL_ROWS
from partita._kernels.seeding import leaf_sums


def missing_code(dtype: Any) -> int:
    """Return the code that stands for a missing value."""
    return int(np.iinfo(dtype).max)


def _in_rows(panels: Array, n: int) -> Array:
    return panels.transpose(0, 2, 1).reshape(len(panels) * PANEL_ROWS, panels.shape[1])[:n]


def mixed_columns(
    numbers: Floats,
    codes: Ints,
    centers: Floats,
    origin: Floats,
    modes: Ints,
    gamma: float,
    out: Floats,
    crew: Crew | None = None,
) -> None:
    """Set out (k, n) to the cost of every row in every cluster."""
    n, missing = out.shape[1], missing_code(codes.dtype)
    rows, labels = _in_rows(numbers, n) - origin, _in_rows(codes, n)
    for cost, center, mode in zip(out, centers, modes, strict=True):
        cost[:] = 0.0
        for t in range(rows.shape[1]):
            gap = rows[:, t] - center[t]
            cost += gap * gap
        differ = (labels != mode) & (labels != missing)
        cost += differ.sum(axis=1) * gamma


def mixed_assign(
    numbers: Floats,
    codes: Ints,
    centers: Floats,
    origin: Floats,
    modes: Ints,
    gamma: float,
    labels: Ints,
    costs: Floats,
    crew: Crew | None = None,
) -> int:
    """Set labels (n,) to the cheapest cluster, the lower on ties, and costs (n,) to what it costs.

    Returns how many labels changed.
    """
    table = np.empty((len(centers), len(labels)))
    mixed_columns(numbers, codes, centers, origin, modes, gamma, table)
    nearest = table.argmin(axis=0)
    moved = int((nearest != labels).sum())
    labels[:], costs[:] = nearest, table.min(axis=0)
    return moved


def mixed_gain(
    numbers: Floats,
    codes: Ints,
    centers: Floats,
    origin: Floats,
    modes: Ints,
    gamma: float,
    closest: Floats,
    gain: Floats,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None:
    """Set gain[leaf, c] = Σ w·max(0, closest − cost of prototype c) over the leaf, as `leaf_sums`.

    `closest` (n,) are the lowest costs so far.
    """
    table = np.empty((len(centers), len(closest)))
    mixed_columns(numbers, codes, centers, origin, modes, gamma, table)
    for c, cost in enumerate(table):
        gain[:, c] = leaf_sums(weighted(np.maximum(closest - cost, 0.0), weight))


def mixed_lower(
    numbers: Floats,
    codes: Ints,
    centers: Floats,
    origin: Floats,
    modes: Ints,
    gamma: float,
    closest: Floats,
    potential: Floats,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None:
    """Lower `closest` (n,) to the costs of prototypes; set potential[leaf] = Σ w·closest."""
    table = np.empty((len(centers), len(closest)))
    mixed_columns(numbers, codes, centers, origin, modes, gamma, table)
    np.minimum(closest, table.min(axis=0), out=closest)
    potential[:] = leaf_sums(weighted(closest, weight))


def count_codes(
    codes: Ints,
    offsets: Ints,
    rows: Ints,
    before: Ints,
    after: Ints,
    counts: Ints,
    times: Ints | None = None,
    crew: Crew | None = None,
) -> None:
    """Move rows from cluster before[i] (−1: none) to after[i] in the counts (k, levels).

    The levels of column t are offsets[t]…offsets[t + 1] − 1; others are not counted. Row i counts
    times[i].
    """
    for t in range(codes.shape[1]):
        code = codes[rows // PANEL_ROWS, t, rows % PANEL_ROWS].astype(np.int64)
        known = code < offsets[t + 1] - offsets[t]
        place = code[known] + offsets[t]
        count = np.ones(len(place), np.int64) if times is None else times[known]
        left = before[known] >= 0
        np.add.at(counts, (after[known], place), count)
        np.subtract.at(counts, (before[known][left], place[left]), count[left])
