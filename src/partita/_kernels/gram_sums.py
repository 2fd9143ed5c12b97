"""Sums of the rows of a Gram matrix, and labels by them, in NumPy."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.crew import Crew

_BLOCK_VALUES = 1 << 22  # values of rows converted to integers at a time


def gram_move(
    rows: Floats,
    which: Ints,
    before: Ints,
    after: Ints,
    row_shift: Floats,
    column_shift: Floats,
    scale: float,
    limb: float,
    sums: Ints,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None:
    """Move rows[which] from cluster `before` (−1: none) to `after` in the sums (k, 2, n).

    A term is (rows − column_shift − row_shift)·weight·scale, rounded to the grid of two limbs, and
    multiplied by `times`. It must stay below 2^51.
    """
    size = max(1, _BLOCK_VALUES // rows.shape[1])
    for i in range(0, len(which), size):
        block = slice(i, i + size)
        block_scale = scale if weight is None else scale * weight[block, None]
        value = (rows[which[block]].astype(np.float64) - column_shift) - row_shift[block, None]
        value *= block_scale
        high = np.rint(value)
        terms = np.stack([high, np.rint((value - high) * limb)], axis=1).astype(np.int64)
        if times is not None:
            terms *= times[block, None, None]
        left = before[block] >= 0
        np.add.at(sums, after[block], terms)
        np.subtract.at(sums, before[block][left], terms[left])


def gram_assign(centers: Floats, labels: Ints, crew: Crew | None = None) -> int:
    """Label every column by the lowest ‖c‖² − 2⟨φ, c⟩; return the number of changed labels.

    centers (k, n + 1): the inner products with all rows, then the squared norm.
    """
    best = np.argmin(centers[:, -1:] - 2 * centers[:, :-1], axis=0)
    moved = int((best != labels).sum())
    labels[:] = best
    return moved
