"""Nyström approximation of a Gram matrix by randomly pivoted Cholesky.

K̂ = F·Fᵀ with F (n, r) from the columns of r pivots, drawn in proportion to the diagonal of the
residual K − K̂ (Chen, Epperly, Tropp and Webber 2022). Pivots are drawn in blocks with rejection,
which gives the same distribution (Epperly, Tropp and Webber 2024). K − K̂ is positive semidefinite,
so the kernel objective of any partition exceeds that of K̂ by at least 0 and at most Σ w·(K − K̂)_ii.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers, check_room_for_blas, one_blas_thread
from partita._kernels.weighted_draws import index_in_cumsum
from partita.source.gram_tiles import share_tiles
from partita.source.kernel_function import KernelFunction

PIVOT_BLOCK = 64  # pivots proposed at once
BLOCK_ROWS = 8192  # fixed, so that bits do not depend on the number of threads
DIMENSION_SAMPLE_ROWS = 4096
RESIDUAL_ROUNDINGS = 64  # of the diagonal: a residual up to it is zero
INDEFINITE_FACTOR = 1e8  # times that below zero: the kernel is indefinite


class Nystrom:
    """Features F (n, r) that grow pivot by pivot."""

    def __init__(self, kernel: KernelFunction, X: Any, weight: Floats, workers: Workers) -> None:
        self.kernel, self.X, self.weight, self.workers = kernel, X, weight, workers
        self.residual = kernel.diagonal(X)  # (n,) of K − K̂
        if (self.residual < 0).any() or kernel.metric == "additive_chi2":
            raise ValueError(_INDEFINITE_MESSAGE)
        self._floor = RESIDUAL_ROUNDINGS * np.finfo(np.float64).eps * self.residual
        self.residual[self.residual <= self._floor] = 0.0
        self.pivots: Ints = np.empty(0, np.intp)
        self.features: Floats = np.empty((X.shape[0], 0))

    @property
    def trace(self) -> float:
        """Σ w·(K − K̂)_ii: the largest error of the objective."""
        return exact_total(self.residual, self.weight)

    def grow(self, rank: int, rng: np.random.Generator) -> None:
        """Add pivots up to `rank`, or until the residual is zero."""
        have = len(self.pivots)
        grown = np.zeros((len(self.features), rank))
        grown[:, :have] = self.features[:, :have]
        self.features = grown
        while have < rank:
            cumulated = (self.weight * self.residual).cumsum()
            if not cumulated[-1] > 0:
                break
            count = min(PIVOT_BLOCK, rank - have)
            drawn = index_in_cumsum(cumulated, rng.random(count) * cumulated[-1])
            pivots, factor = self._accept(drawn, have, rng.random(count))
            self._extend(pivots, factor, have)
            have += len(pivots)
            self.pivots = np.concatenate([self.pivots, pivots])
        self.features = np.ascontiguousarray(self.features[:, : max(1, have)])

    def _accept(self, drawn: Ints, have: int, coin: Floats) -> tuple[Ints, Floats]:
        """Return the drawn rows that become pivots, and the Cholesky factor of their residual.

        A row is accepted with the probability that the pivots before it left its residual.
        """
        known = self.features[drawn, :have]
        left = self.kernel.between(self.X[drawn]) - known @ known.T
        factor = np.zeros((len(drawn), len(drawn)))
        accepted: list[int] = []
        for i, row in enumerate(drawn):
            rest = left[i, i] - factor[i] @ factor[i]
            if rest <= self._floor[row] or coin[i] * self.residual[row] > rest:
                continue
            column = left[:, i] - factor @ factor[i]
            factor[:, len(accepted)] = column / np.sqrt(rest)
            accepted.append(i)
        if not accepted:  # only rounding errors are left of the drawn rows
            self.residual[drawn] = 0.0
        return drawn[accepted], np.tril(factor[accepted][:, : len(accepted)])

    def _extend(self, pivots: Ints, factor: Floats, have: int) -> None:
        """Append the columns of new pivots, less their known part."""
        if len(pivots) == 0:
            return
        from scipy.linalg import solve_triangular

        pivot_rows, known = self.X[pivots], self.features[pivots, :have].copy()
        columns = slice(have, have + len(pivots))
        indefinite = np.zeros(-(-len(self.features) // BLOCK_ROWS), bool)

        def fill(number: int) -> None:
            rows = slice(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS)
            column = self.kernel.between(self.X[rows], pivot_rows)
            column -= self.features[rows, :have] @ known.T
            new = solve_triangular(factor, column.T, lower=True, check_finite=False).T
            self.features[rows, columns] = new
            left = self.residual[rows] - np.einsum("nr,nr->n", new, new)
            indefinite[number] = bool((left < -INDEFINITE_FACTOR * self._floor[rows]).any())
            left[left <= self._floor[rows]] = 0.0
            self.residual[rows] = left

        with one_blas_thread():
            share_tiles(self.workers, len(indefinite), fill)
        if indefinite.any():
            raise ValueError(_INDEFINITE_MESSAGE)
        self.residual[pivots] = 0.0
        self.features[pivots, columns] = factor

    def dimension(self) -> float:
        """Return the effective dimension of the features: (Σλ)² / Σλ² of their covariance."""
        rows = np.flatnonzero(self.weight)
        rows = rows[evenly_spaced(len(rows), DIMENSION_SAMPLE_ROWS)]
        share = self.weight[rows] / self.weight[rows].sum()
        centred = self.features[rows] - share @ self.features[rows]
        covariance = (centred * share[:, None]).T @ centred
        squares = float((covariance * covariance).sum())
        return max(1.0, float(np.trace(covariance)) ** 2 / squares) if squares > 0 else 1.0

    def map(self) -> NystromMap:
        """Return the map of new rows to features."""
        if len(self.pivots) == 0:  # all rows are at the origin
            return NystromMap(self.kernel, self.X[:1], np.ones((1, 1)))
        return NystromMap(self.kernel, self.X[self.pivots], np.tril(self.features[self.pivots]))


class NystromMap:
    """The map of new rows to features, by their inner products with the pivots."""

    def __init__(self, kernel: KernelFunction, pivots: Any, factor: Floats) -> None:
        self.kernel, self.pivots, self.factor = kernel, pivots, factor

    def features(self, X: Any, workers: Workers) -> Floats:
        """Return F (n, r) of rows in the form that the kernel takes."""
        from scipy.linalg import solve_triangular

        blocks = -(-X.shape[0] // BLOCK_ROWS)
        check_room_for_blas(min(workers.n, blocks))
        out = np.empty((X.shape[0], len(self.factor)))

        def fill(number: int) -> None:
            rows = slice(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS)
            column = self.kernel.between(self.pivots, X[rows])
            out[rows] = solve_triangular(self.factor, column, lower=True, check_finite=False).T

        with one_blas_thread():
            share_tiles(workers, blocks, fill)
        return out


_INDEFINITE_MESSAGE = (
    "`kernel` must be positive semidefinite with approximation='nystrom', got an indefinite one. "
    "Use approximation='exact' (with diagonal_shift='auto' if the objective must never rise)."
)
