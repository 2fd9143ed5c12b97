"""The rows of a search: all, a sample, or none, by the memory and the work that they take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita.engine.lloyd import LloydOptions
from partita.engine.search.search_problem import SearchProblem
from partita.source.protocol import Source

# n·k·d of a search over all rows; larger ones search a sample
MAX_PASS_PRODUCTS = {"balanced": 5.0e6, "best": 2.0e7}
MAX_POLISH_PRODUCTS = 2.0e9  # n·k·d of a local search over all rows after that
MIN_ROWS_PER_CLUSTER = 50  # of a sample
MEMORY_SHARE = 0.5  # of what the fit may take
MIN_SEARCH_BYTES = 2.0**22  # that a search takes at any limit
ROW_BYTES = 64  # of a local search for each row, in addition to its values


@dataclass(frozen=True, slots=True)
class SearchRows:
    """Problems over the rows of a source."""

    source: Source
    options: LloydOptions
    quality: str
    rng: np.random.Generator

    def to_search(self, k: int) -> SearchProblem | None:
        """Return all rows, or a sample; None if too few would fit memory."""
        d = self.source.d
        by_work = max(MAX_PASS_PRODUCTS[self.quality] / (k * d), MIN_ROWS_PER_CLUSTER * k)
        size = min(self._rows_that_fit, int(by_work))
        if size < min(self.source.n, MIN_ROWS_PER_CLUSTER * k):
            return None
        return self._problem(k, size)

    def to_polish(self, k: int) -> SearchProblem | None:
        """Return all rows for a last local search; None if there are too many."""
        n, d = self.source.n, self.source.d
        if n > self._rows_that_fit or float(n) * k * d > MAX_POLISH_PRODUCTS:
            return None
        return self._problem(k, n)

    def _problem(self, k: int, size: int) -> SearchProblem:
        return SearchProblem.of(self.source, k, self.options.geometry, size, self.rng)

    @property
    def _rows_that_fit(self) -> int:
        allowed = max(self.options.memory * MEMORY_SHARE, MIN_SEARCH_BYTES)
        return int(min(allowed / (8 * self.source.d + ROW_BYTES), float(self.source.n)))
