"""Swaps of k-medoids, and the summary of a matrix, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.crew import Crew
from partita._kernels.twofold import quiet

FEW_LANES = 4  # of sums over the few rows that a candidate attracts
SUM_LANES = 8  # of sums over all rows


def _lanes(values: Floats, lanes: int) -> Floats:
    """Sum of every lane, in the order of the rows."""
    total = np.bincount(np.arange(len(values)) % lanes, weights=values, minlength=lanes)
    return np.asarray(total, dtype=np.float64)


def _sum(values: Floats) -> float:
    total = 0.0
    for lane in _lanes(values, SUM_LANES).tolist():
        total += lane
    return float(total)


class Swaps:
    """Points, their two nearest of k >= 2 medoids, and the increase of the loss without each."""

    def __init__(
        self,
        medoids: Ints,
        columns: Floats,
        near: Ints,
        second: Ints,
        closest: Floats,
        next: Floats,
        removal: Floats,
        weight: Floats | None = None,
    ) -> None:
        self.medoids, self.columns = medoids, columns
        self.near, self.second = near, second
        self.closest, self.next = closest, next
        self.removal = removal
        self.weight = np.ones(len(near)) if weight is None else weight
        self.find_two_nearest(np.arange(len(near)))
        self.loss = self.measure()

    def find_two_nearest(self, points: Ints) -> None:
        """Find the two nearest medoids of `points`; lower place on ties."""
        here = np.argsort(self.columns[:, points], axis=0, kind="stable")[:2]
        self.near[points], self.second[points] = here
        self.closest[points] = self.columns[here[0], points]
        self.next[points] = self.columns[here[1], points]

    @quiet
    def measure(self) -> float:
        """Update the costs of removals; return the loss."""
        rise = self.weight * (self.next.astype(np.float64) - self.closest)
        self.removal[:] = np.bincount(self.near, weights=rise, minlength=len(self.removal))
        return _sum(self.weight * self.closest.astype(np.float64))

    def put(self, place: int, column: Floats) -> float:
        """Put the candidate with this column in a place; return the loss."""
        self.columns[place] = column
        own, nearer = self.near == place, column < self.closest
        second = column < self.next
        lost = ~second & (own | (self.second == place))
        first = ~own & nearer
        self.next[first], self.second[first] = self.closest[first], self.near[first]
        self.near[first] = place
        taken = first | (own & second)
        self.closest[taken] = column[taken]
        after = ~own & ~nearer & second
        self.next[after], self.second[after] = column[after], place
        self.find_two_nearest(np.flatnonzero(lost))
        return self.measure()

    @quiet
    def change(self, column: Floats) -> tuple[float, int]:
        """Change of the loss by the best swap of a candidate, and its place."""
        k = len(self.medoids)
        attracted = np.flatnonzero(column < self.next)
        d, first = column[attracted].astype(np.float64), self.closest[attracted].astype(np.float64)
        w = self.weight[attracted]
        lane = attracted % FEW_LANES
        gain = np.bincount(lane, weights=w * np.minimum(d - first, 0.0), minlength=FEW_LANES)
        kept = w * (np.maximum(d, first) - self.next[attracted])
        sums = np.bincount(lane * k + self.near[attracted], weights=kept, minlength=FEW_LANES * k)
        a, b, c, e = sums.reshape(FEW_LANES, k)
        lost = self.removal + ((a + b) + (c + e))
        place = int(np.argmin(lost))
        return float(lost[place] + ((gain[0] + gain[1]) + (gain[2] + gain[3]))), place


Swaps32 = Swaps64 = Swaps


def swap_scan(
    swaps: Swaps,
    table: Floats,
    rows: Ints,
    ids: Ints,
    change: Floats,
    place: Ints,
    crew: Crew | None = None,
) -> None:
    """Change of the loss by the best swap of every candidate, and its place; inf for medoids."""
    for i, (row, id) in enumerate(_candidates(rows, ids)):
        change[i], place[i] = np.inf, 0
        if id not in swaps.medoids:
            change[i], place[i] = swaps.change(table[row])


def _candidates(rows: Ints, ids: Ints) -> Iterator[tuple[int, int]]:
    return zip(rows.tolist(), ids.tolist(), strict=True)


def swap_search(
    swaps: Swaps,
    table: Floats,
    rows: Ints,
    ids: Ints,
    idle: int,
    limit: int,
    crew: Crew | None = None,
) -> tuple[int, int, int]:
    """Swap whenever the loss decreases; stop after `limit` consecutive candidates without one.

    Return the numbers of candidates tried, of idle ones now, and of swaps.
    """
    tried = made = 0
    for row, id in _candidates(rows, ids):
        if idle >= limit:
            break
        tried, idle = tried + 1, idle + 1
        if id in swaps.medoids:
            continue
        change, place = swaps.change(table[row])
        if change < 0 and swap_apply(swaps, table[row], id, place):
            idle, made = 0, made + 1
    return tried, idle, made


def swap_apply(swaps: Swaps, column: Floats, id: int, place: int) -> bool:
    """Put one candidate in a place if this lowers the loss; return True if it does."""
    before = swaps.columns[place].copy()
    loss = swaps.put(place, column)
    if loss < swaps.loss:
        swaps.loss = loss
        swaps.medoids[place] = id
        return True
    swaps.put(place, before)
    return False


def swap_gain(
    table: Floats,
    closest: Floats | None,
    weight: Floats | None,
    gain: Floats,
    crew: Crew | None = None,
) -> None:
    """Sum of decreases of `closest` by each candidate; without it, of dissimilarities."""
    for i, column in enumerate(table):
        value = column.astype(np.float64)
        if closest is not None:
            value = np.maximum(closest.astype(np.float64) - value, 0.0)
        gain[i] = _sum(value if weight is None else weight * value)


@quiet
def summarise_matrix(matrix: Floats, summary: Floats, crew: Crew | None = None) -> None:
    """Set summary (5): lowest, highest, NaN or 0, largest diagonal, largest |a − aᵀ|."""
    summary[0], summary[1] = np.fmin.reduce(matrix, axis=None), np.fmax.reduce(matrix, axis=None)
    summary[2] = (matrix * 0).sum()
    summary[3] = max(0.0, float(np.fmax.reduce(np.diagonal(matrix))))
    summary[4] = max(0.0, float(np.fmax.reduce(np.abs(matrix - matrix.T), axis=None)))
