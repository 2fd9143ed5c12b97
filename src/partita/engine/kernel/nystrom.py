"""Few columns of a Gram matrix in place of all: randomly pivoted Cholesky.

K̂ = F·Fᵀ with F (n, r) from the columns of r pivots, drawn in proportion to what is still missing on
the diagonal (Chen, Epperly, Tropp and Webber 2022). They are drawn in blocks, with rejection, which
gives the same distribution (Epperly, Tropp and Webber 2024). What is missing, K − K̂, is positive
semidefinite, so the kernel objective of any partition exceeds that of K̂ by at least 0 and at most
Σ w·(K − K̂)_ii.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers
from partita._kernels.weighted_draws import index_in_cumsum
from partita.source.kernel_function import KernelFunction, share_tiles

_AT_ONCE = 64  # pivots proposed at once
_ROWS = 8192  # of a block: fixed, so that its bits do not depend on threads
_SAMPLE = 4096  # rows that show which directions are filled
_NOTHING = 64  # roundings of the diagonal: what may be left where nothing is missing
_TOO_LOW = 1e8  # times that below zero is no rounding


class Nystrom:
    """Features F (n, r) that grow pivot by pivot."""

    def __init__(self, kernel: KernelFunction, X: Any, weight: Floats, workers: Workers) -> None:
        self.kernel, self.X, self.weight, self.workers = kernel, X, weight, workers
        self.missing = kernel.diagonal(X)  # (n,) of K − K̂
        if (self.missing < 0).any():
            raise ValueError(_INDEFINITE)
        self._floor = _NOTHING * np.finfo(X.dtype).eps * self.missing
        self.missing[self.missing <= self._floor] = 0.0
        self.pivots: Ints = np.empty(0, np.intp)
        self.features: Floats = np.empty((X.shape[0], 0))

    @property
    def trace(self) -> float:
        """Σ w·(K − K̂)_ii: how far the objective may be off."""
        return exact_total(self.weight * self.missing)

    def grow(self, rank: int, rng: np.random.Generator) -> None:
        """Add pivots up to `rank`, or until nothing is missing."""
        have = len(self.pivots)
        grown = np.zeros((len(self.features), rank))
        grown[:, :have] = self.features[:, :have]
        self.features = grown
        while have < rank:
            cumulated = (self.weight * self.missing).cumsum()
            if not cumulated[-1] > 0:
                break
            count = min(_AT_ONCE, rank - have)
            drawn = index_in_cumsum(cumulated, rng.random(count) * cumulated[-1])
            pivots, factor = self._accept(drawn, have, rng.random(count))
            self._extend(pivots, factor, have)
            have += len(pivots)
            self.pivots = np.concatenate([self.pivots, pivots])
        self.features = np.ascontiguousarray(self.features[:, : max(1, have)])

    def _accept(self, drawn: Ints, have: int, coin: Floats) -> tuple[Ints, Floats]:
        """Which of the drawn rows become pivots, and the Cholesky factor of what they miss.

        A row stays with the probability that its share has not been taken by those before it.
        """
        known = self.features[drawn, :have]
        left = self.kernel.between(self.X[drawn]).astype(np.float64) - known @ known.T
        factor = np.zeros((len(drawn), len(drawn)))
        taken: list[int] = []
        for i, row in enumerate(drawn):
            rest = left[i, i] - factor[i] @ factor[i]
            if rest <= self._floor[row] or coin[i] * self.missing[row] > rest:
                continue
            column = left[:, i] - factor @ factor[i]
            factor[:, len(taken)] = column / np.sqrt(rest)
            taken.append(i)
        if not taken:  # only rounding is left of what was drawn
            self.missing[drawn] = 0.0
        return drawn[taken], np.tril(factor[taken][:, : len(taken)])

    def _extend(self, pivots: Ints, factor: Floats, have: int) -> None:
        """Append the columns of new pivots, less what is known of them."""
        if len(pivots) == 0:
            return
        from scipy.linalg import solve_triangular

        at, known = self.X[pivots], self.features[pivots, :have].copy()
        to = slice(have, have + len(pivots))
        wrong = np.zeros(-(-len(self.features) // _ROWS), bool)

        def fill(number: int) -> None:
            rows = slice(number * _ROWS, (number + 1) * _ROWS)
            column = self.kernel.between(self.X[rows], at).astype(np.float64)
            column -= self.features[rows, :have] @ known.T
            new = solve_triangular(factor, column.T, lower=True, check_finite=False).T
            self.features[rows, to] = new
            left = self.missing[rows] - np.einsum("nr,nr->n", new, new)
            wrong[number] = bool((left < -_TOO_LOW * self._floor[rows]).any())
            left[left <= self._floor[rows]] = 0.0
            self.missing[rows] = left

        share_tiles(self.workers, len(wrong), fill)
        if wrong.any():
            raise ValueError(_INDEFINITE)
        self.missing[pivots] = 0.0
        self.features[pivots, to] = factor

    def dimension(self) -> float:
        """How many directions the features fill: (Σλ)² / Σλ² of their covariance."""
        some = np.flatnonzero(self.weight)
        some = some[evenly_spaced(len(some), _SAMPLE)]
        share = self.weight[some] / self.weight[some].sum()
        away = self.features[some] - share @ self.features[some]
        spread = (away * share[:, None]).T @ away
        squares = float((spread * spread).sum())
        return max(1.0, float(np.trace(spread)) ** 2 / squares) if squares > 0 else 1.0

    def map(self) -> NystromMap:
        """What new rows need."""
        if len(self.pivots) == 0:  # every row is at the origin
            return NystromMap(self.kernel, self.X[:1], np.ones((1, 1)))
        return NystromMap(self.kernel, self.X[self.pivots], np.tril(self.features[self.pivots]))


class NystromMap:
    """Features of new rows, from their inner products with the pivots."""

    def __init__(self, kernel: KernelFunction, pivots: Any, factor: Floats) -> None:
        self.kernel, self.pivots, self.factor = kernel, pivots, factor

    def features(self, X: Any, workers: Workers) -> Floats:
        """F (n, r) of rows as the kernel takes them."""
        from scipy.linalg import solve_triangular

        out = np.empty((X.shape[0], len(self.factor)))

        def fill(number: int) -> None:
            rows = slice(number * _ROWS, (number + 1) * _ROWS)
            column = self.kernel.between(self.pivots, X[rows]).astype(np.float64)
            out[rows] = solve_triangular(self.factor, column, lower=True, check_finite=False).T

        share_tiles(workers, -(-X.shape[0] // _ROWS), fill)
        return out


_INDEFINITE = (
    "approximation='nystrom' needs a positive semidefinite kernel, and this one is not: take "
    "approximation='exact' (with diagonal_shift='auto', if the objective must never rise)"
)
