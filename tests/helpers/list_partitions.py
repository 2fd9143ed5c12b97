"""The smallest engine of partitions: a loop over a list, which now and then loses a state."""

from __future__ import annotations

import pickle
from functools import reduce

import numpy as np

from partita.source.partitions import Part, aligned_pieces, readable_rows


class ListPartitions:
    """Blocks of any sizes; counts the bytes that travel in each direction."""

    names = None

    def __init__(self, blocks, weight=None, loss=0.0, seed=0):
        self.table = np.concatenate(blocks)
        parts = [
            np.concatenate([blocks[i][rows] for i, rows in pieces])
            for pieces in aligned_pieces([len(block) for block in blocks])
        ]
        self.starts = np.cumsum([0, *map(len, parts)])
        self._rows = [readable_rows(part) for part in parts]
        self.d, self.dtype = self.table.shape[1], self._rows[0].dtype
        self._blocks, self._loss, self._seed = blocks, loss, seed
        self.weighted, self._weight = weight is not None, weight
        self._rng, self._states = np.random.default_rng(seed), [{} for _ in parts]
        self.sent, self.returned, self.closed = [], [], False

    def __partita_partitions__(self, sample_weight):
        self.opened = ListPartitions(self._blocks, sample_weight, self._loss, self._seed)
        return self.opened

    def run(self, task, which=None):
        results = []
        for i in range(len(self._rows)) if which is None else which:
            if self._rng.random() < self._loss:
                self._states[i] = {}
            rows = slice(self.starts[i], self.starts[i + 1])
            weight = None if self._weight is None else np.array(self._weight[rows], float)
            sent = pickle.dumps(task)
            part = Part(self._rows[i], weight, int(self.starts[i]), self._states[i])
            returned = pickle.dumps(pickle.loads(sent)(part))
            self.sent.append((type(task).__name__, len(sent)))
            self.returned.append((type(task).__name__, len(returned)))
            results.append(pickle.loads(returned))
        return results

    def total(self, task, add):
        return reduce(add, self.run(task)[::-1])

    def map_rows(self, function, columns, dtype):
        return np.concatenate([function(block) for block in self._blocks if len(block)])

    def close(self):
        self.closed, self._states = True, [{} for _ in self._rows]
