"""Spatial blocks: rows in the order of a k-d tree, whose leaves meet only the centers near them."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._kernels import kernels
from partita._typing import Ints
from partita.progress import Centers
from partita.source.blocks import DenseSource, Pruned
from partita.stats import Moments, power_of_two


class Leaves:
    """A tree over the rows of a source, and the labels in its order."""

    def __init__(self, source: DenseSource) -> None:
        low, high = source.box()
        self.origin = source.survey().grid.origin
        self.scale = power_of_two(
            float(np.maximum(high - self.origin, self.origin - low).max()), 60
        )
        self.tree: Any = source.plant(self.origin, self.scale)
        self.labels: Ints = np.full(source.n, -1, np.int32)
        self._source = source
        self._before: Centers | None = None

    def assign(self, centers: Centers, moments: Moments | None, expected: int) -> Pruned:
        """Label every row, in the tree's order; bring `moments` up to date with the changes."""
        moved = np.ones(len(centers.values), np.uint8)
        before = self._before
        if before is not None and before.origin is centers.origin:
            moved = (centers.values != before.values).any(axis=1).astype(np.uint8)
        self._before = centers
        return self._source.assign_leaves(self, centers, moved, moments, expected)

    def book(self, centers: Centers, moved: Ints) -> Any:
        """Centers as the leaves meet them."""
        return kernels.TreeBook(np.ascontiguousarray(centers.about(self.origin)), self.scale, moved)

    def in_order_of_rows(self) -> Ints:
        """The labels in the data's order."""
        labels = np.empty_like(self.labels)
        labels[self.tree.order] = self.labels
        return labels

    def forget(self, labels: Ints) -> None:
        """Begin anew from labels in the data's order."""
        self.labels = labels[self.tree.order]
        self.tree.forget()
        self._before = None
