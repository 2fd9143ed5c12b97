"""A warm start: what nested mini-batches find."""

from __future__ import annotations

import numpy as np

from partita._typing import Floats
from partita.empty import Relocate
from partita.engine.minibatch import Batches, Nested, Order
from partita.init.plusplus import plusplus
from partita.source.blocks import Source


def minibatch(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """Centers that a growing part of the rows agrees on, k-means++ on the first of them before."""
    order, batches = Order(source, rng), Batches()
    sample = source.part(order.first(max(3 * batches.first, 3 * k)))
    start = plusplus(sample, k, rng)[0]
    return Nested(source, order, k, batches, rng).run(start, Relocate()).centers.plain
