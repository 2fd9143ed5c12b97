"""Assignment of rows to clusters with limits on their sizes, in NumPy."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints

PRICE_SLACK = 2.0**-40  # of cost and price: a row moves only for more than that


class Transport:
    """Rows with `costs` (n, k), and k clusters of low … high (k) rows each.

    Every row gets the cluster of the least cost + price (k + 1; the last is that of the sink, which
    stands for the room that the limits leave); one with a label keeps it unless another is clearly
    cheaper. `transport_paths` repairs the limits. Ties go to the lower index of clusters and the
    lower `rank` (n) of rows. `capacity` only changes the time.
    """

    def __init__(
        self,
        costs: Floats,
        rank: Ints,
        low: Ints,
        high: Ints,
        labels: Ints,
        prices: Floats,
        capacity: int,
    ) -> None:
        self.costs, self.rank, self.low, self.high = costs, rank, low, high
        self.labels, self.prices = labels, prices
        n, k = costs.shape
        total = costs + prices[:k]
        best, rows = total.argmin(axis=1), np.arange(n)
        own = np.maximum(labels, 0)
        slack = PRICE_SLACK * (costs[rows, own] + np.abs(prices[own]))
        keeps = (labels >= 0) & ~(total[rows, best] < total[rows, own] - slack)
        labels[:] = np.where(keeps, own, best)
        count, above = np.bincount(labels, minlength=k), prices[:k] - prices[k]
        self.flow = np.clip(count, np.where(above > 0, high, low), np.where(above < 0, low, high))
        self.excess = np.append(count - self.flow, self.flow.sum() - n)

    def arcs(self, a: int) -> list[tuple[int, float, int]]:
        """From a node: (other node, length, row that moves; −1: none)."""
        k, price = len(self.low), self.prices
        if a == k:
            open_clusters = np.flatnonzero(self.flow > self.low).tolist()
            return [(j, float(price[j] - price[k]), -1) for j in open_clusters]
        members = np.flatnonzero(self.labels == a)
        found = []
        if len(members):
            keys = self.costs[members] - self.costs[members, a, None]
            tied = np.where(keys == keys.min(axis=0), self.rank[members, None], len(self.rank))
            rows = members[tied.argmin(axis=0)].tolist()
            lengths = (keys.min(axis=0) + (price[:k] - price[a])).tolist()
            found = list(zip(range(k), lengths, rows, strict=True))
        if self.flow[a] < self.high[a]:
            found.append((k, float(price[k] - price[a]), -1))
        return found

    def search(self, start: int) -> tuple[int, list[tuple[int, int]]]:
        """The nearest node that lacks rows, and (node before, row) of every node (Dijkstra).

        Afterwards prices make the path to it free.
        """
        distance = np.full(len(self.excess), np.inf)
        distance[start] = 0.0
        parents, settled = [(-1, -1)] * len(distance), np.zeros(len(distance), bool)
        while True:
            nearest = int(np.where(settled, np.inf, distance).argmin())
            if settled[nearest] or distance[nearest] == np.inf:
                return -1, parents
            settled[nearest] = True
            if self.excess[nearest] < 0:
                self.prices[settled] += distance[nearest] - distance[settled]
                return nearest, parents
            for b, length, row in self.arcs(nearest):
                there = distance[nearest] + max(length, 0.0)
                if not settled[b] and there < distance[b]:
                    distance[b], parents[b] = there, (nearest, row)

    def push(self, start: int, end: int, parents: list[tuple[int, int]]) -> None:
        """Move one row along every step of a path."""
        sink = len(self.low)
        self.excess[start] -= 1
        self.excess[end] += 1
        b = end
        while b != start:
            a, row = parents[b]
            if b == sink:
                self.flow[a] += 1
            elif a == sink:
                self.flow[b] -= 1
            else:
                self.labels[row] = b
            b = a


def transport_paths(problem: Transport, most: int) -> int:
    """Repair the limits along at most so many shortest paths, one row each; return their number.

    If there are fewer, all limits hold, and no other labels cost less. −1 if there is no path.
    """
    for paths in range(most):
        if not (problem.excess > 0).any():
            return paths
        start = int((problem.excess > 0).argmax())
        end, parents = problem.search(start)
        if end < 0:
            return -1
        problem.push(start, end, parents)
    return most
