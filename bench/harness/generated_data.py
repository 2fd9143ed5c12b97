"""Uniform rows of a few shapes, and random rows of them as starting centers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """n rows of d features in [0, 1), k centers, and how much faster than every peer to be."""

    n: int
    d: int
    k: int
    target: float

    def __str__(self) -> str:
        return f"{_short(self.n)}, {self.d}, {self.k}"

    @property
    def flops(self) -> float:
        """Of the distances between all rows and all centers."""
        return 2.0 * self.n * self.d * self.k

    def rows(self) -> Array:
        """(n, d) float32. No clusters to find: nothing converges early, and bounds prune little."""
        return self._rng(0).random((self.n, self.d), dtype=np.float32)

    def start(self, rows: Array) -> Array:
        """(k, d): different rows, at random."""
        return rows[self._rng(1).choice(self.n, self.k, replace=False)]

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.n, self.d, self.k, stream])


def _short(n: int) -> str:
    return f"{n // 1_000_000}M" if n % 1_000_000 == 0 else f"{n // 1000}k"


FULL = (
    Shape(200_000, 64, 256, target=2.5),
    Shape(1_000_000, 8, 100, target=3.0),
    Shape(200_000, 2, 1000, target=2.0),
    Shape(50_000, 384, 1000, target=1.4),
    Shape(70_000, 784, 1000, target=1.15),
)
QUICK = (
    Shape(40_000, 64, 256, target=2.5),
    Shape(200_000, 8, 100, target=3.0),
    Shape(80_000, 2, 1000, target=2.0),  # below 2^16 rows faiss takes another, slower way
    Shape(10_000, 384, 500, target=1.4),
    Shape(10_000, 784, 250, target=1.15),
)
# whose rows `predict` labels, one and all
TALL = Shape(1_000_000, 8, 100, target=1.0)
TALL_QUICK = Shape(200_000, 8, 100, target=1.0)
