"""`LowerBound`: a number that no partition's objective is below."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LowerBound:
    """A lower bound of the objective of every partition into k clusters."""

    value: float
    method: str
    level: float | None = None
    is_exact: bool = False
