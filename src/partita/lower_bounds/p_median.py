"""Lower bounds of the p-median problem (K-medoids) by its Lagrangian dual, and branch and bound.

Σ_i min over k medoids j of c_ij, with c_ij = w_i·d_ij. The constraint that every point has one
medoid is relaxed with multipliers λ: for any λ,

    Σ_i λ_i + (the sum of the k lowest ρ_j) is a lower bound,  ρ_j = Σ_i min(0, c_ij − λ_i) ≤ 0.

No triangle inequality is needed. A subgradient is 1 − (the number of chosen j with c_ij < λ_i)
(Cornuéjols, Fisher and Nemhauser, 1977). Its largest value is that of the linear relaxation; what is
left of the gap is closed by branching on candidates (Beasley, 1985).
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.lower_bounds.record import LowerBound

ROUNDING_UNIT = 2.0**-53  # of a double
MAX_WHOLE = 2.0**53  # up to which sums of whole doubles are exact
CHUNK_VALUES = 1 << 15  # of the table that are worked on at once: they stay in the cache
ROUNDS_OF_ROOT, STEPS_OF_ROUND = 40, 50  # of the subgradient method, with a report after each round
STEPS_OF_NODE = 100
STEPS_WITHOUT_RISE = 20  # before the step is shortened
SHORTER = 1.5  # divisor of the step
SHORTEST_STEP = 1e-3  # of the gap, where a node ends
SHARE_OF_DIRECTION = 0.7  # of the last direction in the next
SHARE_OF_AVERAGE = 0.95  # of the last average of choices in the next
SMALLEST_RISE = 1e-7  # of the bound, that counts as one
MAX_NODES = 20_000


@dataclass(frozen=True)
class PMedianTable:
    """Costs c (candidates, points), none above w·d, and what is known of the optimum's value."""

    values: Floats
    is_whole: bool  # every cost is an integer

    @classmethod
    def of(cls, dissimilarity: Floats, weight: Floats) -> PMedianTable:
        """Multiply dissimilarities by weights, rounded down."""
        values = np.multiply(dissimilarity, weight, dtype=np.float64)
        is_whole = all((part == np.rint(part)).all() for part in (dissimilarity, weight))
        is_whole = is_whole and float(values.max(axis=0).sum()) < MAX_WHOLE
        if not is_whole and not (weight == 1.0).all():
            np.nextafter(values, 0.0, out=values)
        return cls(values, is_whole)

    def raised(self, bound: float) -> float:
        """Return the lowest value not below a bound that a solution can have."""
        return float(math.ceil(bound)) if self.is_whole else bound

    def lowered(self, cost: float) -> float:
        """Return a cost that was rounded to the nearest double, rounded down."""
        return cost if self.is_whole else math.nextafter(cost, -math.inf)

    def excluding(self, upper: float) -> float:
        """Return the number at which a bound excludes all costs below `upper`, one of them."""
        return math.nextafter(upper - 1.0, math.inf) if self.is_whole else upper

    def cost(self, medoids: Ints) -> float:
        """Return the cost of a set of medoids, rounded down."""
        return self.lowered(math.fsum(self.values[medoids].min(axis=0).tolist()))


@dataclass(frozen=True)
class PMedianNode:
    """A part of the solutions: those with the `open` medoids and others of the `free` ones."""

    open: Ints
    free: Ints
    multiplier: Floats  # (n,)
    bound: float  # rigorous; of all these solutions

    def choose(self, k: int, reduced: Floats) -> Ints:
        """Return the places of the k candidates of the lowest ρ, the open ones among them."""
        most = k - len(self.open)
        opened = np.arange(len(self.open))
        if most >= len(self.free):
            return np.arange(len(reduced))
        lowest = np.argpartition(reduced[len(opened) :], most - 1)[:most] if most else opened[:0]
        return np.concatenate([opened, lowest + len(opened)])


