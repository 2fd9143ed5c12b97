"""Spatial blocks: rows in the order of a k-d tree, whose leaves meet only the centers near them."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Ints
from partita._common.power_of_two import power_of_two
from partita._kernels import kernels
from partita.centers import Centers
from partita.moments import Moments
from partita.source.blocks import DenseSource, Pruned


class Tree:
    """A tree over the rows of a source: planted once, for all runs.

    Its leaves remember the pass before, so a run that takes over from another makes them forget.
    """

    def __init__(self, source: DenseSource) -> None:
        low, high = source.box()
        self.origin = source.survey().grid.origin
        reach = np.maximum(high - self.origin, self.origin - low)
        self.scale = power_of_two(float(reach.max()), 60)
        self.leaves: Any = source.plant(self.origin, self.scale)
        self.user: object = None


class Leaves:
    """The labels of a run in the order of a tree."""

    def __init__(self, source: DenseSource, planted: Tree) -> None:
        self._planted = planted
        self.origin, self.scale, self.tree = planted.origin, planted.scale, planted.leaves
        self.labels: Ints = np.full(source.n, -1, np.int32)
        self._source = source
        self._before: Centers | None = None

    def assign(self, centers: Centers, moments: Moments | None) -> Pruned:
        """Label every row, in the tree's order; bring `moments` up to date with the changes."""
        if self._planted.user is not self:
            self.tree.forget()
            self._before, self._planted.user = None, self
        moved = np.ones(len(centers.values), np.uint8)
        before = self._before
        if before is not None and before.origin is centers.origin:
            moved = (centers.values != before.values).any(axis=1).astype(np.uint8)
        self._before = centers
        return self._source.assign_leaves(self, centers, moved, moments)

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
        self._begin_anew(labels[self.tree.order])

    def renumber(self, number: Ints) -> None:
        """Begin anew from labels by other numbers."""
        self._begin_anew(number[self.labels])

    def _begin_anew(self, labels: Ints) -> None:
        self.labels = labels
        self.tree.forget()
        self._before = None
