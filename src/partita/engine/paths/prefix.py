"""A few rotated features that stand for all: distances in them are never larger than the real ones.

With orthonormal columns Q, y' = Qᵀy and t(y) = ‖y − Qy'‖,

    ‖y − c‖² >= ‖y' − c'‖² + (t(y) − t(c))²        (Cauchy–Schwarz)

so rows (y', t(y)) and centers (c', t(c)) are a small problem that filters the large one. Any Q is
right; one that holds most of the data's energy in few columns is fast.
"""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.engine.paths.price import bounded_cost, plain_cost
from partita.source.blocks import DenseSource, Pruned

SAMPLE = 1024  # rows that the rotation is fitted to
TRIED = 128  # rows that a length is tried on
SHARES = (1 / 24, 1 / 16, 1 / 12, 1 / 8, 1 / 6, 1 / 4)  # lengths that are tried, of d
LONGEST = 160
ROUNDS = 2  # of subspace iteration
# The rotation may cost as much as so many plain passes, whose tiles are so many times faster.
PASSES, SLOWER = 3.0, 4.0
HOPELESS = 1.5  # times the cheapest
GAIN = 0.75  # a pass by the filter must cost less than this share of a plain one


class Prefix:
    """The small problem: `rows` (n, length + 1), and centers to match."""

    def __init__(self, source: DenseSource, origin: Floats, basis: Floats) -> None:
        self.origin = origin
        self.basis = np.ascontiguousarray(basis)
        self.rows: Floats = source.project(origin, self.basis)
        self.length = basis.shape[1]
        # rounding of the rows to float32, and of their length t, per unit of their size: t² is a
        # difference of sums of d products, and Q is orthonormal but for rounding
        off = float(np.abs(self.basis.T @ self.basis - np.eye(self.length)).sum())
        products = (len(origin) + 8) * (2.0 + 2.0 * math.sqrt(self.length)) * 2.0**-52
        self.blur = 2.0**-22 + math.sqrt(products + 2.0 * off)

    def centers(self, centers: Centers) -> Floats:
        """Centers (k, length + 1) of the small problem."""
        return shorten(centers.about(self.origin), self.basis)


def shorten(rows: Floats, basis: Floats) -> Floats:
    """(y', t(y)) of rows y."""
    short = rows @ basis
    rest = rows - short @ basis.T
    return np.column_stack([short, np.sqrt(np.einsum("nd,nd->n", rest, rest))])


def fit_prefix(source: DenseSource, centers: Centers, labels: Ints, forced: bool) -> Prefix | None:
    """The filter that a sample of the rows says is the cheapest; None if none pays.

    `forced`: the cheapest even so.
    """
    origin = source.survey().grid.origin
    n, d, k = source.n, source.d, len(centers.values)
    longest = max(1, min(LONGEST, int(d * SHARES[-1])))
    picked = np.arange(n)
    if n > SAMPLE:
        picked = np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])
    work = longest * d * (4.0 * ROUNDS * len(picked) + 2.0 * n)
    if SLOWER * work > PASSES * 2.0 * n * k * d and not forced:
        return None
    sample = source.take_rows(picked) - origin
    basis = main_axes(sample, min(longest, len(sample)))
    at = centers.about(origin)
    few = slice(None, None, -(-len(picked) // TRIED))
    rows = sample[few]
    own = rows - at[labels[picked[few]]]
    bar = np.einsum("nd,nd->n", own, own)
    best, cheapest = 0, math.inf if forced else GAIN
    for share in reversed(SHARES):
        length = max(1, round(d * share))
        if length > basis.shape[1]:
            continue
        m = len(rows)
        done = Pruned(0, m, m, m * k, _survivors(rows, at, basis[:, :length], bar))
        cost = bounded_cost(done, m, d, length + 1) / plain_cost(m, k, d)
        if cost > HOPELESS * cheapest:  # shorter ones would leave more and more pairs
            break
        if cost < cheapest:
            best, cheapest = length, cost
    return Prefix(source, origin, basis[:, :best]) if best else None


def _survivors(rows: Floats, centers: Floats, basis: Floats, bar: Floats) -> int:
    """How many pairs the filter leaves, own centers not counted."""
    y, c = shorten(rows, basis), shorten(centers, basis)
    squares = np.einsum("nd,nd->n", y, y)[:, None] + np.einsum("kd,kd->k", c, c) - 2.0 * (y @ c.T)
    return max(0, int(np.count_nonzero(squares <= bar[:, None])) - len(rows))


def main_axes(rows: Floats, count: int, rounds: int = ROUNDS) -> Floats:
    """About the first principal axes (d, count), the strongest first, by subspace iteration."""
    d = rows.shape[1]
    extra = min(d, len(rows), count + 8)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((d, extra)))[0]
    for _ in range(rounds):
        basis = np.linalg.qr(rows.T @ (rows @ basis))[0]
    # rotated inside the space they span, so that any number of leading ones is the best of its size
    left = np.linalg.svd(rows @ basis, full_matrices=False)[2]
    return np.asarray((basis @ left.T)[:, :count])
