"""Swap searches of k-medoids: a candidate replaces a medoid if the loss falls."""

from __future__ import annotations

import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.threads import Workers
from partita._kernels import kernels
from partita.halting import StopReason
from partita.source.dissimilarities import DissimilarityTable

PAUSE_SECONDS = 1.0  # between two pauses of a long iteration, in which it can be stopped


class MedoidProblem:
    """A k-medoids problem: points with weights, candidates, and their dissimilarities.

    Candidates are points: `places` (m,) has the number of each among the points; None: all of
    them, in order.
    """

    def __init__(
        self,
        table: DissimilarityTable,
        weight: Floats | None,
        workers: Workers,
        places: Ints | None = None,
    ) -> None:
        self.table, self.workers = table, workers
        self.places: Ints = np.arange(table.candidates) if places is None else places
        self.weight, self._heaviest = weight, 1.0
        if weight is not None:  # divided by a power of two, which rounds nothing
            self._heaviest = 2.0 ** math.frexp(float(weight.max()))[1]
            self.weight = weight / self._heaviest
            if (weight == weight[0]).all():
                self.weight, self._heaviest = None, float(weight[0])

    def in_user_units(self, loss: float) -> float:
        """Return a loss in the units of the data; 0 is 0, even if the unit is infinite."""
        return loss * self._heaviest * self.table.unit if loss else 0.0

    def restrict(self, candidates: Ints, points: Ints) -> MedoidProblem:
        """Return the problem of some candidates and some points, in the same units.

        It has `places` only if the points ascend and the candidates are among them.
        """
        subproblem = copy.copy(self)
        subproblem.table = self.table.restrict(candidates, points)
        subproblem.weight = None if self.weight is None else self.weight[points]
        subproblem.places = np.searchsorted(points, self.places[candidates])
        return subproblem

    def gains(self, table: Floats, closest: Floats | None) -> Floats:
        """Return Σ w·max(0, closest − column) of each column; without `closest`, Σ w·column."""
        gain = np.empty(len(table))
        kernels.swap_gain(table, closest, self.weight, gain, self.workers.crew)
        return gain

    def all_gains(self, closest: Floats | None = None) -> Floats:
        """Return the gains of every candidate."""
        gain = np.empty(self.table.candidates)
        for values, rows, ids in self.table.blocks(np.arange(self.table.candidates)):
            block = values[rows[0] : rows[-1] + 1]  # consecutive rows
            gain[ids[0] : ids[-1] + 1] = self.gains(block, closest)
        return gain


class NearestMedoids:
    """The two nearest of k >= 2 medoids of every point, in the form that the kernels update."""

    def __init__(self, problem: MedoidProblem, medoids: Ints) -> None:
        table, k = problem.table, len(medoids)
        n, dtype = table.n, table.dtype
        self.medoids: Ints = np.array(medoids, dtype=np.int64)
        self.near: Ints = np.empty(n, np.int32)
        self.closest, self.next = np.empty(n, dtype), np.empty(n, dtype)
        self.removal = np.empty(k)
        columns = np.ascontiguousarray(table.columns(self.medoids))
        make: Any = kernels.Swaps32 if dtype == np.float32 else kernels.Swaps64
        self.swaps = make(
            self.medoids, columns, self.near, np.empty(n, np.int32), self.closest, self.next,
            self.removal, problem.weight,
        )  # fmt: skip

    @property
    def loss(self) -> float:
        """The loss of the current medoids."""
        return float(self.swaps.loss)


class MedoidSearch(ABC):
    """Medoids that can be improved iteration by iteration."""

    path: str
    converged: StopReason  # the reason when no improvement is left
    medoids: Ints  # (k,) candidate numbers
    labels: Ints  # (n,) position of the nearest medoid of every point
    loss: float  # weighted sum of dissimilarities to the nearest medoid
    is_paused = False  # the iteration is not over; `improve` continues it

    def __init__(self, problem: MedoidProblem, medoids: Ints) -> None:
        self._problem, self.swaps_made = problem, 0
        self.medoids = np.array(medoids, dtype=np.int64)

    @abstractmethod
    def improve(self) -> float:
        """Do one iteration, or part of it; return the share of all pairs that it has read."""


