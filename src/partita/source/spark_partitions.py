"""Partitions of a Spark dataframe, as the driver of a fit sees them.

A pass over all partitions is one job of Spark. It sends the task with the centers in its closure
(Spark makes a broadcast of it if it is large), and returns one sum for each Python process. Jobs
are those of RDDs: a query (`mapInArrow`) would be planned again for every pass.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import count
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.optional_imports import require
from partita._common.parameters import Got, must_be
from partita.source.partitions import Task, aligned_pieces
from partita.source.spark_frames import Features, quoted, with_rows_mapped
from partita.source.spark_rows import BLOCK_SCHEMA, BlockFacts, Piece, ReadBlock
from partita.source.spark_turns import Holders, Release, Report, Turn

MAX_MISSES = 3  # turns in a row that did not reach all holders, after which none is planned


class FrameTable:
    """A dataframe with the shape of its rows."""

    def __init__(self, frame: Any, shape: tuple[int, int]) -> None:
        self.frame, self.shape = frame, shape

    def __getattr__(self, name: str) -> Any:
        return getattr(self.frame, name)


class SparkPartitions:
    """`Partitions` of a Spark dataframe: its rows in files beside the executors."""

    def __init__(self, X: Any, features: Features, weight: str | None) -> None:
        sql = require("pyspark.sql.functions", "rows in a Spark dataframe", "spark")
        columns = [features.as_arrays()]
        if weight is not None:
            columns.append(sql.col(quoted(weight)).cast("double").alias("weight"))
        self._fit, self._turns = uuid.uuid4().hex, count()
        self._read = ReadBlock(self._fit, features.dtype.name, weight is not None)
        self._frame, self._features = X, features
        self._selected = X.select(*columns)
        self._context = X.sparkSession.sparkContext
        self.weighted, self.dtype, self.names = weight is not None, features.dtype, features.names
        # The facts of a block are held where its rows were read: Spark sends tasks there, and reads
        # it again if the executor is lost.
        self._blocks = self._selected.mapInArrow(self._read, BLOCK_SCHEMA).persist()
        self._tickets = self._blocks.select("block").rdd
        self._pieces: Any = None
        try:
            facts = sorted(BlockFacts(*row) for row in self._blocks.collect())
            self.d = _checked_width(facts)
            pieces = list(_pieces(facts, self.d, self.dtype, self.weighted))
        except BaseException:
            self.close()
            raise
        self.starts = np.array([*(piece.start for piece in pieces), sum(f.rows for f in facts)])
        self.table = FrameTable(X, (int(self.starts[-1]), self.d))
        self._block_of = [piece.block for piece in pieces]
        self._pieces = self._context.broadcast(pieces)
        self._holders = Holders()

    def run(self, task: Task[Any], which: Sequence[int] | None = None) -> list[Any]:
        numbers = list(range(len(self._block_of)) if which is None else which)
        results: dict[int, Any] = {}
        for report in self._reports(task, numbers, None):
            results.update(zip(report.done, report.results, strict=True))
        return [results[i] for i in numbers]

    def total(self, task: Task[Any], add: Callable[[Any, Any], Any]) -> Any:
        reports = self._reports(task, list(range(len(self._block_of))), add)
        return reduce(add, (report.results[0] for report in reports))

    def _reports(
        self, task: Task[Any], which: list[int], add: Callable[[Any, Any], Any] | None
    ) -> list[Report]:
        """Run a task beside partitions; every one is in one report."""
        reports, missing = [], which
        for job in (self._planned_turns, self._by_ticket, self._by_reading_again):
            if missing:
                found = job(task, missing, add)
                self._holders.record(found)
                reports += [report for report in found if report.done]
                done = {i for report in reports for i in report.done}
                missing = [i for i in missing if i not in done]
        if missing:
            raise RuntimeError(
                f"X must have the same rows whenever Spark computes it, but partition "
                f"{self._block_of[missing[0]]} has others now that it was lost and computed again. "
                "Write X to files, or fit X.localCheckpoint()."
            )
        return reports

    def _planned_turns(self, task: Any, which: list[int], add: Any) -> list[Report]:
        """Let every process work on what it holds."""
        holders = self._holders
        plan = {} if holders.misses >= MAX_MISSES else holders.plan()
        if not plan:
            return []
        # a task for every process: Spark starts them together, so each gets one
        tickets = [self._block_of[i] for held in plan.values() for i in held[: 1 + holders.misses]]
        reports = self._job(self._tickets, self._turn(task, which, add, plan), tickets)
        done = sum(len(report.done) for report in reports)
        holders.misses = 0 if done == len(which) else holders.misses + 1
        return reports

    def _by_ticket(self, task: Any, which: list[int], add: Any) -> list[Report]:
        turn = self._turn(task, which, add, None)
        return self._job(self._tickets, turn, [self._block_of[i] for i in which])

    def _by_reading_again(self, task: Any, which: list[int], add: Any) -> list[Report]:
        """Compute blocks again: their executors have lost the files, but not the facts."""
        self._read = replace(self._read, again=self._read.again + 1)
        rows = self._selected.mapInArrow(self._read, BLOCK_SCHEMA).rdd
        turn = self._turn(task, which, add, None)
        return self._job(rows, turn, [self._block_of[i] for i in which])

    def _turn(self, task: Any, which: list[int], add: Any, plan: Any) -> Turn:
        by_ticket = {} if plan is not None else {self._block_of[i]: i for i in which}
        return Turn(
            self._fit, next(self._turns), task, add, self._pieces, frozenset(which), plan, by_ticket
        )

    def _job(self, rdd: Any, work: Turn | Release, blocks: Sequence[int]) -> list[Any]:
        if not blocks:
            return []
        found = self._context.runJob(rdd.mapPartitionsWithIndex(work), _same, blocks)
        return list(found)

    def map_rows(self, function: Callable[[Array], Array], columns: int | None, dtype: Any) -> Any:
        return with_rows_mapped(self._frame, self._features, self.d, function, columns)

    def close(self) -> None:
        """Remove the files of the fit, and the states that can be reached.

        A process that gets no task keeps its state until Spark ends it (after a minute without
        work) or gives it a task of another fit.
        """
        self._job(self._tickets, Release(self._fit), range(self._tickets.getNumPartitions()))
        self._blocks.unpersist()
        if self._pieces is not None:
            self._pieces.destroy()


def _same(values: Iterable[Any]) -> Iterable[Any]:
    return values


def _checked_width(facts: Sequence[BlockFacts]) -> int:
    """Return the number of features; rows must agree about it."""
    if any(fact.nulls for fact in facts):
        got = Got(f"{sum(fact.nulls for fact in facts)} rows that are null")
        raise must_be("X", "complete", got, "Drop them: X.dropna().")
    filled = [fact for fact in facts if fact.longest >= 0]
    low = min((fact.shortest for fact in filled), default=1)
    high = max((fact.longest for fact in filled), default=1)
    if low != high or high == 0:
        lengths = f"lengths from {low} to {high}" if low != high else "empty ones"
        raise must_be("X", "a column of arrays of one length", Got(lengths))
    if not any(fact.rows for fact in facts):
        raise must_be("X", "rows of numbers", Got("no rows"))
    return high


def _pieces(
    facts: Sequence[BlockFacts], d: int, dtype: np.dtype[Any], weighted: bool
) -> Iterable[Piece]:
    """Cut blocks into partitions that begin at multiples of leaves."""
    start = 0
    for (block, own), *others in aligned_pieces([fact.rows for fact in facts]):
        heads = [facts[i].head[: rows.stop * d * dtype.itemsize] for i, rows in others]
        borrowed = np.frombuffer(b"".join(heads), dtype).reshape(-1, d)
        weight = None
        if weighted:
            heads = [facts[i].head_weight[: rows.stop * 8] for i, rows in others]
            weight = np.frombuffer(b"".join(heads), np.float64)
        fact, rows = facts[block], own.stop - own.start
        yield Piece(block, fact.digest, own.start, rows, borrowed, weight, start)
        start += rows + len(borrowed)
