"""A lower confidence bound of a mean, by betting; it holds at all times at once.

Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (J. R. Stat. Soc. B
86, 2024). Let r_1, r_2, … ≥ 0 with E[r_t | past] ≤ ρ. For every m ≥ ρ and every λ_t in [0, 1/m)
chosen from the past, the capital K_t(m) = Π (1 + λ_s(r_s − m)) is ≥ 0 and a supermartingale, so by
Ville's inequality it ever reaches 1/α with probability at most α. The bound is the last of the grid
points 0 < m_1 < m_2 < … up to which all have been rejected: K reached 1/α. It exceeds ρ only if the
first grid point ≥ ρ was rejected, which has probability ≤ α. No r_t need be exact: a smaller one
gives a smaller E[r_t | past]. Nor must r_t ≤ 1.
"""

from __future__ import annotations

import math

import numpy as np

GRID = 4000  # candidates m, of [0, 1]
MAX_STAKE = 0.95  # of the capital
PRIOR_MEAN, PRIOR_VARIANCE = 0.5, 0.25  # of one observation before the first
ROUNDING = 1e-9  # of the logarithm of the capital, more than all that rounding may add


class BettingBound:
    """The bound of the mean of the observations so far, at a level of confidence."""

    def __init__(self, level: float) -> None:
        self._candidates = np.arange(1, GRID + 1) / GRID
        self._capital = np.zeros(GRID)  # logarithms
        self._needed = -math.log1p(-level) + ROUNDING
        self._is_rejected = np.zeros(GRID, bool)
        self._count, self._sum, self._squares = 1, PRIOR_MEAN, PRIOR_VARIANCE

    def add(self, observation: float) -> None:
        """Add an observation >= 0."""
        mean, variance = self._sum / self._count, self._squares / self._count
        lead = np.maximum(mean - self._candidates, 0.0)
        # the stake that maximizes the growth of the capital, to second order
        stake = np.minimum(lead / (variance + lead * lead), MAX_STAKE / self._candidates)
        self._capital += np.log1p(stake * (observation - self._candidates))
        self._is_rejected |= self._capital >= self._needed
        self._count += 1
        self._sum += observation
        self._squares += (observation - self._sum / self._count) ** 2

    @property
    def value(self) -> float:
        """The lower confidence bound; 0 until there are enough observations."""
        rejected = int(np.argmin(self._is_rejected)) if not self._is_rejected.all() else GRID
        return float(self._candidates[rejected - 1]) if rejected else 0.0
