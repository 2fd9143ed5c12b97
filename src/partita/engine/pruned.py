"""The step that leaves out what cannot change a label: by leaves, by bounds, or not at all."""

from __future__ import annotations

import math

from partita._typing import Ints
from partita.engine.bounds import Bounds
from partita.engine.grouping import MOST, Groups
from partita.engine.leaves import Leaves
from partita.engine.plan import Plan, bounds_plan
from partita.engine.prefix import Prefix, fit_prefix
from partita.engine.steps import LloydStep
from partita.progress import Centers, Pass
from partita.source.blocks import DenseSource
from partita.stats import Grid, total

FEW = 0.15  # bounds begin when less than this share of the rows moves
MOST_PAIRS = 0.9  # bounds that leave more pairs than this save nothing
LEAF_PAIR = 2.5  # what a pair costs in a leaf, in pairs of the plain pass
FINE = 4096  # quanta in a typical distance


class PrunedStep(LloydStep):
    """Passes by the path of a plan; one that may leave it does so by what the passes saved."""

    source: DenseSource

    def __init__(self, source: DenseSource, grid: Grid, k: int, plan: Plan) -> None:
        super().__init__(source, grid, k)
        self.plan = plan
        self._leaves: Leaves | None = None
        self._bounds: Bounds | None = None
        self._prefix: Prefix | None = None
        self._wait, self._patience = 0, 1  # plain passes before bounds are tried again
        self._labelled = False  # whether every row has a label
        self._stale = False  # whether the leaves know the labels better

    # labels are in the order of the leaves while there are leaves

    @property
    def labels(self) -> Ints:
        """The label of every row."""
        if self._stale and self._leaves is not None:
            self._labels = self._leaves.in_order_of_rows()
            self._stale = False
        return self._labels

    @labels.setter
    def labels(self, labels: Ints) -> None:
        self._labels, self._stale = labels, False

    def assign(self, centers: Centers) -> int:
        """Label every row by `centers`; how many rows changed their label."""
        if self.plan.path == "blocks":
            return self._by_leaves(centers)
        if self._bounds is None and (self._wait > 0 or not self._begin(centers)):
            self._wait -= 1
            moved = super().assign(centers)
            self._labelled = True
            return moved
        return self._by_bounds(centers)

    # --- leaves ---

    def _by_leaves(self, centers: Centers) -> int:
        if self._leaves is None:
            self._leaves = Leaves(self.source)
        done = self._leaves.assign(centers, self._sums, self._moved)
        self._stale = self._labelled = True
        self._moved = done.moved
        share = done.scanned / self.source.n / len(centers.values)
        self.last = Pass("blocks", share)
        if share * LEAF_PAIR > 1 and not self.plan.forced:
            self.labels = self.labels
            self._leaves = None
            self._turn_to(
                bounds_plan(len(centers.values), f"leaves met {share:.0%} of the centers")
            )
        return done.moved

    def _turn_to(self, plan: Plan) -> None:
        self.plan = plan
        self.notes.append(f"{plan.path}: {plan.why}")

    # --- bounds ---

    def _begin(self, centers: Centers) -> bool:
        """Make bounds, if it is time to."""
        if self.plan.path == "plain" or not self._labelled:
            return False
        n, k = self.source.n, len(centers.values)
        settling = self._moved < FEW * n or self.plan.path == "prefix"
        if not (settling or self.plan.forced):
            return False
        quantum = self._quantum(centers)
        if quantum is None:
            self._turn_to(Plan("plain", "distances are too small for where the data is"))
            return False
        if self.plan.path == "prefix" and self._prefix is None:
            self._prefix = fit_prefix(self.source, centers, self.labels, self.plan.forced)
            if self._prefix is None:
                self._turn_to(bounds_plan(k, "no prefix tells enough centers apart"))
                return self._begin(centers)
            self.notes.append(f"prefix: {self._prefix.length} of {self.source.d} rotated features")
        most = 1 if self.plan.path == "hamerly" else MOST
        blur = 0.0 if self._prefix is None else self._prefix.blur
        groups = Groups.around(centers.about(self.origin), most)
        self._bounds = Bounds(n, centers, groups, quantum, blur)
        self._fresh = True
        return True

    def _quantum(self, centers: Centers) -> float | None:
        """A small share of a typical distance; None if what D64 rounds is not smaller still."""
        stats, gap = self.stats_about(centers)
        weight = total(stats.weight)
        typical = math.sqrt(total(stats.sse + stats.weight * (gap * gap)) / weight)
        low, high = self.source.box()
        reach = math.sqrt(self.source.d) * max(abs(float(low.min())), abs(float(high.max())))
        quantum = typical / FINE
        return quantum if math.isfinite(quantum) and quantum > 2.0**-44 * reach else None

    def _by_bounds(self, centers: Centers) -> int:
        assert self._bounds is not None
        done = self.source.assign_bounded(
            centers, self._bounds, self._labels, self._sums, self._moved, self._fresh, self._prefix
        )
        pairs = self.source.n * len(centers.values)
        share, self._moved = done.scanned / pairs, done.moved
        self.last = Pass(self.plan.path, share)
        cost = share * (1 if self._prefix is None else self._prefix.price)
        cost += done.candidates / pairs * (self._prefix.pair if self._prefix else 0)
        if not self._fresh and cost > MOST_PAIRS and not self.plan.forced:
            self._bounds = None
            self._wait, self._patience = self._patience, 2 * self._patience
        self._fresh = False
        return done.moved

    # --- changes from outside ---

    def move(self, rows: Ints, to: Ints) -> None:
        """Move rows to other clusters, in the labels and in the sums."""
        super().move(rows, to)
        if self._leaves is not None:
            self._leaves.forget(self.labels)
        if self._bounds is not None:
            self._bounds.forget(rows)

    def drop(self, clusters: Ints) -> None:
        """Remove clusters; rows (of weight zero) that were theirs wait for the next pass."""
        super().drop(clusters)
        self._bounds, self._labelled = None, False
        if self._leaves is not None:
            self._leaves.forget(self.labels)
