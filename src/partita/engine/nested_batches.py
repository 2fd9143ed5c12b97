"""Nested mini-batches (Newling and Fleuret 2016): a batch of rows that doubles as it settles.

Rows join in random order and stay. Each counts once, at its present label, so early mistakes leave
no trace in a center, and the bounds of a row are kept. A center is the mean of its rows so far.
When an update improves J by less than the sampling noise of the batch, more passes would only fit
that noise, and the batch doubles. A batch of all rows is plain Lloyd.
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
from partita.engine.lloyd import LloydOptions, lloyd
from partita.engine.lloyd_step import LloydStep
from partita.engine.paths.choice import plan_for
from partita.engine.paths.path import PathCache, PathPlan
from partita.engine.paths.scheduler import PassScheduler
from partita.engine.restarts import best_of
from partita.geometry import Euclidean
from partita.halting import Halt, MaxIter, SamePartition, StopReason, When
from partita.observers import RunStart, announce
from partita.run_record import Fit
from partita.source.protocol import Source, batch_within
from partita.stats import ClusterStats
from partita.trace import Callback, Progress

N_STARTS = 8  # of which the best goes on; on few rows they cost little
START_ITERATIONS = 5  # on these rows, before starts are compared
ROWS_DRAWN_FIRST = 1 << 18  # the order of the other rows is drawn when it is needed
MIN_ROWS_PER_CLUSTER = 4  # in the first batch
MAX_NOISE_SHARE = 1e-3  # of the cost: the batch is large enough below
MIN_IMPROVEMENT_SHARE = 1e-4  # of the cost


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Size of the first batch, and limits."""

    first: int = 1024  # rows, at least `MIN_ROWS_PER_CLUSTER` for each cluster
    epochs: float = 100  # limit of the rows read, in passes over all rows
    patience: int | None = 10  # iterations without an improvement; None: until all rows have joined
    reassign: float = 0.01  # clusters lighter than this share of the heaviest may be moved


class RandomOrder:
    """All rows of weight in random order, drawn as far as needed."""

    def __init__(self, source: Source, rng: np.random.Generator) -> None:
        weight = source.weights.unless_equal()
        self._rng, self._weighted = rng, None if weight is None else np.flatnonzero(weight)
        self.n = source.n if self._weighted is None else len(self._weighted)
        self._drawn = rng.choice(self.n, size=min(self.n, ROWS_DRAWN_FIRST), replace=False)

    def first(self, count: int) -> Ints:
        """The first `count` rows."""
        if count > len(self._drawn):
            is_left = np.ones(self.n, bool)
            is_left[self._drawn] = False
            others = self._rng.permutation(np.flatnonzero(is_left))
            self._drawn = np.concatenate([self._drawn, others])
        drawn = self._drawn[:count]
        return np.asarray(drawn if self._weighted is None else self._weighted[drawn])


def best_start(
    sample: Source,
    starts: Sequence[Callable[[], Floats]],
    k: int,
    empty: EmptyPolicy,
    memory: float = math.inf,
) -> Floats:
    """Return the start of least cost on a sample, after a few iterations there."""
    halt = SamePartition() | MaxIter(START_ITERATIONS)
    return best_of(sample, starts, LloydOptions(k, halt, empty, memory=memory)).centers


