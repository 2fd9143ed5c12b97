"""Exact sums in NumPy: integers on a fixed grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import power_of_two
from partita._kernels.crew import Crew
from partita._kernels.twofold import Twofold, add, divide, multiply, quiet, two_prod

MAX_STEP_EXPONENT = 900  # of a power of two in `up`
FEATURE_LANES = 8  # of ‖Σ w·y‖²: fixed, for the same bits everywhere


@dataclass(frozen=True)
class Sums:
    """Exact sums of k clusters: Σ w·y in columns 0..d−1, Σ w in column d, Σ w‖y‖² in column d+1.

    y = (x − origin)·scale, and a value is (hi + lo / limb) / up.
    """

    hi: Ints
    lo: Ints
    origin: Floats
    up: Floats
    scale: float
    limb: float


def grid_steps(
    low: Floats, high: Floats, origin: Floats, largest: float, whole: bool, up: Floats
) -> float:
    """Set `up` (d + 2) for rows of this extent; return the power of two that scales them.

    No term of a row, times its `up`, exceeds `largest`; that of a weight is 1 if weights are whole.
    """
    d = len(origin)
    reach = np.maximum(high - origin, origin - low)
    scale = power_of_two(float(reach.max()))
    up[:d] = np.ldexp(largest, np.minimum(MAX_STEP_EXPONENT, -np.frexp(reach * scale)[1]))
    up[d] = 1.0 if whole else largest
    square = 0.0
    for y in (reach * scale).tolist():  # in order; sum() would not round every step
        square += y * y
    up[d + 1] = largest * power_of_two(square, MAX_STEP_EXPONENT)
    return scale


def _to_grid(v: Floats, rest: Floats, limb: float) -> tuple[Ints, Ints]:
    hi = np.rint(v)
    lo = np.rint(((v - hi) + rest) * limb)
    return hi.astype(np.int64), lo.astype(np.int64)


def row_terms(sums: Sums, rows: Floats, weight: Floats | None) -> tuple[Ints, Ints]:
    """Return the integers (n, d + 2) that each row adds to its cluster, before integer weights."""
    n, d = rows.shape
    hi, lo = np.empty((n, d + 2), np.int64), np.empty((n, d + 2), np.int64)
    y = (rows.astype(np.float64) - sums.origin) * sums.scale
    v: Floats = y * sums.up[:d]
    rest: Floats = np.zeros_like(y)
    q, lost = two_prod(y, y)
    if weight is None:
        hi[:, d], lo[:, d] = 1, 0
    else:
        w = weight[:, None]
        v, rest = two_prod(v, w)
        heavy, more = two_prod(q, w)
        q, lost = heavy, more + lost * w
        hi[:, d], lo[:, d] = _to_grid(weight * sums.up[d], np.zeros_like(weight), sums.limb)
    hi[:, :d], lo[:, :d] = _to_grid(v, rest, sums.limb)
    squares = _to_grid(q * sums.up[d + 1], lost * sums.up[d + 1], sums.limb)
    hi[:, d + 1], lo[:, d + 1] = squares[0].sum(axis=1), squares[1].sum(axis=1)
    return hi, lo


def move_rows(
    sums: Sums,
    rows: Floats,
    before: Ints,
    after: Ints,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None:
    """Move rows from cluster before[i] (−1: none) to cluster after[i] in the sums."""
    counts = times if times is not None else weight
    # A row of weight zero adds nothing and may lie outside the extent of the grid.
    counted = (before != after) if counts is None else (before != after) & (counts != 0)
    moved = np.flatnonzero(counted)
    if moved.size == 0:
        return
    terms = row_terms(sums, rows[moved], None if weight is None else weight[moved])
    left = before[moved] >= 0
    for total, term in zip((sums.hi, sums.lo), terms, strict=True):
        if times is not None:
            term *= times[moved, None]
        np.add.at(total, after[moved], term)
        np.subtract.at(total, before[moved][left], term[left])


def _integer(n: Ints) -> Twofold:
    head = n.astype(np.float64)
    return head, (n - head.astype(np.int64)).astype(np.float64)


def twofold_values(sums: Sums) -> Twofold:
    """Return the values (k, d + 2) that the integers stand for."""
    small = _integer(sums.lo)
    v = add(_integer(sums.hi), (small[0] / sums.limb, small[1] / sums.limb))
    return v[0] / sums.up, v[1] / sums.up


@quiet
def summarise(
    sums: Sums,
    unit: float,
    centers: Floats,
    weight: Floats,
    mean: Floats,
    sse: Floats,
    gap: Floats,
    crew: Crew | None = None,
) -> None:
    """Set weight, mean and sse of each cluster and gap = ‖mean − center‖; zeros if it is empty.

    Means and centers are relative to the origin of the sums.
    """
    d, unscale = len(sums.origin), 1.0 / sums.scale
    head, tail = twofold_values(sums)
    used = head[:, d] > 0
    weight[:] = head[:, d] * unit
    mean[:], sse[:], gap[:] = 0.0, 0.0, 0.0
    w = head[used, d], tail[used, d]
    squares = [(np.zeros(used.sum()), np.zeros(used.sum())) for _ in range(FEATURE_LANES)]
    gaps = np.zeros((FEATURE_LANES, used.sum()))
    for t in range(d):
        s = head[used, t], tail[used, t]
        m = divide(s, w)[0]
        mean[used, t] = m * unscale
        squares[t % FEATURE_LANES] = add(squares[t % FEATURE_LANES], multiply(s, s))
        gaps[t % FEATURE_LANES] += (m - centers[used, t] * sums.scale) ** 2
    squared = squares[0]
    for lane in squares[1:]:
        squared = add(squared, lane)
    for lane_gap in gaps:
        gap[used] += lane_gap
    gap[used] = np.sqrt(gap[used]) * unscale
    between = divide(squared, w)
    rest = add((head[used, d + 1], tail[used, d + 1]), (-between[0], -between[1]))[0]
    sse[used] = np.where(rest > 0, rest, 0.0) * unit * unscale * unscale
