"""Passes over the different rows only, where rows repeat.

A run begins with plain passes over all rows. As soon as these have cost as much as the search for
equal rows, the different rows take their place, each with the weight of all that are equal to it.
What the loop sees is the same as if all rows were read: labels, sums, how many rows moved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partita._common.array_types import Ints
from partita._kernels import compiled, kernels
from partita.centers import Centers
from partita.engine.lloyd import LloydOptions
from partita.engine.paths.choice import plan_for
from partita.engine.paths.path import PathCache, PathPass, PathPlan
from partita.engine.paths.scheduler import PassScheduler
from partita.moments import Moments
from partita.source.pass_price import plain_cost
from partita.source.protocol import Source
from partita.source.repeated_rows import (
    MAX_DISTINCT_SHARE,
    DistinctRows,
    as_bytes,
    estimate_distinct,
    find_distinct,
    search_cost,
)

MIN_PASS_COST = 2e5  # nanoseconds of one core of a plain pass: below, a fit is over at once
MAX_WAIT_PASSES = 8  # plain ones, that the search may take
SEARCHING = PathPlan("plain", "until equal rows are merged")


class RepeatedRows:
    """What is known of the equal rows of a source; runs on the same rows share it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        rows = as_bytes(source)
        self._estimate = float(source.n) if rows is None else estimate_distinct(rows)
        self.may_pay = self._estimate <= MAX_DISTINCT_SHARE * source.n
        self.found: DistinctRows | None = None
        self.cache = PathCache()  # of the different rows

    def search(self, memory: float) -> DistinctRows | None:
        """Find the different rows once; None if they are too many, or do not fit `memory` bytes."""
        if self.found is None and self.may_pay:
            self.found = find_distinct(self._source, self._estimate, memory)
            self.may_pay = self.found is not None
        return self.found


class RepeatedPasses:
    """The passes of one run on rows that repeat; it has the methods of a `PassScheduler`."""

    def __init__(
        self, source: Source, plan: PathPlan, options: LloydOptions, runs: int, wait: int
    ) -> None:
        self._source, self._plan, self._options, self._runs = source, plan, options, runs
        self._repeated = _repeated_rows(source, options.path_cache)
        self._wait = 0 if self._repeated.found is not None else wait
        self._passes = PassScheduler(source, SEARCHING, PathCache())
        self._made = 0  # passes before the search
        self._is_searched = False
        self._rows: DistinctRows | None = None  # that passes are made over; None: all
        self._before: Ints  # labels of these rows
        self._all_labels: Ints | None = None  # those of all rows, since the last pass

    @property
    def notes(self) -> list[str]:
        """Which paths were planned, and why."""
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
        self._all_labels, moved, distinct = None, 0, self._rows.source
        if done.moved:
            crew = self._source.workers.crew
            moved = kernels.count_changes(
                self._passes.labels, self._before, self._rows.repeats, crew
            )
        compared = done.compared * (distinct.n / self._source.n)
        return name, replace(done, moved=moved, compared=compared)

    def _search(self) -> None:
        """Go on with the different rows, or with all of them if they are too many."""
        self._is_searched, labels, options = True, self._passes.labels, self._options
        rows = self._repeated.search(options.memory)
        if rows is None:
            self._passes = PassScheduler(self._source, self._left(self._plan), options.path_cache)
            self._passes.labels[:] = labels
            return
        shape = options.k, options.algorithm, options.memory - rows.bytes, self._runs
        plan = self._repeated.cache.once(("plan", shape), lambda: plan_for(rows.source, *shape))
        self._rows = rows
        self._passes = PassScheduler(rows.source, self._left(plan), self._repeated.cache)
        self._before = labels[rows.first]
        self._passes.labels[:] = self._before

    def _left(self, plan: PathPlan) -> PathPlan:
        """A plan after the passes that were made."""
        after = None if plan.bytes_after is None else max(0, plan.bytes_after - self._made)
        return replace(plan, wait=max(0, plan.wait - self._made), bytes_after=after)

    # --- changes from outside ---

    def expect_end(self) -> None:
        """Prepare nothing for passes after the next one."""
        self._is_searched = True
        self._passes.expect_end()

    def give_up_bounds(self) -> None:
        """Free the memory of the path; a later pass is a plain one."""
        self._passes.give_up_bounds()

    def forget(self, rows: Ints) -> None:
        """Accept labels of `rows`, and of all that are equal to them, that were changed in place."""
        if self._rows is None:
            self._passes.forget(rows)
            return
        assert self._all_labels is not None
        numbers, where = np.unique(self._rows.inverse[rows], return_index=True)
        labels = self._passes.labels
        labels[numbers] = self._before[numbers] = self._all_labels[rows[where]]
        self._passes.forget(numbers)

    def renumber(self, number: Ints) -> None:
        """Replace every label l by number[l]; the last number is that of rows without a label."""
        self._passes.renumber(number)
        if self._rows is not None:
            self._before, self._all_labels = self._passes.labels.copy(), None


Passes = PassScheduler | RepeatedPasses


def passes_for(source: Source, plan: PathPlan, options: LloydOptions, runs: int) -> Passes:
    """Return the passes of one of several runs: over the different rows only, once that pays."""
    wait = passes_before_search(source, options.k)
    if wait is None or not _repeated_rows(source, options.path_cache).may_pay:
        return PassScheduler(source, plan, options.path_cache)
    return RepeatedPasses(source, plan, options, runs, wait)


def passes_before_search(source: Source, k: int) -> int | None:
    """Number of plain passes after which the search for equal rows pays; None: never."""
    if not compiled() or k < 2 or as_bytes(source) is None:
        return None
    cost = plain_cost(source.n, k, source.d)
    wait = int(search_cost(source) / cost)
    return wait if cost >= MIN_PASS_COST and wait <= MAX_WAIT_PASSES else None


def _repeated_rows(source: Source, cache: PathCache) -> RepeatedRows:
    return cache.once("repeated rows", lambda: RepeatedRows(source))
