"""The record of a lower bound."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LowerBound:
    """A number that no partition into k clusters beats, and how it was found."""

    value: float  # no partition has a lower J (with `level`: with that probability)
    method: str  # as in the papers: "spectral", "semidefinite", …
    level: float | None = None  # confidence; None if rigorous
    is_exact: bool = False  # the value is the optimum, rounded down
