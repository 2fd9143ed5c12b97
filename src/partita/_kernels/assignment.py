"""The plain passes in NumPy: labels are the argmin of D64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import square_scale
from partita._kernels.crew import Crew
from partita._kernels.data_survey import exact_sum
from partita._kernels.exact_sums import Sums, move_rows
from partita._kernels.twofold import quiet

MAX_CENTER = 2.0**400  # beyond it, or below its inverse, squares of centers may leave the range
_BLOCK_SCORES = 1 << 20  # distances computed at a time


def exact_scale(centers: Floats) -> float:
    """Return 1, or a power of two if squares of typical centers would overflow or underflow."""
    sizes = np.abs(centers).max(axis=1)
    sizes = np.sort(sizes[sizes > 0])
    typical = float(sizes[(len(sizes) - 1) // 2]) if len(sizes) else 0.0
    return square_scale(typical, MAX_CENTER, 900)


@dataclass(frozen=True)
class KeptRows:
    """Rows packed for the compiled tiles; unpacked here."""

    rows: Floats


@dataclass(frozen=True)
class Codebook:
    """Centers (k, d) relative to `origin` (d), packed for the assignment."""

    centers: Floats
    origin: Floats
    members: Ints | None = None  # centers group after group: see engine/paths/center_groups.py
    sizes: Ints | None = None
    like: KeptRows | None = None
    crew: Crew | None = None

    @property
    def scale(self) -> float:
        """The scale of D64."""
        return exact_scale(self.centers)


Codebook32 = Codebook64 = Codebook


def keep_rows(book: Codebook, rows: Floats, crew: Crew | None = None) -> KeptRows:
    """Pack rows once for many passes of the compiled kernels."""
    return KeptRows(rows)


@quiet
def d64(rows: Floats, centers: Floats, origin: Floats | None = None, scale: float = 1.0) -> Floats:
    """Squared distances (n, k) by definition: in double, features in order, nothing fused."""
    y = np.asarray(rows, dtype=np.float64)
    if origin is not None:
        y = y - origin
    y = y * scale
    c = centers * scale
    out = np.zeros((len(y), len(c)))
    for t in range(y.shape[1]):
        gap = y[:, t, None] - c[None, :, t]
        out += gap * gap
    return out


def _block_rows(k: int) -> int:
    return max(1, _BLOCK_SCORES // max(k, 1))


def assign(
    book: Codebook,
    rows: Floats,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
    kept: KeptRows | None = None,
    at: int = 0,
) -> tuple[int, int]:
    """Label every row and move changed rows in the sums; return the counts moved, rechecked."""
    scale = book.scale
    before = labels.copy()
    step = _block_rows(len(book.centers))
    for i in range(0, len(rows), step):
        block = slice(i, i + step)
        labels[block] = d64(rows[block], book.centers, book.origin, scale).argmin(axis=1)
    if sums is not None:
        move_rows(sums, rows, before, labels, times, weight)
    return int((before != labels).sum()), 0


def assign_few(rows: Floats, centers: Floats, labels: Ints) -> bool:
    """Label a few rows by D64 to unpacked centers; False if squares overflow or underflow."""
    distance = d64(rows, centers)
    labels[:] = distance.argmin(axis=1)
    two = np.sort(distance, axis=1)[:, :2]
    return bool((two[:, 0] < 1e280).all() and (two[:, 1:] > 1e-280).all())


def distances(rows: Floats, centers: Floats, out: Floats) -> None:
    """Set out (n, k) to √D64 of every row to every center."""
    step = _block_rows(len(centers))
    for i in range(0, len(rows), step):
        out[i : i + step] = np.sqrt(d64(rows[i : i + step], centers))


def squares(
    rows: Floats, centers: Floats, origin: Floats, out: Floats, crew: Crew | None = None
) -> None:
    """Set out (n, k) to D64 of every row to every center, relative to an origin."""
    step = _block_rows(len(centers))
    for i in range(0, len(rows), step):
        out[i : i + step] = d64(rows[i : i + step], centers, origin)


def two_nearest(
    rows: Floats,
    centers: Floats,
    labels: Ints,
    first: Floats,
    second: Floats,
    crew: Crew | None = None,
) -> None:
    """Label every row; set `first` and `second` to √D64 to the two nearest (inf if k is 1)."""
    step = _block_rows(len(centers))
    for i in range(0, len(rows), step):
        block = slice(i, i + step)
        squares = d64(rows[block], centers)
        labels[block] = squares.argmin(axis=1)
        two = np.sort(squares, axis=1)
        first[block] = np.sqrt(two[:, 0])
        second[block] = np.sqrt(two[:, 1]) if len(centers) > 1 else np.inf


@quiet
def own_distance(
    rows: Floats,
    centers: Floats,
    origin: Floats,
    labels: Ints,
    out: Floats,
    crew: Crew | None = None,
) -> None:
    """Set out_i to D64(x_i, centers[label_i])."""
    out[:] = 0.0
    for t in range(rows.shape[1]):
        gap = (rows[:, t].astype(np.float64) - origin[t]) - centers[labels, t]
        out += gap * gap


def own_cost(
    rows: Floats,
    centers: Floats,
    origin: Floats,
    labels: Ints,
    digits: Ints,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> bool:
    """Add Σ w·D64(x_i, centers[label_i]) to digits (1, 136), as `exact_sum`.

    Returns False if a distance is not finite: the digits say nothing then.
    """
    distance = np.empty(len(rows))
    own_distance(rows, centers, origin, labels, distance)
    if not np.isfinite(distance).all():
        return False
    exact_sum(distance, digits, weight)
    return True
