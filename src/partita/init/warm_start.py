"""A warm start: what nested mini-batches find."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats
from partita.empty_clusters import Relocate
from partita.engine.nested_batches import STARTS, Batches, Nested, Order, best_start
from partita.init.plusplus import plusplus
from partita.source.protocol import Source, batch_of


def minibatch(source: Source, k: int, rng: np.random.Generator, memory: float) -> Floats:
    """Centers that a growing part of the rows agrees on, from the best of a few k-means++."""
    order, batches, empty = Order(source, rng), Batches(), Relocate()
    sample = batch_of(source, order.first(3 * max(batches.first, k)))
    start = best_start(sample, [lambda: plusplus(sample, k, rng)[0]] * STARTS, k, empty)
    return Nested(source, order, k, batches, rng, max(0.0, memory)).run(start, empty).centers.plain
