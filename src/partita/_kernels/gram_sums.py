"""Sums of the rows of a Gram matrix as NumPy text, and labels by them."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.crew import Crew

_VALUES = 1 << 22  # of the rows that are turned into whole numbers at once


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
    """Move rows[which] from cluster `before` (−1: from nowhere) to `after` in the sums (k, 2, n).

    A term is rows less column_shift less row_shift, times weight and scale, rounded to the grid of
    two limbs, `times` times. It must stay below 2^51.
    """
    size = max(1, _VALUES // rows.shape[1])
    for i in range(0, len(which), size):
        some = slice(i, i + size)
        far = scale if weight is None else scale * weight[some, None]
        value = (rows[which[some]].astype(np.float64) - column_shift) - row_shift[some, None]
        value *= far
        high = np.rint(value)
        terms = np.stack([high, np.rint((value - high) * limb)], axis=1).astype(np.int64)
        if times is not None:
            terms *= times[some, None, None]
        gone = before[some] >= 0
        np.add.at(sums, after[some], terms)
        np.subtract.at(sums, before[some][gone], terms[gone])


def gram_assign(centers: Floats, labels: Ints, crew: Crew | None = None) -> int:
    """Label every column by the lowest ‖c‖² − 2⟨φ, c⟩; how many labels changed.

    A center is its inner product with every row, and then its squared norm: centers (k, n + 1).
    """
    best = np.argmin(centers[:, -1:] - 2 * centers[:, :-1], axis=0)
    moved = int((best != labels).sum())
    labels[:] = best
    return moved
