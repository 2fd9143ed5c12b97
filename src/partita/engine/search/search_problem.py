"""`SearchProblem`: the rows that a search works on, as doubles; local searches over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import power_of_two
from partita._kernels import kernels
from partita.geometry import EUCLIDEAN, Geometry
from partita.source.protocol import Source

MAX_SWEEPS = 10_000  # of a local search; some tens are usual


@dataclass(frozen=True, slots=True)
class Solution:
    """Centers that no move of a single row improves, and their cost."""

    centers: Floats  # (k, d)
    cost: float


@dataclass(frozen=True, slots=True)
class NearestTwo:
    """The two nearest centers of every row."""

    labels: Ints  # (n,)
    first: Floats  # (n,) squared distance to the nearest center
    second: Floats  # (n,) and to the next


@dataclass(frozen=True)
class SearchProblem:
    """Rows about an origin, scaled by a power of two; with weights above 0."""

    rows: Floats  # (n, d)
    weight: Floats  # (n,)
    k: int
    origin: Floats  # (d,)
    scale: float
    price: float  # of a unit of the cost, in J of all rows
    is_sample: bool
    geometry: Geometry = EUCLIDEAN
    crew: Any = None

    @classmethod
    def of(
        cls, source: Source, k: int, geometry: Geometry, size: int, rng: np.random.Generator
    ) -> SearchProblem:
        """Take all rows of a source that have weight, or a random sample of `size` if fewer."""
        weight = source.weights.as_floats(source.n)
        counted = np.flatnonzero(weight > 0)
        is_sample = size < len(counted)
        if is_sample:
            counted = np.sort(rng.choice(counted, size, replace=False))
        rows, kept = source.take_rows(counted), weight[counted]
        spherical = geometry is not EUCLIDEAN
        origin = np.zeros(source.d) if spherical else source.survey().grid.origin
        rows = np.ascontiguousarray(rows - origin)
        scale = 1.0 if spherical else power_of_two(float(np.abs(rows).max(initial=0.0)))
        rows *= scale
        share = float(np.cumsum(weight)[-1] / np.cumsum(kept)[-1]) if is_sample else 1.0
        unit = power_of_two(float(kept.max()))
        price = geometry.price * share / unit / scale / scale
        return cls(
            rows, kept * unit, k, origin, scale, price, is_sample, geometry, source.workers.crew
        )

    @property
    def products(self) -> float:
        """n·k·d: the work of a pass."""
        return float(len(self.rows) * self.k * self.rows.shape[1])

    def scaled(self, centers: Floats) -> Floats:
        """Centers in the coordinates of `rows`."""
        return np.ascontiguousarray((centers - self.origin) * self.scale)

    def plain(self, centers: Floats) -> Floats:
        """Centers in the coordinates of the data."""
        return np.asarray(centers / self.scale + self.origin)

    def descend(self, starts: Floats) -> list[Solution]:
        """Search from several starts (b, k, d), side by side in the threads of the crew."""
        b, n = len(starts), len(self.rows)
        centers = np.array(starts, dtype=np.float64, order="C")
        labels, cost = np.empty((b, n), np.int32), np.empty(b)
        sweeps = np.empty(b, np.int32)
        spherical = self.geometry is not EUCLIDEAN
        kernels.local_search(
            self.rows,
            self.weight,
            centers,
            labels,
            cost,
            sweeps,
            spherical,
            MAX_SWEEPS,
            self.crew,
        )
        return [Solution(centers[i], float(cost[i])) for i in range(b)]

    def nearest_two(self, centers: Floats) -> NearestTwo:
        """The two nearest of some centers, for every row; infinity if there is one only."""
        n = len(self.rows)
        labels, first, second = np.empty(n, np.int32), np.empty(n), np.empty(n)
        kernels.two_nearest(self.rows, centers, labels, first, second, self.crew)
        return NearestTwo(labels, first * first, second * second)

    def draw_far(self, square: Floats, uniform: Floats) -> Ints:
        """Draw rows in proportion to their weight times a squared distance."""
        total = np.cumsum(self.weight * square)
        if not total[-1] > 0:
            return np.asarray((uniform * len(total)).astype(np.intp))
        last = total.searchsorted(total[-1])
        return np.asarray(np.minimum(total.searchsorted(uniform * total[-1], side="right"), last))

    def seeds(self, rng: np.random.Generator) -> Floats:
        """Starting centers (k, d) by k-means++, without the greedy choice: starts should differ."""
        uniform = rng.random(self.k)
        square: Floats = np.ones(len(self.rows))
        which: Ints = np.empty(self.k, np.intp)
        for j in range(self.k):
            which[j] = self.draw_far(square, uniform[j : j + 1])[0]
            gap = self.squares_to(self.rows[which[j]])
            square = gap if j == 0 else np.minimum(square, gap)
        return self.rows[which]

    def squares_to(self, center: Floats) -> Floats:
        """Squared distances (n,) to one center."""
        out = np.empty((len(self.rows), 1))
        kernels.distances(self.rows, center[None], out)
        return np.asarray(out[:, 0] ** 2)
