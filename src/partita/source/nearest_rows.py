"""The nearest of distinct rows, in an order that no rounding, thread or processor changes.

A search by scikit-learn proposes candidates. Where two of its distances are closer than its error,
they are computed again as D64, features in order; equal ones go by the order of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita._common.sparse_format import is_sparse
from partita._common.threads import Workers, openmp_threads

MAX_TREE_FEATURES = 15  # above it, all distances by a matrix product are faster
BLOCK_ROWS = 4096  # searched at once; in between, the search can be interrupted
BLOCK_VALUES = 1 << 22  # distances that are computed again at once
ROUNDINGS = 16.0  # per feature, of a distance that a search returns


class NearestRows:
    """Search among rows (m, d) that all differ."""

    def __init__(self, rows: Any, workers: Workers) -> None:
        from sklearn.neighbors import NearestNeighbors

        self.count, d = rows.shape
        self._workers, self._scale = workers, square_scale(largest_magnitude(rows))
        self._rows = self._as_doubles(rows)
        self._by_tree = d <= MAX_TREE_FEATURES and not is_sparse(rows)
        self._error = ROUNDINGS * (d + 4) * float(np.finfo(np.float64).eps)
        self._middle = 0.0 if self._by_tree or is_sparse(rows) else np.median(self._rows, axis=0)
        self._search = NearestNeighbors(
            algorithm="kd_tree" if self._by_tree else "brute", n_jobs=workers.n
        ).fit(self._rows - self._middle if np.any(self._middle) else self._rows)

    def nearest(self, X: Any, count: int, own: Ints | None = None) -> Ints:
        """Return the places (n, count) of the nearest rows, nearest first.

        `own`: the places of X itself among the rows, which come first.
        """
        out = np.empty((X.shape[0], count), np.int64)
        for begin in range(0, X.shape[0], BLOCK_ROWS):
            block = slice(begin, begin + BLOCK_ROWS)
            some = None if own is None else own[block]
            out[block] = self._nearest(self._as_doubles(X[block]), count, some)
        return out

    def _as_doubles(self, X: Any) -> Any:
        return scaled(X, self._scale) if self._scale != 1.0 else X.astype(np.float64, copy=False)

    def _nearest(self, X: Any, count: int, own: Ints | None) -> Ints:
        squares, places, error = self._candidates(X, min(self.count, count + 1), own)
        unsure = (np.diff(squares, axis=1) <= error[:, 1:] + error[:, :-1]).any(axis=1)
        if own is not None:
            unsure |= places[:, 0] != own
        out, wide = places[:, :count], count + 1
        left = np.flatnonzero(unsure)
        while left.size:
            waiting, step = [], max(1, BLOCK_VALUES // wide)
            for i in range(0, len(left), step):
                some = left[i : i + step]
                out[some], settled = self._by_exact(
                    X[some], count, None if own is None else own[some], min(wide, self.count)
                )
                waiting.append(some[~settled])
            left, wide = np.concatenate(waiting), 2 * wide
        return out

    def _candidates(self, X: Any, count: int, own: Ints | None) -> tuple[Floats, Ints, Floats]:
        """Return squares (n, count) in rising order, the places, and bounds of their errors."""
        about = X - self._middle if np.any(self._middle) else X
        with openmp_threads(self._workers.n):
            near, places = self._search.kneighbors(about, count)
        squares = near * near
        error = self._error * squares
        if not self._by_tree:  # it subtracts products from squared lengths
            error = 4 * error + 4 * self._error * _lengths(X, self._middle)[:, None]
        if own is not None:
            squares[places == own[:, None]] = -np.inf  # also before rows too near for doubles
            order = np.argsort(squares, axis=1, kind="stable")
            squares, places = (np.take_along_axis(a, order, axis=1) for a in (squares, places))
            error = np.take_along_axis(error, order, axis=1)
        return squares, places.astype(np.int64), error

    def _by_exact(
        self, X: Any, count: int, own: Ints | None, wide: int
    ) -> tuple[Ints, np.ndarray[Any, np.dtype[np.bool_]]]:
        """Return the nearest among `wide` candidates by D64, and where no other can be nearer."""
        squares, places, error = self._candidates(X, wide, own)
        beyond = squares[:, -1] - error[:, -1]  # at least, for those that are no candidates
        exact = self._squares(X, places)
        if own is not None:
            exact[places == own[:, None]] = -1.0
        order = np.lexsort((places, exact), axis=1)[:, :count]
        last = np.take_along_axis(exact, order[:, -1:], axis=1)[:, 0]
        settled = (last < beyond) | (wide == self.count)
        if own is not None:
            settled &= (places == own[:, None]).any(axis=1)
        return np.take_along_axis(places, order, axis=1), settled

    def _squares(self, X: Any, places: Ints) -> Floats:
        """D64 (n, m) of each row to its candidates."""
        if is_sparse(X):
            gaps = (
                X[np.repeat(np.arange(len(places)), places.shape[1])] - self._rows[places.ravel()]
            )
            return np.asarray(gaps.power(2) @ np.ones(gaps.shape[1])).reshape(places.shape)
        squares = np.zeros(places.shape)
        for own, column in zip(X.T, self._rows.T, strict=True):
            gap = own[:, None] - column[places]
            squares += gap * gap
        return squares


def _lengths(X: Any, middle: Any) -> Floats:
    """Squared lengths (n,) about the middle, roughly."""
    if is_sparse(X):
        return np.asarray(X.power(2).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.square(X - middle).sum(axis=1))
