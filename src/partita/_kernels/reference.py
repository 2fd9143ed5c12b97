"""The kernels as NumPy text: what the compiled core must equal, and what runs where it is absent.

Every function has the name, arguments and result of its compiled twin. Nothing here is fast, and
nothing here is clever: labels are the argmin of D64, sums are integers on a fixed grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._kernels.seeds import Sketch as Sketch
from partita._kernels.seeds import plusplus as plusplus
from partita._kernels.seeds import seed_choose as seed_choose
from partita._kernels.seeds import seed_gain as seed_gain
from partita._kernels.seeds import sketch_rows as sketch_rows
from partita._kernels.twofold import Twofold, add, divide, multiply, two_prod
from partita._typing import Floats, Ints

LANES = 8  # of ‖Σ w·y‖²: fixed, so that it has the same bits everywhere
DIGITS = 68  # 32-bit digits of an exact sum of doubles
_BLOCK = 1 << 20  # scores held at a time


# --- labels ---------------------------------------------------------------------------------------


def _exact_scale(centers: Floats) -> float:
    """1, or a power of two where squares of typical centers would overflow or underflow."""
    sizes = np.abs(centers).max(axis=1)
    sizes = np.sort(sizes[sizes > 0])
    typical = float(sizes[(len(sizes) - 1) // 2]) if len(sizes) else 0.0
    if 2.0**-400 < typical < 2.0**400 or not (typical > 0 and np.isfinite(typical)):
        return 1.0
    return float(np.ldexp(1.0, int(np.clip(-np.frexp(typical)[1], -900, 900))))


@dataclass(frozen=True)
class Codebook:
    """Centers (k, d) relative to `origin` (d), as the assignment takes them."""

    centers: Floats
    origin: Floats

    @property
    def scale(self) -> float:
        """What D64 is scaled by."""
        return _exact_scale(self.centers)


Codebook32 = Codebook64 = Codebook


@dataclass(frozen=True)
class SparseCodebook:
    """Centers (k, d) for sparse rows, of which the longest stores `longest` values: no origin."""

    centers: Floats
    longest: int = 0


SparseCodebook32 = SparseCodebook64 = SparseCodebook


@dataclass(frozen=True)
class Csr:
    """Rows in compressed sparse form; `start` may begin anywhere in `column` and `value`."""

    start: Ints
    column: Ints
    value: Floats
    d: int

    def __post_init__(self) -> None:
        if len(self.start) == 0 or (np.diff(self.start) < 0).any():
            raise ValueError("csr: start must not decrease")
        used = self.column[self.start[0] : self.start[-1]]
        if used.size and not (used.min() >= 0 and used.max() < self.d):
            raise ValueError("csr: a column index is out of range")

    def dense(self) -> Floats:
        """The rows spread out, as doubles."""
        out = np.zeros((len(self.start) - 1, self.d))
        row = np.repeat(np.arange(len(out)), np.diff(self.start))
        used = slice(self.start[0], self.start[-1])
        out[row, self.column[used]] = self.value[used]
        return out


Csr32 = Csr64 = Csr


# As in the compiled kernels, what is beyond the largest double is infinity, without a word.
_quiet = np.errstate(over="ignore", invalid="ignore")


@_quiet
def d64(rows: Floats, centers: Floats, origin: Floats | None = None, scale: float = 1.0) -> Floats:
    """Squared distances (n, k) by the definition: doubles, features in order, nothing fused."""
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


def _blocks(n: int, k: int) -> range:
    return range(0, n, max(1, _BLOCK // max(k, 1)))


def assign(
    book: Codebook,
    rows: Floats,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    lower: Floats | None = None,
) -> tuple[int, int]:
    """Label every row, add the moved ones to their clusters; how many moved and were rechecked."""
    scale = book.scale
    before = labels.copy()
    step = _blocks(len(rows), len(book.centers)).step
    for i in range(0, len(rows), step):
        block = slice(i, i + step)
        distance = d64(rows[block], book.centers, book.origin, scale)
        labels[block] = distance.argmin(axis=1)
        if lower is not None:
            if distance.shape[1] == 1:
                lower[block] = np.inf
            else:
                lower[block] = np.partition(distance, 1, axis=1)[:, 1] / scale / scale
    if sums is not None:
        move_rows(sums, rows, before, labels, times, weight)
    return int((before != labels).sum()), 0


def assign_sparse(
    book: SparseCodebook,
    rows: Csr,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
) -> tuple[int, int]:
    """`assign` for sparse rows."""
    dense = Codebook(book.centers, np.zeros(rows.d))
    return assign(dense, rows.dense(), labels, sums, times, weight)


def exact_few(rows: Floats, centers: Floats, labels: Ints) -> bool:
    """Labels of a few rows by D64 to plain centers; False where only scaled distances tell."""
    distance = d64(rows, centers)
    labels[:] = distance.argmin(axis=1)
    two = np.sort(distance, axis=1)[:, :2]
    return bool((two[:, 0] < 1e280).all() and (two[:, 1:] > 1e-280).all())


def distances(rows: Floats, centers: Floats, out: Floats) -> None:
    """out (n, k) = √D64 of every row to every center."""
    step = _blocks(len(rows), len(centers)).step
    for i in range(0, len(rows), step):
        out[i : i + step] = np.sqrt(d64(rows[i : i + step], centers))


@_quiet
def own_distance(rows: Floats, centers: Floats, origin: Floats, labels: Ints, out: Floats) -> None:
    """out_i = D64(x_i, centers[label_i])."""
    out[:] = 0.0
    for t in range(rows.shape[1]):
        gap = (rows[:, t].astype(np.float64) - origin[t]) - centers[labels, t]
        out += gap * gap


def own_distance_sparse(
    rows: Csr, centers: Floats, squares: Floats, labels: Ints, out: Floats
) -> None:
    """`own_distance` for sparse rows (`squares` spares the compiled one the zeros)."""
    own_distance(rows.dense(), centers, np.zeros(rows.d), labels, out)


@_quiet
def square_norms(centers: Floats, out: Floats) -> None:
    """‖c‖² of each center as head and tail (k, 2)."""
    total: Twofold = (np.zeros(len(centers)), np.zeros(len(centers)))
    for t in range(centers.shape[1]):
        total = add(total, two_prod(centers[:, t], centers[:, t]))
    out[:, 0], out[:, 1] = total


# --- exact sums -----------------------------------------------------------------------------------


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


def _to_grid(v: Floats, rest: Floats, limb: float) -> tuple[Ints, Ints]:
    hi = np.rint(v)
    lo = np.rint(((v - hi) + rest) * limb)
    return hi.astype(np.int64), lo.astype(np.int64)


def row_terms(sums: Sums, rows: Floats, weight: Floats | None) -> tuple[Ints, Ints]:
    """The integers (n, d + 2) that each row adds to its cluster, before whole weights."""
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
) -> None:
    """Move rows from cluster before[i] (−1: from nowhere) to cluster after[i] in the sums."""
    counts = times if times is not None else weight
    # A row of weight zero adds nothing, and may lie outside the extent the grid was made for.
    counted = (before != after) if counts is None else (before != after) & (counts != 0)
    moved = np.flatnonzero(counted)
    if moved.size == 0:
        return
    terms = row_terms(sums, rows[moved], None if weight is None else weight[moved])
    gone = before[moved] >= 0
    for total, term in zip((sums.hi, sums.lo), terms, strict=True):
        if times is not None:
            term *= times[moved, None]
        np.add.at(total, after[moved], term)
        np.subtract.at(total, before[moved][gone], term[gone])


def move_sparse(
    sums: Sums,
    rows: Csr,
    before: Ints,
    after: Ints,
    times: Ints | None = None,
    weight: Floats | None = None,
) -> None:
    """`move_rows` for sparse rows."""
    move_rows(sums, rows.dense(), before, after, times, weight)


def _whole(n: Ints) -> Twofold:
    head = n.astype(np.float64)
    return head, (n - head.astype(np.int64)).astype(np.float64)


def _value(sums: Sums) -> Twofold:
    small = _whole(sums.lo)
    v = add(_whole(sums.hi), (small[0] / sums.limb, small[1] / sums.limb))
    return v[0] / sums.up, v[1] / sums.up


@_quiet
def summarise(
    sums: Sums,
    unit: float,
    centers: Floats,
    weight: Floats,
    mean: Floats,
    sse: Floats,
    gap: Floats,
) -> None:
    """Weight, mean, sse of each cluster and ‖mean − center‖; zeros where it is empty.

    Means and centers are relative to the origin of the sums.
    """
    d, unscale = len(sums.origin), 1.0 / sums.scale
    head, tail = _value(sums)
    some = head[:, d] > 0
    weight[:] = head[:, d] * unit
    mean[:], sse[:], gap[:] = 0.0, 0.0, 0.0
    w = head[some, d], tail[some, d]
    squares = [(np.zeros(some.sum()), np.zeros(some.sum())) for _ in range(LANES)]
    gaps = np.zeros((LANES, some.sum()))
    for t in range(d):
        s = head[some, t], tail[some, t]
        m = divide(s, w)[0]
        mean[some, t] = m * unscale
        squares[t % LANES] = add(squares[t % LANES], multiply(s, s))
        gaps[t % LANES] += (m - centers[some, t] * sums.scale) ** 2
    squared = squares[0]
    for lane in squares[1:]:
        squared = add(squared, lane)
    for part in gaps:
        gap[some] += part
    gap[some] = np.sqrt(gap[some]) * unscale
    between = divide(squared, w)
    rest = add((head[some, d + 1], tail[some, d + 1]), (-between[0], -between[1]))[0]
    sse[some] = np.where(rest > 0, rest, 0.0) * unit * unscale * unscale


# --- survey ---------------------------------------------------------------------------------------


def extent(
    rows: Floats, low: Floats, high: Floats, taint: Floats, weight: Floats | None = None
) -> None:
    """Lower `low`, raise `high`; `taint` becomes NaN where a column holds NaN or infinity."""
    with np.errstate(invalid="ignore"):
        taint += (rows * 0).sum(axis=0, dtype=rows.dtype)
    if weight is not None:
        rows = rows[weight > 0]
    if len(rows):
        np.fmin(low, np.fmin.reduce(rows, axis=0), out=low)
        np.fmax(high, np.fmax.reduce(rows, axis=0), out=high)


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
