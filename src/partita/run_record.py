"""The result of a run: its centers, the statistics of its clusters, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from partita._common.array_types import Floats
from partita.centers import Centers
from partita.halting import StopReason
from partita.stats import ClusterStats
from partita.trace import Trace


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of a run with centers."""

    centers: Centers
    stats: ClusterStats  # of the last assignment, means relative to centers.origin
    trace: Trace
    stopped_by: StopReason
    paths: tuple[str, ...] = ()  # the paths of the assignments, with reasons
    start: Floats | None = None  # (k, d) initial centers, in the data's coordinates


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """A step of a search that lowered the cost.

    Attributes
    ----------
    seconds : float
        Since the fit began.
    phase : str
        Of rows: "start", "hartigan", "breathing", "swaps", "population", "optimum", "result"; with
        "sample" if the cost is an estimate from a sample. Of medoids: "start" (the fast fit, and
        starts after it), "exchange", "crossover", "enumeration" or "all rows" (descents among all
        rows after a search among some).
    cost : float
        The lowest J so far.
    evaluations : int
        Local searches so far; of medoids, without the fast fit.
    """

    seconds: float
    phase: str
    cost: float
    evaluations: int


class RunRecord(Protocol):
    """The part of a result that all estimators have."""

    @property
    def trace(self) -> Trace: ...

    @property
    def stopped_by(self) -> StopReason: ...

    @property
    def paths(self) -> tuple[str, ...]: ...
