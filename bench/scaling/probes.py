"""What an engine takes for tasks and bytes, by fits and tasks that compute almost nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness.generated_data import Array

from partita import KMeans
from partita.engine.partitioned_sums import SumsChange
from partita.source.dask_partitions import DaskPartitions
from partita.source.partitions import Part
from scaling.constants import best_seconds, clusters

LEAF = 256  # rows of the smallest partition
FEW, MANY, SPARK_MANY = 4, 16, 8  # partitions of a probe
ITERATIONS, TINY_K, TINY_FITS, SPARK_FITS = 10, 8, 6, 1
PAYLOAD_ROWS, PAYLOAD_WIDTH = 2_000, 34  # sums of a probe: 1.1 MB
WORK_ROWS, WORK_D, WORK_K = 25_000, 32, 100
QUIET = 0.1  # quantile of times that others disturbed little
WORK_TURNS, WORK_REPEATS = 3, 25  # of the same task, for the spread of its times
SPARK_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
ENGINES = ("threads", "1 worker", "2 workers")


@dataclass(frozen=True, slots=True)
class Engine:
    """What an engine takes, in seconds."""

    name: str
    workers: int
    fit: float  # once a fit
    fit_task: float  # once a fit, for each partition
    round: float  # a pass
    task: float  # a pass, for each partition
    sent_byte: float  # of a task, to each partition
    returned_byte: float  # of the sums of each partition, until they are added up
    crowding: float  # the time of a task while all workers work, over that of one alone
    spread: float  # standard deviation of the logarithm of task times


@dataclass(frozen=True, slots=True)
class ReturnSums:
    """Returns sums that are all different from zero."""

    rows: int

    def __call__(self, part: Part) -> SumsChange:
        limb = np.ones((self.rows, PAYLOAD_WIDTH), np.int64)
        return SumsChange(np.arange(self.rows, dtype=np.int32), limb, limb)


@dataclass(frozen=True, slots=True)
class Receive:
    """Receives an array and returns nothing."""

    sent: Array

    def __call__(self, part: Part) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class TimeWork:
    """Makes plain passes over rows of its own, and returns the seconds of each."""

    repeats: int

    def __call__(self, part: Part) -> list[float]:
        X = clusters(WORK_ROWS, WORK_D, WORK_K)
        model = KMeans(
            WORK_K, init=X[:WORK_K], tol=0, max_iter=self.repeats, algorithm="plain", n_threads=1
        ).fit(X)
        return [float(x) for x in np.diff([step.seconds for step in model.trace_])]


@contextmanager
def dask_engine(name: str) -> Iterator[int]:
    """Make an engine the present one; yield its number of workers."""
    import dask

    if name == "threads":
        with dask.config.set(scheduler="threads", num_workers=2):
            yield 2
        return
    from distributed import Client, LocalCluster

    workers = int(name.split()[0])
    settings = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(n_workers=workers, host="127.0.0.1", **settings) as made, Client(made):
        yield workers


def dask_rows(X: Array, partitions: int) -> Any:
    """Rows as a dask array of partitions of equal size, held by the engine."""
    import dask.array as da
    from distributed import futures_of, wait

    size = -(-len(X) // partitions)
    rows = da.from_array(X, chunks=(-(-size // LEAF) * LEAF, X.shape[1])).persist()
    if futures_of(rows):
        wait(rows)
    return rows


def measure_engine(name: str) -> Engine:
    """Measure one of `ENGINES`."""
    with dask_engine(name) as workers:
        few, many = (_tiny_fits(dask_rows, count) for count in (FEW, MANY))
        sent, returned = _bytes()
        # in turn, so that a busy minute disturbs both
        turns = [(_work_times(1), _work_times(workers)) for _ in range(WORK_TURNS)]
    alone, crowded = ([x for turn in turns for x in turn[i]] for i in (0, 1))
    ratio = float(np.quantile(crowded, QUIET) / np.quantile(alone, QUIET))
    per_fit, per_pass = ((many[i] - few[i]) / (MANY - FEW) for i in (0, 1))
    return Engine(
        name, workers,
        max(0.0, few[0] - FEW * per_fit), max(0.0, per_fit),
        max(0.0, few[1] - FEW * per_pass), max(0.0, per_pass),
        sent, returned,
        1.0 if workers == 1 else max(1.0, ratio),
        _spread(crowded),
    )  # fmt: skip


def _tiny_fits(
    make: Callable[[Array, int], Any], partitions: int, fits: int = TINY_FITS
) -> tuple[float, float]:
    """Seconds of a fit without its iterations, and of one iteration."""
    X = np.random.default_rng(0).random((LEAF * partitions, 2))
    rows = make(X, partitions)

    model = KMeans(TINY_K, init=X[:TINY_K], tol=0, max_iter=ITERATIONS)
    others, steps = [], []
    for _ in range(fits):
        whole = best_seconds(lambda: model.fit(rows), 1)
        made = np.diff([step.seconds for step in model.trace_])
        others.append(whole - made.sum())
        steps.extend(made.tolist())
    per_pass = min(steps)  # the least disturbed of many
    return max(0.0, min(others) - per_pass), per_pass


def _bytes() -> tuple[float, float]:
    """Seconds of a byte of a task, and of a byte of the sums, for each partition."""
    import operator

    X = clusters(LEAF * MANY, 2, 2)
    rows = dask_rows(X, MANY)
    partitions = DaskPartitions(rows, rows, None, None)
    try:
        many = np.zeros(PAYLOAD_ROWS * PAYLOAD_WIDTH * 2)
        calls = (Receive(many[:8]), Receive(many)), (ReturnSums(2), ReturnSums(PAYLOAD_ROWS))
        found = []
        for small, large in calls:
            least, most = (
                best_seconds(lambda task=task: partitions.total(task, operator.add), 4)
                for task in (small, large)
            )
            found.append(max(0.0, most - least) / (MANY * many.nbytes))
    finally:
        partitions.close()
    return found[0], found[1]


def _work_times(at_once: int) -> list[float]:
    rows = dask_rows(clusters(LEAF * at_once, 2, 2), at_once)
    partitions = DaskPartitions(rows, rows, None, None)
    try:
        return [x for times in partitions.run(TimeWork(WORK_REPEATS)) for x in times]
    finally:
        partitions.close()


def _spread(times: list[float]) -> float:
    """Standard deviation of logarithms, from the quartiles of a normal distribution."""
    low, high = np.quantile(np.log(times), (0.25, 0.75))
    return float((high - low) / 1.349)


def measure_spark() -> Engine | None:
    """Measure Spark in this process and two others, if it is installed."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]")
    for key, value in SPARK_SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def frame(X: Array, partitions: int) -> Any:
        lists = [(row,) for row in X.astype(float).tolist()]
        rdd = spark.sparkContext.parallelize(lists, partitions)
        made = spark.createDataFrame(rdd, "x array<double>").persist()
        made.count()
        return made

    try:
        few, many = (_tiny_fits(frame, count, SPARK_FITS) for count in (FEW, SPARK_MANY))
    finally:
        spark.stop()
    per_fit, per_pass = ((many[i] - few[i]) / (SPARK_MANY - FEW) for i in (0, 1))
    first = (max(0.0, few[0] - FEW * per_fit), max(0.0, per_fit))
    each = (max(0.0, few[1] - FEW * per_pass), max(0.0, per_pass))
    return Engine("Spark, local[2]", 2, *first, *each, *[float("nan")] * 4)
