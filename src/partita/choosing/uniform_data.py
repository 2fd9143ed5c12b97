"""Rows without structure, in the place of some rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from partita._common.array_types import Floats

_FEW = 20  # different values, up to which a feature is one of classes


class ReferenceData(Protocol):
    """Draws as many rows as there were."""

    def draw(self, rng: np.random.Generator) -> Floats:
        """Rows without structure."""


class UniformBox:
    """Uniform in the box along the principal axes."""

    def __init__(self, rows: Floats, rotate: bool) -> None:
        self._mean = rows.mean(axis=0)
        u, s, axes = np.linalg.svd(rows - self._mean, full_matrices=False)
        placed = u * s
        self._low, self._high = placed.min(axis=0), placed.max(axis=0)
        self._n = len(rows)
        self._axes = axes if rotate else None  # Euclidean distances do not mind a rotation

    def draw(self, rng: np.random.Generator) -> Floats:
        """Uniform rows."""
        found = rng.uniform(self._low, self._high, (self._n, len(self._low)))
        return found if self._axes is None else found @ self._axes + self._mean


class IndependentCategories:
    """Every feature by itself: each of its values as likely as the others, if these are few."""

    def __init__(self, rows: Floats) -> None:
        self._n = len(rows)
        self._values = [np.unique(column) for column in rows.T]

    def draw(self, rng: np.random.Generator) -> Floats:
        """Rows whose features know nothing of each other."""
        columns = [
            rng.choice(values, self._n)
            if len(values) <= _FEW
            else rng.uniform(values[0], values[-1], self._n)
            for values in self._values
        ]
        return np.column_stack(columns)


def reference_data(rows: Floats, rotate: bool) -> ReferenceData:
    """A box; classes, if most features have few values that come often."""
    often = max(2, min(_FEW, len(rows) // 5))
    few = [len(np.unique(column)) <= often for column in rows.T]
    return IndependentCategories(rows) if 2 * sum(few) > len(few) else UniformBox(rows, rotate)
