"""A partition of many rows into blocks, made in two steps so that blocks may be made when needed.

Rows are dealt to chunks of some thousands, in each cluster along its principal axis; a chunk is cut
into blocks by `anticlusters`. Both steps are functions of the rows and labels alone.
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.lower_bounds.anticlusters import anticlusters, pulls
from partita.lower_bounds.standard_form import StandardProblem

ROWS_PER_CLUSTER = 15  # of a block: with fewer, k centers fit the rows of a block too well
MIN_ROWS_OF_BLOCK, MAX_ROWS_OF_BLOCK = 150, 400  # a step takes 4 ms, or 20
BLOCKS_OF_CHUNK = 40  # a chunk is dealt to them in some 50 ms


def rows_of_block(k: int) -> int:
    """Return the number of rows that a block should have."""
    return max(MIN_ROWS_OF_BLOCK, min(MAX_ROWS_OF_BLOCK, ROWS_PER_CLUSTER * k))


def chunks(problem: StandardProblem) -> list[Ints]:
    """Partition the rows into chunks; returns their row numbers."""
    count = -(-problem.n // (BLOCKS_OF_CHUNK * rows_of_block(problem.k)))
    if count == 1:
        return [np.arange(problem.n)]
    along = _along_axes(problem)
    order = np.lexsort([along, problem.labels])
    return [order[start::count] for start in range(count)]


def blocks_of(problem: StandardProblem, chunk: Ints) -> list[Ints]:
    """Partition a chunk into blocks; returns their row numbers."""
    count = -(-len(chunk) // rows_of_block(problem.k))
    return [chunk[block] for block in anticlusters(problem.take(chunk), count)]


def _along_axes(problem: StandardProblem) -> Floats:
    """Return the coordinate (n,) of each row on the principal axis of its cluster."""
    from scipy.linalg import eigh

    moved = pulls(problem)
    along = np.zeros(problem.n)
    for label in range(problem.k):
        members = np.flatnonzero(problem.labels == label)
        if len(members):
            d = moved.shape[1]
            squares = moved[members].T @ moved[members]
            _, axis = eigh(squares, subset_by_index=(d - 1, d - 1), check_finite=False)
            along[members] = moved[members] @ axis[:, 0]
    return along
