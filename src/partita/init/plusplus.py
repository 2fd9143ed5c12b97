"""Greedy k-means++ (Arthur and Vassilvitskii 2007): far rows are more likely to be chosen."""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.source.protocol import SeedingState, Source


def plusplus(
    source: Source, k: int, rng: np.random.Generator, trials: int | None = None
) -> tuple[Floats, Ints]:
    """Choose k rows as centers; return them and their row numbers.

    Each round draws `trials` rows with probability proportional to weight times squared distance to
    the nearest chosen row, and keeps the one that lowers the sum of these most. The default,
    2 + ⌊ln k⌋, is scikit-learn's. Memory: some 20 bytes a row, and one byte for every value.
    """
    trials = trials or 2 + int(math.log(k))
    uniform = rng.random(1 + (k - 1) * trials)
    which = np.empty(k, np.int64)
    run_rounds(source, source.seeding(k, trials), uniform, which)
    return source.take_rows(which), which


def run_rounds(source: Source, seeding: SeedingState, uniform: Floats, which: Ints) -> None:
    """Fill `which`: one draw for the first row, then equally many of `uniform` for each other."""
    trials = (len(uniform) - 1) // max(1, len(which) - 1)
    for j in range(len(which)):
        if seeding.at_once(j, uniform, which):
            return
        drawn = seeding.draw(uniform[1 + (j - 1) * trials : 1 + j * trials] if j else uniform[:1])
        best = int(seeding.gains(source.take_rows(drawn)).argmax())
        which[j] = drawn[best]
        seeding.choose(best)
