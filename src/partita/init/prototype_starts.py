"""Starts of K-prototypes: the numbers (k,) of rows of the table."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from partita._common.array_types import Ints
from partita._kernels.weighted_draws import LEAF_ROWS, draw_any, draw_rows
from partita.init.random_starts import forgy_rows
from partita.source.mixed_table import MixedTable


def mixed_plusplus(table: MixedTable, k: int, rng: np.random.Generator) -> Ints:
    """Choose k rows by greedy k-means++, with the cost of a row at another in place of D².

    Each round draws 2 + ⌊ln k⌋ rows in proportion to weight times the cost at the nearest chosen
    row, and keeps the one that lowers the sum of these most.
    """
    trials, weight = 2 + int(math.log(k)), table.weights.unless_equal()
    closest, potential = np.full(table.n, np.inf), np.empty(-(-table.n // LEAF_ROWS))
    chosen: list[int] = []
    for j in range(k):
        drawn: Ints = draw_any(table.n, weight, rng.random(1))
        if j > 0:
            drawn = draw_rows(potential, closest, weight, rng.random(trials))
        rows = table.take(drawn)
        best = 0
        if j > 0:
            best = int(table.panels.gains(*table.split(rows), closest, weight).argmax())
        chosen.append(int(drawn[best]))
        nearest = table.split(rows[best : best + 1])
        table.panels.lower(*nearest, closest, potential, weight)
    return np.array(chosen)


def random_rows(table: MixedTable, k: int, rng: np.random.Generator) -> Ints:
    """Draw k rows without replacement, in proportion to their weight."""
    return forgy_rows(table.weights, table.n, k, rng)


PROTOTYPE_STARTS: dict[str, Callable[[MixedTable, int, np.random.Generator], Ints]] = {
    "k-means++": mixed_plusplus,
    "random": random_rows,
}