@dataclass(frozen=True)
class Goal:
    """The best cost known, a bound that would be enough, and the end of the time."""

    upper: float
    enough: float
    deadline: float  # of time.monotonic()

    def is_late(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() >= self.deadline


class LagrangianAscent:
    """The subgradient method on a node: multipliers with higher and higher bounds."""

    def __init__(self, table: PMedianTable, k: int, node: PMedianNode) -> None:
        rows = np.concatenate([node.open, node.free])
        is_all = len(rows) == len(table.values) and (rows == np.arange(len(rows))).all()
        self.columns = table.values if is_all else table.values[rows]
        self._k, self._node = k, node
        self.multiplier, self.value = node.multiplier, -math.inf
        self.average = np.zeros(len(rows))  # of the choices
        self._now, self._direction = node.multiplier.copy(), np.zeros(len(node.multiplier))
        self.step, self._idle = 1.0, 0

    def reduced(self, multiplier: Floats) -> Floats:
        """Return ρ of every candidate of the node."""
        out = np.empty(len(self.columns))
        size = max(1, CHUNK_VALUES // len(multiplier))
        room = np.empty((size, len(multiplier)))
        for first in range(0, len(out), size):
            part = self.columns[first : first + size]
            terms = np.subtract(part, multiplier, out=room[: len(part)])
            np.minimum(terms, 0.0, out=terms)
            terms.sum(axis=1, out=out[first : first + size])
        return out

    def ascend(self, steps: int, goal: Goal) -> bool:
        """Take some steps; return False if no more are of use or the time is up."""
        for _ in range(steps):
            reduced = self.reduced(self._now)
            chosen = self._node.choose(self._k, reduced)
            value = float(self._now.sum() + reduced[chosen].sum())
            slope = 1.0 - (self.columns[chosen] < self._now).sum(axis=0)
            self.average *= SHARE_OF_AVERAGE
            self.average[chosen] += 1.0 - SHARE_OF_AVERAGE
            self._keep_or_shorten(value)
            self._direction = slope + SHARE_OF_DIRECTION * self._direction
            length = float(self._direction @ self._direction)
            is_over = self.value >= goal.enough or length == 0.0 or self.step < SHORTEST_STEP
            if is_over or goal.is_late():
                return False
            gap = max(goal.upper - value, SMALLEST_RISE * goal.upper)
            self._now = np.maximum(self._now + self.step * gap / length * self._direction, 0.0)
        return True

    def _keep_or_shorten(self, value: float) -> None:
        if value > self.value:
            is_rise = not value <= self.value + SMALLEST_RISE * abs(self.value)
            self._idle = 0 if is_rise or math.isinf(self.value) else self._idle + 1
            self.value, self.multiplier = value, self._now
        else:
            self._idle += 1
        if self._idle >= STEPS_WITHOUT_RISE:
            self.step, self._idle = self.step / SHORTER, 0
            self._now, self._direction = self.multiplier, np.zeros(len(self._now))

    def evaluate(self, table: PMedianTable, upper: float) -> PMedianNode:
        """Return the node with its rigorous bound, without candidates that cannot be better.

        The terms of ρ have one sign, so its error is at most a share of itself. A candidate is
        free no more if the bound with it, or without it, excludes a cost below `upper`.
        """
        node, n = self._node, len(self.multiplier)
        low = self.reduced(self.multiplier) * (1.0 + 4.0 * (n + 2) * ROUNDING_UNIT)
        chosen = node.choose(self._k, low)
        terms = np.concatenate([self.multiplier, low[chosen]])
        value = math.nextafter(math.fsum(terms.tolist()), -math.inf)
        is_chosen = np.zeros(len(low), bool)
        is_chosen[chosen] = True
        is_free = np.arange(len(low)) >= len(node.open)
        inside, outside = low[is_chosen & is_free], low[~is_chosen]
        if len(inside) and len(outside):
            # errors of the differences below, and of their sums with the bound
            margin = 16.0 * ROUNDING_UNIT * float(np.abs(terms).sum())
            without = value - margin + (outside.min() - low)
            with_it = value - margin + (low - inside.max())
            threshold = np.where(is_chosen, without, with_it)
            decided = is_free & (threshold >= table.excluding(upper))
        else:
            decided = is_free
        numbers = np.concatenate([node.open, node.free])
        opened = numbers[~is_free | (decided & is_chosen)]
        free = numbers[is_free & ~decided]
        self.free_average = self.average[is_free & ~decided]
        return PMedianNode(opened, free, self.multiplier, max(node.bound, value))


class PMedianBranching:
    """Branch and bound: best first, on the candidate that the choices were least agreed on."""

    def __init__(self, table: PMedianTable, k: int, upper: float, deadline: float) -> None:
        self._table, self._k, self._deadline = table, k, deadline
        self.upper = float(math.ceil(upper)) if table.is_whole else upper
        self._numbers = itertools.count()
        self._heap: list[tuple[float, int, PMedianNode, Floats]] = []

    @property
    def goal(self) -> Goal:
        """What an ascent aims at."""
        return Goal(self.upper, self._table.excluding(self.upper), self._deadline)

    def bounds(self) -> Iterator[LowerBound]:
        """Yield bounds of the root, then of the nodes that are left, and at last the optimum."""
        yield from self._bounds_of_root()
        for _ in range(MAX_NODES):
            lowest = self._heap[0][0] if self._heap else math.inf
            if lowest >= self.goal.enough:
                yield LowerBound(self._table.lowered(self.upper), "branch and bound", is_exact=True)
                return
            yield LowerBound(self._table.raised(lowest), "branch and bound")
            if self.goal.is_late():
                return
            _, _, node, average = heapq.heappop(self._heap)
            for child in self._children(node, average):
                ascent = LagrangianAscent(self._table, self._k, child)
                ascent.ascend(STEPS_OF_NODE, self.goal)
                self._keep(ascent)

    def _bounds_of_root(self) -> Iterator[LowerBound]:
        table, k = self._table, self._k
        everyone = np.arange(len(table.values))
        root = PMedianNode(everyone[:0], everyone, _first_multiplier(table.values, k), 0.0)
        ascent = LagrangianAscent(table, k, root)
        for _ in range(ROUNDS_OF_ROOT):
            goes_on = ascent.ascend(STEPS_OF_ROUND, self.goal)
            bound = ascent.evaluate(table, self.upper).bound
            if not goes_on or bound >= self.goal.enough:
                break
            yield LowerBound(table.raised(bound), "Lagrangian dual")
        self._keep(ascent)
        is_closed = bound >= self.goal.enough
        value = table.lowered(self.upper) if is_closed else table.raised(bound)
        yield LowerBound(value, "Lagrangian dual", is_exact=is_closed)

    def _keep(self, ascent: LagrangianAscent) -> None:
        """Keep a node for later, unless it has no better solution, or one."""
        node = ascent.evaluate(self._table, self.upper)
        left = self._k - len(node.open)
        if node.bound >= self.goal.enough or left > len(node.free):
            return
        if left == 0 or left == len(node.free):
            medoids = np.concatenate([node.open, node.free[:left]])
            self.upper = min(self.upper, self._table.cost(medoids))
            return
        heapq.heappush(self._heap, (node.bound, next(self._numbers), node, ascent.free_average))

    @staticmethod
    def _children(node: PMedianNode, average: Floats) -> Iterator[PMedianNode]:
        place = int(np.abs(average - 0.5).argmin())
        free = np.delete(node.free, place)
        opened = np.append(node.open, node.free[place])
        yield PMedianNode(opened, free, node.multiplier, node.bound)
        yield PMedianNode(node.open, free, node.multiplier, node.bound)


def _first_multiplier(values: Floats, k: int) -> Floats:
    """Return for every point the cost that as many candidates undercut as a cluster has."""
    m, n = values.shape
    place, size = min(m - 1, max(1, m // k)), max(1, CHUNK_VALUES // m)
    parts = [values[:, first : first + size] for first in range(0, n, size)]
    return np.concatenate([np.partition(part, place, axis=0)[place] for part in parts])


def improve_p_median_bounds(
    dissimilarity: Floats,
    weight: Floats | None,
    k: int,
    cost: float,
    report: Callable[[LowerBound], bool],
    *,
    deadline: float | None,
) -> None:
    """Compute lower bounds of Σ_i w_i·(dissimilarity to the nearest of k medoids), and the optimum.

    Reports each bound that is higher than those before. Ends when `report` returns True, at the
    `deadline` (of `time.monotonic()`), or when nothing is left: mostly with the optimum. `cost` is
    that of the best medoids known: a guide; a bound is exact if it is attained.

    Parameters
    ----------
    dissimilarity : ndarray of shape (m, n)
        Dissimilarities >= 0 of n points to m candidates; mostly both are the same rows.
    weight : ndarray of shape (n,) or None
        Weights >= 0; None means 1.
    """
    weight = np.ones(dissimilarity.shape[1]) if weight is None else weight
    best = -math.inf
    for bound in _bounds(dissimilarity, weight, k, cost, deadline):
        if bound.value > best or bound.is_exact:
            best = bound.value
            if report(bound) or bound.is_exact:
                return


def _bounds(
    dissimilarity: Floats, weight: Floats, k: int, cost: float, deadline: float | None
) -> Iterator[LowerBound]:
    yield LowerBound(0.0, "no cost is negative", is_exact=cost == 0)
    table = PMedianTable.of(dissimilarity, weight)
    if k >= len(dissimilarity):
        yield LowerBound(table.cost(np.arange(len(dissimilarity))), "all medoids", is_exact=True)
        return
    if not math.isfinite(float(table.values.max(axis=0).sum())):
        return
    until = math.inf if deadline is None else deadline
    yield from PMedianBranching(table, k, cost, until).bounds()
