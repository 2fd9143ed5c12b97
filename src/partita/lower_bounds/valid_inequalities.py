"""Inequalities that the matrices of partitions satisfy beyond those of the Peng–Wei relaxation.

With Z_ij = Π_ij/(s_i s_j), which is 1/w(C) within a cluster and 0 elsewhere:

* pair: Z_ij ≤ Z_ii,
* triangle: Z_ij + Z_ih ≤ Z_ii + Z_jh.

Each is scaled so that its largest coefficient on Π is 1. See Aloise and Hansen (2009), and
Piccialli, Sudoso and Wiegele, SOS-SDP (INFORMS J. Comput. 34, 2022).
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.lower_bounds.rounding import gamma, norm
from partita.lower_bounds.semidefinite_value import Multiplier

MAX_THRESHOLD = 1e-4  # violation, of the mean of Z_ii, above which an inequality is added
MIN_THRESHOLD = 1e-8  # down to which the threshold falls while few are found
KEPT_SLACK = 1e-5  # of the mean of Z_ii, within which an inequality without multiplier is kept
MAX_TRIPLES = 200_000_000  # that are looked at in a round: about a second
ENTRIES = 4  # of a matrix A_l: ij, ih, ii, jh


class InequalityPool:
    """Inequalities ⟨A_l, Π⟩ ≤ 0 with multipliers μ_l ≥ 0; (i, j, i) stands for a pair."""

    def __init__(self, root: Floats) -> None:
        self._inverse = 1.0 / root
        self._triples: Ints = np.zeros((0, 3), np.intp)
        self.multipliers = np.zeros(0)
        self._threshold, self._next_row = MAX_THRESHOLD, 0
        self._index(self._triples)

    def __len__(self) -> int:
        return len(self._triples)

    def values(self, matrix: Floats) -> Floats:
        """⟨A_l, Π⟩ of all inequalities, for a symmetric matrix."""
        products = self._coefficients * matrix.ravel()[self._entries]
        return np.asarray(products.reshape(ENTRIES, -1).sum(axis=0))

    def combination(self, multipliers: Floats) -> Floats:
        """Σ μ_l A_l, symmetric."""
        return self._scattered(self._coefficients * np.tile(multipliers, ENTRIES))

    def improve(self, matrix: Floats, steps: int) -> Floats:
        """Move the multipliers towards the projection of a matrix S on the inequalities and on ≥ 0.

        That projection is max(S − Σ μ_l A_l, 0) at the best μ ≥ 0. Accelerated gradient steps with
        a diagonal metric; returns Σ μ_l A_l.
        """
        now = ahead = self.multipliers
        momentum = 1.0
        for _ in range(steps):
            nearest = np.maximum(matrix - self.combination(ahead), 0.0)
            moved = np.maximum(ahead + self.values(nearest) / self._curvature, 0.0)
            next_momentum = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum) ** 0.5)
            ahead = np.maximum(moved + (momentum - 1.0) / next_momentum * (moved - now), 0.0)
            now, momentum = moved, next_momentum
        self.multipliers = now
        return self.combination(now)

    def exchange(self, matrix: Floats, max_new_per_row: int) -> int:
        """Drop idle inequalities, add violated ones; return how many were added."""
        violation = self.values(matrix)
        size = float(np.mean(np.diag(matrix)))
        kept = (self.multipliers > 0) | (violation > -KEPT_SLACK * size)
        triples, multipliers = self._triples[kept], self.multipliers[kept]
        z = matrix * self._inverse[:, None] * self._inverse
        found = violated(z, self._threshold, max_new_per_row, self._searched(len(z)))
        new = found[~np.isin(self._keys(found), self._keys(triples))]
        self.multipliers = np.concatenate([multipliers, np.zeros(len(new))])
        self._index(np.concatenate([triples, new]))
        if len(new) < len(z):
            self._threshold = max(0.1 * self._threshold, MIN_THRESHOLD)
        return len(new)

    def multiplier(self, nonnegative: Floats, scale: float) -> Multiplier:
        """Return scale·(N − Σ μ_l A_l), with a bound of its rounding error."""
        if not len(self):
            return Multiplier(scale * nonnegative)
        weighted = self._coefficients * np.tile(self.multipliers, ENTRIES)
        size = norm(self._scattered(np.abs(weighted)))
        most = int(np.bincount(self._entries).max())
        matrix = scale * (nonnegative - self._scattered(weighted))
        error = gamma(2 * most + 12) * (size * scale + norm(matrix))
        return Multiplier(matrix, error)

    def _searched(self, n: int) -> Ints:
        """Return the rows whose triangles this round searches: all, or those next in turn."""
        count = min(n, 1 + MAX_TRIPLES // (n * n))
        rows = (self._next_row + np.arange(count)) % n
        self._next_row = (self._next_row + count) % n
        return rows

    def _scattered(self, values: Floats) -> Floats:
        n = len(self._inverse)
        half = 0.5 * np.bincount(self._entries, values, minlength=n * n).reshape(n, n)
        return np.asarray(half + half.T)

    def _keys(self, triples: Ints) -> Ints:
        n = len(self._inverse)
        return np.asarray((triples[:, 0] * n + triples[:, 1]) * n + triples[:, 2])

    def _index(self, triples: Ints) -> None:
        """Store the entries and coefficients of the matrices A_l."""
        self._triples = triples
        n, inverse = len(self._inverse), self._inverse
        i, j, h = (np.asarray(column) for column in triples.T)
        is_triangle = np.where(h == i, 0.0, 1.0)
        signs = np.stack([np.ones(len(i)), is_triangle, -np.ones(len(i)), -is_triangle])
        size = np.stack([inverse[i] * inverse[j], inverse[i] * inverse[h], inverse[i] ** 2,
                         inverse[j] * inverse[h]])  # fmt: skip
        coefficients = signs * size / (np.abs(signs) * size).max(axis=0, initial=0.0)
        self._coefficients = coefficients.ravel()
        self._entries = np.concatenate([i * n + j, i * n + h, i * n + i, j * n + h])
        load = self._scattered(np.abs(self._coefficients)).ravel()[self._entries]
        curvature = (np.abs(self._coefficients) * load).reshape(ENTRIES, -1).sum(axis=0)
        self._curvature = curvature


def violated(z: Floats, threshold: float, max_per_row: int, rows: Ints) -> Ints:
    """Return the triples (m, 3) of violated pairs, and of the worst triangles at each of `rows`.

    O(n²) time for each row, O(n²) memory.
    """
    n, least = len(z), threshold * float(np.mean(np.diag(z)))
    pairs = z - np.diag(z)[:, None]
    np.fill_diagonal(pairs, -1.0)
    i, j = np.nonzero(pairs > least)
    found: list[Ints] = [np.stack([i, j, i], axis=1)]
    below = np.tril(np.ones((n, n), bool))
    for row in rows.tolist():
        violation = z[row][:, None] + (z[row] - z[row, row]) - z
        violation[below] = violation[row] = violation[:, row] = -1.0
        flat = violation.ravel()
        worst = np.flatnonzero(flat > least)
        if len(worst) > max_per_row:
            worst = worst[np.argpartition(-flat[worst], max_per_row)[:max_per_row]]
        found.append(np.stack([np.full(len(worst), row), worst // n, worst % n], axis=1))
    return np.concatenate(found)