class SwapSearch(MedoidSearch):
    """A search that keeps the two nearest medoids of every point."""

    converged = StopReason("no swap of a medoid lowers the cost", "no_improvement")

    def __init__(self, problem: MedoidProblem, medoids: Ints, order: Ints) -> None:
        super().__init__(problem, medoids)
        self._order = order
        self.state = NearestMedoids(problem, self.medoids)
        self.medoids, self.labels, self.loss = self.state.medoids, self.state.near, self.state.loss


class FasterPam(SwapSearch):
    """FasterPAM: every candidate is tried in turn, and a swap is made if it lowers the loss.

    Stops after n consecutive candidates without an improvement: then no single swap lowers the
    loss (Schubert and Rousseeuw, 2021).
    """

    path = "fasterpam"

    def __init__(self, problem: MedoidProblem, medoids: Ints, order: Ints) -> None:
        super().__init__(problem, medoids, order)
        self._idle = 0  # consecutive candidates without an improvement
        self._tried = 0  # in this iteration
        self._blocks: Iterator[tuple[Floats, Ints, Ints]] = iter(())

    def improve(self) -> float:
        """Try every candidate once, or until no swap lowers the loss.

        A long iteration pauses about every second, so that it can be stopped.
        """
        limit, begin = len(self._order), time.perf_counter()
        if not self.is_paused:
            self._tried, self._blocks = 0, self._problem.table.blocks(self._order)
        self.is_paused = False
        for values, rows, ids in self._blocks:
            count, self._idle, made = kernels.swap_search(
                self.state.swaps, values, rows, ids, self._idle, limit, self._problem.workers.crew
            )
            self._tried, self.swaps_made = self._tried + count, self.swaps_made + made
            if self._idle >= limit:  # before the next block is computed
                break
            if self._tried < limit and time.perf_counter() - begin >= PAUSE_SECONDS:
                self.is_paused = True
                break
        self.loss = self.state.loss
        return self._tried / limit


class Pam(SwapSearch):
    """PAM: the swap that lowers the loss most, of all; the lower candidate on ties."""

    path = "pam"

    def improve(self) -> float:
        best: tuple[float, int, int, Floats] | None = None
        for values, rows, ids in self._problem.table.blocks(self._order):
            change, place = np.empty(len(ids)), np.empty(len(ids), np.int32)
            crew = self._problem.workers.crew
            kernels.swap_scan(self.state.swaps, values, rows, ids, change, place, crew)
            i = int(change.argmin())
            if best is None or change[i] < best[0]:
                best = float(change[i]), int(ids[i]), int(place[i]), values[rows[i]]
        if best is not None and best[0] < 0:
            column = np.ascontiguousarray(best[3])
            self.swaps_made += kernels.swap_apply(self.state.swaps, column, best[1], best[2])
            self.loss = self.state.loss
        return 1.0


class OneMedoid(MedoidSearch):
    """The search for one medoid: the candidate with the least sum, in one pass."""

    path = "one medoid"
    converged = StopReason("no other candidate has a lower sum", "no_improvement")

    def __init__(self, problem: MedoidProblem, medoids: Ints) -> None:
        super().__init__(problem, medoids)
        self.labels = np.zeros(problem.table.n, np.int32)
        self.loss = float(problem.gains(problem.table.columns(self.medoids), None)[0])
        self._done = False

    def improve(self) -> float:
        if self._done:
            return 0.0
        self._done = True
        sums = self._problem.all_gains()
        if sums.min() < self.loss:
            self.medoids = np.array([sums.argmin()])
            self.loss, self.swaps_made = float(sums.min()), 1
        return 1.0
