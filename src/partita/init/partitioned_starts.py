"""Starting points of rows in partitions: those of `STARTS`, without arrays over all rows."""

from __future__ import annotations

import copy
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import PartialSums
from partita.init import STARTS, Start
from partita.init.plusplus import RowsInMemory, draw_each, parallel
from partita.init.random_starts import means_or_rows
from partita.moments import Moments
from partita.source.partition_tasks import SourceOf
from partita.source.partitioned_rows import PartitionedRows
from partita.source.partitions import Part

NUMBERS_SKIPPED_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class SampleOf:
    """The rows sampled so far, from which the distances of a partition follow."""

    run: int
    source: SourceOf
    rounds: tuple[Floats, ...]  # rows (m, d) that each round added

    def distances(self, part: Part) -> RowsInMemory:
        """Return the distances of the rows of a partition, derived again as far as lost."""
        run, found, done = part.state.pop("sampled", (None, None, 0))
        if run != self.run or done > len(self.rounds):
            found, done = RowsInMemory(self.source(part)), 0
        for rows in self.rounds[done:]:
            found.add_values(rows)
        part.state["sampled"] = self.run, found, len(self.rounds)
        made: RowsInMemory = found
        return made


@dataclass(frozen=True, slots=True)
class Potential:
    """Adds up w·D² over a partition."""

    sample: SampleOf

    def __call__(self, part: Part) -> PartialSums:
        return PartialSums.of(self.sample.distances(part).terms())


@dataclass(frozen=True, slots=True)
class DrawRows:
    """Draws rows of a partition, by the random numbers that belong to them among all."""

    sample: SampleOf
    factor: float
    rng: np.random.Generator

    def __call__(self, part: Part) -> Ints:
        rng = skipped(self.rng, part.start)
        return part.start + draw_each(self.sample.distances(part).terms(), self.factor, rng)


@dataclass(frozen=True, slots=True)
class Masses:
    """Adds the weights of the rows of a partition to those nearest to each sampled row."""

    sample: SampleOf
    before: Floats

    def __call__(self, part: Part) -> Floats:
        distances, out = self.sample.distances(part), self.before.copy()
        weight = self.sample.source(part).weights.unless_equal()
        # one row after the other: weights that are not whole are rounded as in one array
        np.add.at(out, distances.labels, 1.0 if weight is None else weight)
        return out


class SampledPartitions:
    """`SampledRows` of partitions: the driver has the sampled rows, partitions the distances."""

    def __init__(self, source: PartitionedRows) -> None:
        self._source = source
        self.rows: Ints = np.empty(0, np.intp)
        self._sample = SampleOf(next(source.numbers), source.source, ())

    def draw_first(self, uniform: Floats) -> Ints:
        return np.asarray(self._source.weights.draw_any(self._source.n, uniform))

    def add(self, rows: Ints) -> None:
        if len(rows) == 0:
            return
        rounds = (*self._sample.rounds, self._source.take_rows(rows))
        self._sample = SampleOf(self._sample.run, self._sample.source, rounds)
        self.rows = np.concatenate([self.rows, rows])

    def potential(self) -> float:
        return float(self._total(Potential(self._sample)).totals()[0])

    def draw(self, factor: float, rng: np.random.Generator) -> Ints:
        drawn = self._source.partitions.run(DrawRows(self._sample, factor, rng))
        rng.bit_generator.state = skipped(rng, self._source.n).bit_generator.state
        return np.concatenate(drawn)

    def masses(self) -> Floats:
        zero = np.zeros(len(self.rows))
        if self._source.scale.whole:  # such sums have the same bits in any order
            return np.asarray(self._total(Masses(self._sample, zero)))
        return np.asarray(self._source.in_order(lambda m: Masses(self._sample, m), zero))

    def _total(self, task: Any) -> Any:
        return self._source.partitions.total(task, operator.add)


def skipped(rng: np.random.Generator, count: int) -> np.random.Generator:
    """Return a copy of a generator as `rng.random(count)` would leave it."""
    made = copy.deepcopy(rng)
    if isinstance(made.bit_generator, np.random.PCG64 | np.random.PCG64DXSM):
        # `advance` forgets half a number that was drawn as 32 bits and kept
        before = made.bit_generator.state
        made.bit_generator.advance(count)
        after = made.bit_generator.state
        after["has_uint32"], after["uinteger"] = before["has_uint32"], before["uinteger"]
        made.bit_generator.state = after
        return made
    while count > 0:
        made.random(min(count, NUMBERS_SKIPPED_AT_ONCE))
        count -= NUMBERS_SKIPPED_AT_ONCE
    return made


@dataclass(frozen=True, slots=True)
class RandomSums:
    """Adds up the rows of a partition by random labels; returns the generator for the next one."""

    source: SourceOf
    rng: np.random.Generator
    sums: tuple[Ints, Ints]

    def __call__(self, part: Part) -> tuple[np.random.Generator, tuple[Ints, Ints]]:
        source, rng = self.source(part), copy.deepcopy(self.rng)
        survey = self.source.survey
        assert survey is not None
        hi, lo = (np.array(limb) for limb in self.sums)
        labels = np.full(source.n, -1, np.int32)
        drawn = rng.integers(len(hi), size=source.n, dtype=np.int32)
        source.move(np.arange(source.n), drawn, labels, Moments(survey.grid, hi, lo))
        return rng, (hi, lo)


def random_partition(source: PartitionedRows, k: int, rng: np.random.Generator) -> Floats:
    """Average the rows by random labels, drawn one partition after the other."""
    zero = Moments.zero(k, source.survey().grid)
    last, sums = source.in_order(
        lambda carry: RandomSums(source.source, *carry), (rng, (zero.hi, zero.lo))
    )
    rng.bit_generator.state = last.bit_generator.state
    return means_or_rows(source, Moments(zero.grid, *sums), rng)  # type: ignore[arg-type]


PARTITIONED_STARTS: dict[str, Start] = {
    **STARTS,
    "k-means||": lambda source, k, rng, memory: parallel(
        source,
        k,
        rng,
        memory,
        SampledPartitions(source),  # type: ignore[arg-type]
    ),
    "random-partition": lambda source, k, rng, memory: random_partition(source, k, rng),  # type: ignore[arg-type]
}
