"""The result of a run: where its centers are, what they summarise, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from partita._common.array_types import Floats
from partita.centers import Centers
from partita.stats import ClusterStats
from partita.trace import Trace


@dataclass(frozen=True, slots=True)
class Fit:
    """How a run ended: where the centers are, what they summarise, and why it stopped."""

    centers: Centers
    stats: ClusterStats  # of the last assignment, means relative to centers.origin
    trace: Trace
    stopped_by: str
    exact_sums: bool = True  # False: weights too unequal for the grid, floats in row order
    paths: tuple[str, ...] = ()  # which paths the assignments took, and why
    start: Floats | None = None  # (k, d) where it began, in the data's coordinates


class RunRecord(Protocol):
    """What is told of a run of any member of the family."""

    @property
    def trace(self) -> Trace:
        """Its iterations."""

    @property
    def stopped_by(self) -> str:
        """Why it stopped."""

    @property
    def paths(self) -> tuple[str, ...]:
        """How it was made."""
