"""The rounds of k-means++ over dense rows: draw candidates, compare them, choose one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.power_of_two import power_of_two
from partita._kernels import kernels
from partita._kernels.weighted_draws import LEAF_ROWS, draw_rows

if TYPE_CHECKING:
    from partita.source.blocked_rows import BlockedRows

SKETCH_RANGE_SHARE = 0.98  # of the rows lie within the range of a sketch
MIN_SKETCH_CANDIDATES = 64  # in all rounds
MAX_SKETCH_FEATURES = 1 << 15  # so that sums of products of bytes fit 32 bits
MAX_SAMPLE_VALUES = 1 << 18  # from which its range is taken
MIN_COPY_CENTERS = 4  # of fewer rounds, a copy in float32 costs more than it saves
MIN_COPY_LEAVES = 8
MAX_COPY_FEATURES = 64  # a leaf stays in the cache
MIN_FINE = 2.0**-60  # so that float32 holds the squares of what is measured
MAX_CALL_WORK = 1 << 29  # multiply-adds: some tenths of a second, so that Ctrl-C is handled
MAX_ONE_THREAD_NANOSECONDS = 1e5  # a shorter round is not worth a second thread


class DenseSeeding:
    """The state of k-means++: the squared distance of every row to the nearest chosen one.

    For many rounds over rows in memory it also has a sketch, if that fits `memory`: every value in
    one byte. For most rows the sketch proves that a candidate cannot be nearer. It changes no
    result.
    """

    def __init__(
        self, rows: BlockedRows, scale: float, counts: tuple[int, int], memory: float
    ) -> None:
        k, trials = counts
        self._rows, self.scale, self.trials, self._memory = rows, scale, trials, memory
        n, dtype = rows.n, rows.kernel_dtype
        self._weight = rows.weights.unless_equal()
        self.closest = np.full(n, np.inf, dtype)
        if self._weight is not None:
            self.closest[self._weight == 0] = 0.0  # nothing to gain there
        self.potential = np.zeros(-(-n // LEAF_ROWS))
        self._marks = np.zeros((0, 0, 4), np.uint64)
        self._candidates = np.zeros((0, rows.d), dtype)
        self._labels = np.zeros(n, np.int32)  # which of the chosen rows is the closest
        self._centers = np.empty((k, rows.d), dtype)
        self._chosen = 0
        self._sketch: tuple[Ints, Floats, float] | None = None
        pays = k * trials >= MIN_SKETCH_CANDIDATES and n >= 4 * LEAF_ROWS
        if pays and rows.prunable_rows is not None and _sketch_bytes(n, rows.d) <= memory:
            self._make_sketch()

    def at_once(self, j: int, uniform: Floats, which: Ints) -> bool:
        rows, k = self._rows, len(which)
        block = rows.whole_rows(4 * k * self.trials * rows.d)
        if block is None:
            return False
        crew = rows.workers.crew if self.is_shared(j) else None
        step = max(1, MAX_CALL_WORK // (4 * rows.n * rows.d * self.trials))
        copy = self._float_copy(k) if j == 0 else None
        for i in range(j, k, step):
            kernels.plusplus(
                block, self.scale, uniform, self.trials, (i, min(k, i + step)), which,
                self._centers, self.closest, self._labels, self.potential,
                self._sketch_of(slice(0, rows.n)), self._weight, crew, copy,
            )  # fmt: skip
        return True

    def _float_copy(self, k: int) -> Any:
        """An empty copy of the rows in float32, if there are so many rounds that it pays."""
        n, d = self._rows.n, self._rows.d
        pays = k >= MIN_COPY_CENTERS and n >= MIN_COPY_LEAVES * LEAF_ROWS
        pays &= d <= MAX_COPY_FEATURES and self._sketch is None and self._weight is None
        if not pays or _copy_bytes(n, d) > self._memory or self.scale != 1.0:
            return None
        low, high, _ = self._rows.extent()
        fine = power_of_two(float((high - low).max()))
        return kernels.FloatLeaves(n, d, fine) if MIN_FINE < fine < 1 / MIN_FINE else None

    def is_shared(self, j: int) -> bool:
        """Return whether the j-th round takes so long that several threads share it."""
        return self._rows.workers.n > 1 and self._nanoseconds(j) > MAX_ONE_THREAD_NANOSECONDS

    def _nanoseconds(self, j: int) -> float:
        # of the j-th round by one thread, about: the sketch, and distances of the rows it leaves
        d, left = self._rows.d, 1.0 if self._sketch is None else min(1.0, 3 / (j + 1))
        return self._rows.n * (2 + self.trials * (d / 64 + left * (2 + d / 8)))

    def draw(self, uniform: Floats) -> Ints:
        return draw_rows(self.potential, self.closest, self._weight, uniform)

    def gains(self, rows: Floats) -> Floats:
        # a running sum: the same bits for any alignment of the leaves
        return np.asarray(self.leaf_gains(rows).cumsum(axis=0)[-1])

    def leaf_gains(self, rows: Floats) -> Floats:
        """Σ w·max(0, closest − distance) over every leaf, for each candidate."""
        self._candidates = (rows * self.scale).astype(self.closest.dtype)
        shape = len(self.potential), len(rows)
        gain, self._marks = np.empty(shape), np.empty((*shape, LEAF_ROWS // 64), np.uint64)
        if self._chosen == 0:  # the first row is the nearest to all, and there is no choice
            self._marks[:] = ~np.uint64(0)
            return np.zeros(shape)

        self._walk(4 * self._rows.d * len(rows), partial(self._gain_of_block, gain))
        return gain

    def _gain_of_block(
        self, gain: Floats, rows: slice, block: Array, leaves: slice, extra: dict[str, Any]
    ) -> None:
        kernels.seed_gain(
            block, self.scale, self._candidates, self.closest[rows], self._labels[rows],
            self._centers[: self._chosen], self._marks[leaves], gain[leaves], **extra,
        )  # fmt: skip

    def choose(self, which: int) -> None:
        work = 4 + 8 * self._rows.d // (self._chosen + 1)
        self._walk(work, partial(self._choose_in_block, which))
        self._note_choice(which)

    def _choose_in_block(
        self, which: int, rows: slice, block: Array, leaves: slice, extra: dict[str, Any]
    ) -> None:
        kernels.seed_choose(
            block, self.scale, self._candidates, which, self.closest[rows], self._labels[rows],
            self._chosen, self._marks[leaves], self.potential[leaves], **extra,
        )  # fmt: skip

    def _note_choice(self, which: int) -> None:
        self._centers[self._chosen] = self._candidates[which]
        self._chosen += 1

    def _walk(self, work: int, run: Callable[[slice, Array, slice, dict[str, Any]], None]) -> None:
        def run_block(rows: slice, block: Array) -> None:
            weight = None if self._weight is None else self._weight[rows]
            leaves = slice(rows.start // LEAF_ROWS, -(-rows.stop // LEAF_ROWS))
            run(rows, block, leaves, {"weight": weight, "sketch": self._sketch_of(rows)})

        self._rows.each_block(work, lambda: run_block)

    def _sketch_of(self, rows: slice) -> Any:
        if self._sketch is None:
            return None
        data, middle, step = self._sketch
        return kernels.Sketch(data[rows.start // 16 * self._panel_bytes :], middle, step)

    def _make_sketch(self) -> None:
        source = self._rows
        sample = source.sample(_sample_rows(source.d)) * self.scale
        middle = np.median(sample, axis=0)
        reach = float(np.quantile(np.abs(sample - middle).max(axis=1), SKETCH_RANGE_SHARE))
        step = reach / 127 if reach > 0 else 1.0
        self._panel_bytes = _panel_bytes(source.d)
        data = np.empty(-(-source.n // 16) * self._panel_bytes + 64, np.uint8)
        start = -data.ctypes.data % 64  # whole cache lines
        self._sketch = data[start:], middle, step

        def run(rows: slice, block: Array, leaves: slice, extra: dict[str, Any]) -> None:
            kernels.sketch_rows(block, self.scale, extra["sketch"])

        self._walk(4 * source.d, run)


def _panel_bytes(d: int) -> int:
    """Bytes of 16 rows of a sketch."""
    return -(-d // 4) * 64 + 192


def _copy_bytes(n: int, d: int) -> int:
    """Bytes of n rows in float32 with their squared distances, in whole leaves."""
    return -(-n // LEAF_ROWS) * (LEAF_ROWS * (d + 1) + 1) * 4


def _sample_rows(d: int) -> int:
    """Number of rows that the range of a sketch is taken from."""
    return max(128, min(1024, MAX_SAMPLE_VALUES // d))


def _sketch_bytes(n: int, d: int) -> float:
    """Bytes of a sketch while it is made; inf if there are too many features for one."""
    sample = 4 * 8 * _sample_rows(d) * d  # and its differences to the middle
    return n * _panel_bytes(d) / 16 + sample if d <= MAX_SKETCH_FEATURES else math.inf
