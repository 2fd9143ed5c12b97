"""A fit of rows in partitions: checks, and the driver's side of the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.random_state import generator, spawn_generators
from partita._common.threads import Workers
from partita.engine.lloyd import LloydOptions
from partita.engine.partitioned_restarts import PartitionedRun, best_of_partitions
from partita.estimators import validation
from partita.estimators.checkpoint import CheckpointedFit, run_with_checkpoints
from partita.estimators.lazy_blocks import check_facts
from partita.estimators.lloyd_parameters import LloydParameters
from partita.geometry import Geometry
from partita.init.partitioned_starts import PARTITIONED_STARTS
from partita.source.partition_fingerprint import partition_fingerprint
from partita.source.partition_tasks import CountNotFinite
from partita.source.partitioned_rows import PartitionedRows, find_scale
from partita.source.partitions import Partitions


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    """The arguments `checkpoint` and `resume` of a fit."""

    checkpoint: Any = None
    resume: Any = None

    @property
    def are_used(self) -> bool:
        """True if any of both is given."""
        return self.checkpoint is not None or self.resume is not None


def fit_partitions(
    parameters: LloydParameters,
    given: Partitions,
    prepare: Callable[[Partitions], Partitions],
    geometry: Geometry,
    files: CheckpointFiles,
) -> PartitionedRun:
    """Fit a model to rows in partitions, with the bits of a fit in memory; close them.

    `prepare` returns the rows that the engine clusters.
    """
    with opened_rows(parameters, given, prepare) as rows:
        options = LloydOptions(
            parameters.k,
            parameters.halt(rows),  # type: ignore[arg-type]
            parameters.empty,
            parameters.callbacks,
            parameters.on_run_end,
            parameters.algorithm,
            geometry=geometry,
        )
        share = memory_share(parameters, rows.n)
        if not files.are_used:
            starts = _starts(parameters, rows, generator(parameters.model.random_state))
            return best_of_partitions(rows, starts, options, share)
        known = CheckpointedFit(parameters.model, partition_fingerprint(given), files.resume)
        starts = _starts(parameters, rows, known.rng)
        return run_with_checkpoints(
            known,
            files.checkpoint,
            (rows.n, len(starts)),
            rows.survey().grid.origin,
            options,
            lambda recorded: best_of_partitions(rows, starts, recorded, share),
        )


@contextmanager
def opened_rows(
    parameters: LloydParameters, given: Partitions, prepare: Callable[[Partitions], Partitions]
) -> Iterator[PartitionedRows]:
    """Check rows in partitions; close them at the end."""
    try:
        with Workers(parameters.threads) as workers:
            validation.check_row_count(int(given.starts[-1]), parameters.k)
            partitions = prepare(given)
            scale = find_scale(partitions, check_facts)
            rows = PartitionedRows(partitions, scale, workers, parameters.memory)
            columns = rows.extent()[2]
            if columns.size:
                raise not_finite(partitions, columns)
            yield rows
    finally:
        given.close()


def memory_share(parameters: LloydParameters, n: int) -> float | None:
    """Return the bytes a row that passes may take; None: as many as the row itself."""
    return None if parameters.model.memory_limit is None else parameters.memory / n


def _starts(
    parameters: LloydParameters, rows: PartitionedRows, rng: np.random.Generator
) -> list[Callable[[], Floats]]:
    starts = parameters.starts(rows.partitions.table, PARTITIONED_STARTS)
    memory = parameters.memory  # of the driver, for the rows that k-means|| samples
    return [
        partial(start, rows, seed, memory)  # type: ignore[arg-type]
        for start, seed in zip(starts, spawn_generators(rng, len(starts)), strict=True)
    ]


def not_finite(partitions: Partitions, columns: Ints) -> ValueError:
    """Return the error about NaN and infinity in some columns."""
    bad, nans, infinities = partitions.total(CountNotFinite(columns), np.add)
    kinds, n = validation.kinds_of_counts(nans, infinities), int(partitions.starts[-1])
    return validation.not_finite(kinds, int(bad), n, columns, partitions.names)


def features_of(partitions: Partitions) -> dict[str, Any]:
    """Return the attributes of features that a fit keeps."""
    features: dict[str, Any] = {"n_features_in_": partitions.d}
    if partitions.names is not None:
        features["feature_names_in_"] = partitions.names
    return features
