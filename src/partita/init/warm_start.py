"""A warm start: the centers of nested mini-batches."""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats
from partita.empty_clusters import relocate
from partita.engine.nested_batches import (
    N_STARTS,
    BatchOptions,
    NestedBatchRun,
    RandomOrder,
    best_start,
)
from partita.init.plusplus import plusplus
from partita.source.protocol import Source, batch_within


def minibatch_start(
    source: Source, k: int, rng: np.random.Generator, memory: float = math.inf
) -> Floats:
    """Centers (k, d) of a growing part of the rows, from the best of a few k-means++ starts."""
    order, batches, empty = RandomOrder(source, rng), BatchOptions(), relocate
    sample, left = batch_within(source, order.first(3 * max(batches.first, k)), memory)
    starts = [lambda: plusplus(sample, k, rng, memory=left)[0]] * N_STARTS
    start = best_start(sample, starts, k, empty, left)
    run = NestedBatchRun(source, order, k, batches, rng, memory)
    return run.run(start, empty).centers.plain
