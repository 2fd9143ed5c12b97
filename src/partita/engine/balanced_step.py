"""A step of the loop whose clusters keep within limits on their numbers of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.empty_clusters import FarRows
from partita.engine.limited_assignment import LimitedAssignment, SizeLimits
from partita.engine.lloyd import LloydOptions
from partita.engine.lloyd_step import LloydStep
from partita.engine.restarts import LabelledRun, run_all, summarise_at
from partita.geometry import Update
from partita.source.protocol import Source
from partita.source.row_ranks import row_ranks
from partita.stats import ClusterStats
from partita.trace import Pass

PATH = "transport"  # its name in a trace
MAX_ROWS_MOVED = 1 << 14  # at a time


class BalancedStep:
    """Assign all rows at the least cost within the limits; take the means.

    The sums are those of a `LloydStep`, in which only rows move whose label changed. Neither the
    assignment nor the means can raise the cost.
    """

    def __init__(self, inner: LloydStep, assignment: LimitedAssignment) -> None:
        self._inner, self.source, self.assignment = inner, inner.source, assignment
        self.last = Pass(PATH, 1.0)

    @property
    def notes(self) -> list[str]:
        return [f"{PATH}: limits took {self.assignment.paths} shortest paths"]

    @property
    def labels(self) -> Ints:
        return self._inner.labels

    @property
    def origin(self) -> Floats:
        """Origin of the means of the summaries."""
        return self._inner.origin

    def assign(self, centers: Centers) -> int:
        labels = self.assignment.assign(centers)
        rows = np.flatnonzero(labels != self.labels)
        for i in range(0, len(rows), MAX_ROWS_MOVED):
            some = rows[i : i + MAX_ROWS_MOVED]
            self._inner.move(some, labels[some])
        return len(rows)

    def stats_about(self, centers: Centers) -> tuple[ClusterStats, Floats]:
        return self._inner.stats_about(centers)

    def cost(self, stats: ClusterStats, gap: Floats) -> float:
        return self._inner.cost(stats, gap)

    def update(self, stats: ClusterStats, gap: Floats, before: Centers) -> Update:
        return self._inner.update(stats, gap, before)

    def own_cost(self, centers: Centers) -> float:
        return self._inner.own_cost(centers)

    # what a policy for empty clusters needs; no cluster is ever empty

    def members(self, k: int) -> Ints:
        return self._inner.members(k)

    def farthest(self, centers: Centers, count: int) -> FarRows:
        return self._inner.farthest(centers, count)

    def rows(self, which: Ints) -> Floats:
        return self._inner.rows(which)

    def move(self, rows: Ints, to: Ints) -> int:
        return self._inner.move(rows, to)

    def drop(self, clusters: Ints) -> int:
        return self._inner.drop(clusters)


def best_balanced(
    source: Source,
    starts: Sequence[Callable[[], Floats]],
    options: LloydOptions,
    limits: SizeLimits,
) -> tuple[LabelledRun, Floats]:
    """Run the loop from every start; return the best run, and the prices of places in its clusters.

    Centers are rounded to the dtype of the data, and the rows assigned once more to exactly these.
    """
    ranks = row_ranks(source)

    def new_step(k: int) -> BalancedStep:
        inner = LloydStep(source, k, options.geometry)
        return BalancedStep(inner, LimitedAssignment(source, k, limits, ranks))

    fit, step = run_all(starts, options, new_step, lambda step: step.assignment.release())
    centers = fit.centers.plain.astype(source.dtype)
    run = LabelledRun(centers, *summarise_at(centers, step), fit)
    return run, source.weights.of_every_row * step.assignment.prices
