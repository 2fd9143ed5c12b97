"""The semidefinite bound: multipliers by the alternating direction method of multipliers.

The Peng–Wei relaxation is max ⟨W, Z⟩ over the Fantope {Zq = q, tr Z = k, 0 ⪯ Z ⪯ I} and Y ≥ 0 with
valid inequalities, Z = Y. Each step projects onto one set, then the other; the scaled multiplier of
Z = Y is U = Σ μ_l A_l − N with μ, N ≥ 0 at every step, so any step gives a rigorous bound
(`semidefinite_value`), converged or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from partita.lower_bounds.fantope import FantopeProjection
from partita.lower_bounds.semidefinite_value import Multiplier, semidefinite_value
from partita.lower_bounds.standard_form import StandardProblem
from partita.lower_bounds.valid_inequalities import InequalityPool

RELAXATION = 1.6  # of a projection; 1 is the plain method
STEPS_PER_BALANCE = 10  # after which the penalty is adapted
IMBALANCE = 1.5  # of the residuals, above which it is
PENALTY_FACTOR = 1.5
GRADIENT_STEPS = 3  # of the inequalities' multipliers, in each step
NEGLIGIBLE = 1e-14  # of tr W: products of rows that are equal up to rounding


class AlternatingDirections:
    """The state of the method; starts at the partition `labels`."""

    def __init__(self, problem: StandardProblem) -> None:
        self._problem = problem
        self._products, _ = problem.products()
        unit = problem.root / np.linalg.norm(problem.root)
        self._project = FantopeProjection(unit, problem.k)
        member = np.zeros((problem.n, problem.k))
        member[np.arange(problem.n), problem.labels] = problem.root
        member /= np.maximum(np.linalg.norm(member, axis=0), np.finfo(float).tiny)
        self._y = member @ member.T
        self._u = np.zeros_like(self._y)
        self._nonnegative = np.zeros_like(self._y)  # N, scaled
        self._pool = InequalityPool(problem.root)
        self._penalty = float(np.linalg.norm(self._products)) / (3.0 * math.sqrt(problem.k))

    @property
    def is_trivial(self) -> bool:
        """True if there is nothing to separate: all products are 0."""
        return not self._penalty > 0

    def run(self, steps: int) -> Iterator[None]:
        """Make steps; yields after each."""
        for step in range(1, steps + 1):
            primal, dual = self._step()
            if step % STEPS_PER_BALANCE == 0:
                self._balance(primal, dual)
            yield

    def value(self) -> float:
        """Return the lower bound that the multipliers prove."""
        return semidefinite_value(self._problem, self.multiplier())

    def multiplier(self) -> Multiplier:
        """Return N − Σ μ_l A_l."""
        return self._pool.multiplier(self._nonnegative, self._penalty)

    def exchange_inequalities(self, max_new_per_row: int) -> int:
        """Drop idle inequalities, add violated ones; return how many were added."""
        return self._pool.exchange(self._y, max_new_per_row)

    def _step(self) -> tuple[float, float]:
        """Make one step; return the primal and the dual residual."""
        z = self._project(self._y - self._u + self._products / self._penalty)
        moved = RELAXATION * z + (1.0 - RELAXATION) * self._y + self._u
        if len(self._pool):
            combination = self._pool.improve(moved, GRADIENT_STEPS)
            moved = moved - combination
        else:
            combination = np.zeros(())
        y = np.maximum(moved, 0.0)
        self._nonnegative = y - moved
        self._u = combination - self._nonnegative
        primal, dual = float(np.linalg.norm(z - y)), float(np.linalg.norm(y - self._y))
        self._y = y
        return primal, dual

    def _balance(self, primal: float, dual: float) -> None:
        """Adapt the penalty so that both residuals fall alike."""
        if primal > IMBALANCE * dual:
            factor = PENALTY_FACTOR
        elif dual > IMBALANCE * primal:
            factor = 1.0 / PENALTY_FACTOR
        else:
            return
        self._penalty *= factor
        self._u /= factor
        self._nonnegative /= factor
        self._pool.multipliers = self._pool.multipliers / factor
