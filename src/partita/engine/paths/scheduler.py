"""The scheduler: chooses the path of the next pass, by trials, prices and waiting times."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from partita._common.array_types import Ints
from partita.centers import Centers
from partita.engine.paths.bounds_path import strided_rows
from partita.engine.paths.bytes_path import BytesPath
from partita.engine.paths.choice import PATH_KINDS, memory_of
from partita.engine.paths.path import (
    MAX_MOVED_SHARE,
    MAX_PATIENCE_PASSES,
    ROWS_PER_SETTLING_PASS,
    BoundScales,
    Path,
    PathCache,
    PathKind,
    PathPass,
    PathPlan,
    PathStart,
    with_more_rows,
)
from partita.engine.paths.plain_path import PlainPath
from partita.exact_weights import Weights
from partita.moments import Moments
from partita.source.pass_price import plain_cost
from partita.source.protocol import Source

MIN_TRIAL_ROWS, MAX_TRIAL_ROWS = 512, 4096  # about one row in 64
MAX_BYTE_TRIAL_ROWS = 512  # of which bytes show how many candidates they leave
BYTE_RETRY_PASSES = 3  # plain ones, where the centers of the start left too many candidates
MAX_BYTE_PATIENCE_PASSES = 4  # between two trials, where passes are over bytes
MAX_BYTE_COST_SHARE = 0.8  # of such a pass, for bounds over bytes to begin
MAX_COST_SHARE = 0.7  # of a plain pass, for a path to begin, as its first pass costs more


class PassScheduler:
    """Makes the passes of one run, by the path of a plan once it is ready and pays."""

    def __init__(
        self, source: Source, plan: PathPlan, cache: PathCache, labels: Ints | None = None
    ) -> None:
        self._source, self._plan, self._cache, self._memory = source, plan, cache, plan.spare
        self._bytes_after = plan.bytes_after
        self._byte_cost = 0.0  # of the last pass over bytes; 0: none was made
        self._recheck_cost = 0.0  # what float32 scores last left to float64
        first = np.full(source.n, -1, np.int32) if labels is None else labels
        self._path = self._unpruned(first)
        self.notes = [str(plan)]  # which paths were planned, and why
        self._trial: Path | None = None  # the planned path on a few rows
        self._scales: BoundScales | None = None  # of the last trial
        self._wait = min(plan.wait, self._max_patience)  # passes until the next trial
        self._patience = 1
        self._all_labelled = False
        self._moved = source.n  # in the last pass
        self._before: Centers | None = None  # centers of the last pass
        self._is_ending = False  # one more pass at most, so that no other path would pay

    @property
    def labels(self) -> Ints:
        return self._path.labels

    @property
    def path(self) -> Path:
        """The path of the last pass."""
        return self._path

    @property
    def _max_patience(self) -> int:
        """Passes between two trials, at most: bounds over bytes begin and are tried at low cost."""
        # on few rows, preparing centers for a trial is much of a pass
        many = self._source.n >= ROWS_PER_SETTLING_PASS and not self._plan.forced
        in_bytes = self._bytes_after is not None and many
        return MAX_BYTE_PATIENCE_PASSES if in_bytes else MAX_PATIENCE_PASSES

    def _unpruned(self, labels: Ints) -> Path:
        """The path that compares every row with every center: over bytes once they are in use."""
        rows = self._source.prunable_rows
        if rows is not None and self._byte_cost:
            return BytesPath(rows, labels, self._cache)
        # rows that will be rounded to bytes are not packed for plain passes
        return PlainPath(self._source, labels, self._memory if self._bytes_after is None else 0.0)

    def assign(self, centers: Centers, sums: Moments | None) -> tuple[str, PathPass]:
        """Make one pass; return the name of its path, and what it did."""
        if not self._is_ending:
            self._choose_path(centers)
        done, name = self._path.assign(centers, sums), self._path.name
        self._all_labelled, self._before, self._moved = True, centers, done.moved
        self._recheck_cost = done.recheck_cost or self._recheck_cost
        if name == "plain" and self._bytes_after:
            self._bytes_after -= 1
        elif not self._plan.forced and name == "bytes":
            self._review_bytes(done, centers)
        elif not self._plan.forced and name != "plain":
            self._review(done, centers)
        return name, done

    def _choose_path(self, centers: Centers) -> None:
        if self._path.name != self._plan.path:
            self._switch(centers)
        if self._path.name == "plain" and self._bytes_after == 0:
            self._turn_to_bytes(centers)

    def _turn_to_bytes(self, centers: Centers) -> None:
        """Round the rows to bytes, unless a sample shows that it would not pay."""
        rows = self._source.prunable_rows
        assert rows is not None
        few = strided_rows(self._source, MAX_BYTE_TRIAL_ROWS)
        sample = rows.subset(few, Weights.of(None, len(few)), rows.survey())
        trial = BytesPath(sample, np.zeros(len(few), np.int32), PathCache())
        done = trial.assign(centers, None)
        scaled = replace(done, row_cost=done.row_cost * (self._source.n / len(few)))
        self._review_bytes(scaled, centers)
        if self._byte_cost:
            self._path = self._unpruned(self.labels)

    def _review_bytes(self, done: PathPass, centers: Centers) -> None:
        """Go back to plain passes if bytes leave so many candidates that a pass costs more."""
        self._byte_cost = done.row_cost
        if done.row_cost <= plain_cost(self._source.n, len(centers.values), self._source.d):
            return
        self.notes.append(f"plain: bytes left {done.candidates:.1f} centers a row")
        is_first_pass = self._before is None
        self._bytes_after, self._byte_cost = BYTE_RETRY_PASSES if is_first_pass else None, 0.0
        self._path = self._unpruned(self.labels)

    def _switch(self, centers: Centers) -> None:
        """Let the planned path take over, if it is ready and would cost less."""
        while self._plan.path != "plain":
            kind, forced = PATH_KINDS[self._plan.path], self._plan.forced
            if kind.needs_labels and not self._all_labelled:
                return
            if kind.needs_labels and self._wait > 0 and not forced:
                self._wait -= 1
                return
            if kind.needs_trial and not forced and not self._trial_pays(kind, centers):
                return
            made = kind.start(self._start(centers))
            self._trial = None
            if not isinstance(made, PathPlan):
                self._path = made
                if made.note and made.note not in self.notes:
                    self.notes.append(made.note)
                return
            room = self._memory + memory_of(self._plan.path, self._source, len(centers.values))
            self._turn_to_fitting(made, len(centers.values), room)

    def _start(self, centers: Centers, rows: Ints | None = None) -> PathStart:
        source = self._source.prunable_rows
        assert source is not None
        return PathStart(
            source, self._plan, self._cache, centers, self.labels, self._before, rows,
            self._scales, has_bytes=self._bytes_after is not None,
        )  # fmt: skip

    def _trial_pays(self, kind: PathKind, centers: Centers) -> bool:
        """Try the planned path on a few rows, from one pass to the next."""
        n = self._source.n
        if self._moved > MAX_MOVED_SHARE * n:
            return False
        if self._trial is None:
            most = min(MAX_TRIAL_ROWS, max(MIN_TRIAL_ROWS, n // 64))
            made = kind.start(self._start(centers, strided_rows(self._source, most)))
            if isinstance(made, PathPlan):
                self._turn_to(made)
            else:
                self._trial, self._scales = made, made.assign(centers, None).scales
            return False
        done, trial_rows = self._trial.assign(centers, None), len(self._trial.labels)
        scaled = replace(done, row_cost=done.row_cost * (n / trial_rows))
        cost_share = self._cost_share(scaled, centers)
        if cost_share < (MAX_BYTE_COST_SHARE if self._byte_cost else MAX_COST_SHARE):
            return True
        self._be_patient(cost_share)
        return False

    def _cost_share(self, done: PathPass, centers: Centers) -> float:
        """Cost of a pass over all rows, as a share of one that compares all pairs."""
        return (done.row_cost + done.fixed_cost) / self._pass_cost(centers)

    def _pass_cost(self, centers: Centers) -> float:
        """Cost of a pass that compares all pairs, in bytes if that is how it is done."""
        plain = plain_cost(self._source.n, len(centers.values), self._source.d)
        # scores in float64 cost about twice as much, and are taken if float32 costs more
        return self._byte_cost or plain + min(self._recheck_cost, plain)

    def _review(self, done: PathPass, centers: Centers) -> None:
        """Go back to passes that compare all pairs if the pass cost more than one of them."""
        cost_share = self._cost_share(done, centers)
        if cost_share <= 1:
            return
        instead, k = PATH_KINDS[self._plan.path].instead, len(centers.values)
        self._path = self._unpruned(self.labels)
        if instead is None:
            self._be_patient(cost_share)
            return
        why = f"{self._plan.path} compared {done.compared:.0%} of the pairs"
        self._turn_to_fitting(instead(k, why), k, self._memory)

    def _turn_to_fitting(self, plan: PathPlan, k: int, memory: float) -> None:
        """Turn to a plan if it needs no more than `memory` bytes, else to plain passes."""
        fits = memory_of(plan.path, self._source, k) <= memory
        self._turn_to(plan if fits else PathPlan("plain", plan.why, plan.forced))

    def _be_patient(self, cost_share: float) -> None:
        """Try again after a while, which is longer the more the path costs."""
        self._trial = None
        self._wait = min(self._max_patience, math.ceil(self._patience * cost_share))
        self._patience = min(2 * self._patience, self._max_patience)

    def _turn_to(self, plan: PathPlan) -> None:
        self._plan, self._trial = plan, None
        self.notes.append(str(plan))

    def own_cost(self, centers: Centers) -> float:
        """Σ w·‖x − c‖² over all rows; without w if all weights are equal."""
        return self._source.own_cost(centers, self.labels)

    # --- changes from outside ---

    def expect_end(self) -> None:
        """Prepare nothing for passes after the next one."""
        if not self._plan.forced and self._all_labelled:
            self._is_ending = True
            if isinstance(self._path, PlainPath):
                self._path.expect_end()

    def give_up_bounds(self) -> None:
        """Free the memory of the path; a later pass is a plain one."""
        self._path, self._trial = PlainPath(self._source, self.labels, 0.0), None

    def forget(self, rows: Ints) -> None:
        """Accept labels of `rows` that were changed in place."""
        self._path.forget(rows)

    def renumber(self, number: Ints) -> None:
        """Replace every label l by number[l]; the last number is that of rows without a label."""
        labels = number[self.labels]
        if not self._path.relabel(labels):
            self._path = self._unpruned(labels)
        self._trial, self._all_labelled = None, False

    def _fits(self, source: Source, plan: PathPlan) -> bool:
        """Return whether the present path for other rows fits the memory of a plan for them."""
        if self._before is None:
            return False
        k = len(self._before.values)
        room = plan.spare + memory_of(plan.path, source, k)
        return memory_of(self._path.name, source, k) <= room

    def grow(self, source: Source, plan: PathPlan) -> None:
        """Go on with more rows, the present ones first, by a plan for them."""
        self._source, self._memory, self._bytes_after = source, plan.spare, plan.bytes_after
        self._cache, self._byte_cost = PathCache(), 0.0
        self._trial = self._scales = None
        rows = source.prunable_rows
        if rows is not None and self._fits(source, plan) and self._path.grow(rows):
            return
        self._path = self._unpruned(with_more_rows(self.labels, source.n))
        self._all_labelled = False
        if plan.path != self._plan.path:
            self._turn_to(replace(plan, why=f"{plan.why}, {source.n} rows"))
