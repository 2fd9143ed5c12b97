"""The certification of a partition: bounds, collected until a limit is reached."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from partita.certificates.certificate import (
    CONFIDENCE,
    EXACT,
    MAX_ROUNDING_GAP,
    NO_METHOD,
    RIGOROUS,
    BoundProgress,
    Certificate,
)
from partita.lower_bounds.record import LowerBound

BoundCallback = Callable[[BoundProgress], object]
Report = Callable[[LowerBound], bool]


class Improve(Protocol):
    """A method that reports ever higher bounds of an objective, until one is told to stop."""

    def __call__(
        self, report: Report, *, deadline: float | None, level: float, rng: np.random.Generator
    ) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedPartition:
    """The objective of a partition, and a way to bound the objectives of all partitions."""

    objective: float  # rounded up
    n_clusters: int
    n_rows: int  # of positive weight
    n_features: int | None  # None: rows are known by pairs only
    criterion: str  # what the objective is, for a sentence
    improve: Improve
    optimum: LowerBound | None = None  # if it is known without any work


@dataclass(frozen=True, slots=True, eq=False)
class CertificationLimits:
    """The end of a certification, and its source of randomness."""

    seconds: float | None  # of the search for bounds; None: until no method is left
    level: float
    rng: np.random.Generator
    version: str  # of partita
    callback: BoundCallback | None = None


def certify_partition(partition: CertifiedPartition, limits: CertificationLimits) -> Certificate:
    """Return the certificate with the highest bound that is found within the limits.

    Ctrl-C, or a callback that returns True, ends the search; the best bound so far counts.
    """
    best = BestBound(partition.objective, limits.callback)
    with suppress(KeyboardInterrupt):
        _collect(partition, best, limits)
    objective, bound = partition.objective, best.bound
    kind = CONFIDENCE if bound.level is not None else RIGOROUS
    if bound.level is None and (bound.is_exact or best.meets_objective):
        kind = EXACT
    return Certificate(
        lower_bound=bound.value,
        objective=objective,
        kind=kind,
        level=bound.level,
        method=bound.method,
        seconds=time.monotonic() - best.begin,
        history=tuple(best.history),
        n_clusters=partition.n_clusters,
        n_rows=partition.n_rows,
        n_features=partition.n_features,
        criterion=partition.criterion,
        version=limits.version,
    )


def _collect(partition: CertifiedPartition, best: BestBound, limits: CertificationLimits) -> None:
    if partition.objective == 0.0:
        best.report(LowerBound(0.0, "an objective of 0", is_exact=True))
    elif partition.optimum is not None:
        best.report(partition.optimum)
    else:
        deadline = None if limits.seconds is None else best.begin + limits.seconds
        partition.improve(best.report, deadline=deadline, level=limits.level, rng=limits.rng)


@dataclass(slots=True)
class BestBound:
    """The highest bound so far, and the history of its improvements."""

    objective: float
    callback: BoundCallback | None = None
    begin: float = field(default_factory=time.monotonic)
    bound: LowerBound = field(default_factory=lambda: LowerBound(0.0, NO_METHOD))
    history: list[BoundProgress] = field(default_factory=list)

    def report(self, bound: LowerBound) -> bool:
        """Keep a bound if it is the highest; return whether the search may end."""
        self._check(bound)
        value = float(min(bound.value, self.objective))
        if value > self.bound.value or bound.is_exact:
            self.bound = LowerBound(max(value, 0.0), bound.method, bound.level, bound.is_exact)
            if self._record():
                return True
        return self.bound.is_exact or self.meets_objective

    @property
    def meets_objective(self) -> bool:
        """Return whether the bound proves that no partition has a lower objective."""
        room = MAX_ROUNDING_GAP * self.objective
        return self.bound.level is None and self.bound.value >= self.objective - room

    def _check(self, bound: LowerBound) -> None:
        room = MAX_ROUNDING_GAP * self.objective
        if not bound.value <= self.objective + room and bound.level is None:
            raise ArithmeticError(
                f"the bound {bound.value!r} ({bound.method}) is above the objective "
                f"{self.objective!r} of a partition that is known. This is a bug in partita."
            )

    def _record(self) -> bool:
        seconds = time.monotonic() - self.begin
        progress = BoundProgress(seconds, self.bound.method, self.bound.value, self.objective)
        self.history.append(progress)
        return self.callback is not None and bool(self.callback(progress))
