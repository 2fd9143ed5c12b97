"""The cheapest assignment of rows to centers with limits on the number of rows of each cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._kernels import kernels
from partita.centers import Centers
from partita.source.protocol import Source, batch_of

MAX_COST = 1e300  # sums and differences of some costs must stay finite
# kept in order for a pair of clusters: changes only the time. With 8, lists ran dry on skewed data,
# and each time all labels were read
MIN_LIST_ROWS, MAX_LIST_ROWS = 64, 1024
ROWS_PER_LISTED_ROW = 10
FIRST_PATHS = 16  # of the first call of the kernel
CALL_SECONDS = 0.1  # between two looks at interrupts; the paths of a call change no label
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
        weight = source.weights.unless_equal()
        self._n, self._k, self._source = source.n, k, source
        self._weight, self._idle = weight, np.empty(0, np.intp)
        self._counted: slice | Ints = slice(None)
        if weight is not None and not weight.all():
            self._idle, self._counted = np.flatnonzero(weight == 0), np.flatnonzero(weight)
            self._source = batch_of(source, self._counted)
            self._weight = weight[self._counted]
            self._idle_source = batch_of(source, self._idle)
        m = self._source.n
        self._rank = _renumbered(ranks[self._counted])
        self._labels = np.full(m, -1, np.int32)  # of the rows that count
        self._costs = np.empty((0, k))
        self._low, self._high = (
            np.full(k, min(limit, m), np.int64) for limit in (limits.low, limits.high)
        )
        self.prices = np.zeros(k)  # of a place in each cluster: > 0 at `high`, < 0 at `low`
        self.paths = 0  # that limits took so far

    def assign(self, centers: Centers) -> Ints:
        """Return the labels (n,) of all rows."""
        self._measure(centers)
        labels, prices = self._labels.copy(), np.append(self.prices, 0.0)
        self._solve(labels, prices)
        if self._is_better(labels):
            self._labels = labels
        self.prices = prices[:-1] - prices[-1]
        if not len(self._idle):
            return self._labels.copy()
        out, idle = np.empty(self._n, np.int32), np.full(len(self._idle), -1, np.int32)
        self._idle_source.assign(centers, idle, None)
        out[self._counted], out[self._idle] = self._labels, idle
        return out

    def release(self) -> None:
        """Free the memory of the costs until they are needed again."""
        self._costs = np.empty((0, self._k))

    def _measure(self, centers: Centers) -> None:
        """Set the costs (m, k) of the rows that count."""
        if not len(self._costs):
            self._costs = np.empty((self._source.n, self._k))
        self._source.squares(centers, self._costs)
        with np.errstate(over="ignore"):
            if self._weight is not None:
                np.multiply(self._costs, self._weight[:, None], out=self._costs)
        np.minimum(self._costs, MAX_COST, out=self._costs)

    def _solve(self, labels: Ints, prices: Floats) -> None:
        m, k = self._costs.shape
        problem = kernels.Transport(
            self._costs, self._rank, self._low, self._high, labels, prices, list_rows(m, k)
        )
        most = FIRST_PATHS
        while True:
            begin = time.perf_counter()
            paths = kernels.transport_paths(problem, most)
            assert paths >= 0  # the limits were checked
            self.paths += paths
            if paths < most:
                return
            pace = CALL_SECONDS / max(time.perf_counter() - begin, 1e-6)
            most = max(1, int(most * min(pace, 4.0)))

    def _is_better(self, labels: Ints) -> bool:
        """Return whether labels cost less than those before: J must not rise by rounding."""
        if len(labels) and self._labels[0] < 0:
            return True
        moved = np.flatnonzero(labels != self._labels)
        before, after = self._costs[moved, self._labels[moved]], self._costs[moved, labels[moved]]
        decrease = exact_total(np.concatenate([before, -after]))
        return decrease > MIN_RELATIVE_DECREASE * exact_total(before)


def _renumbered(ranks: Ints) -> Ints:
    """Numbers 0…m−1 in the order of different ranks (m,)."""
    out = np.empty(len(ranks), np.int32)
    out[np.argsort(ranks)] = np.arange(len(ranks), dtype=np.int32)
    return out
