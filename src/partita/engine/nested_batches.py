"""Nested mini-batches (Newling and Fleuret 2016): a batch of rows that doubles as it settles.

Rows join in random order and stay: each counts once, at its present label, so that no early mistake
lingers in a center, and what bounds know of a row is kept. A center is the mean of the rows it has
so far; once moving the centers gains less than what the chance of these rows is worth, more passes
over them would only fit that chance, and the batch doubles. A batch of all rows is plain Lloyd.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.weighting import weighted
from partita.centers import Centers
from partita.empty_clusters import EmptyPolicy
from partita.engine.lloyd import lloyd
from partita.engine.lloyd_step import LloydStep
from partita.engine.paths.choice import plan_and_spare
from partita.engine.paths.path import PathCache, PathPlan
from partita.engine.paths.scheduler import PassScheduler
from partita.engine.restarts import LloydOptions, best_of
from partita.geometry import Euclidean
from partita.halting import Halt, MaxIter, SamePartition, When
from partita.run_record import Fit
from partita.source.protocol import Source, batch_of
from partita.stats import ClusterStats
from partita.stop_reason import StopReason
from partita.trace import Callback, Progress

STARTS = 8  # of which the best goes on: on few rows they cost little
REFINED = 5  # iterations on these rows, before starts are compared
FIRST = 1 << 18  # rows whose order is drawn at once; that of the others when they are needed
FEWEST = 4  # rows of the first batch for each cluster
ENOUGH = 1e-3  # of the cost: if the chance of the rows is worth less, no more are needed
CLEAR = 1e-4  # of the cost: what counts as an improvement
SETTLED = "the batch has settled"


class Growing(Halt):
    """What ends the passes over a batch that is not all rows: it grows, unless it is large."""

    __slots__ = ("_last", "_run")

    def __init__(self, run: Nested, last: Halt | None) -> None:
        self._run, self._last = run, last

    def reason(self, trace: Sequence[Progress]) -> str | None:
        """The batch has settled if moving the centers gained less than its chance is worth."""
        now = trace[-1]
        if not self._run.is_large(now.cost_after):
            gain = now.cost - now.cost_after
            return SETTLED if now.moved_points == 0 or gain <= self._run.noise() else None
        if now.moved_points == 0:
            return "no point of the batch changed its cluster"
        return None if self._last is None else self._last.reason(trace)


@dataclass(frozen=True, slots=True)
class Batches:
    """How the batch begins, and when enough is enough."""

    first: int = 1024  # rows, at least `FEWEST` for each cluster
    epochs: float = 100  # passes over all rows that may be made, in rows looked at
    patience: int | None = 10  # iterations without an improvement; None: until all rows have joined
    reassign: float = 0.01  # clusters lighter than this share of the heaviest may be moved


class Order:
    """All rows of weight in random order, drawn as far as it is needed."""

    def __init__(self, source: Source, rng: np.random.Generator) -> None:
        self._rng, self._some = rng, None
        self.n = source.n
        if not source.weights.all_equal:
            self._some = np.flatnonzero(source.weights.as_floats(source.n))
            self.n = len(self._some)
        self._drawn = rng.choice(self.n, size=min(self.n, FIRST), replace=False)

    def first(self, count: int) -> Ints:
        """The first rows."""
        if count > len(self._drawn):
            rest = np.ones(self.n, bool)
            rest[self._drawn] = False
            others = self._rng.permutation(np.flatnonzero(rest))
            self._drawn = np.concatenate([self._drawn, others])
        drawn = self._drawn[:count]
        return np.asarray(drawn if self._some is None else self._some[drawn])


def best_start(
    sample: Source, starts: Sequence[Callable[[], Floats]], k: int, empty: EmptyPolicy
) -> Floats:
    """The start that leads to the least cost on a sample, after a few iterations there."""
    halt = SamePartition() | MaxIter(REFINED)
    return best_of(sample, starts, LloydOptions(k, halt, empty)).centers


class Nested:
    """One run over a growing batch."""

    def __init__(
        self,
        source: Source,
        order: Order,
        k: int,
        batches: Batches,
        rng: np.random.Generator,
        memory: float = math.inf,
    ) -> None:
        self.source, self.batches = source, batches
        self._order, self._rng, self._memory = order, rng, memory
        self._mass = _mass(source)
        self._best, self._since = math.inf, 0  # cost of a row, and iterations that it stands
        self.looked = 0  # rows
        self._size = min(order.n, max(batches.first, FEWEST * k))
        # a batch is a copy of its rows; while it grows there are two
        self._row_bytes = source.d * source.dtype.itemsize if source.prunable else 0
        self._most = memory / (1.5 * self._row_bytes) if source.prunable else math.inf
        self._step = self._first_step(k)

    def run(
        self,
        centers: Floats,
        empty: EmptyPolicy,
        halt: Halt | None = None,
        last: Halt | None = None,
        callbacks: Sequence[Callback] = (),
        begin: float | None = None,
    ) -> Fit:
        """Go on until `halt`, or one of our own reasons, says to stop; `last` once nothing grows.

        Costs in the trace are those of the batch, times what the batch is short of.
        """
        begin = time.perf_counter() if begin is None else begin
        trace: tuple[Progress, ...] = ()
        at = Centers(np.ascontiguousarray(centers, dtype=np.float64), np.zeros(self.source.d))
        final = SamePartition() if last is None else SamePartition() | last
        while True:
            whole = self._size == self._order.n
            stop = When(self._is_enough) | (final if whole else Growing(self, last))
            fit = lloyd(
                self._step,
                at,
                halt=stop if halt is None else halt | stop,
                empty=empty,
                callbacks=[self._count, *callbacks],
                begin=begin,
                before=trace,
            )
            if fit.stopped_by != SETTLED:
                return fit
            trace, at = fit.trace.records, self._grow(fit.centers)

    def _count(self, progress: Progress) -> None:
        self.looked += self._size

    def estimate(self, fit: Fit) -> ClusterStats:
        """The summaries of all rows, as the batch tells them, in the data's coordinates."""
        stats = fit.stats.moved(fit.centers.origin)
        return stats.scaled(self._step.geometry.price)

    def _first_step(self, k: int) -> LloydStep:
        batch = batch_of(self.source, self._order.first(self._size))
        plan, spare = self._plan(batch, k)
        plan = replace(plan, why=f"{plan.why}, {batch.n} rows")
        geometry = Euclidean(self._mass / _mass(batch))
        passes = PassScheduler(batch, plan, PathCache(), spare)
        return LloydStep(batch, self.source.survey().grid, k, geometry, passes)

    def _plan(self, batch: Source, k: int) -> tuple[PathPlan, float]:
        room = max(0.0, self._memory - self._size * self._row_bytes)  # that the batch leaves
        return plan_and_spare(batch, k, "auto", room)

    def _grow(self, centers: Centers) -> Centers:
        """Let as many rows join as there are."""
        rows = self._order.first(min(self._order.n, 2 * self._size))
        newcomers, ratio = rows[self._size :], self.batches.reassign
        light = light_clusters(self._step.stats.weight, ratio)
        if len(light):
            centers = reassigned(centers, light, batch_of(self.source, newcomers), self._rng)
        self._size = len(rows)
        batch = batch_of(self.source, rows)
        self._step.grow(batch, *self._plan(batch, len(centers.values)))
        self._step.geometry = Euclidean(self._mass / _mass(batch))
        return centers

    # --- reasons to stop, or to grow ---

    def noise(self) -> float:
        """What the chance of the rows in the batch is worth: Σ sse / count, as J counts it.

        A mean of m rows lies about √(sse/m)/√m from that of all rows.
        """
        stats, step = self._step.stats, self._step
        count = stats.weight * (step.source.n / stats.weight.sum())
        each = np.divide(stats.sse, count, out=np.zeros_like(count), where=count > 0)
        return float(each.sum()) * step.geometry.price

    def _cost_of_all(self, last: Progress) -> float:
        """What all rows would cost at these centers, without looking at them.

        That differs by the noise twice: the centers suit the batch better, and other rows worse,
        than the true means would.
        """
        return last.cost_after + 2 * self.noise()

    def is_large(self, cost: float) -> bool:
        """Whether no more rows are needed, or fit."""
        enough = self.batches.patience is not None and self.noise() <= ENOUGH * cost
        return enough or 2 * self._size > self._most

    def _is_enough(self, trace: Sequence[Progress]) -> str | None:
        if self.looked + self._size >= self.batches.epochs * self._order.n:
            text = f"as many rows were read as in {self.batches.epochs} passes over all"
            return StopReason(text, "max_rows")
        cost = self._cost_of_all(trace[-1])
        if cost < self._best * (1 - CLEAR):
            self._best, self._since = cost, 0
            return None
        self._since += 1
        if self.batches.patience is None or self._since < self.batches.patience:
            return None
        return f"{self._since} iterations did not improve the cost of a row by more than {CLEAR:g}"


