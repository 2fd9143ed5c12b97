"""The precision of scores: float32 where it separates centers, float64 where it does not.

Labels do not depend on it: rows whose float32 scores are too close are compared again exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.threads import Workers
from partita._kernels import kernels
from partita.centers import Centers
from partita.source.pass_price import PRICES, plain_cost, recheck_cost

PACK_MIN_VALUES = 1 << 14  # fewer are packed on the fly as quickly as they are looked up
PACK_MIN_SHARED_VALUES = 1 << 17  # fewer are packed before another thread wakes up
PACK_MAX_CENTERS = 256  # with more, packing takes little of a pass
MIN_UNPACKED_PASSES = 2  # many fits of well separated groups are over after these
PROBE_ROWS = 256  # on which float32 is tried before a pass over all rows
MIN_PROBED_ROWS = 16 * PROBE_ROWS  # fewer are not worth it


def packed_bytes(n: int, d: int) -> int:
    """Bytes of n packed rows."""
    return 4 * n * (d + 2)


class Scoring:
    """Chooses the codebook of each pass over n rows, and packs rows that are read often.

    `single`: the values of the rows are exact in float32, so float64 scores gain nothing.
    """

    def __init__(self, n: int, d: int, single: bool) -> None:
        self._n, self._d, self._single = n, d, single
        self._in_single = True  # the next pass
        self._double_passes, self._patience = 0, 1  # passes in float64 to come
        self._single_passes = 0
        self._packed: Any = None

    def codebook(
        self, centers: Centers, rows: Array | None, workers: Workers, memory: float
    ) -> tuple[Any, Any]:
        """The codebook of the next pass, and the packed rows if there are any.

        `rows` may be packed if they take no more than `memory` bytes.
        """
        values, crew = np.ascontiguousarray(centers.values), workers.crew
        if not self._in_single:
            return kernels.Codebook64(values, centers.origin, crew=crew), None
        book = kernels.Codebook32(values, centers.origin, like=self._packed, crew=crew)
        if (
            self._packed is None
            and self._single_passes >= MIN_UNPACKED_PASSES
            and rows is not None
            and self._n * self._d > PACK_MIN_VALUES
            and len(values) <= PACK_MAX_CENTERS
            and packed_bytes(self._n, self._d) <= memory
        ):
            shared = self._n * self._d >= PACK_MIN_SHARED_VALUES
            self._packed = kernels.keep_rows(book, rows, crew if shared else None)
        return book, self._packed

    def review(self, rechecked: int, k: int) -> None:
        """Turn to float64 for some passes if too many rows were compared again."""
        if not self._in_single:
            self._double_passes -= 1
            self._in_single = self._double_passes == 0
            return
        self._single_passes += 1
        if not self._pays(rechecked, k):
            self._turn_to_double()

    @property
    def needs_double(self) -> bool:
        """True if float32 was left for float64, and has not been worth it since."""
        return self._patience > 1 and self._single_passes == 0

    @property
    def is_doubtful(self) -> bool:
        """True if the next pass would be in float32, and none before it was worth it."""
        is_first = self._in_single and self._single_passes == 0
        return is_first and not self._single and self._n >= MIN_PROBED_ROWS

    def review_probe(self, rechecked: int, k: int) -> None:
        """Turn to float64 at once if too many of `PROBE_ROWS` rows were compared again."""
        if not self._pays(rechecked * self._n // PROBE_ROWS, k):
            self._turn_to_double()

    def _pays(self, rechecked: int, k: int) -> bool:
        """Return whether float32 costs less, given how many of all rows it compares again."""
        if self._single or not rechecked:
            return True
        extra = self._n * k * PRICES.pair[0]  # that a pass in float64 costs, about
        return recheck_cost(rechecked, k, self._d) <= plain_cost(self._n, k, self._d) + extra

    def _turn_to_double(self) -> None:
        # float32 will be tried again, by a pass that rows are not packed for
        self._in_single, self._packed, self._single_passes = False, None, 0
        self._double_passes, self._patience = self._patience, 2 * self._patience
