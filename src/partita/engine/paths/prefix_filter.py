"""A few rotated features as a filter: distances in them are never larger than the real ones.

With orthonormal columns Q, y' = Qᵀy and t(y) = ‖y − Qy'‖,

    ‖y − c‖² >= ‖y' − c'‖² + (t(y) − t(c))²        (Cauchy–Schwarz)

so rows (y', t(y)) and centers (c', t(c)) form a small problem that filters the large one. Any Q is
correct; one that holds most of the data's energy in few columns is fast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.engine.paths.price import PrunedCounts, bounded_cost
from partita.source.pass_price import plain_cost
from partita.source.protocol import PrunableRows

SAMPLE_ROWS = 1024  # that the rotation is fitted to
TRIAL_ROWS = 128  # that a length is tried on
LENGTH_SHARES = (1 / 24, 1 / 16, 1 / 12, 1 / 8, 1 / 6, 1 / 4)  # lengths that are tried, of d
MAX_LENGTH = 160
SUBSPACE_ROUNDS = 2
# The most that the rotation may cost, in plain passes, whose tiles are faster by the second factor.
MAX_PASSES_FOR_ROTATION, TILE_SPEEDUP = 3.0, 4.0
GIVE_UP_RATIO = 1.5  # times the cheapest
MAX_COST_SHARE = 0.75  # of a plain pass, that a pass by the filter may cost
MIN_PROJECTED_ROWS, MAX_PROJECTED_ROWS = 64, 1024  # of one task
PROJECTED_VALUES = 1 << 17  # of one task, about: they stay in cache


class PrefixFilter:
    """The small problem: `rows` (n, length + 1), and centers to match."""

    def __init__(self, source: PrunableRows, origin: Floats, basis: Floats) -> None:
        self.origin = origin
        self.basis = np.ascontiguousarray(basis)
        self.rows: Floats = _project(source, origin, self.basis)
        self.length = basis.shape[1]
        # rounding of the rows to float32, and of their length t, per unit of their size: t² is a
        # difference of sums of d products, and Q is orthonormal except for rounding
        off = float(np.abs(self.basis.T @ self.basis - np.eye(self.length)).sum())
        products = (len(origin) + 8) * (2.0 + 2.0 * math.sqrt(self.length)) * 2.0**-52
        self.blur = 2.0**-22 + math.sqrt(products + 2.0 * off)

    def centers(self, centers: Centers) -> Floats:
        """Centers (k, length + 1) of the small problem."""
        return shorten(centers.about(self.origin), self.basis)


def _project(source: PrunableRows, origin: Floats, basis: Floats) -> Floats:
    """(y', ‖y − Qy'‖) of every row y = x − origin, with Q the basis and y' = Qᵀy, in float32."""
    n, out = source.n, np.empty((source.n, basis.shape[1] + 1), np.float32)
    step = max(MIN_PROJECTED_ROWS, min(MAX_PROJECTED_ROWS, PROJECTED_VALUES // source.d))

    def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            rows = slice(number * step, min(n, (number + 1) * step))
            y = source.kernel_rows[rows] - origin
            short = y @ basis
            rest = np.einsum("nd,nd->n", y, y) - np.einsum("nd,nd->n", short, short)
            out[rows, :-1] = short
            out[rows, -1] = np.sqrt(np.maximum(rest, 0.0))

    source.workers.share(-(-n // step), work)
    return out


def shorten(rows: Floats, basis: Floats) -> Floats:
    """(y', t(y)) of rows y."""
    short = rows @ basis
    rest = rows - short @ basis.T
    return np.column_stack([short, np.sqrt(np.einsum("nd,nd->n", rest, rest))])


def filter_bytes(n: int, k: int, d: int) -> int:
    """Bytes of the filter of n rows, and of the sample of rows and centers that it is fitted to."""
    longest = min(MAX_LENGTH, d // 4) + 1
    return 4 * n * longest + 8 * (2 * SAMPLE_ROWS + 2 * k + 4 * longest) * (d + longest)


def fit_prefix(
    source: PrunableRows, centers: Centers, labels: Ints, forced: bool
) -> PrefixFilter | None:
    """Return the filter that is the cheapest for a sample of the rows; None if none pays.

    `forced`: the cheapest even so.
    """
    origin = source.survey().grid.origin
    n, d, k = source.n, source.d, len(centers.values)
    longest = max(1, min(MAX_LENGTH, int(d * LENGTH_SHARES[-1])))
    sampled = np.arange(n)
    if n > SAMPLE_ROWS:
        sampled = np.sort(np.random.default_rng(0).choice(n, SAMPLE_ROWS, replace=False))
    work = longest * d * (4.0 * SUBSPACE_ROUNDS * len(sampled) + 2.0 * n)
    if TILE_SPEEDUP * work > MAX_PASSES_FOR_ROTATION * 2.0 * n * k * d and not forced:
        return None
    sample = source.take_rows(sampled) - origin
    basis = main_axes(sample, min(longest, len(sample)))
    tried = slice(None, None, -(-len(sampled) // TRIAL_ROWS))
    own, max_cost = labels[sampled[tried]], math.inf if forced else MAX_COST_SHARE
    best = _cheapest_length(sample[tried], centers.about(origin), own, basis, max_cost)
    return PrefixFilter(source, origin, basis[:, :best]) if best else None


def _cheapest_length(
    rows: Floats, centers: Floats, labels: Ints, basis: Floats, max_cost: float
) -> int:
    """Number of columns that filter at the least cost below `max_cost`; 0 if none do."""
    (m, d), k = rows.shape, len(centers)
    to_own = rows - centers[labels]
    threshold = np.einsum("nd,nd->n", to_own, to_own)
    best, cheapest = 0, max_cost
    for share in reversed(LENGTH_SHARES):
        length = max(1, round(d * share))
        if length > basis.shape[1]:
            continue
        left = _survivors(rows, centers, basis[:, :length], threshold)
        cost = bounded_cost(PrunedCounts(0, m, m, m * k, left), m, d, length + 1)
        cost /= plain_cost(m, k, d)
        if cost > GIVE_UP_RATIO * cheapest:  # shorter ones leave more and more pairs
            break
        if cost < cheapest:
            best, cheapest = length, cost
    return best


def _survivors(rows: Floats, centers: Floats, basis: Floats, threshold: Floats) -> int:
    """Number of pairs that the filter leaves, own centers not counted."""
    y, c = shorten(rows, basis), shorten(centers, basis)
    squares = np.einsum("nd,nd->n", y, y)[:, None] + np.einsum("kd,kd->k", c, c) - 2.0 * (y @ c.T)
    return max(0, int(np.count_nonzero(squares <= threshold[:, None])) - len(rows))


def main_axes(rows: Floats, count: int) -> Floats:
    """Approximate the first principal axes (d, count), strongest first, by subspace iteration."""
    d = rows.shape[1]
    extra = min(d, len(rows), count + 8)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((d, extra)))[0]
    for _ in range(SUBSPACE_ROUNDS):
        basis = np.linalg.qr(rows.T @ (rows @ basis))[0]
    # rotated inside the space they span, so that any number of leading axes is the best of its size
    left = np.linalg.svd(rows @ basis, full_matrices=False)[2]
    return np.asarray((basis @ left.T)[:, :count])
