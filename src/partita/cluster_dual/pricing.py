"""The most valuable cluster for given prices of points, by branch and bound over its mean.

A cluster S is worth Σ_S price − sse(S) = max_y Σ_S (price − w‖x − y‖²), so the best one is the
maximum over y of Σ (price − w‖x − y‖²)₊. In a box of places y, points are inside or outside for all
y, or open; a chord of (·)₊ makes the sum over all of them a concave quadratic, whose maximum over
the box is a bound. Boxes with few open points are settled by trying these.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita.cluster_dual.cluster_problem import ClusterProblem

MAX_OPEN_POINTS = 8  # of a box that is settled by trying them
BATCH_VALUES = 1 << 20  # points · features · boxes that are bounded at a time
MAX_ASCENTS = 50  # steps; nearly all clusters are found in ten


@dataclass(frozen=True, slots=True)
class Pricing:
    """The bound of all clusters' values, and clusters (m, n) that exceed the threshold."""

    bound: float
    clusters: Floats
    is_complete: bool  # False: stopped at the deadline; the bound is valid all the same


def climb(problem: ClusterProblem, price: Floats, places: Floats) -> Floats:
    """Return clusters (m, n) that are locally best from places (m, d); pairs apart respected."""
    for _ in range(MAX_ASCENTS):
        inside = problem.weight * problem.squared_distances(places) < price
        mass = inside @ problem.weight
        sums = (inside * problem.weight) @ problem.points
        means = np.divide(sums, mass[:, None], out=places.copy(), where=mass[:, None] > 0)
        if np.array_equal(means, places):
            break
        places = means
    value = price - problem.weight * problem.squared_distances(places)
    inside = value > 0
    for i, j in problem.apart:
        both = inside[:, i] & inside[:, j]
        inside[both, np.where(value[both, i] < value[both, j], i, j)] = False
    inside = np.unique(inside[inside.any(axis=1)], axis=0)
    return inside.astype(np.float64)


