"""A population of solutions that are crossed, mutated and improved (Gribel and Vidal 2019)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from partita._common.array_types import Floats
from partita.engine.search.breathing import MIN_DECREASE
from partita.engine.search.crossover import crossed, mutated
from partita.engine.search.monitor import SearchMonitor
from partita.engine.search.search_problem import SearchProblem, Solution

FIRST_MEMBERS = 12  # by k-means++
MIN_MEMBERS, MAX_MEMBERS = 10, 20  # survivors, and members before the worst are left out
CHILDREN_AT_ONCE = 4  # a constant, so that threads change no result
PLACES = range(CHILDREN_AT_ONCE)
MIN_IDLE_CHILDREN = 200  # in succession: the population stagnates
IDLE_CHILDREN_PER_CENTER = 10  # more, unless that takes more than IDLE_PRODUCTS
IDLE_PRODUCTS = 1.0e9  # n·k·d of them all
MAX_IDLE_RESTARTS = 2  # populations in succession that bring nothing
MAX_RESTARTED_PRODUCTS = 1.0e6  # n·k·d of a problem whose populations are restarted
MAX_MIGRANTS = 5  # solutions of a population that live on in the next
EQUAL_COST = 1e-9  # relative difference of the cost of equal solutions


def is_equal(one: Solution, two: Solution) -> bool:
    """Return whether two solutions cost the same, but for rounding."""
    return abs(one.cost - two.cost) <= EQUAL_COST * two.cost


@dataclass
class Population:
    """Solutions, best first."""

    members: list[Solution] = field(default_factory=list)

    @property
    def best(self) -> Solution:
        """The solution of lowest cost."""
        return self.members[0]

    def add(self, solutions: list[Solution]) -> None:
        """Add solutions that differ from all members; leave out the worst of too many."""
        for one in solutions:
            if not any(is_equal(one, member) for member in self.members):
                self.members.append(one)
        self.members.sort(key=lambda solution: solution.cost)
        if len(self.members) > MAX_MEMBERS:
            del self.members[MIN_MEMBERS:]

    def parent(self, rng: np.random.Generator) -> Solution:
        """The better of two members drawn at random."""
        return self.members[int(rng.integers(len(self.members), size=2).min())]


def evolve(
    problem: SearchProblem, first: Solution, monitor: SearchMonitor, rng: np.random.Generator
) -> list[Solution]:
    """Return the best solutions of populations that no longer improve, the best first.

    A population converges; another one, from other starts, and a last one of the best of both show
    whether it did too early.
    """
    breeding = _Breeding(problem, monitor, rng)
    best = breeding.run([first, *breeding.newcomers()])
    idle = 0 if problem.products <= MAX_RESTARTED_PRODUCTS else MAX_IDLE_RESTARTS
    while idle < MAX_IDLE_RESTARTS and best[0].cost > 0:
        other = breeding.run(breeding.newcomers())
        if is_equal(best[0], other[0]):
            idle += 1
            continue
        both = breeding.run([*best[:MAX_MIGRANTS], *other[:MAX_MIGRANTS]])
        idle = 0 if both[0].cost < best[0].cost * (1 - MIN_DECREASE) else idle + 1
        best = both
    return best


class _Breeding:
    def __init__(
        self, problem: SearchProblem, monitor: SearchMonitor, rng: np.random.Generator
    ) -> None:
        self._problem, self._monitor, self._rng = problem, monitor, rng
        wanted = MIN_IDLE_CHILDREN + IDLE_CHILDREN_PER_CENTER * problem.k
        self._max_idle = max(MIN_IDLE_CHILDREN, min(wanted, int(IDLE_PRODUCTS / problem.products)))

    def newcomers(self) -> list[Solution]:
        """Solutions from starts by k-means++."""
        return [
            solution
            for _ in range(FIRST_MEMBERS // CHILDREN_AT_ONCE)
            for solution in self._improved([self._problem.seeds(self._rng) for _ in PLACES])
        ]

    def run(self, first: list[Solution]) -> list[Solution]:
        """Cross and mutate solutions until no child is better; return them, best first."""
        population, idle = Population(), 0
        population.add(first)
        while idle < self._max_idle and population.best.cost > 0:
            before = population.best.cost
            population.add(self._improved([self._child(population) for _ in PLACES]))
            lowered = population.best.cost < before * (1 - MIN_DECREASE)
            idle = 0 if lowered else idle + CHILDREN_AT_ONCE
        return population.members

    def _child(self, population: Population) -> Floats:
        one, two = population.parent(self._rng), population.parent(self._rng)
        return mutated(self._problem, crossed(one.centers, two.centers, self._rng), self._rng)

    def _improved(self, starts: list[Floats]) -> list[Solution]:
        solutions = self._problem.descend(np.stack(starts))
        self._monitor.note("population", self._problem, solutions)
        return solutions
