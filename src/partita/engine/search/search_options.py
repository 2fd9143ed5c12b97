"""The options and the result of a search, and why it ends."""

from __future__ import annotations

from dataclasses import dataclass

from partita.engine.restarts import LabelledRun
from partita.halting import StopReason
from partita.run_record import SearchRecord

STAGNATION = StopReason("the search found nothing better", "stagnation")
OPTIMUM = StopReason("no partition has a lower cost", "optimum")


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The effort of a search."""

    quality: str  # "balanced" or "best"
    searches: int = 1  # independent ones, of which the best is kept
    time_budget: float | None = None  # seconds


@dataclass(frozen=True, slots=True)
class SearchedRun:
    """The best run, and what the search reached when."""

    run: LabelledRun
    records: tuple[SearchRecord, ...]
