"""Equal rows, and counts of rows that stand for several."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Ints
from partita._kernels.crew import Crew


def distinct_rows(
    rows: Array, inverse: Ints, first: Ints, counts: Ints, crew: Crew | None = None
) -> int:
    """Number the different rows of bytes (n, b) in the order of their first rows.

    Sets inverse (n,) to the number of every row, first (most,) and counts (most,) to the first row
    of each number and how often it occurs; returns how many there are. -1 if they are more than
    `most`; the compiled kernel also gives up where the hashes of too many rows are equal.
    """
    if len(rows) == 0:
        return 0
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1])))[:, 0]
    _, where, numbers, repeats = np.unique(
        whole, return_index=True, return_inverse=True, return_counts=True
    )
    if len(where) > len(first):
        return -1
    order = np.argsort(where)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    inverse[:] = rank[numbers]
    first[: len(order)], counts[: len(order)] = where[order], repeats[order]
    return len(order)


def count_changes(labels: Ints, before: Ints, times: Ints, crew: Crew | None = None) -> int:
    """Return Σ times of the labels that differ from those before, which become the present ones."""
    changed = int(times[labels != before].sum())
    before[:] = labels
    return changed
