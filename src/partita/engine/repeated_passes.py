"""Passes over the different rows only, where rows repeat.

A run begins with plain passes over all rows. As soon as these have cost a share of the search for
equal rows, the different rows take their place, each with the weight of all that are equal to it.
What the loop sees is the same as if all rows were read: labels, sums, how many rows moved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partita._common.array_types import Ints
from partita._kernels import compiled, kernels
from partita.centers import Centers
from partita.engine.paths.choice import plan_for
from partita.engine.paths.leaves_path import LeavesPath
from partita.engine.paths.path import Path, PathCache, PathPass, PathPlan
from partita.engine.paths.scheduler import PassScheduler
from partita.moments import Moments
from partita.source.pass_price import byte_cost, plain_cost
from partita.source.protocol import Source
from partita.source.repeated_rows import (
    MAX_DISTINCT_SHARE,
    MergedRows,
    as_bytes,
    copy_bytes,
    estimate_distinct,
    find_distinct,
    search_cost,
)

MIN_PASS_COST = 2e5  # nanoseconds of one core of a plain pass: below, a fit is over at once
WAIT_SHARE = 0.3  # of the cost of the search, that plain passes take first: few fits end sooner
MAX_WAIT_PASSES = 3
SEARCHING = PathPlan("plain", "until equal rows are merged")

FitShape = tuple[int, str, float, int]  # what `plan_for` takes: k, algorithm, memory, runs


class RepeatedRows:
    """The equal rows of a source, as far as they are known; runs on the same rows share it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        rows = as_bytes(source)
        self._estimate = float(source.n) if rows is None else estimate_distinct(rows)
        self.may_pay = self._estimate <= MAX_DISTINCT_SHARE * source.n
        self.found: MergedRows | None = None
        self.cache = PathCache()  # of the different rows

    def search(self, memory: float) -> MergedRows | None:
        """Find the different rows once; None if they are too many, or do not fit `memory` bytes."""
        if self.found is None and self.may_pay:
            self.found = find_distinct(self._source, self._estimate, memory)
            self.may_pay = self.found is not None
        return self.found


class MoveCounter:
    """A count of the rows that a pass moved, where each row stands for several."""

    def __init__(self, repeats: Ints, labels: Ints) -> None:
        self._repeats, self._before = repeats, labels.copy()
        self._times = repeats
        self._path: Path | None = None  # the one whose order of rows these have
        self._order: Ints | None = None

    def reset(self, labels: Ints) -> None:
        """Start from labels that were changed between two passes."""
        self._before = labels.copy() if self._order is None else labels[self._order]

    def count(self, path: Path, crew: object) -> int:
        """Return how many rows have changed their label since the last call."""
        if path is not self._path:
            self._follow(path)
        labels = path.labels_in_order if isinstance(path, LeavesPath) else path.labels
        return int(kernels.count_changes(labels, self._before, self._times, crew))

    def _follow(self, path: Path) -> None:
        """Keep counts and labels in the order of another path, whose labels need no copy then."""
        before = self._before
        if self._order is not None:
            before = np.empty_like(self._before)
            before[self._order] = self._before
        self._path, self._order = path, path.order if isinstance(path, LeavesPath) else None
        self._before = before if self._order is None else before[self._order]
        self._times = self._repeats if self._order is None else self._repeats[self._order]


