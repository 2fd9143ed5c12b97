"""Fading of summaries: rows that came earlier in a stream count less and less."""

from __future__ import annotations

import math

import numpy as np

from partita._kernels import kernels
from partita.stats import ClusterStats

MAX_HALVINGS = 2200.0  # after which nothing is left of any double


def share_left(mass: float, half_life: float) -> float:
    """Return 2^(−mass / half_life), with the same bits on every processor.

    >>> share_left(30.0, 10.0), share_left(5.0, math.inf)
    (0.125, 1.0)
    """
    halvings = mass / half_life
    if not halvings < MAX_HALVINGS:
        return 0.0
    whole = math.floor(halvings)
    share = np.array([(whole - halvings) * math.log(2.0)])
    kernels.exponentials(share)
    return math.ldexp(float(share[0]), -whole)


def faded(stats: ClusterStats, share: float) -> ClusterStats:
    """Return summaries of which this share is left; means stay where they are.

    What is too light for a double has no weight any more, and no sse.
    """
    left = stats.scaled(share)
    sse = np.where(left.weight > 0, left.sse, 0.0)
    return ClusterStats(left.weight, left.mean, sse)
