"""The step that leaves out what cannot change a label: by leaves, by bounds, or not at all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.engine.lloyd_step import LloydStep
from partita.engine.paths.bounds import Bounds
from partita.engine.paths.center_groups import MOST, Groups
from partita.engine.paths.choice import Plan, bounds_plan, memory_of
from partita.engine.paths.leaves import Leaves, Tree
from partita.engine.paths.prefix import Prefix, fit_prefix
from partita.engine.paths.price import books_cost, bounded_cost, plain_cost
from partita.geometry import EUCLIDEAN, Geometry
from partita.moments import Grid
from partita.source.blocks import DenseSource, Source
from partita.trace import Pass

SETTLE = 12  # passes before bounds are tried where they bring little
TRIAL = 40_000  # rows: with fewer, preparing centers for a trial is a good part of a pass
FEW = 0.2  # bounds are tried when less than this share of the rows moves
FEWEST_TRIED, MOST_TRIED = 512, 4096  # rows, about one in 64
MOST_PATIENCE = 16  # passes
PAYS = 0.7  # of the plain pass: bounds begin when they would cost less; the first pass costs more
LEAF_PAIR = 2.5  # what a pair costs in a leaf, in pairs of the plain pass
FLAT_ENOUGH = 64  # features, up to which distances between centers prune
SAMPLE = 512  # rows that say what a typical distance is
VALUES = 1 << 18  # of a sample at most, as it is copied
FINE = 1024  # quanta in it; 64 times as far is the farthest bound
MOST_ROWS, FARTHEST = 0.97, 8192  # so many rows are no farther than so many quanta


@dataclass(slots=True)
class PathCache:
    """What several runs on the same rows need once."""

    tree: Tree | None = None
    prefix: Prefix | None = None
    tried: bool = False  # whether a prefix was looked for
    memory: float | None = None  # bytes that they may take


class PrunedStep(LloydStep):
    """Passes by the path of a plan; one that may leave it does so by what the passes saved."""

    source: DenseSource

    def __init__(
        self,
        source: DenseSource,
        grid: Grid,
        k: int,
        plan: Plan,
        path_cache: PathCache,
        geometry: Geometry = EUCLIDEAN,
    ) -> None:
        super().__init__(source, grid, k, geometry)
        self.plan = plan
        self._path_cache = path_cache
        self._leaves: Leaves | None = None
        self._bounds: Bounds | None = None
        self._prefix: Prefix | None = None
        self._groups: Groups | None = None  # of the bounds, and of those that are tried before
        self._probe: tuple[DenseSource, Ints, Bounds] | None = None  # a few rows with bounds
        # passes before bounds are tried: later where that costs much of a pass, or brings little
        self._wait = SETTLE if plan.path == "hamerly" else min(SETTLE, TRIAL // source.n)
        self._patience = 1
        self._labelled = False  # whether every row has a label
        self._before: Centers | None = None  # of the last pass
        self._stale = False  # whether the leaves know the labels better
        self._newcomers: Ints = np.empty(0, np.intp)  # rows that joined after the last pass

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
            moved = self._by_leaves(centers)
        elif self._bounds is None and not self._begin(centers):
            moved = super().assign(centers)
            self._labelled, self._before = True, centers
        else:
            moved, self._before = self._by_bounds(centers), centers
        self._newcomers = self._newcomers[:0]
        return moved

    def grow(self, source: Source, plan: Plan) -> None:
        """Go on with more rows by a plan for them: those so far, then others, on the same grid."""
        self._newcomers = np.arange(self.source.n, source.n)
        super().grow(source, plan)
        self._path_cache, self._leaves, self._probe = PathCache(), None, None
        if self._prefix is not None:  # it would have to be learnt anew
            self._bounds = self._prefix = None
        if self._bounds is None:
            self._labelled = False
            if plan.path != self.plan.path:
                self._turn_to(replace(plan, why=f"{plan.why}, {source.n} rows"))
        else:
            self._bounds.grow(source.n)

    # --- leaves ---

    def _by_leaves(self, centers: Centers) -> int:
        if self._leaves is None:
            if self._path_cache.tree is None:
                self._path_cache.tree = Tree(self.source)
            self._leaves = Leaves(self.source, self._path_cache.tree)
            if len(self._newcomers):  # the others have labels
                self._leaves.forget(self._labels)
        done = self._leaves.assign(centers, self._sums)
        self._stale = self._labelled = True
        self._moved = done.moved
        share = done.scanned / self.source.n / len(centers.values)
        self.last = Pass("blocks", share)
        if share * LEAF_PAIR > 1 and not self.plan.forced:
            self.labels = self.labels
            self._leaves = None
            why = f"leaves met {share:.0%} of the centers"
            plan = bounds_plan(len(centers.values), why)
            fits = memory_of(plan.path, self.source, len(centers.values)) <= self.source.spare
            self._turn_to(plan if fits else Plan("plain", why))
        return done.moved

    def _turn_to(self, plan: Plan) -> None:
        self.plan, self._groups = plan, None
        self.notes.append(f"{plan.path}: {plan.why}")

    # --- bounds ---

    def _begin(self, centers: Centers) -> bool:
        """Make bounds, if they would have saved something."""
        if self.plan.path == "plain" or not self._labelled:
            return False
        if self._wait > 0 and not self.plan.forced:
            self._wait -= 1
            return False
        if self.plan.path == "prefix" and self._prefix is None:
            if self._new_bounds(1, centers) is None:  # no prefix either, then
                return False
            self._take_prefix(centers)
        if not (self.plan.forced or self._prefix is not None or self._would_pay(centers)):
            return False
        self._probe = None
        self._bounds = self._new_bounds(self.source.n, centers)
        return self._bounds is not None

    def _take_prefix(self, centers: Centers) -> None:
        """The prefix that all runs share; bounds without one, if none pays."""
        if not self._path_cache.tried:
            self._path_cache.tried = True
            self._path_cache.prefix = fit_prefix(
                self.source, centers, self.labels, self.plan.forced
            )
        self._prefix = self._path_cache.prefix
        if self._prefix is None:
            why = "no prefix tells enough centers apart"
            self._turn_to(bounds_plan(len(centers.values), why))
        else:
            what = f"{self._prefix.length} of {self.source.d} rotated features"
            self.notes.append(f"prefix: {what}")

    def _new_bounds(self, n: int, centers: Centers) -> Bounds | None:
        quantum = self._quantum(centers)
        if quantum is None:
            self._turn_to(Plan("plain", "no quantum fits the distances and the extent of the data"))
            return None
        if self._groups is None:
            most = 1 if self.plan.path == "hamerly" else MOST
            self._groups = Groups.around(centers.about(self.origin), most, self._shift(centers))
        k, d = centers.values.shape
        geometry = d <= FLAT_ENOUGH and k * k <= 2 * self.source.n
        return Bounds(n, centers, self._groups, quantum, geometry, self._prefix)

    def _shift(self, centers: Centers) -> Floats | None:
        """How far each center came since the last pass (k,)."""
        if self._before is None or len(self._before.values) != len(centers.values):
            return None
        gap = centers.about(self.origin) - self._before.about(self.origin)
        return np.asarray(np.sqrt(np.einsum("kd,kd->k", gap, gap)))

    def _would_pay(self, centers: Centers) -> bool:
        """Try bounds on a few rows, from one pass to the next."""
        n, d = self.source.n, self.source.d
        if self._moved > FEW * n:
            return False
        if self._probe is None:
            rows = self._some_rows(min(MOST_TRIED, max(FEWEST_TRIED, n // 64)))
            few, labels = self.source.subset(rows), self.labels[rows]
            bounds = self._new_bounds(few.n, centers)
            if bounds is not None:
                few.assign_bounded(centers, bounds, labels, None)
                self._probe = few, labels, bounds
            return False
        few, labels, bounds = self._probe
        done = few.assign_bounded(centers, bounds, labels, None)
        k = len(centers.values)
        cost = bounded_cost(done, few.n, d, d) * (n / few.n) + books_cost(
            k, d, self.source.workers.n
        )
        self._probe = None
        if cost < PAYS * plain_cost(n, k, d):
            return True
        self._be_patient(cost / plain_cost(n, k, d))
        return False

    def _be_patient(self, ratio: float) -> None:
        """Try again after a while, which is longer the more bounds cost beside a plain pass."""
        self._wait = min(MOST_PATIENCE, math.ceil(self._patience * ratio))
        self._patience = min(2 * self._patience, MOST_PATIENCE)
        self._groups = None  # centers will be elsewhere

    def _quantum(self, centers: Centers) -> float | None:
        """A small share of a typical distance; None if what is rounded is not smaller still."""
        rows = self._some_rows(SAMPLE)
        squares = self.source.subset(rows).own_distances(centers, self.labels[rows])
        # the median, not the mean that a few far rows would make; unless most lie on their centers
        typical = math.sqrt(max(float(np.median(squares)), float(squares.mean()) * 2.0**-20))
        low, high = self.source.box()
        largest = float(max(np.abs(low).max(), np.abs(high).max(), np.abs(centers.plain).max()))
        far = math.sqrt(float(np.sort(squares)[int(MOST_ROWS * len(squares))]))
        quantum = max(typical / FINE, far / FARTHEST)
        reach = math.sqrt(self.source.d) * largest
        # distances between centers and prefixes are float32, whose range this keeps clear of
        return quantum if max(2.0**-44 * reach, 1e-30) < quantum and reach < 1e30 else None

    def _some_rows(self, most: int) -> Ints:
        most = min(most, max(64, VALUES // self.source.d))
        return np.arange(0, self.source.n, -(-self.source.n // most))

    def _by_bounds(self, centers: Centers) -> int:
        assert self._bounds is not None
        first, joined = self._bounds.fresh, self._join(centers)
        done = self.source.assign_bounded(centers, self._bounds, self._labels, self._sums)
        n, k, d = self.source.n, len(centers.values), self.source.d
        self._moved = done.moved
        self.last = Pass(self.plan.path, done.scanned / (n * k))
        seen = d if self._prefix is None else self._prefix.length + 1
        cost = bounded_cost(done, n, d, seen) + books_cost(k, d, self.source.workers.n)
        ratio = cost / plain_cost(n, k, d)
        if not first and ratio > 1 and not self.plan.forced:
            self._bounds = None
            self._be_patient(ratio)
        return done.moved + joined

    def _join(self, centers: Centers) -> int:
        """Label the newcomers by a plain pass: bounds are about a label."""
        rows = self._newcomers
        if len(rows):
            self.source.part(rows).assign(centers, self._labels[rows[0] :], self._sums)
        return len(rows)

    # --- changes from outside ---

    def move(self, rows: Ints, to: Ints) -> None:
        """Move rows to other clusters, in the labels and in the sums."""
        super().move(rows, to)
        if self._leaves is not None:
            self._leaves.forget(self.labels)
        if self._bounds is not None:
            self._bounds.forget(rows)

    def _renumber(self, number: Ints) -> None:
        self._bounds, self._probe, self._groups, self._labelled = None, None, None, False
        if self._leaves is None:
            super()._renumber(number)
        else:
            self._leaves.renumber(number)
            self._stale = True
