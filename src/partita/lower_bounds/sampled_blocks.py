"""A bound from a sample of blocks, with a level of confidence.

The rows are partitioned into blocks before anything is drawn, by a function of rows and labels. Let
UB_t be the cost of block t in the known partition, J = Σ UB_t, and LB_t ≤ OPT(S_t). If blocks are
drawn with probability UB_t/J, independently, then r = LB_t/UB_t has the mean Σ LB_t/J ≤
Σ OPT(S_t)/J ≤ OPT/J. So J times a lower confidence bound of the mean of r is one of OPT. A block is
drawn in two steps: a chunk by its cost, then one of the chunk's blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from partita._common.array_types import Floats
from partita.lower_bounds.betting import BettingBound
from partita.lower_bounds.block_sums import SAMPLED, block_values
from partita.lower_bounds.partition import blocks_of, chunks
from partita.lower_bounds.standard_form import StandardProblem

MAX_SAMPLES = 2000  # after which the bound gains less than 0.2 %
ROUNDING = 1e-9  # relative: more than rounding changes J and the probabilities


def sampled_bounds(
    problem: StandardProblem, level: float, rng: np.random.Generator
) -> Iterator[float | None]:
    """Yield None after each step, and a bound after each sample.

    With probability `level`, all of them hold at once.
    """
    costs = problem.costs()
    parts = chunks(problem)
    chunk_costs = np.array([math.fsum(costs[part].tolist()) for part in parts])
    total = math.fsum(chunk_costs.tolist())
    if not total > 0:
        return
    mean = BettingBound(level)
    for _ in range(MAX_SAMPLES):
        blocks = blocks_of(problem, parts[_drawn(chunk_costs, rng)])
        block_costs = np.array([math.fsum(costs[block].tolist()) for block in blocks])
        number = _drawn(block_costs, rng)
        best = 0.0
        for value in block_values(problem, blocks[number], SAMPLED):
            best = value
            yield None
        mean.add(best / block_costs[number] * (1 - ROUNDING))
        yield total * mean.value * (1 - ROUNDING)


def _drawn(costs: Floats, rng: np.random.Generator) -> int:
    """Return an index, drawn with probability proportional to its cost."""
    steps = np.cumsum(costs)
    index = int(np.searchsorted(steps, rng.random() * steps[-1], side="right"))
    return min(index, int(np.flatnonzero(costs)[-1]))