class RepeatedPasses:
    """The passes of one run on rows that repeat; it has the methods of a `PassScheduler`."""

    def __init__(
        self, source: Source, plan: PathPlan, shape: FitShape, cache: PathCache, wait: int
    ) -> None:
        self._source, self._plan, self._shape, self._cache = source, plan, shape, cache
        self._repeated = _repeated_rows(source, cache)
        self._wait = 0 if self._repeated.found is not None else wait
        self._passes = PassScheduler(source, SEARCHING, PathCache())
        self._made = 0  # passes before the search
        self._is_searched = False
        self._rows: MergedRows | None = None  # that passes are made over; None: all
        self._moved: MoveCounter
        self._all_labels: Ints | None = None  # those of all rows, since the last pass

    @property
    def notes(self) -> list[str]:
        """The paths that were planned, with the reasons."""
        merged = [] if self._rows is None else [str(self._rows)]
        return [*merged, *self._passes.notes]

    @property
    def labels(self) -> Ints:
        """The label (n,) of every row."""
        if self._rows is None:
            return self._passes.labels
        if self._all_labels is None:
            self._all_labels = self._passes.labels.take(self._rows.inverse)
        return self._all_labels

    def assign(self, centers: Centers, sums: Moments | None) -> tuple[str, PathPass]:
        """Make one pass; return the name of its path, and what it did to all rows."""
        if not self._is_searched and self._made == self._wait:
            self._search()
        self._made += 1
        name, done = self._passes.assign(centers, sums)
        if self._rows is None:
            return name, done
        self._all_labels, share = None, self._rows.source.n / self._source.n
        crew = self._source.workers.crew
        moved = self._moved.count(self._passes.path, crew) if done.moved else 0
        return name, replace(done, moved=moved, compared=done.compared * share)

    def _search(self) -> None:
        """Go on with the different rows, or with all of them if they are too many."""
        self._is_searched, labels = True, self._passes.labels
        k, algorithm, memory, runs = self._shape
        rows = self._repeated.search(memory)
        if rows is None:
            self._passes = PassScheduler(self._source, self._left(self._plan), self._cache, labels)
            return
        left = memory - copy_bytes(self._source, rows.source.n)
        shape, cache = (k, algorithm, left, runs), self._repeated.cache
        plan = cache.once(("plan", shape), lambda: plan_for(rows.source, *shape))
        self._rows, labels = rows, labels[rows.first]
        self._passes = PassScheduler(rows.source, self._left(plan), cache, labels)
        self._moved = MoveCounter(rows.repeats, labels)

    def _left(self, plan: PathPlan) -> PathPlan:
        """A plan after the passes that were made."""
        after = None if plan.bytes_after is None else max(0, plan.bytes_after - self._made)
        return replace(plan, wait=max(0, plan.wait - self._made), bytes_after=after)

    def own_cost(self, centers: Centers) -> float:
        """Σ w·‖x − c‖² over all rows; without w if all weights are equal."""
        if self._rows is None or self._source.weights.unit != 1:
            return self._source.own_cost(centers, self.labels)
        return self._rows.source.own_cost(centers, self._passes.labels)

    # --- changes from outside ---

    def expect_end(self) -> None:
        """Prepare nothing for passes after the next one."""
        self._is_searched = True
        self._passes.expect_end()

    def give_up_bounds(self) -> None:
        """Free the memory of the path; a later pass is a plain one."""
        self._passes.give_up_bounds()

    def forget(self, rows: Ints) -> None:
        """Accept labels of `rows`, with all that are equal to them, that were changed in place."""
        if self._rows is None:
            self._passes.forget(rows)
            return
        assert self._all_labels is not None
        numbers, where = np.unique(self._rows.inverse[rows], return_index=True)
        labels = self._passes.labels
        labels[numbers] = self._all_labels[rows[where]]
        self._passes.forget(numbers)
        self._moved.reset(labels)

    def renumber(self, number: Ints) -> None:
        """Replace every label l by number[l]; the last number is that of rows without a label."""
        self._passes.renumber(number)
        if self._rows is not None:
            self._moved.reset(self._passes.labels)
            self._all_labels = None


Passes = PassScheduler | RepeatedPasses


def passes_for(source: Source, plan: PathPlan, shape: FitShape, cache: PathCache) -> Passes:
    """Return the passes of a run: over the different rows only, once that pays."""
    wait = passes_before_search(source, shape[0], plan)
    if wait is None or not _repeated_rows(source, cache).may_pay:
        return PassScheduler(source, plan, cache)
    return RepeatedPasses(source, plan, shape, cache, wait)


def passes_before_search(source: Source, k: int, plan: PathPlan) -> int | None:
    """Number of passes after which the search for equal rows pays; None: never."""
    cost = plain_cost(source.n, k, source.d)
    if plan.bytes_after is not None:  # few rows have several candidates
        cost = min(cost, byte_cost(source.n, k, source.d, 0.0))
    if cost < MIN_PASS_COST or k < 2 or not compiled() or as_bytes(source) is None:
        return None
    wait = int(WAIT_SHARE * search_cost(source) / cost)
    return wait if wait <= MAX_WAIT_PASSES else None


def merged_bytes(source: Source, plan: PathPlan, shape: FitShape, cache: PathCache) -> float:
    """Memory that the different rows may keep from one of several runs to the next."""
    if shape[-1] < 2 or passes_before_search(source, shape[0], plan) is None:
        return 0.0
    if not _repeated_rows(source, cache).may_pay:
        return 0.0
    return copy_bytes(source, int(MAX_DISTINCT_SHARE * source.n))


def _repeated_rows(source: Source, cache: PathCache) -> RepeatedRows:
    return cache.once("repeated rows", lambda: RepeatedRows(source))
