"""The rounds of k-means++ over rows in a file: mostly one pass a round instead of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._kernels import kernels
from partita._kernels.weighted_draws import LEAF_ROWS
from partita.source.blocks import as_kernel_type
from partita.source.plusplus_rounds import DenseSeeding

GUESS_BLOCKS = 32  # spread over the file, from which the best candidate is guessed
MAX_GUESS_SHARE = 1 / 16  # of the rows
MAX_GUESS_BLOCK_ROWS = 16 * LEAF_ROWS
MAX_CHANGED_SHARE = 0.25  # of the rows, whose distances before a guess are kept


class FarSeeding(DenseSeeding):
    """Compares the candidates of a round and, in the same pass, chooses the one that seems best.

    A few blocks tell which one that is. If the gains of all rows say otherwise, the distances that
    changed are set back, and a second pass chooses the right one. It changes no result.
    """

    _guess: int | None = None
    _potential_before: Floats

    def at_once(self, j: int, uniform: Floats, which: Ints) -> bool:
        return not self.is_shared(j) and super().at_once(j, uniform, which)

    def leaf_gains(self, rows: Floats) -> Floats:
        self._changes: list[tuple[Ints, Floats, Ints]] = []
        self._guess = self._seemingly_best(rows) if self._chosen else None
        self._potential_before = self.potential.copy()
        return super().leaf_gains(rows)

    def choose(self, which: int) -> None:
        if which == self._guess:
            self._note_choice(which)
        else:
            self._take_back()
            super().choose(which)
        self._guess, self._changes = None, []

    def _seemingly_best(self, rows: Floats) -> int | None:
        """Guess the best candidate; None if it would change too many rows."""
        candidates = (rows * self.scale).astype(self.closest.dtype)
        total, marked, seen = np.zeros(len(rows)), np.zeros(len(rows), np.int64), 0
        step = max(16, self._rows.n // GUESS_BLOCKS // LEAF_ROWS) * LEAF_ROWS
        leaves = max(1, int(MAX_GUESS_SHARE * step) // LEAF_ROWS)
        count = min(leaves * LEAF_ROWS, MAX_GUESS_BLOCK_ROWS)
        for start in range(0, self._rows.n, step):
            some = slice(start, min(start + count, self._rows.n))
            block = as_kernel_type(self._rows.read_rows(some))
            shape = -(-len(block) // LEAF_ROWS), len(rows)
            gain, marks = np.empty(shape), np.empty((*shape, LEAF_ROWS // 64), np.uint64)
            weight = None if self._weight is None else self._weight[some]
            kernels.seed_gain(
                block, self.scale, candidates, self.closest[some], self._labels[some],
                self._centers[: self._chosen], marks, gain, weight=weight, sketch=None,
            )  # fmt: skip
            total += gain.sum(axis=0)
            marked += np.unpackbits(marks.view(np.uint8), axis=-1).sum(axis=(0, 2), dtype=np.int64)
            seen += len(block)
        best = int(total.argmax())
        return best if marked[best] <= MAX_CHANGED_SHARE * seen else None

    def _gain_of_block(
        self, gain: Floats, rows: slice, block: Array, leaves: slice, extra: dict[str, Any]
    ) -> None:
        super()._gain_of_block(gain, rows, block, leaves, extra)
        if self._guess is None:
            return
        closest, labels = self.closest[rows].copy(), self._labels[rows].copy()
        self._choose_in_block(self._guess, rows, block, leaves, extra)
        changed = np.flatnonzero(self.closest[rows] < closest)
        self._changes.append((rows.start + changed, closest[changed], labels[changed]))

    def _take_back(self) -> None:
        for rows, closest, labels in self._changes:
            self.closest[rows], self._labels[rows] = closest, labels
        self.potential[:] = self._potential_before
