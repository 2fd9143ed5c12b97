"""The cheapest assignment of rows to centers with limits on the number of rows of each cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._kernels import kernels
from partita.centers import Centers
from partita.source.protocol import Source

MAX_COST = 1e300  # sums and differences of some costs must stay finite
MIN_LIST_ROWS, MAX_LIST_ROWS = 8, 256  # kept in order for a pair of clusters: changes only the time
ROWS_PER_LISTED_ROW = 40
MAX_CALL_WORK = 1 << 26  # between two looks at interrupts, in steps of about a nanosecond
REBUILD_SHARE = 64  # one path in so many fills a list again, which reads all labels
MIN_RELATIVE_DECREASE = 2.0**-46  # of the costs of rows that move: less may be rounding


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The least and the largest number of rows of a cluster; rows of weight 0 do not count."""

    low: int
    high: int

    def bytes_for(self, n: int, k: int) -> float:
        """Bytes that the assignment of n rows to k clusters takes."""
        return 8.0 * n * (k + 3) + k * k * (16.0 + 12.0 * list_rows(n, k))


def list_rows(n: int, k: int) -> int:
    """The number of rows that are kept in order for every pair of clusters."""
    return max(MIN_LIST_ROWS, min(MAX_LIST_ROWS, n // (ROWS_PER_LISTED_ROW * k)))


class LimitedAssignment:
    """The labels of rows for changing centers, each time at the least total cost.

    A transportation problem, solved exactly (see cpp/kernels/transport.hpp). It starts from the
    labels and prices of the last centers, so it takes little time when these have hardly moved.
    Costs are weight times D64. Rows of weight 0 get their nearest center, and do not count.
    """

    def __init__(self, source: Source, k: int, limits: SizeLimits, ranks: Ints) -> None:
        self._source, self._limits = source, limits
        self._weight = source.weights.unless_equal()
        self._counted = slice(None) if self._weight is None else np.flatnonzero(self._weight)
        self._rank = _renumbered(ranks[self._counted])
        self._labels = np.full(len(self._rank), -1, np.int32)  # of the rows that count
        self._costs = np.empty((k, len(self._rank)))
        self._low, self._high = (
            np.full(k, min(limit, len(self._rank)), np.int64) for limit in (limits.low, limits.high)
        )
        self.prices = np.zeros(k)  # of a place in each cluster: > 0 at `high`, < 0 at `low`
        self.paths = 0  # that limits took so far

    def assign(self, centers: Centers) -> Ints:
        """Return the labels (n,) of all rows."""
        idle = self._measure(centers)
        labels, prices = self._labels.copy(), np.append(self.prices, 0.0)
        self._solve(labels, prices)
        if self._is_better(labels):
            self._labels = labels
        self.prices = prices[:-1] - prices[-1]
        if self._weight is None:
            return self._labels.copy()
        idle[self._counted] = self._labels
        return idle

    def _measure(self, centers: Centers) -> Ints:
        """Set the costs (k, m) of the rows that count; return the nearest center (n,) of others."""
        source, zero = self._source, np.zeros(self._source.n, np.int32)
        values = np.ascontiguousarray(centers.values)
        nearest, closest = zero.copy(), np.full(source.n, np.inf)
        for j in range(len(values)):
            squares = source.own_distances(Centers(values[j : j + 1], centers.origin), zero)
            if self._weight is None:
                self._costs[j] = squares
                continue
            with np.errstate(over="ignore"):
                np.multiply(squares[self._counted], self._weight[self._counted], self._costs[j])
            nearest[squares < closest] = j
            np.minimum(closest, squares, out=closest)
        np.minimum(self._costs, MAX_COST, out=self._costs)
        return nearest

    def _solve(self, labels: Ints, prices: Floats) -> None:
        k, m = self._costs.shape
        problem = kernels.Transport(
            self._costs, self._rank, self._low, self._high, labels, prices, list_rows(m, k)
        )
        most = max(1, MAX_CALL_WORK // ((k + 1) ** 2 + m // REBUILD_SHARE))
        while True:
            paths = kernels.transport_paths(problem, most)
            assert paths >= 0  # the limits were checked
            self.paths += paths
            if paths < most:
                return

    def _is_better(self, labels: Ints) -> bool:
        """Return whether labels cost less than those before: J must not rise by rounding."""
        if len(labels) and self._labels[0] < 0:
            return True
        moved = np.flatnonzero(labels != self._labels)
        before, after = self._costs[self._labels[moved], moved], self._costs[labels[moved], moved]
        decrease = exact_total(np.concatenate([before, -after]))
        return decrease > MIN_RELATIVE_DECREASE * exact_total(before)


def _renumbered(ranks: Ints) -> Ints:
    """Numbers 0…m−1 in the order of different ranks (m,)."""
    out = np.empty(len(ranks), np.int32)
    out[np.argsort(ranks)] = np.arange(len(ranks), dtype=np.int32)
    return out
