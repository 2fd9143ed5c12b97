"""Bisecting K-means: split one cluster after the other in two, by 2-means of its rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.text import plural
from partita.engine.lloyd import LloydOptions, stop_reason_after
from partita.engine.restarts import LabelledRun, best_of
from partita.engine.scaled_cost import ScaledCost, cluster_costs
from partita.engine.split_tree import SplitTree, leaves_of, returned_centers
from partita.halting import Halt, MaxIter, StopReason
from partita.observers import RunStart, announce
from partita.source.protocol import Source, batch_within
from partita.stats import ClusterStats
from partita.trace import Callback, Progress, Trace


@dataclass(frozen=True, slots=True)
class Leaf:
    """A cluster that may be split."""

    node: int
    rows: Ints | None  # None: all
    center: Floats  # (d,) in the dtype of the data
    stats: ClusterStats  # of this one cluster
    scaled_cost: ScaledCost  # of its rows at the center
    is_final: bool = False  # it cannot be split: all its rows are equal

    @property
    def cost(self) -> float:
        """The same; it may be infinite."""
        return float(self.scaled_cost)


Score = Callable[[Leaf], Any]  # a key that is compared
SCORES: dict[str, Score] = {
    "biggest_inertia": lambda leaf: leaf.scaled_cost.order,
    "largest_cluster": lambda leaf: float(leaf.stats.weight[0]),
}


@dataclass(frozen=True, slots=True)
class BisectingOptions:
    """Options of the splits: how, and until when."""

    k: int
    score: Score  # the leaf of the highest is split
    # (source, rows of it in X; None: all, memory) -> starts of the runs that split them
    starts: Callable[[Source, Ints | None, float], Sequence[Callable[[], Floats]]]
    # (number of centers, √ of the mean variance of the features, memory) -> options of such a run
    run: Callable[[int, float, float], LloydOptions]
    memory: float  # bytes beyond the data
    halt: Halt  # after every split
    callbacks: Sequence[Callback]


@dataclass(frozen=True, slots=True)
class Bisection:
    """The result of all splits; also a `RunRecord`."""

    tree: SplitTree
    labels: Ints
    inertia: float
    trace: Trace
    stopped_by: StopReason
    paths: tuple[str, ...]


def bisect(source: Source, options: BisectingOptions) -> Bisection:
    """Split clusters until there are k, none can be split, or there is a reason to stop."""
    if options.k > 1:
        last = MaxIter(options.k - 1)
        announce(options.callbacks, RunStart(1, 1, last | options.halt))
    growing = _GrowingTree(source, options)
    reason = growing.why_complete()
    while reason is None:
        reason = growing.split_next() or growing.why_complete()
    return growing.result(reason)


def why_complete(k: int) -> StopReason:
    """Return the reason to stop at the number of clusters that was wanted."""
    there_are = "there is" if k == 1 else "there are"
    return StopReason(f"{there_are} {plural(k, 'cluster')}, as wanted", "n_clusters")


class _GrowingTree:
    """The clusters so far, and the splits that made them."""

    def __init__(self, source: Source, options: BisectingOptions) -> None:
        self._source, self._options, self._begin = source, options, time.perf_counter()
        self._unit = source.weights.of_every_row
        self._paths: dict[str, None] = {}
        self._splits: list[int] = []
        self._trace: list[Progress] = []
        zero = np.zeros((1, source.d))
        run = best_of(source, [lambda: zero], options.run(1, 0.0, options.memory))
        cost = cluster_costs(source, returned_centers(run.centers), run.labels)[0]
        root = Leaf(0, None, run.centers[0], run.stats, cost)
        self._nodes, self._leaves = [root], [root]  # the leaves from left to right

    def why_complete(self) -> StopReason | None:
        """Return why there is nothing more to split, if so."""
        k = len(self._leaves)
        if k == self._options.k:
            return why_complete(k)
        if all(leaf.is_final for leaf in self._leaves):
            return StopReason("no cluster has rows that differ", "no_split")
        return None

    def split_next(self) -> StopReason | None:
        """Split the leaf of the highest score, the first on ties; return why to stop there."""
        leaf = max((leaf for leaf in self._leaves if not leaf.is_final), key=self._options.score)
        place, before = self._leaves.index(leaf), self._cost()
        halves, run = self._halves(leaf)
        if halves is None:
            final = Leaf(leaf.node, leaf.rows, leaf.center, leaf.stats, leaf.scaled_cost, True)
            self._leaves[place] = self._nodes[leaf.node] = final
            return None
        self._leaves[place : place + 1] = halves
        self._nodes += halves
        self._splits.append(leaf.node)
        self._paths |= dict.fromkeys(run.fit.paths)
        self._trace.append(self._progress(leaf, halves, run, before))
        return stop_reason_after(self._trace, self._options.halt, self._options.callbacks)

    def _halves(self, leaf: Leaf) -> tuple[list[Leaf] | None, LabelledRun]:
        """Split a leaf in two by 2-means; None if that does not lower the cost."""
        source, options, memory = self._source, self._options, self._options.memory
        if leaf.rows is not None:
            source, memory = batch_within(source, leaf.rows, memory)
        cost = leaf.scaled_cost
        spread = math.sqrt(cost.value / float(leaf.stats.weight[0]) / source.d) / cost.scale
        run = best_of(
            source, options.starts(source, leaf.rows, memory), options.run(2, spread, memory)
        )
        if len(run.centers) < 2 or not run.stats.weight.all():
            return None, run
        costs = cluster_costs(source, returned_centers(run.centers), run.labels)
        if not (costs[0] + costs[1]).order < cost.order:
            return None, run
        node, halves = len(self._nodes), []
        for j in (0, 1):
            rows: Ints = np.flatnonzero(run.labels == j)
            rows = rows if leaf.rows is None else leaf.rows[rows]
            halves.append(Leaf(node + j, rows, run.centers[j], run.stats.take([j]), costs[j]))
        return halves, run

    def _cost(self) -> float:
        return exact_total(np.array([leaf.cost for leaf in self._leaves]))

    def _progress(
        self, leaf: Leaf, halves: list[Leaf], run: LabelledRun, before: float
    ) -> Progress:
        """The record of a split; its points are those that its last iteration still moved."""
        last = run.fit.trace[-1]
        n = self._source.n if leaf.rows is None else len(leaf.rows)
        return Progress(
            iteration=len(self._splits),
            cost=before,
            cost_after=self._cost(),
            shift=math.hypot(*(v for half in halves for v in (half.center - leaf.center).tolist())),
            moved_points=last.moved_points,
            empty=0,
            seconds=time.perf_counter() - self._begin,
            path=last.path,
            compared=n / self._source.n,
            candidates=last.candidates,
        )

    def result(self, reason: StopReason) -> Bisection:
        labels, split = np.empty(self._source.n, np.int32), np.array(self._splits, np.intp)
        for label, leaf in enumerate(self._leaves):
            labels[slice(None) if leaf.rows is None else leaf.rows] = label
        parts = [node.stats for node in self._nodes]
        tree = SplitTree(
            split,
            leaves_of(split),
            np.stack([node.center for node in self._nodes]),
            ClusterStats(
                np.concatenate([part.weight for part in parts]),
                np.concatenate([part.mean for part in parts]),
                np.concatenate([part.sse for part in parts]),
            ),
            np.array([node.cost for node in self._nodes]),
        )
        centers = returned_centers(tree.centers[tree.leaves])
        inertia = self._unit * self._source.own_cost(centers, labels)
        trace, paths = Trace(tuple(self._trace)), tuple(self._paths)
        return Bisection(tree, labels, inertia, trace, reason, paths)
