"""A simulation of discrete events: a fit on a cluster that we do not have.

Events are ends of tasks. The scheduler releases one task after the other; a worker runs the tasks
of its partitions on its cores; a node of the reduction tree fetches the results of its children one
after the other through the network card of its worker, and adds them on one core. Task times are
log-normal. A worker may be lost during a pass: the others read its rows again and derive its state.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from scaling.constants import Compute, Decline
from scaling.fit_model import (
    LEAF_ROWS,
    N_ROUNDS,
    OVERSAMPLED,
    SAMPLING_TASKS,
    SEEDING_TASKS,
    SURVEY_TASKS,
    Problem,
    pass_compute,
)

FAN_IN = 8  # of the reduction tree, as `dask_partitions.ADDED_AT_ONCE`
PASSES_SIMULATED = 2  # whose mean stands for others like them
ITEM_BYTES = 4  # float32


@dataclass(frozen=True, slots=True)
class Cluster:
    """A hypothetical cluster. The defaults are assumptions; none of them is measured."""

    workers: int = 100
    cores: int = 32  # of a worker
    network: float = 3.1e9  # bytes a second of a worker's network card (25 Gbit/s)
    latency: float = 2e-4  # seconds of a message
    storage: float = 1e9  # bytes a second that a worker reads
    spread: float = 0.1  # standard deviation of the logarithm of task times
    task: float = 1e-3  # seconds of the scheduler for a task and its share of the reduction
    fan_in: int | None = FAN_IN  # None: the driver adds up all results
    lost_per_hour: float = 0.0  # chance of a worker
    only_changed: bool = True  # sums travel only if they changed


@dataclass(frozen=True, slots=True)
class PassTime:
    """Seconds of a pass by their cause; they add up to its time."""

    centers: float  # sent to all workers
    compute: float  # of the rows, if all cores always worked
    scheduler: float  # waiting for tasks, and for the last wave of them
    stragglers: float  # waiting for the slowest
    reduce: float  # from the last task to the sums on the driver
    driver: float  # means, costs

    @property
    def total(self) -> float:
        return sum(getattr(self, name) for name in PARTS)


PARTS = tuple(PassTime.__dataclass_fields__)


@dataclass(slots=True)
class _Node:
    """A node of the reduction tree."""

    worker: int  # -1: the driver
    rows: float
    parent: int | None
    waits_for: int
    ready: float = 0.0


def simulate_pass(
    compute: Compute, cluster: Cluster, problem: Problem, step: Decline, seed: int = 0
) -> PassTime:
    """Simulate a pass; the same seed gives the same times."""
    tasks = _Tasks(compute, cluster, problem, step)
    quiet = tasks.finish(np.ones(problem.partitions))
    ends = tasks.finish(_factors(cluster, problem.partitions, seed))
    ends = _after_losses(tasks, ends, np.random.default_rng([seed, 1]))
    last = max(ends)
    done = _reduced(compute, cluster, problem, step, ends)
    centers = tasks.centers
    ideal = tasks.seconds * problem.partitions / (cluster.workers * cluster.cores)
    driver = problem.k * problem.d * compute.center_value
    wait = max(quiet) - centers - ideal
    return PassTime(centers, ideal, wait, last - max(quiet), done - last, driver)


def _factors(cluster: Cluster, count: int, seed: int) -> np.ndarray:
    """Log-normal factors of mean 1."""
    spread = cluster.spread
    return np.random.default_rng(seed).lognormal(-(spread**2) / 2, spread, count)


class _Tasks:
    """The tasks of a pass on the cores of their workers."""

    def __init__(self, compute: Compute, cluster: Cluster, problem: Problem, step: Decline) -> None:
        self.cluster, self.problem, self.compute = cluster, problem, compute
        rows = problem.n / problem.partitions
        unpack = problem.sent_bytes * compute.packed_byte
        self.seconds = pass_compute(compute, problem, rows, step) + unpack
        hops = 1 + math.log2(cluster.workers)  # from the client, then from worker to worker
        self.centers = hops * (problem.sent_bytes / cluster.network + cluster.latency)

    def finish(self, factors: np.ndarray) -> list[float]:
        """The end of every task; partition i belongs to worker i mod W."""
        free = [[self.centers] * self.cluster.cores for _ in range(self.cluster.workers)]
        ends = []
        for i, factor in enumerate(factors.tolist()):
            cores = free[i % self.cluster.workers]
            begin = max(heapq.heappop(cores), self.centers + (i + 1) * self.cluster.task)
            ends.append(begin + self.seconds * factor)
            heapq.heappush(cores, ends[-1])
        return ends


def _after_losses(tasks: _Tasks, ends: list[float], rng: np.random.Generator) -> list[float]:
    """Ends of tasks if workers are lost: others read their rows, and derive the last pass first.

    The others begin when their own tasks have ended.
    """
    cluster, problem = tasks.cluster, tasks.problem
    chance = cluster.lost_per_hour * max(ends) / 3600
    lost = rng.random(cluster.workers) < chance
    if not lost.any() or lost.all():
        return ends
    again = lost[np.arange(len(ends)) % cluster.workers]
    rows = problem.n / problem.partitions
    plain = pass_compute(tasks.compute, problem, rows, Decline(1.0, 1.0))
    share = math.ceil(again.sum() / (~lost).sum())  # partitions that each other worker takes over
    waves = math.ceil(share / cluster.cores)
    begin = float(np.max(np.array(ends)[~again]))
    reading = share * rows * problem.d * ITEM_BYTES / cluster.storage
    end = begin + reading + waves * (plain + tasks.seconds)
    return [end if one else before for one, before in zip(again, ends, strict=True)]


def _tree(cluster: Cluster, problem: Problem) -> list[_Node]:
    """Leaves first, then level by level; the driver is last."""
    count = problem.partitions
    nodes = [_Node(i % cluster.workers, problem.n / count, None, 0) for i in range(count)]
    level = list(range(count))
    while cluster.fan_in is not None and len(level) > 1:
        groups = [level[i : i + cluster.fan_in] for i in range(0, len(level), cluster.fan_in)]
        level = []
        for group in groups:
            rows = sum(nodes[i].rows for i in group)
            level.append(len(nodes))
            nodes.append(_Node(nodes[group[0]].worker, rows, None, len(group)))
            for i in group:
                nodes[i].parent = level[-1]
    nodes.append(_Node(-1, problem.n, None, len(level)))
    for i in level:
        nodes[i].parent = len(nodes) - 1
    return nodes


def _reduced(
    compute: Compute, cluster: Cluster, problem: Problem, step: Decline, ends: list[float]
) -> float:
    """The time at which the driver has the sums."""
    nodes = _tree(cluster, problem)
    events = [(end, i) for i, end in enumerate(ends)]
    heapq.heapify(events)
    card = dict.fromkeys(range(-1, cluster.workers), 0.0)  # when a network card is free
    while events:
        now, i = heapq.heappop(events)
        if nodes[i].parent is None:
            return now
        above = nodes[nodes[i].parent or 0]
        moved = nodes[i].rows * (step.moved if cluster.only_changed else math.inf)
        size = problem.returned_bytes(moved)
        if above.worker != nodes[i].worker:
            card[above.worker] = max(now, card[above.worker]) + size / cluster.network
            now = card[above.worker] + cluster.latency + size * compute.packed_byte
        above.ready = max(above.ready, now) + size * compute.added_byte
        above.waits_for -= 1
        if above.waits_for == 0:
            heapq.heappush(events, (above.ready, nodes[i].parent or 0))
    raise AssertionError


# --- a whole fit ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FitTime:
    """Seconds of a fit by phase."""

    read: float
    survey: float
    seeding: float
    passes: PassTime  # the sums of all iterations, and of the labels

    @property
    def total(self) -> float:
        return self.read + self.survey + self.seeding + self.passes.total


def simulate_fit(
    compute: Compute, cluster: Cluster, problem: Problem, seed: int = 0, init: str = "k-means||"
) -> FitTime:
    """Simulate reading, survey, seeding and all passes."""
    cores, size = cluster.workers * cluster.cores, problem.n * problem.d * ITEM_BYTES
    read = max(size / (cluster.workers * cluster.storage), size * compute.parquet_byte / cores)
    survey = problem.n * (problem.d * compute.once_value + compute.once_row) / cores
    survey += SURVEY_TASKS * problem.partitions * cluster.task
    steps = (*problem.decline, Decline(1.0, 1.0))
    times = [
        simulate_pass(compute, cluster, problem, step, seed + i) for i, step in enumerate(steps)
    ]
    passes = PassTime(*(sum(getattr(one, part) for one in times) for part in PARTS))
    return FitTime(
        read, survey, sum(seeding_times(compute, cluster, problem, init).values()), passes
    )


def seeding_times(
    compute: Compute, cluster: Cluster, problem: Problem, init: str
) -> dict[str, float]:
    """Seconds of a start by cause."""
    n, d, k, cores = problem.n, problem.d, problem.k, cluster.workers * cluster.cores
    if init == "k-means++":
        leaves = n / LEAF_ROWS * 8  # bytes of one number for each
        from_workers = leaves * (1 + 2 + int(math.log(k))) / cluster.network
        return {
            "compute": compute.plusplus(n, d, k) / cores,
            "scheduler": k * SEEDING_TASKS * problem.partitions * cluster.task,
            "traffic": k * from_workers,
            "driver": k * leaves * compute.packed_byte,
        }
    sampled = OVERSAMPLED * k * N_ROUNDS
    sent = sum(2 * 8 * d * OVERSAMPLED * k * i for i in range(1, N_ROUNDS + 1))
    hops = 1 + math.log2(cluster.workers)
    return {
        "compute": n * sampled * d * compute.sampled_value / cores,
        "scheduler": SAMPLING_TASKS * problem.partitions * cluster.task,
        "traffic": hops * sent / cluster.network,
        "driver": compute.plusplus(sampled, d, k),
    }


def mean_pass(
    compute: Compute, cluster: Cluster, problem: Problem, step: Decline, seed: int = 0
) -> PassTime:
    """The mean of some passes that are alike."""
    made = [
        simulate_pass(compute, cluster, problem, step, seed + i) for i in range(PASSES_SIMULATED)
    ]
    return PassTime(*(sum(getattr(one, part) for one in made) / len(made) for part in PARTS))
