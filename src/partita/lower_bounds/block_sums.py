"""Superadditive blocks: OPT(X) ≥ Σ_t OPT(S_t) for every partition of the rows into blocks S_t.

The best k centers of all rows cost Σ_t on the blocks, and no block can cost less than its optimum.
Each block has its semidefinite bound. Those with the largest gaps are then bounded with
inequalities, and at last neighbours are united.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from partita._common.array_types import Ints
from partita.lower_bounds.partition import blocks_of, chunks
from partita.lower_bounds.rounding import sum_below
from partita.lower_bounds.semidefinite_rounds import Effort, semidefinite_rounds
from partita.lower_bounds.standard_form import StandardProblem

QUICK = Effort(tolerance=2e-2, plain_rounds=10, cut_rounds=0, steps=20)
SAMPLED = Effort(tolerance=8e-3, plain_rounds=10, cut_rounds=0, steps=20)
THOROUGH = Effort(tolerance=1e-4, plain_rounds=6, cut_rounds=10, steps=40)
WORTHWHILE = 1e-3  # relative gap of a block, below which it is left alone


@dataclass(frozen=True, slots=True)
class Block:
    """Rows, their cost in the known partition, and a lower bound of their optimum."""

    index: Ints
    cost: float
    value: float = 0.0

    @property
    def gap(self) -> float:
        """The most that a better bound may gain."""
        return self.cost - self.value


def block_bounds(problem: StandardProblem) -> Iterator[float | None]:
    """Yield None after each step, and a bound of the whole after each block."""
    costs = problem.costs()
    blocks: list[Block] = []
    for chunk in chunks(problem):
        parts = blocks_of(problem, chunk)
        blocks += [Block(index, math.fsum(costs[index].tolist())) for index in parts]
        yield None
    for effort in (QUICK, THOROUGH):
        order = sorted(range(len(blocks)), key=lambda number: -blocks[number].gap)
        for number in order:
            block = blocks[number]
            if block.gap <= WORTHWHILE * block.cost and effort is not QUICK:
                continue
            for value in block_values(problem, block.index, effort):
                yield None
                if value > blocks[number].value:
                    blocks[number] = Block(block.index, block.cost, value)
            yield sum_below([block.value for block in blocks])


def block_values(problem: StandardProblem, index: Ints, effort: Effort) -> Iterator[float]:
    """Yield the best bound of some rows so far, after each step."""
    if len(index) <= problem.k:
        return
    best = 0.0
    for bound in semidefinite_rounds(problem.take(index), effort):
        if bound is not None:
            best = max(best, bound.value)
        yield best
