"""Several runs over partitions from different starts; the best is kept."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.engine.lloyd import LloydOptions
from partita.engine.partitioned_pass import RunOptions
from partita.engine.partitioned_step import PartitionedStep
from partita.engine.restarts import run_all
from partita.run_record import Fit
from partita.source.partitioned_rows import PartitionedRows
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True)
class PartitionedRun:
    """The best run, after one assignment to the centers as they are returned."""

    centers: Floats  # (k, d), in the data's coordinates and dtype
    counts: Ints  # (k,) rows with each label
    inertia: float
    stats: ClusterStats  # of these labels, in the data's coordinates
    fit: Fit


def best_of_partitions(
    rows: PartitionedRows,
    starts: Sequence[Callable[[], Floats]],
    options: LloydOptions,
    memory_share: float | None,
) -> PartitionedRun:
    """Run the loop from every start, and label the rows by the best run: `restarts.best_of`."""
    runs, run_options = itertools.count(), RunOptions(rows.source, options.algorithm, memory_share)

    def new_step(k: int) -> PartitionedStep:
        return PartitionedStep(rows, run_options, options.geometry, next(runs))

    fit, _ = run_all(starts, options, new_step, lambda step: None)
    centers = fit.centers.plain.astype(rows.dtype)
    # labels do not depend on those before: the state of another run is not needed
    return PartitionedRun(centers, *summarise_partitions(centers, new_step(len(centers))), fit)


def summarise_partitions(
    centers: Floats, step: PartitionedStep
) -> tuple[Ints, float, ClusterStats]:
    """Assign to centers as they are returned; return label counts, their cost and summaries."""
    rows = step.rows_of_fit
    returned = Centers(centers.astype(np.float64), np.zeros(rows.d))
    step.assign(returned)
    stats, _ = step.stats_about(returned)
    price = step.geometry.price * (rows.scale.unit if rows.scale.all_equal else 1.0)
    counts = step.label_counts(len(centers))
    return counts, step.own_cost() * price, stats.moved(step.origin)
