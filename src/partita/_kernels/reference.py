"""The kernels as NumPy text: what the compiled core must equal, and what runs where it is absent.

Every function has the name, arguments and result of its compiled twin. Nothing here is fast, and
nothing here is clever: labels are the argmin of D64, sums are integers on a fixed grid.
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.assignment import (
    Codebook,
    Codebook32,
    Codebook64,
    Csr,
    Csr32,
    Csr64,
    KeptRows,
    SparseCodebook,
    SparseCodebook32,
    SparseCodebook64,
    assign,
    assign_sparse,
    d64,
    distances,
    exact_few,
    keep_rows,
    own_distance,
    own_distance_sparse,
    square_norms,
    two_nearest,
)
from partita._kernels.crew import Crew
from partita._kernels.exact_sums import Sums, move_rows, move_sparse, row_terms, summarise
from partita._kernels.gram_sums import gram_assign, gram_move
from partita._kernels.medoid_swaps import (
    Swaps,
    Swaps32,
    Swaps64,
    inspect,
    pair_columns,
    swap_apply,
    swap_gain,
    swap_scan,
    swap_search,
)
from partita._kernels.pruned_passes import (
    Leaves,
    Motion,
    Target,
    TreeBook,
    assign_leaves,
    bounded,
    plant,
)
from partita._kernels.seeding import Sketch, plusplus, seed_choose, seed_gain, sketch_rows
from partita._kernels.silhouette_sums import silhouette, silhouette_strips
from partita._kernels.twofold import quiet

__all__ = [
    "Codebook", "Codebook32", "Codebook64", "Crew", "Csr", "Csr32", "Csr64", "KeptRows", "Leaves",
    "Motion", "Sketch", "SparseCodebook", "SparseCodebook32", "SparseCodebook64", "Sums", "Swaps",
    "Swaps32", "Swaps64", "Target", "TreeBook", "assign", "assign_leaves", "assign_sparse",
    "bounded", "d64", "distances", "exact_few", "exact_sum", "extent", "gram_assign",
    "gram_move", "inspect", "instruction_set", "instruction_sets", "keep_rows", "move_rows",
    "move_sparse", "own_distance", "own_distance_sparse", "pair_columns", "plant", "plusplus",
    "row_terms", "seed_choose", "seed_gain", "silhouette", "silhouette_strips", "sketch_rows",
    "square_norms", "summarise", "swap_apply", "swap_gain", "swap_scan", "swap_search", "tally",
    "two_nearest", "use_instruction_set",
]  # fmt: skip

DIGITS = 68  # 32-bit digits of an exact sum of doubles


def extent(
    rows: Floats,
    low: Floats,
    high: Floats,
    taint: Floats,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None:
    """Lower `low`, raise `high`; `taint` becomes NaN where a column holds NaN or infinity."""
    with np.errstate(invalid="ignore"):
        taint += (rows * 0).sum(axis=0, dtype=rows.dtype)
    if weight is not None:
        rows = rows[weight > 0]
    if len(rows):
        np.fmin(low, np.fmin.reduce(rows, axis=0), out=low)
        np.fmax(high, np.fmax.reduce(rows, axis=0), out=high)


@quiet
def tally(
    rows: Floats, middle: Floats, near: Floats, counts: Ints, crew: Crew | None = None
) -> None:
    """Add to counts (3, d) how many values are below `middle`, at it, and nearer than `near`."""
    away = rows - middle
    counts[0] += (away < 0).sum(axis=0)
    counts[1] += (away == 0).sum(axis=0)
    counts[2] += ((np.abs(away) < near) & (away != 0)).sum(axis=0)


def exact_sum(values: Floats, digits: Ints) -> None:
    """Add finite doubles to `digits` without rounding: digits[i] counts 2^(32·i − 1088)."""
    mantissa, exponent = np.frexp(values)
    whole = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    # frexp normalises what the core leaves as it is; the value, hence the sum, is the same.
    short = np.maximum(0, -1074 - (exponent - 53))
    whole >>= short
    place = exponent - 53 + short + 1088
    sign = np.where(values < 0, -1, 1)
    shift, digit = place & 31, place >> 5
    low, high = whole & 0xFFFFFFFF, whole >> 32
    a = low << shift
    b = (high << shift) + (a >> 32)
    np.add.at(digits, digit, sign * (a & 0xFFFFFFFF))
    np.add.at(digits, digit + 1, sign * (b & 0xFFFFFFFF))
    np.add.at(digits, digit + 2, sign * (b >> 32))


def instruction_sets() -> list[str]:
    """The NumPy kernels know no instruction sets of their own."""
    return ["numpy"]


def instruction_set() -> str:
    """The name `show_versions` prints."""
    return "numpy"


def use_instruction_set(name: str) -> None:
    """Only "numpy" can be used."""
    if name != "numpy":
        raise ValueError(f"instruction set {name!r} is not available: the compiled core is absent")
