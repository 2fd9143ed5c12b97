"""Best partitions by branch and bound: pairs of points belong together, or apart.

A node's bound is that of the linear programme of partitions (`dual_bound`), which is nearly always
the optimum itself; else its fractional solution shares a pair of points, and the pair's two cases
are the node's children (Ryan and Foster). The node with the lowest bound is next.

References: du Merle, Hansen, Jaumard and Mladenović, An interior point algorithm for minimum
sum-of-squares clustering (1999); Aloise, Hansen and Liberti, An improved column generation
algorithm for minimum sum-of-squares clustering (2012).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.cluster_dual.cluster_problem import ClusterProblem
from partita.cluster_dual.column_pool import ColumnPool, FractionalCover
from partita.cluster_dual.dual_bound import (
    PROOF_TOLERANCE,
    TARGET_SHARE,
    SearchStopped,
    Watch,
    raise_bound,
)
from partita.optimum.good_solution import improved_by_moves

Report = Callable[["BranchAndBound"], bool | None]


class BranchAndBound:
    """The search, its best partition and its bound; both stay valid when it is interrupted."""

    def __init__(self, root: ClusterProblem, labels: Ints, low: float, report: Report) -> None:
        self.root, self.labels = root, labels
        self.cost = self._cost_of(labels)
        self.nodes = 0
        self._open: list[tuple[float, int, ClusterProblem, Floats]] = []  # a heap
        self._current = low  # the bound of the node that is worked on
        self._closed = np.inf  # the lowest bound of a node that is done
        self._report = report
        self._pushed = 0

    @property
    def lower_bound(self) -> float:
        """The lowest bound of any node."""
        queued = self._open[0][0] if self._open else np.inf
        return float(min(queued, self._current, self._closed, self.cost))

    @property
    def target(self) -> float:
        """The bound at which a node is done."""
        return self.cost * (1 - TARGET_SHARE * PROOF_TOLERANCE)

    def begin_at(self, low: float) -> None:
        """Take a lower bound from elsewhere, before the run."""
        self._current = max(self._current, low)
        if self._report(self):
            raise SearchStopped

    def run(self, deadline: float) -> None:
        """Search until the best partition is proven or the deadline has passed."""
        if not self.cost > 0:  # what is left after rounding proves nothing
            return
        self._push(self._current, self.root, np.zeros((0, len(self.root.points))))
        watch = Watch(deadline, self._hear)
        try:
            while self._open:
                low, _, problem, clusters = self._open[0]
                self._current = low
                heapq.heappop(self._open)
                self._solve(problem, clusters, watch)
        except SearchStopped:
            return
        self._current = np.inf

    def _solve(self, problem: ClusterProblem, clusters: Floats, watch: Watch) -> None:
        """Close a node, or replace it by its children."""
        self.nodes += 1
        pool = ColumnPool(problem, self._labels_in(problem), self.cost)
        pool.add(clusters)
        while True:
            low, cover = raise_bound(pool, self._current, self.target, watch)
            self._current = max(self._current, low)
            improved = cover is not None and self._improve(problem, cover)
            if self._current >= self.target or cover is None:
                self._closed = min(self._closed, self._current)
                self._current = np.inf
                return
            if not improved:
                break
        self._branch(problem, pool, cover)

    def _branch(self, problem: ClusterProblem, pool: ColumnPool, cover: FractionalCover) -> None:
        pair = cover.divided_pair()
        if pair is None:  # the cover is a partition; rounding keeps its bound below the target
            self._closed, self._current = min(self._closed, self._current), np.inf
            return
        i, j = min(pair), max(pair)
        together = pool.members[pool.members[:, i] == pool.members[:, j]]
        for child, clusters in (
            (problem.merged(i, j), np.delete(together, j, axis=1)),
            (problem.separated(i, j), pool.members),
        ):
            if not child.is_contradictory():
                self._push(self._current, child, clusters)
        self._current = np.inf

    def _push(self, low: float, problem: ClusterProblem, clusters: Floats) -> None:
        self._pushed += 1
        heapq.heappush(self._open, (low, self._pushed, problem, clusters))

    def _improve(self, problem: ClusterProblem, cover: FractionalCover) -> bool:
        """Keep the partition that is a cover, if it is the best so far."""
        labels = cover.partition()
        if labels is None:
            return False
        labels = improved_by_moves(self.root.points, self.root.weight, labels[problem.group])
        cost = self._cost_of(labels)
        if cost >= self.cost:
            return False
        self.labels, self.cost = labels, cost
        return True

    def _labels_in(self, problem: ClusterProblem) -> Ints:
        """Return the best partition as labels of a node's points."""
        labels = np.zeros(len(problem.points), np.int64)
        labels[problem.group] = self.labels
        return labels

    def _cost_of(self, labels: Ints) -> float:
        members = np.eye(self.root.k)[:, labels]
        return float(self.root.cost(members[members.any(axis=1)]).sum())

    def _hear(self, problem: ClusterProblem, bound: float) -> None:
        """Take a rigorous bound of the node that is worked on."""
        self._current = max(self._current, bound)
        if self._report(self):
            raise SearchStopped
