"""The cost model: seconds of a fit from constants, the shape of the data and the cluster.

    fit   = once + seeding + Σ passes + labels
    pass  = round + P·task                                  the scheduler
          + P·(16·K·d·sent_byte + B·returned_byte)          traffic and the reduce
          + ⌈P/W⌉·crowding·compute(n/P)                     the rows
    B     = (16·(d + 2) + 4)·C,  C = K·(1 − e^(−2·moved/K)) sums of clusters that changed

P partitions, W workers (one core each). `moved` counts the rows of a partition that change their
cluster: each changes two sums, and takes one of K clusters as if at random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scaling.constants import Compute, Decline
from scaling.probes import Engine

N_ROUNDS, OVERSAMPLED = 5, 2  # of k-means||: rounds, and rows that each samples over K
SAMPLING_TASKS = 2 * N_ROUNDS + N_ROUNDS + 2  # potentials, draws, rows; the first row; masses
SEEDING_TASKS = 3  # of every round of k-means++: gains, potentials, and draws and rows of a few
SURVEY_TASKS = 6  # extent, sample, counts, sums; at the end, label counts and costs
LEAF_ROWS = 256  # whose potential is one number of k-means++


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows, centers, and how the iterations decline."""

    n: float
    d: int
    k: int
    partitions: int
    decline: Sequence[Decline]  # of every iteration; compared = 1: a plain pass

    @property
    def sent_bytes(self) -> float:
        """Bytes of a task: the centers of this pass and of the one before."""
        return 16.0 * self.k * self.d

    def returned_bytes(self, moved: float) -> float:
        """Bytes of the sums of the clusters that `moved` rows changed."""
        changed = self.k * -math.expm1(-2 * moved / self.k)
        return (16.0 * (self.d + 2) + 4) * changed


def pass_compute(compute: Compute, problem: Problem, n: float, step: Decline) -> float:
    """Seconds that one core takes for a pass over n rows."""
    if step.compared >= 1:
        return compute.plain_pass(n, problem.d, problem.k, step.moved)
    return compute.pruned_pass(n, problem.d, problem.k, step)


def predicted_pass(compute: Compute, engine: Engine, problem: Problem, step: Decline) -> float:
    """Seconds of one iteration."""
    count = problem.partitions
    rows = problem.n / count
    returned = problem.returned_bytes(step.moved * rows)
    traffic = problem.sent_bytes * engine.sent_byte + returned * engine.returned_byte
    waves = math.ceil(count / engine.workers)
    work = waves * engine.crowding * pass_compute(compute, problem, rows, step)
    return engine.round + count * (engine.task + traffic) + work


def predicted_fit(compute: Compute, engine: Engine, problem: Problem) -> float:
    """Seconds of a fit from given centers."""
    count, d = problem.partitions, problem.d
    waves = math.ceil(count / engine.workers) / count
    once = engine.fit + count * engine.fit_task
    rows = problem.n * waves * engine.crowding
    once += rows * (d * compute.once_value + compute.once_row)
    labels = Decline(1.0, 1.0)
    steps = (*problem.decline, labels)
    return once + sum(predicted_pass(compute, engine, problem, step) for step in steps)
