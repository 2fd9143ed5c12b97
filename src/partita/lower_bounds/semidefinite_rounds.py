"""Rounds of the semidefinite bound: first without inequalities, then with those violated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from partita.lower_bounds.semidefinite import AlternatingDirections
from partita.lower_bounds.standard_form import StandardProblem


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits of the work on the bound of one problem."""

    tolerance: float  # relative gap at which there is nothing left to gain
    plain_rounds: int  # at most, without inequalities
    cut_rounds: int  # at most, each with the inequalities violated at its beginning
    max_new_per_row: int = 30  # inequalities that a row may add in a round
    steps: int = 50  # of a round


# until the relaxation has converged
FULL = Effort(tolerance=1e-9, plain_rounds=6, cut_rounds=400)
MIN_GAIN = 1e-5  # of the gap; rounds that gain less are idle
MAX_IDLE_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class RoundBound:
    """A bound of the standard problem, and whether inequalities beyond N ≥ 0 were used."""

    value: float
    has_inequalities: bool


def semidefinite_rounds(problem: StandardProblem, effort: Effort) -> Iterator[RoundBound | None]:
    """Yield None after each step, and the bound after each round."""
    cost = math.fsum(problem.costs().tolist())
    solver = AlternatingDirections(problem)
    if solver.is_trivial:
        return
    best, idle = -math.inf, 0
    for number in range(effort.plain_rounds + effort.cut_rounds):
        cuts = number - effort.plain_rounds
        if cuts >= 0:
            solver.exchange_inequalities(effort.max_new_per_row)
            yield None
        for _ in solver.run(effort.steps):
            yield None
        value = solver.value()
        yield RoundBound(value, cuts >= 0)
        if cost - value <= effort.tolerance * cost:
            return
        gain, best = value - best, max(best, value)
        idle = idle + 1 if gain <= MIN_GAIN * (cost - best) else 0
        if idle > MAX_IDLE_ROUNDS:
            return
