"""Local search by single rows (Hartigan 1975), in NumPy."""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.crew import Crew
from partita._kernels.twofold import quiet

LEAST_GAIN = 2.0**-40  # of what a row costs where it is: less may be a rounding error


@quiet
def local_search(
    rows: Floats,
    weight: Floats,
    centers: Floats,
    labels: Ints,
    cost: Floats,
    sweeps: Ints,
    spherical: bool,
    max_sweeps: int,
    crew: Crew | None = None,
) -> None:
    """Lower the cost of each of several starts by moving single rows until no move lowers it.

    `centers` (b, k, d) are the starts, and in the end the best centers of `labels` (b, n);
    `cost` (b) is Σ w·‖x − c‖², `sweeps` (b) how often all rows were looked at. Weights are
    positive; `spherical` rows and centers have unit length. Every cluster that is empty at first
    takes the row that costs most. Then rows are taken in order: moving one with weight w from
    cluster a to b changes the cost by w·D_b·s_b/(s_b + w) − w·D_a·s_a/(s_a − w), where D are
    squared distances and s the weights of the clusters; centers move at once. Of directions, s are
    the lengths of the sums, and the change is computed by `_joining` and `_leaving`.
    """
    for b in range(len(centers)):
        search = _RowMoves(rows, weight, centers[b], labels[b], spherical)
        cost[b], sweeps[b] = search.run(max_sweeps)


class _RowMoves:
    def __init__(
        self, rows: Floats, weight: Floats, centers: Floats, labels: Ints, spherical: bool
    ) -> None:
        self.rows, self.weight, self.spherical = rows, weight, spherical
        self.centers, self.labels = centers, labels
        self.k, self.d = centers.shape

    def run(self, max_sweeps: int) -> tuple[float, int]:
        own = self.assign()
        self.fill_empty(own)
        cost, before = self.update(), self.labels.copy()
        for sweep in range(1, max_sweeps + 1):
            if not self.sweep():
                return cost, sweep
            lowered = self.update()
            if not lowered < cost:  # the gains were rounding errors
                self.labels[:] = before
                return self.update(), sweep
            cost, before[:] = lowered, self.labels
        return cost, max_sweeps

    def assign(self) -> Floats:
        own = np.empty(len(self.rows))
        for i, row in enumerate(self.rows):
            square = self.squares(row)
            self.labels[i] = square.argmin()
            own[i] = square[self.labels[i]]
        return own

    def fill_empty(self, own: Floats) -> None:
        count = np.bincount(self.labels, minlength=self.k)
        for j in np.flatnonzero(count == 0):
            price = np.where(count[self.labels] > 1, self.weight * own, 0.0)
            i = int(price.argmax())
            if price[i] > 0:
                count[self.labels[i]] -= 1
                self.labels[i], own[i], count[j] = j, 0.0, 1

    def update(self) -> float:
        """Set the centers and sizes of the clusters by the labels; return the cost."""
        self.count = np.bincount(self.labels, minlength=self.k)
        self.mass, self.sums = np.zeros(self.k), np.zeros((self.k, self.d))
        np.add.at(self.mass, self.labels, self.weight)
        np.add.at(self.sums, self.labels, self.weight[:, None] * self.rows)
        self.pull = self.mass.copy()
        for j in np.flatnonzero(self.count).tolist():
            self.center_cluster(j)
        price = np.zeros(len(self.rows))
        for t in range(self.d):
            gap = self.rows[:, t] - self.centers[self.labels, t]
            price += gap * gap
        return float(np.cumsum(self.weight * price)[-1])

    def center_cluster(self, j: int) -> None:
        if not self.spherical:
            self.centers[j] = self.sums[j] / self.mass[j]
            return
        self.pull[j] = math.sqrt(_total(self.sums[j] * self.sums[j]))
        if self.pull[j] > 0:
            self.centers[j] = self.sums[j] / self.pull[j]

    def squares(self, row: Floats) -> Floats:
        total = np.zeros(self.k)
        for t in range(self.d):
            gap = row[t] - self.centers[:, t]
            total += gap * gap
        return total

    def sweep(self) -> int:
        moves = 0
        for i, row in enumerate(self.rows):
            a, w = int(self.labels[i]), self.weight[i]
            square = self.squares(row)
            if self.count[a] == 1 or not square[a] > 0:
                continue
            leaving = self.leaving(a, square[a], w)
            joining = square * (self.pull / (self.pull + w))  # of directions, a lower bound
            joining[a] = np.inf
            b = int(joining.argmin())
            if b == a or not joining[b] < leaving:
                continue
            if self.joining(b, square[b], w) < leaving * (1 - LEAST_GAIN):
                self.move(row, w, a, b)
                self.labels[i] = b
                moves += 1
        return moves

    def leaving(self, a: int, square: float, w: float) -> float:
        """The decrease of the cost, for each unit of weight, if a row leaves its cluster."""
        pull = self.pull[a]
        rest = pull - w
        if self.spherical:
            rest += np.sqrt(rest * rest + w * pull * square)
            pull *= 2
        return float(square * (pull / rest)) if rest > 0 else 0.0

    def joining(self, b: int, square: float, w: float) -> float:
        """The increase of the cost, for each unit of weight, if a row joins another cluster."""
        pull = self.pull[b]
        whole = pull + w
        if self.spherical:
            whole += np.sqrt(np.maximum(whole * whole - w * pull * square, 0.0))
            pull *= 2
        return float(square * (pull / whole))

    def move(self, row: Floats, w: float, a: int, b: int) -> None:
        self.count[a] -= 1
        self.count[b] += 1
        term = w * row
        for j, sign in ((a, -1.0), (b, 1.0)):
            self.mass[j] += sign * w
            self.pull[j] = self.mass[j]
            self.sums[j] += sign * term
            self.center_cluster(j)


def _total(terms: Floats) -> float:
    """The sum, one after the other."""
    return float(np.cumsum(terms)[-1])
