"""`exact`: the best partition of all, with its proof, or the best found with a lower bound."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.parameters import CALLABLE, check, check_integer, number, optional
from partita._common.random_state import generator
from partita._common.text import plural
from partita._common.threads import Workers, default_threads, one_blas_thread
from partita.cluster_dual.cluster_problem import ClusterProblem
from partita.cluster_dual.dual_bound import PROOF_TOLERANCE, SearchStopped
from partita.cluster_dual.principal_frame import PrincipalFrame
from partita.estimators import validation
from partita.observers import WatchedTask, watching
from partita.one_dimension import lower_costs, optimal_partition
from partita.optimum.branch_and_bound import BranchAndBound
from partita.optimum.enumeration import best_of_all, is_enumerable
from partita.optimum.first_bound import first_bound
from partita.optimum.good_solution import good_solution
from partita.source.dataframes import is_frame, names_of
from partita.stats import ClusterStats

ENUMERATION_ROUNDING = 1e-12  # relative error of the costs that enumeration compares


@dataclass(frozen=True, slots=True)
class ExactProgress:
    """The state of a search: the best J found, and the bound that no partition is below."""

    inertia: float
    lower_bound: float
    nodes: int
    seconds: float

    @property
    def gap(self) -> float:
        """(inertia − lower_bound) / inertia: at most this part of J can be saved."""
        return (self.inertia - self.lower_bound) / self.inertia if self.inertia > 0 else 0.0


@dataclass(frozen=True, slots=True)
class ExactResult:
    """The best partition found, and a rigorous lower bound of J."""

    centers: Floats  # (at most k, d) in lexicographic order
    labels: Ints  # (n,)
    inertia: float
    lower_bound: float  # no partition into at most k clusters has a lower J
    method: str  # "dynamic programming", "enumeration", "branch and bound", or that of a bound
    seconds: float
    nodes: int  # of the search tree; 1 if the first bound was enough, 0 without a tree

    @property
    def gap(self) -> float:
        """(inertia − lower_bound) / inertia: at most this part of J can be saved."""
        return (self.inertia - self.lower_bound) / self.inertia if self.inertia > 0 else 0.0

    @property
    def is_proven(self) -> bool:
        """True if no partition is better by more than 1e-9 of J."""
        return self.gap <= PROOF_TOLERANCE

    def __repr__(self) -> str:
        clusters = plural(len(self.centers), "cluster")
        effort = f"{self.method}, {self.seconds:.2g} s"
        head = f"{plural(len(self.labels), 'row')} in {clusters}: J = {self.inertia:.10g} is"
        if self.is_proven:
            return f"{head} the least possible, to a relative {PROOF_TOLERANCE:g} ({effort})."
        return (
            f"{head} not proven optimal: the least possible is at least "
            f"{self.lower_bound:.10g}, at most {100 * self.gap:.3g} % lower ({effort})."
        )


def exact(
    X: Any,
    k: int,
    *,
    sample_weight: Any = None,
    time_limit: float | None = None,
    random_state: Any = None,
    callback: Callable[[ExactProgress], bool | None] | None = None,
) -> ExactResult:
    """Find the partition of X into at most k clusters of the least J, and prove it.

    One feature: dynamic programming, for any number of rows. A few rows: all partitions. Else
    branch and bound, which suits up to some hundred distinct rows of up to about five features;
    with more of them, the semidefinite bound of `certify` comes first, and often proves that a
    search found the optimum. It takes seconds where clusters are clear, and may take very long.
    `time_limit` (seconds) or Ctrl-C ends it; the result then has the best partition found, and a
    lower bound. A callback hears of every bound, and ends the search by returning True.

    Proven means: to a relative 1e-9 of J. Bounds allow for rounding errors; a bound is valid, and
    the same partition is found, on any machine, but not with the same digits.

    >>> import partita
    >>> partita.exact([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0]], 2).inertia
    1.0
    """
    start = time.monotonic()
    k = check_integer("k", k)
    limit = check("time_limit", time_limit, optional(number(0, above=0)))
    check("callback", callback, optional(CALLABLE))
    rng = generator(random_state)
    rows, weight = _checked(X, sample_weight, k)
    deadline = math.inf if limit is None else start + limit
    task = _ExactTask(rows, weight, k, start, callback)
    with watching(WatchedTask("bounds", "exact", time_limit, keeps_result=True), callback):
        if rows.shape[1] == 1:
            return task.on_a_line()
        if task.k >= len(task.points) or is_enumerable(len(task.points), task.k):
            return task.by_enumeration()
        with one_blas_thread():
            return task.by_branch_and_bound(deadline, rng)


def _checked(X: Any, sample_weight: Any, k: int) -> tuple[Floats, Floats]:
    """Return the rows and weights as doubles."""
    names = names_of(X) if is_frame(X) else None
    given = validation.as_rows(X, "exact")
    weight = validation.check_weights(sample_weight, given.shape[0])
    validation.check_row_count(given.shape[0], k)
    with Workers(1) as workers:
        validation.check_finite(validation.make_source(given, None, workers), given, names)
    rows = given.toarray() if hasattr(given, "toarray") else given
    full = np.ones(len(rows)) if weight is None else np.asarray(weight, np.float64)
    doubles = np.ascontiguousarray(rows, np.float64)
    validation.check_squares(doubles[full > 0], full[full > 0])
    return doubles, full


class _ExactTask:
    """Distinct rows with their weights, and the ways to partition them."""

    def __init__(
        self,
        rows: Floats,
        weight: Floats,
        k: int,
        start: float,
        callback: Callable[[ExactProgress], bool | None] | None,
    ) -> None:
        self.rows, self.weight, self.start, self.callback = rows, weight, start, callback
        counted = weight > 0
        self.points, place = np.unique(rows[counted], axis=0, return_inverse=True)
        mass = np.bincount(place.reshape(-1), weights=weight[counted])
        self.point_weight: Floats = mass.astype(np.float64)
        self.k = min(k, len(self.points))

    def on_a_line(self) -> ExactResult:
        """Solve one feature by dynamic programming."""
        x = np.ascontiguousarray(self.rows[:, 0])
        found = optimal_partition(x, self.weight, self.k, default_threads())
        bounds = found.cost, found.lower_bound
        return self._result(found.labels, found.centers[:, None], bounds, "dynamic programming")

    def by_enumeration(self) -> ExactResult:
        """Try all partitions; there is nothing to try if every point is a cluster."""
        labels: Ints = np.arange(self.k)
        if self.k < len(self.points):
            labels = best_of_all(self.points, self.point_weight, self.k)
        centers, cost = self._centers(labels)
        low = cost * (1 - ENUMERATION_ROUNDING)
        return self._result(self._row_labels(labels), centers, (cost, low), "enumeration")

    def by_branch_and_bound(self, deadline: float, rng: np.random.Generator) -> ExactResult:
        """Search until the deadline or an interrupt."""
        frame = PrincipalFrame.of(self.points, self.point_weight)
        root = ClusterProblem.of(frame.points, frame.weight, self.k)
        labels = good_solution(frame.points, frame.weight, self.k, rng)
        axes = [lower_costs(axis, frame.weight, self.k)[-1] for axis in frame.points.T.copy()]
        low = math.fsum(axes) * (1 - ENUMERATION_ROUNDING)
        search = BranchAndBound(root, labels, low, lambda state: self._tell(state, frame))
        method, nodes = "branch and bound", 1
        with suppress(KeyboardInterrupt, SearchStopped):  # what was found is kept
            bound = first_bound(root, labels, search.target, deadline, search.begin_at)
            if bound is not None and self._is_proven(search, frame):
                method = bound.method
            else:
                search.run(deadline)
                nodes = search.nodes
        centers, cost = self._centers(search.labels)
        bounds = cost, self._bound_of_rows(search, frame)
        return self._result(self._row_labels(search.labels), centers, bounds, method, nodes)

    def _bound_of_rows(self, search: BranchAndBound, frame: PrincipalFrame) -> float:
        return max(0.0, frame.bound_of_rows(search.lower_bound))

    def _is_proven(self, search: BranchAndBound, frame: PrincipalFrame) -> bool:
        cost = self._centers(search.labels)[1]
        return cost - self._bound_of_rows(search, frame) <= PROOF_TOLERANCE * cost

    def _tell(self, search: BranchAndBound, frame: PrincipalFrame) -> bool:
        if self.callback is None:
            return False
        low = self._bound_of_rows(search, frame)
        cost = self._centers(search.labels)[1]
        seconds = time.monotonic() - self.start
        return bool(self.callback(ExactProgress(cost, min(low, cost), search.nodes, seconds)))

    def _centers(self, labels: Ints) -> tuple[Floats, float]:
        """Return the means of the clusters of distinct points, and J."""
        parts = [
            ClusterStats.of_block(self.points[labels == j], weight=self.point_weight[labels == j])
            for j in np.unique(labels)
        ]
        cost = exact_total(np.array([float(part.sse[0]) for part in parts]))
        return np.concatenate([part.mean for part in parts]), cost

    def _row_labels(self, labels: Ints) -> Ints:
        """Return labels of the rows; rows of no weight join the nearest center."""
        counted = self.weight > 0
        place = np.unique(self.rows[counted], axis=0, return_inverse=True)[1].reshape(-1)
        row_labels = np.zeros(len(self.rows), np.int64)
        row_labels[counted] = np.unique(labels, return_inverse=True)[1].reshape(-1)[place]
        if not counted.all():
            centers = self._centers(labels)[0]
            idle = self.rows[~counted]
            gaps = np.stack([((idle - center) ** 2).sum(axis=1) for center in centers])
            row_labels[~counted] = gaps.argmin(axis=0)
        return row_labels

    def _result(
        self,
        labels: Ints,
        centers: Floats,
        bounds: tuple[float, float],
        method: str,
        nodes: int = 0,
    ) -> ExactResult:
        cost, low = bounds
        order = np.lexsort(centers.T[::-1])
        rank = np.argsort(order)
        return ExactResult(
            centers=centers[order],
            labels=rank[labels].astype(np.int32),
            inertia=cost,
            lower_bound=min(low, cost),
            method=method,
            seconds=time.monotonic() - self.start,
            nodes=nodes,
        )
