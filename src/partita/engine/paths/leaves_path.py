"""The path by spatial blocks: the leaves of a k-d tree are compared with the centers near them."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Ints
from partita._common.power_of_two import power_of_two
from partita._kernels import kernels
from partita.centers import Centers
from partita.engine.paths.bounds_path import bounds_plan
from partita.engine.paths.path import Path, PathKind, PathPass, PathPlan, PathStart
from partita.engine.paths.plain_path import MAX_TREE_FEATURES
from partita.engine.paths.price import PrunedCounts
from partita.moments import Moments
from partita.source.blocks import crew_slices
from partita.source.pass_price import plain_cost
from partita.source.protocol import PrunableRows

MAX_FEW_CENTERS = 16  # with so few, a tree of more than two features does not pay
WORK_PER_NODE = 1 << 19  # multiply-adds, about
LEAF_PAIR_COST = 2.5  # of a pair in a leaf, in pairs of the plain pass


class PackedTree:
    """A k-d tree over the rows (x − origin)·scale: built once, for all runs.

    Its leaves store the last pass, which must be discarded before another run uses the tree.
    """

    def __init__(self, source: PrunableRows) -> None:
        survey = source.survey()
        self.origin = survey.grid.origin
        reach = np.maximum(survey.high - self.origin, self.origin - survey.low)
        self.scale = power_of_two(float(reach.max()), 60)
        self.leaves: Any = kernels.build_tree(
            source.kernel_rows, self.origin, self.scale, source.workers.crew
        )
        self.user: object = None


class LeavesPath:
    """Passes over the leaves of a tree; labels are kept in the order of the tree."""

    name, note = "blocks", ""

    def __init__(self, source: PrunableRows, tree: PackedTree, labels: Ints) -> None:
        self._source, self._tree = source, tree
        self._before: Centers | None = None
        self._row_labels: Ints | None = None  # those of the leaves, in the order of the rows
        self._leaf_labels: Ints
        self.relabel(labels)

    @property
    def labels(self) -> Ints:
        if self._row_labels is None:
            labels = np.empty_like(self._leaf_labels)
            labels[self._tree.leaves.order] = self._leaf_labels
            self._row_labels = labels
        return self._row_labels

    @property
    def order(self) -> Ints:
        """The row (n,) at each place of the tree."""
        order: Ints = self._tree.leaves.order
        return order

    @property
    def labels_in_order(self) -> Ints:
        """The labels (n,) in the order of the tree, without a copy."""
        return self._leaf_labels

    def relabel(self, labels: Ints) -> bool:
        self._row_labels = labels
        self._leaf_labels = labels[self._tree.leaves.order]
        self._tree.user = None
        return True

    def forget(self, rows: Ints) -> None:
        self.relabel(self.labels)

    def grow(self, source: PrunableRows) -> bool:
        return False  # it needs another tree

    def assign(self, centers: Centers, sums: Moments | None) -> PathPass:
        counts = self._scan(centers, self._changed(centers), sums)
        self._row_labels = None
        n, k, d = self._source.n, len(centers.values), self._source.d
        compared = counts.scanned / n / k
        return PathPass(counts.moved, compared, compared * LEAF_PAIR_COST * plain_cost(n, k, d))

    def _changed(self, centers: Centers) -> Ints:
        """1 for centers (k,) that moved since the pass that the leaves store."""
        if self._tree.user is not self:
            self._tree.leaves.forget()
            self._before, self._tree.user = None, self
        before, self._before = self._before, centers
        if before is None or before.origin is not centers.origin:
            return np.ones(len(centers.values), np.uint8)
        return np.asarray((centers.values != before.values).any(axis=1), np.uint8)

    def _scan(self, centers: Centers, changed: Ints, sums: Moments | None) -> PrunedCounts:
        source, tree = self._source, self._tree
        about_tree = np.ascontiguousarray(centers.about(tree.origin))
        book = kernels.TreeCodebook(about_tree, tree.scale, changed)
        target = kernels.ExactCenters(np.ascontiguousarray(centers.values), centers.origin)
        totals = None if sums is None else sums.sums
        weights = {} if sums is None else source.weights.kernel_arguments(slice(None))
        calls: list[list[int]] = []
        for nodes, crew in crew_slices(source.workers, tree.leaves.nodes, WORK_PER_NODE):
            calls.append(
                kernels.assign_leaves(
                    tree.leaves, nodes.start, nodes.stop, book, target, source.kernel_rows,
                    self._leaf_labels, totals, **weights, crew=crew,
                )
            )  # fmt: skip
        return PrunedCounts.sum_of(calls)


def _suits(source: PrunableRows, k: int) -> str | None:
    if source.d > MAX_TREE_FEATURES:
        return None
    if source.d > 2 and k <= MAX_FEW_CENTERS and not source.copy_bytes:
        return None  # passes over panels are as fast, and need no tree
    return f"{source.d} features: boxes of rows are small"


def _memory(source: PrunableRows, k: int) -> float:
    n, d = source.n, source.d
    # coordinates three times while the tree is built, and labels in its order afterwards; boxes and
    # candidates of the leaves
    return n * (12 * d + 20) + n // 16 * (16 * d + 64) + source.copy_bytes


def _start(start: PathStart) -> Path | PathPlan:
    tree = start.cache.once("tree", lambda: PackedTree(start.source))
    return LeavesPath(start.source, tree, start.labels)


BLOCKS = PathKind(
    "blocks", _suits, _memory, _start, needs_labels=False, needs_trial=False, instead=bounds_plan
)