@dataclass
class BoxSearch:
    """Depth-first search of boxes that may hold a mean worth more than `best` + `tolerance`."""

    problem: ClusterProblem
    price: Floats
    best: float  # the highest value known; the threshold at first
    tolerance: float
    clusters: list[Floats] = field(default_factory=list)

    def run(self, deadline: float) -> Pricing:
        """Search until no box is left, or the deadline (of `time.monotonic`)."""
        points = self.problem.points
        low, high = points.min(axis=0)[None], points.max(axis=0)[None]
        limit = np.full(1, np.inf)  # bounds of the boxes that are left
        batch = max(1, BATCH_VALUES // points.size)
        while len(low):
            if time.monotonic() > deadline:
                bound = max(self.best + self.tolerance, float(limit.max()))
                return Pricing(bound, self._found(), is_complete=False)
            rest = slice(0, max(0, len(low) - batch))
            halves = self._examine(low[rest.stop :], high[rest.stop :])
            low = np.concatenate([low[rest], halves[0]])
            high = np.concatenate([high[rest], halves[1]])
            limit = np.concatenate([limit[rest], halves[2]])
        return Pricing(self.best + self.tolerance, self._found(), is_complete=True)

    def _found(self) -> Floats:
        return np.array(self.clusters).reshape(-1, len(self.price))

    def _examine(self, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the halves of the boxes that stay open, and their bounds."""
        boxes = _Boxes(self.problem, self.price, low, high)
        bound, place = boxes.bounds()
        keep = bound > self.best + self.tolerance
        if not keep.any():
            return low[:0], high[:0], bound[:0]
        self._try(place[keep])
        few = keep & (boxes.is_open.sum(axis=1) <= MAX_OPEN_POINTS)
        for b in np.flatnonzero(few):
            self._settle(boxes, int(b))
        keep &= ~few
        low, high, bound = low[keep], high[keep], bound[keep]
        axis, box = np.argmax(high - low, axis=1), np.arange(len(low))
        middle = low[box, axis] / 2 + high[box, axis] / 2
        lower_high, upper_low = high.copy(), low.copy()
        lower_high[box, axis] = upper_low[box, axis] = middle
        return (
            np.concatenate([low, upper_low]),
            np.concatenate([lower_high, high]),
            np.concatenate([bound, bound]),
        )

    def _try(self, places: Floats) -> None:
        """Climb from the place with the highest value."""
        value = self.price - self.problem.weight * self.problem.squared_distances(places)
        best = int(np.maximum(value, 0.0).sum(axis=1).argmax())
        for cluster in climb(self.problem, self.price, places[best : best + 1]):
            self._offer(cluster)

    def _offer(self, cluster: Floats) -> None:
        worth = float(cluster @ self.price - self.problem.cost(cluster[None])[0])
        if worth > self.best + self.tolerance:
            self.best = worth
            self.clusters.append(cluster)

    def _settle(self, boxes: _Boxes, b: int) -> None:
        """Try all clusters of the points inside box b with some of the open ones.

        Points inside that belong apart are open too.
        """
        problem = self.problem
        inside, is_open = boxes.inside[b], boxes.is_open[b].copy()
        first, second = problem.apart.T
        conflict = (inside | is_open)[first] & (inside | is_open)[second]
        is_open[problem.apart[conflict].ravel()] = True
        base = inside & ~is_open
        most = np.maximum(boxes.highest[b], 0.0)  # that a point adds
        order = np.flatnonzero(is_open)
        order = order[np.argsort(-most[order], kind="stable")]
        beyond = np.append(np.cumsum(most[order][::-1])[::-1], 0.0) + boxes.margin[b]
        foes = [set(other_ends(problem.apart[conflict], int(i))) for i in order]
        offset = boxes.offset[:, b].T  # (n, d)
        w, line = problem.weight, problem.weight[:, None] * offset
        gain = self.price - w * np.einsum("nd,nd->n", offset, offset)
        none: tuple[int, ...] = ()
        stack: list[tuple[Any, ...]]
        stack = [(0, float(w[base].sum()), line[base].sum(axis=0), float(gain[base].sum()), none)]
        while stack:
            rank, mass, sums, fixed, chosen = stack.pop()
            worth = fixed + (float(sums @ sums) / mass if mass > 0 else 0.0)
            if worth + beyond[rank] <= self.best + self.tolerance:
                continue
            if rank == len(order):
                cluster = base.astype(np.float64)
                cluster[list(chosen)] = 1.0
                self._offer(cluster)
                continue
            i = int(order[rank])
            stack.append((rank + 1, mass, sums, fixed, chosen))
            if not foes[rank].intersection(chosen):
                more = mass + w[i], sums + line[i], fixed + gain[i], (*chosen, i)
                stack.append((rank + 1, *more))


class _Boxes:
    """Boxes of places y, and what points are worth in them; all sums are about their middles."""

    def __init__(self, problem: ClusterProblem, price: Floats, low: Floats, high: Floats) -> None:
        self.weight, self.price, self.half = problem.weight, price, (high - low) / 2
        self.middle = low + self.half
        shape = len(low), len(price)
        self.offset = np.empty((low.shape[1], *shape))  # (d, boxes, n)
        nearest, farthest, self.square = np.zeros((3, *shape))
        for t, column in enumerate(problem.points.T):
            half = self.half[:, t, None]
            offset = np.subtract(column, self.middle[:, t, None], out=self.offset[t])
            self.square += offset * offset
            offset = np.abs(offset)
            nearest += np.maximum(offset - half, 0.0) ** 2
            farthest += (offset + half) ** 2
        self.highest: Floats = price - self.weight * nearest
        self.lowest: Floats = price - self.weight * farthest
        self.inside: Array = self.lowest >= 0
        self.is_open: Array = (self.highest > 0) & ~self.inside
        sizes = np.where(self.highest > 0, price + self.weight * farthest, 0.0)
        self.margin = problem.roundings * sizes.sum(axis=1)  # bounds rounding errors

    def bounds(self) -> tuple[Floats, Floats]:
        """Return upper bounds of the worth of clusters by the box of their means, and places."""
        reach = np.where(self.is_open, self.highest - self.lowest, 1.0)
        chord = np.where(self.is_open, self.highest / reach, self.inside.astype(np.float64))
        lift = np.where(self.is_open, -chord * self.lowest, 0.0).sum(axis=1)
        joint, place = self._quadratic(chord)
        alone, _ = self._quadratic(self.inside.astype(np.float64))
        alone += np.where(self.is_open, self.highest, 0.0).sum(axis=1)
        return np.minimum(joint + lift, alone) + self.margin, place

    def _quadratic(self, share: Floats) -> tuple[Floats, Floats]:
        """Return max_y Σ share·(price − w‖x − y‖²) in each box, and the y."""
        weight = share * self.weight
        mass = weight.sum(axis=1)
        sums = np.einsum("bn,dbn->bd", weight, self.offset)
        mean = np.divide(sums, mass[:, None], out=np.zeros_like(sums), where=mass[:, None] > 0)
        step = np.clip(mean, -self.half, self.half)
        fixed = share @ self.price - (weight * self.square).sum(axis=1)
        moving = 2 * np.einsum("bd,bd->b", sums, step)
        return fixed + moving - mass * np.einsum("bd,bd->b", step, step), self.middle + step


def other_ends(pairs: Ints, i: int) -> list[int]:
    """Return the points that are paired with point i."""
    return [int(b if a == i else a) for a, b in pairs if i in (a, b)]