def join(
    seen: ClusterStats, source: Source, ratio: float, rng: np.random.Generator
) -> ClusterStats:
    """The summaries of all rows seen so far and of those of a batch, in the data's coordinates.

    Light clusters are reassigned as when a batch grows.
    """
    still = np.zeros(source.d)
    at, step = Centers(seen.mean, still), LloydStep(source, source.survey().grid, len(seen.mean))
    step.assign(at)
    both = seen.merge(step.stats_about(at)[0].moved(step.origin))
    light = light_clusters(both.weight, ratio)
    if len(light) == 0:
        return both
    at = Centers(both.mean, still)
    moved = reassigned(at, light, source, rng)
    if moved is at:
        return both
    kept = np.ones(len(both.weight))
    kept[light] = 0.0
    return ClusterStats(both.weight * kept, moved.values, both.sse * kept)


def light_clusters(weight: Floats, ratio: float) -> Ints:
    """Those lighter than `ratio` times the heaviest."""
    return np.flatnonzero(weight < ratio * weight.max())


def reassigned(
    centers: Centers, light: Ints, newcomers: Source, rng: np.random.Generator
) -> Centers:
    """The centers, some moved to newcomers far from all; unless the newcomers would cost more so.

    They had no say in where the centers are, so what they say is not to their own credit.
    """
    cost = costs(newcomers, centers)
    total = exact_total(cost)
    if not 0 < total < math.inf:
        return centers
    rows = rng.choice(newcomers.n, size=len(light), p=cost / cost.sum())
    values = centers.values.copy()
    values[light] = newcomers.take_rows(rows) - centers.origin
    moved = Centers(values, centers.origin)
    return moved if exact_total(costs(newcomers, moved)) < total else centers


def _mass(source: Source) -> float:
    """The total weight of the rows."""
    weights = source.weights
    return (
        weights.unit * source.n if weights.all_equal else float(weights.as_floats(source.n).sum())
    )


def costs(source: Source, centers: Centers) -> Floats:
    """What every row adds to J."""
    labels = np.full(source.n, -1, np.int32)
    source.assign(centers, labels, None)
    weight = None if source.weights.all_equal else source.weights.as_floats(source.n)
    return weighted(source.own_distances(centers, labels), weight)
