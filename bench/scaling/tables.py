"""The tables of the report on the cost model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from harness.markdown_table import Table

from scaling.constants import Compute, Decline
from scaling.fit_model import Problem
from scaling.probes import Engine
from scaling.simulation import (
    PARTS,
    Cluster,
    PassTime,
    mean_pass,
    seeding_times,
    simulate_fit,
)
from scaling.validation import Comparison

ROWS, FEATURES, CENTERS = 1e11, 32, (1000, 100_000)
BILLION = 1e9
TASKS_PER_CORE = 4  # partitions
PASS_WORKERS, FIT_WORKERS = (1, 10, 100, 400), (10, 100)
BUSY_SPREAD = 0.6  # of task times, as processes of a busy machine have
LOST_PER_HOUR = 0.01  # of a worker, in the table of what breaks
UNITS = {
    "pair_value": "row × center × feature, plain pass",
    "pair": "row × center, plain pass",
    "row_value": "row × feature, plain pass",
    "moved_value": "moved row × feature",
    "moved_row": "moved row",
    "once_value": "row × feature, once a fit: survey, costs",
    "once_row": "row, once a fit",
    "pruned_factor": "pair that bounds leave, over a plain one (a ratio)",
    "pruned_row_value": "row × feature, pass with bounds",
    "seed_pair": "row × round of k-means++",
    "seed_pair_value": "row × candidate × feature of k-means++",
    "sampled_value": "row × sampled row × feature of k-means||",
    "npy_byte": "byte read from .npy (page cache)",
    "parquet_byte": "byte of rows decoded from Parquet",
    "added_byte": "byte of sums added",
    "packed_byte": "byte pickled and unpickled",
    "center_value": "center × feature on the driver",
}
Panels = dict[str, dict[int, PassTime]]
Case = tuple[Cluster, Problem, Decline]  # an iteration of a problem on a cluster


def assumed_cluster(engines: Sequence[Engine]) -> Cluster:
    """The assumed cluster, with the scheduler of this machine.

    The spread of task times stays an assumption: here, it is mostly that of others' work.
    """
    processes = [engine for engine in engines if engine.name != "threads"]
    return replace(Cluster(), task=min(engine.task for engine in processes))


def heading(cluster: Cluster, machine: str, loads: tuple[float, float]) -> str:
    """How the report was made, and what it assumes."""
    return (
        "# Cost model of distributed fits\n\n"
        f"Made by `python bench/scaling_model.py` (`make bench-cluster`) on {machine}; load "
        f"{loads[0]:.1f} to {loads[1]:.1f} when the stages began. Formulas: "
        "[docs/scaling.md](../docs/scaling.md#cost-model).\n\n"
        f"Assumed of the simulated cluster, not measured: {cluster.cores} cores a worker of the "
        f"speed of this machine's, {cluster.network / 1e9:.1f} GB/s and "
        f"{1e3 * cluster.latency:.1f} ms of network, {cluster.storage / 1e9:.0f} GB/s of storage a "
        f"worker, a spread of task times of {cluster.spread:g}. Partitions are dealt out to "
        "workers in turn, so hardly any sums are added where they are. Measured, the lower of one "
        f"and two workers: {1e3 * cluster.task:.2f} ms of the scheduler for a task.\n\n"
        "Stages may be run apart. Constants are the least of many times and fits the least of a "
        "few, so the work of others on the machine makes predictions look too low; how much of the "
        "error that explains was not measured. A missing row of Spark was not measured here."
    )


def constants(compute: Compute) -> Table:
    """The work of one core."""
    rows = []
    for name, text in UNITS.items():
        value = getattr(compute, name)
        rows.append([text, f"{value:.2f}" if name == "pruned_factor" else f"{1e12 * value:,.1f}"])
    about = "Picoseconds, the best of some rounds."
    return Table("Constants: one core", about, ("of a", "ps"), rows)


def engines(measured: Sequence[Engine]) -> Table:
    """Tasks and traffic."""
    about = (
        "A fit and its partitions once, a pass and its partitions, in milliseconds; a byte of a "
        "task and of sums for each partition, in picoseconds; crowding, the time of a task while "
        "all workers work over that of one alone; the standard deviation of the logarithm of task "
        "times. 0: lost in the noise."
    )
    head: tuple[str, ...] = ("engine", "fit", "partition", "pass", "partition")
    rows = []
    for one in measured:
        times = [f"{1e3 * x:.2f}" for x in (one.fit, one.fit_task, one.round, one.task)]
        sizes = [f"{1e12 * x:.0f}" for x in (one.sent_byte, one.returned_byte)]
        cells = [*times, *sizes, f"{one.crowding:.2f}", f"{one.spread:.3f}"]
        rows.append([one.name, *("–" if cell == "nan" else cell for cell in cells)])
    return Table(
        "Constants: engines",
        about,
        (*head, "byte sent", "byte returned", "crowding", "spread"),
        rows,
    )


def validation(compared: Sequence[Comparison]) -> Table:
    """Predicted and measured seconds."""
    rows = []
    for one in compared:
        n, d, k, count = one.shape
        rows.append([
            f"{n:,} × {d}, K = {k}, {count} partitions", one.engine, one.algorithm,
            f"{one.iterations}", f"{one.predicted:.2f}", f"{one.measured:.2f}", f"{one.error:+.0%}",
            f"{one.load:.1f}",
        ])  # fmt: skip
    errors = sorted(abs(one.error) for one in compared)
    about = (
        "Seconds of whole fits from given centers, rows held by the workers, the best of some. The "
        "share of pairs that `auto` compares comes from the trace of the fit. Median error "
        f"{errors[len(errors) // 2]:.0%}, largest {errors[-1]:.0%}."
    )
    head = ("fit", "engine", "path", "iterations", "predicted", "measured", "error", "load")
    return Table("Validation", about, head, rows)


def problem_of(cluster: Cluster, k: int, decline: Sequence[Decline], n: float = ROWS) -> Problem:
    """Rows in some partitions for every core."""
    return Problem(n, FEATURES, k, TASKS_PER_CORE * cluster.workers * cluster.cores, decline)


def panels(compute: Compute, cluster: Cluster, decline: Sequence[Decline]) -> Panels:
    """The last iteration, in which bounds leave the least work, for some numbers of workers."""
    made: Panels = {}
    for n, name in ((ROWS, "10¹¹ rows"), (BILLION, "10⁹ rows")):
        for k in CENTERS:
            times = made.setdefault(f"{name}, K = {k:,}", {})
            for workers in PASS_WORKERS:
                some = replace(cluster, workers=workers)
                problem = problem_of(some, k, decline, n)
                times[workers] = mean_pass(compute, some, problem, decline[-1])
    return made


def passes(found: Panels) -> Table:
    """Simulated iterations."""
    rows = []
    for title, times in found.items():
        for workers, time in times.items():
            cells = [f"{max(0.0, getattr(time, part)):,.2f}" for part in PARTS]
            rows.append([f"{title}, {workers:,} workers", *cells, f"{time.total:,.1f}"])
    about = (
        f"d = {FEATURES}, {TASKS_PER_CORE} partitions a core; a late iteration, with bounds. "
        "Seconds by cause. Scheduler includes cores that wait for the last wave of tasks."
    )
    return Table("Simulated iteration", about, ("", *PARTS, "seconds"), rows)


def fits(compute: Compute, cluster: Cluster, decline: Sequence[Decline]) -> Table:
    """Simulated fits."""
    rows = []
    for k in CENTERS:
        for workers in FIT_WORKERS:
            some = replace(cluster, workers=workers)
            time = simulate_fit(compute, some, problem_of(some, k, decline))
            cells = (time.read, time.survey, time.seeding, time.passes.total, time.passes.compute)
            name = f"K = {k:,}, {workers:,} workers"
            rows.append([name, *(f"{x:,.0f}" for x in cells), f"{time.total / 3600:,.2f}"])
    about = (
        f"10¹¹ rows of {FEATURES} float32 features in Parquet, k-means||, {len(decline)} "
        "iterations that decline as those of the fits that were measured. Seconds by phase."
    )
    head = ("", "read", "survey", "seeding", "passes", "of them rows", "hours")
    return Table("Simulated fit", about, head, rows)


def breaks(compute: Compute, cluster: Cluster, decline: Sequence[Decline]) -> Table:
    """Each part of the design, and the cluster without it."""
    few, many = (problem_of(cluster, k, decline) for k in CENTERS)
    billion, last = problem_of(cluster, CENTERS[1], decline, BILLION), decline[-1]
    pairs: dict[str, list[float]] = {}
    for name, problem in (("10³", few), ("10⁵", many)):
        pairs[f"start, K = {name}: k-means++, k-means||"] = [
            sum(seeding_times(compute, cluster, problem, init).values())
            for init in ("k-means++", "k-means||")
        ]
    for name, cases in _late_cases(cluster, (few, many, billion), decline).items():
        pairs[name] = [mean_pass(compute, *case).total for case in cases]
    pairs["10⁹ rows, K = 10⁵: the same, in GB that partitions return"] = [
        billion.partitions * billion.returned_bytes(moved) / 1e9
        for moved in (math.inf, last.moved * billion.n / billion.partitions)
    ]
    lossy = replace(cluster, lost_per_hour=LOST_PER_HOUR)
    pairs[f"fit, K = 10⁵: a worker is lost with {LOST_PER_HOUR:.0%} an hour, never"] = [
        simulate_fit(compute, at, many).total for at in (lossy, cluster)
    ]
    rows = [[name, f"{a:,.1f}", f"{b:,.1f}", f"{a / b:,.2f}"] for name, (a, b) in pairs.items()]
    about = (
        "Seconds (but for the bytes) on 100 workers, of a late iteration over 10¹¹ rows unless it "
        "says otherwise: without a part of the design (or with a fault), and with it."
    )
    return Table("What breaks", about, ("", "first", "second", "ratio"), rows)


def _late_cases(
    cluster: Cluster, problems: tuple[Problem, Problem, Problem], decline: Sequence[Decline]
) -> dict[str, tuple[Case, Case]]:
    """Pairs of iterations to compare."""
    (few, many, billion), first, last = problems, decline[0], decline[-1]
    flat, dense = replace(cluster, fan_in=None), replace(cluster, only_changed=False)
    busy = replace(cluster, spread=BUSY_SPREAD)
    small = replace(few, partitions=100_000)
    single = replace(many, partitions=cluster.workers * cluster.cores)
    plain, here = Decline(1.0, last.moved), (cluster, many, last)
    return {
        "K = 10³: partitions of 10⁶ rows, 4 a core": ((cluster, small, last), (cluster, few, last)),
        "K = 10⁵: one partition a core, 4": ((cluster, single, last), here),
        f"K = 10⁵: spread of {BUSY_SPREAD:g}, of {cluster.spread:g}": ((busy, many, last), here),
        "K = 10⁵: plain passes, bounds": ((cluster, many, plain), here),
        "K = 10⁵: driver adds all, tree": ((flat, many, last), here),
        "first pass, 10⁹ rows, K = 10⁵: driver adds all, tree": (
            (flat, billion, first),
            (cluster, billion, first),
        ),
        "10⁹ rows, K = 10⁵: all sums travel, changed ones": (
            (dense, billion, last),
            (cluster, billion, last),
        ),
    }
