"""Reference data without structure, with the extent of the real rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from partita._common.array_types import Floats

MAX_CATEGORIES = 20  # distinct values of a categorical feature
MIN_ROWS_PER_CATEGORY = 5  # on average


class ReferenceData(Protocol):
    """A distribution without structure."""

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw as many rows as the data has."""


class UniformBox:
    """Uniform in the box along the principal axes."""

    def __init__(self, rows: Floats, rotate: bool) -> None:
        self._mean = rows.mean(axis=0)
        u, s, axes = np.linalg.svd(rows - self._mean, full_matrices=False)
        placed = u * s
        self._low, self._high = placed.min(axis=0), placed.max(axis=0)
        self._n = len(rows)
        self._axes = axes if rotate else None  # Euclidean distances do not depend on a rotation

    def draw(self, rng: np.random.Generator) -> Floats:
        rows = rng.uniform(self._low, self._high, (self._n, len(self._low)))
        return rows if self._axes is None else rows @ self._axes + self._mean


class IndependentCategories:
    """Independent features: all categories equally likely; uniform if there are many values."""

    def __init__(self, rows: Floats) -> None:
        self._n = len(rows)
        self._values = [np.unique(column) for column in rows.T]

    def draw(self, rng: np.random.Generator) -> Floats:
        columns = [
            rng.choice(values, self._n)
            if len(values) <= MAX_CATEGORIES
            else rng.uniform(values[0], values[-1], self._n)
            for values in self._values
        ]
        return np.column_stack(columns)


def reference_data(rows: Floats, rotate: bool) -> ReferenceData:
    """Return independent categories if most features are categorical, else a uniform box."""
    max_categories = max(2, min(MAX_CATEGORIES, len(rows) // MIN_ROWS_PER_CATEGORY))
    categorical = [len(np.unique(column)) <= max_categories for column in rows.T]
    mostly = 2 * sum(categorical) > len(categorical)
    return IndependentCategories(rows) if mostly else UniformBox(rows, rotate)