class NestedBatchRun:
    """One run over a growing batch."""

    def __init__(
        self,
        source: Source,
        order: RandomOrder,
        k: int,
        batches: BatchOptions,
        rng: np.random.Generator,
        memory: float = math.inf,
    ) -> None:
        self.source, self.batches = source, batches
        self._order, self._rng, self._memory = order, rng, memory
        self._mass = _mass(source)
        self._best, self._since = math.inf, 0  # cost, and iterations since
        self.rows_read = 0
        self._size = min(order.n, max(batches.first, MIN_ROWS_PER_CLUSTER * k))
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
        """Run until `halt` or a reason of the options; also until `last` once the batch stays.

        Costs in the trace are those of the batch, scaled to the weight of all rows.
        """
        begin = time.perf_counter() if begin is None else begin
        announce(callbacks, RunStart(1, 1, halt))
        trace: tuple[Progress, ...] = ()
        origin = np.zeros(self.source.d)
        current = Centers(np.ascontiguousarray(centers, dtype=np.float64), origin)
        final = SamePartition() if last is None else SamePartition() | last
        while True:
            all_joined = self._size == self._order.n
            settled = When(lambda trace: self._settled(trace, last))
            stop = When(self._limit) | (final if all_joined else settled)
            stop = stop if halt is None else halt | stop
            options = LloydOptions(len(centers), stop, empty, [self._count, *callbacks])
            fit = lloyd(self._step, current, options, begin, trace)
            if "settled" not in fit.stopped_by.kinds:
                return fit
            trace, current = fit.trace.records, self._grow(fit.centers)

    def _count(self, progress: Progress) -> None:
        self.rows_read += self._size

    def estimate(self, fit: Fit) -> ClusterStats:
        """Estimate the summaries of all rows from the batch, in the data's coordinates."""
        return fit.stats.moved(fit.centers.origin).scaled(self._step.geometry.price)

    def _first_step(self, k: int) -> LloydStep:
        batch, plan = self._batch(self._order.first(self._size), k)
        passes = PassScheduler(batch, replace(plan, why=f"{plan.why}, {batch.n} rows"), PathCache())
        return LloydStep(batch, k, Euclidean(self._mass / _mass(batch)), passes)

    def _batch(self, rows: Ints, k: int) -> tuple[Source, PathPlan]:
        """Some rows, and the path for k centers; half as large while the next batch is made."""
        batch, left = batch_within(self.source, rows, self._memory / 1.5)
        return batch, plan_for(batch, k, "auto", left)

    def _grow(self, centers: Centers) -> Centers:
        """Double the batch."""
        rows = self._order.first(min(self._order.n, 2 * self._size))
        light = light_clusters(self._step.stats.weight, self.batches.reassign)
        if len(light):
            newcomers, _ = batch_within(self.source, rows[self._size :], self._memory / 3)
            centers = reassign_light_clusters(centers, light, newcomers, self._rng)
        self._size = len(rows)
        batch, plan = self._batch(rows, len(centers.values))
        self._step.grow(batch, plan)
        self._step.geometry = Euclidean(self._mass / _mass(batch))
        return centers

    # --- reasons to stop, or to grow ---

    def noise(self) -> float:
        """Sampling noise of the batch in units of J: Σ sse / count.

        A mean of m rows is about √(sse/m)/√m from that of all rows.
        """
        stats, step = self._step.stats, self._step
        count = stats.weight * (step.source.n / stats.weight.sum())
        noise = np.divide(stats.sse, count, out=np.zeros_like(count), where=count > 0)
        return float(noise.sum()) * step.geometry.price

    def _cost_of_all(self, last: Progress) -> float:
        """Estimate the cost of all rows at these centers, without reading them.

        It differs by twice the noise: compared with the true means, the centers fit the batch
        better and the other rows worse.
        """
        return last.cost_after + 2 * self.noise()

    def is_large(self, cost: float) -> bool:
        """Return whether no more rows are needed."""
        return self.batches.patience is not None and self.noise() <= MAX_NOISE_SHARE * cost

    def _settled(self, trace: Sequence[Progress], last: Halt | None) -> str | None:
        """Return why the passes over a batch end: it grows then, unless it is large enough."""
        now = trace[-1]
        if not self.is_large(now.cost_after):
            is_settled = now.moved_points == 0 or now.cost - now.cost_after <= self.noise()
            return StopReason("the batch has settled", "settled") if is_settled else None
        if now.moved_points == 0:
            return StopReason("no point of the batch changed its cluster", "same_partition")
        return None if last is None else last.reason(trace)

    def _limit(self, trace: Sequence[Progress]) -> StopReason | None:
        if self.rows_read + self._size >= self.batches.epochs * self._order.n:
            text = f"as many rows were read as in {self.batches.epochs} passes over all"
            return StopReason(text, "max_rows")
        cost = self._cost_of_all(trace[-1])
        if cost < self._best * (1 - MIN_IMPROVEMENT_SHARE):
            self._best, self._since = cost, 0
            return None
        self._since += 1
        if self.batches.patience is None or self._since < self.batches.patience:
            return None
        text = (
            f"{self._since} iterations did not improve the cost of a row by more than "
            f"{MIN_IMPROVEMENT_SHARE:g} of it"
        )
        return StopReason(text, "no_improvement")


def merge_batch(
    seen: ClusterStats, source: Source, ratio: float, rng: np.random.Generator
) -> ClusterStats:
    """Add the rows of a batch to the summaries of all rows seen, in the data's coordinates.

    Light clusters are reassigned as when a batch grows.
    """
    zero, step = np.zeros(source.d), LloydStep(source, len(seen.mean))
    centers = Centers(seen.mean, zero)
    step.assign(centers)
    both = seen.merge(step.stats_about(centers)[0].moved(step.origin))
    light = light_clusters(both.weight, ratio)
    if len(light) == 0:
        return both
    centers = Centers(both.mean, zero)
    moved = reassign_light_clusters(centers, light, source, rng)
    if moved is centers:
        return both
    kept = np.ones(len(both.weight))
    kept[light] = 0.0
    return ClusterStats(both.weight * kept, moved.values, both.sse * kept)


def light_clusters(weight: Floats, ratio: float) -> Ints:
    """Clusters lighter than `ratio` times the heaviest."""
    return np.flatnonzero(weight < ratio * weight.max())


def reassign_light_clusters(
    centers: Centers, light: Ints, newcomers: Source, rng: np.random.Generator
) -> Centers:
    """Move the centers of light clusters to newcomers far from all, if that lowers their cost.

    The newcomers did not shape the centers, so their cost is an unbiased test.
    """
    cost = row_costs(newcomers, centers)
    total = exact_total(cost)
    if not 0 < total < math.inf:
        return centers
    rows = rng.choice(newcomers.n, size=len(light), p=cost / cost.sum())
    values = centers.values.copy()
    values[light] = newcomers.take_rows(rows) - centers.origin
    moved = Centers(values, centers.origin)
    return moved if exact_total(row_costs(newcomers, moved)) < total else centers


def _mass(source: Source) -> float:
    weight = source.weights.unless_equal()
    return source.weights.unit * source.n if weight is None else float(weight.sum())


def row_costs(source: Source, centers: Centers) -> Floats:
    """Contribution (n,) of every row to J."""
    labels = np.full(source.n, -1, np.int32)
    source.assign(centers, labels, None)
    return weighted(source.own_distances(centers, labels), source.weights.unless_equal())
