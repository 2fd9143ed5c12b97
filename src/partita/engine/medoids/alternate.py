"""Alternating k-medoids: assign every point, then choose the medoid of each cluster."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Ints
from partita._common.exact_sum import exact_total
from partita.engine.medoids.swap import MedoidProblem, MedoidSearch
from partita.halting import StopReason


class AlternateSearch(MedoidSearch):
    """m_j = argmin over the members i of Σ w_l·d(l, i); the lower row on ties.

    A medoid is replaced only by a member with a lower sum, so the loss falls or nothing changes.
    Faster than a swap search, with a higher loss.
    """

    path = "alternate"
    converged = StopReason("no point changed its cluster", "same_partition")

    def __init__(self, problem: MedoidProblem, medoids: Ints) -> None:
        super().__init__(problem, medoids)
        self._assign()

    def _assign(self) -> None:
        self._columns = columns = self._problem.table.columns(self.medoids)
        self.labels = columns.argmin(axis=0).astype(np.int32)
        weight, closest = self._problem.weight, columns.min(axis=0).astype(np.float64)
        self.loss = exact_total(closest, weight)

    def improve(self) -> float:
        read = 0
        for place in range(len(self.medoids)):
            members = np.flatnonzero(self.labels == place)
            if len(members) == 0:  # a duplicate of another medoid
                continue
            own_candidates = np.flatnonzero(self.labels[self._problem.places] == place)
            if len(own_candidates) == 0:  # the medoid itself belongs to a duplicate
                continue
            read += len(members) * len(own_candidates)
            cluster = self._problem.restrict(own_candidates, members)
            sums = cluster.all_gains()
            # measured separately: a medoid assigned to its duplicate is not a member
            own = cluster.gains(np.ascontiguousarray(self._columns[[place]][:, members]), None)
            if sums.min() < own[0]:
                self.medoids[place] = own_candidates[sums.argmin()]
                self.swaps_made += 1
        self._assign()
        return read / self._problem.table.n**2
