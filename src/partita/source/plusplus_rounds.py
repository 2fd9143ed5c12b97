"""The rounds of k-means++ over dense rows: candidates are drawn, weighed up, and one is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita._kernels import kernels
from partita._kernels.weighted_draws import LEAF_ROWS, draw_rows
from partita.source.blocks import walk
from partita.weights import Weights

_CUT = 0.98  # share of rows that lie within the range of a sketch
_FEATURES = 1 << 15  # at most, for sums of products of bytes to fit 32 bits
_CALL = 1 << 29  # multiply-adds in one call: some tenths of a second, so that Ctrl-C is heard
_SHORT = 8e5  # nanoseconds: a shorter round is not worth a second thread


@dataclass(frozen=True, slots=True)
class DenseRows:
    """What seeding needs to know of the rows."""

    n: int
    d: int
    weights: Weights
    workers: Workers
    block: Callable[[slice], Array]  # as the kernels take them
    sample: Callable[[int, slice], Floats]  # about so many, spread evenly
    whole: bool  # whether all of them may be one block


class DenseSeeding:
    """The state of k-means++: the squared distance of every row to the nearest chosen one.

    Beside it, where there will be many rounds, a sketch: every value in one byte, which tells the
    compiled kernels for most rows that a candidate cannot be nearer. It changes no result.
    """

    def __init__(self, rows: DenseRows, scale: float, k: int, trials: int) -> None:
        self._rows, self.scale, self.trials = rows, scale, trials
        n = rows.n
        self._weight = None if rows.weights.alike else rows.weights.as_floats(n)
        kind = rows.block(slice(0, 1)).dtype
        self.closest = np.full(n, np.inf, kind)
        if self._weight is not None:
            self.closest[self._weight == 0] = 0.0  # nothing to gain there
        leaves = -(-n // LEAF_ROWS)
        self.potential = np.zeros(leaves)
        self._marks = np.zeros((0, 0, 4), np.uint64)
        self._candidates = np.zeros((0, rows.d), kind)
        self._labels = np.zeros(n, np.int32)  # which of the chosen rows is the closest
        self._centers = np.empty((k, rows.d), kind)
        self._chosen = 0
        self._sketch: tuple[Ints, Floats, float] | None = None
        if k * trials >= 64 and n >= 4 * LEAF_ROWS and rows.d <= _FEATURES:
            self._make_sketch()

    def at_once(self, j: int, uniform: Floats, which: Ints) -> bool:
        """Run all rounds from the j-th in this thread, once they are too short to be shared."""
        of, k = self._rows, len(which)
        if not of.whole or (of.workers.n > 1 and self._nanoseconds(j) > _SHORT):
            return False
        rows = slice(0, of.n)
        step = max(1, _CALL // (4 * of.n * of.d * self.trials))
        for i in range(j, k, step):
            kernels.plusplus(
                of.block(rows), self.scale, uniform, self.trials, (i, min(k, i + step)), which,
                self._centers, self.closest, self._labels, self.potential,
                self._part(rows), self._weight,
            )  # fmt: skip
        return True

    def _nanoseconds(self, j: int) -> float:
        # of the j-th round by one thread, about: the sketch, and distances of the rows it leaves
        d, left = self._rows.d, 1.0 if self._sketch is None else min(1.0, 3 / (j + 1))
        return self._rows.n * (2 + self.trials * (d / 64 + left * (2 + d / 8)))

    def draw(self, uniform: Floats) -> Ints:
        """Rows in proportion to weight·closest; at first to weight."""
        return draw_rows(self.potential, self.closest, self._weight, uniform)

    def gains(self, rows: Floats) -> Floats:
        """Σ w·max(0, closest − distance) for each of some candidates (count, d)."""
        self._candidates = (rows * self.scale).astype(self.closest.dtype)
        shape = len(self.potential), len(rows)
        gain, self._marks = (
            np.empty(shape),
            np.empty((*shape, LEAF_ROWS // 64), np.uint64),
        )

        def run(rows: slice, leaves: slice, part: dict[str, Any]) -> None:
            kernels.seed_gain(
                self._rows.block(rows), self.scale, self._candidates, self.closest[rows],
                self._labels[rows], self._centers[: self._chosen], self._marks[leaves],
                gain[leaves], **part,
            )  # fmt: skip

        self._walk(4 * self._rows.d * len(rows), run)
        # a running sum: the same bits whatever the number of leaves is aligned to
        return np.asarray(gain.cumsum(axis=0)[-1])

    def choose(self, which: int) -> None:
        """Make one of the candidates a chosen row."""

        def run(rows: slice, leaves: slice, part: dict[str, Any]) -> None:
            kernels.seed_choose(
                self._rows.block(rows), self.scale, self._candidates, which, self.closest[rows],
                self._labels[rows], self._chosen, self._marks[leaves],
                self.potential[leaves], **part,
            )  # fmt: skip

        self._walk(4 + 8 * self._rows.d // (self._chosen + 1), run)
        self._centers[self._chosen] = self._candidates[which]
        self._chosen += 1

    def _walk(self, work: int, run: Callable[[slice, slice, dict[str, Any]], None]) -> None:
        def begin() -> Callable[[slice], None]:
            def block(rows: slice) -> None:
                weight = None if self._weight is None else self._weight[rows]
                leaves = slice(rows.start // LEAF_ROWS, -(-rows.stop // LEAF_ROWS))
                run(rows, leaves, {"weight": weight, "sketch": self._part(rows)})

            return block

        walk(self._rows.workers, self._rows.n, work, begin)

    def _part(self, rows: slice) -> Any:
        """The sketch of a block of rows."""
        if self._sketch is None:
            return None
        data, middle, step = self._sketch
        panel = -(-self._rows.d // 4) * 64 + 192
        return kernels.Sketch(data[rows.start // 16 * panel :], middle, step)

    def _make_sketch(self) -> None:
        of = self._rows
        sample = of.sample(max(128, min(1024, (1 << 18) // of.d)), slice(None)) * self.scale
        middle = np.median(sample, axis=0)
        reach = float(np.quantile(np.abs(sample - middle).max(axis=1), _CUT))
        step = reach / 127 if reach > 0 else 1.0
        size = -(-of.n // 16) * (-(-of.d // 4) * 64 + 192)
        data = np.empty(size + 64, np.uint8)
        start = -data.ctypes.data % 64  # whole cache lines
        self._sketch = data[start:], middle, step

        def run(rows: slice, leaves: slice, part: dict[str, Any]) -> None:
            kernels.sketch_rows(of.block(rows), self.scale, part["sketch"])

        self._walk(4 * of.d, run)
