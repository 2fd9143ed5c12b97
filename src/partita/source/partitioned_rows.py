"""Rows in partitions, as the driver of a fit sees them: what all rows together decide."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import Got, must_be
from partita._common.threads import Workers
from partita._kernels.weighted_draws import index_in_cumsum
from partita.exact_weights import Weights, WeightScale
from partita.moments import Moments
from partita.source import partition_tasks as tasks
from partita.source.blocks import kernel_type
from partita.source.counted_medians import counted_medians
from partita.source.dense import DenseSource
from partita.source.partition_tasks import SourceOf
from partita.source.partitioned_seeding import PartitionedSeeding
from partita.source.partitions import Partitions
from partita.source.survey import Survey, survey_dense


class PartitionedWeights:
    """The weights of all rows; they stay where they are."""

    def __init__(self, partitions: Partitions, scale: WeightScale) -> None:
        self._partitions, self.scale = partitions, scale
        self.all_equal, self.unit = scale.all_equal, scale.unit

    def as_floats(self, n: int) -> Floats:
        """Fetch the weights (n,) as the user gave them."""
        if self.all_equal:
            return np.full(n, self.unit)
        parts = self._partitions.run(tasks.weights_of)
        return np.concatenate([part for part in parts if part is not None])

    def unless_equal(self) -> Floats | None:
        """Fetch the weights (n,) as the user gave them, once; None if all are equal."""
        return None if self.all_equal else self._fetched

    @cached_property
    def _fetched(self) -> Floats:
        return self.as_floats(int(self._partitions.starts[-1]))

    def subset(self, rows: Ints) -> Weights:
        """Return the weights of some rows, in the same units."""
        return self.scale.of(None if self.all_equal else self._fetched[rows])

    def draw_any(self, n: int, uniform: Floats) -> Ints:
        """Draw rows in proportion to their weight, as `weighted_draws.draw_any`."""
        if self.all_equal:
            return (uniform * n).astype(np.intp)
        ends = self._ends
        places = uniform * ends[-1]
        drawn = []
        for place, part in zip(places, index_in_cumsum(ends, places).tolist(), strict=True):
            before = float(ends[part - 1]) if part else 0.0
            draw = tasks.DrawByWeight(SourceOf(self.scale), before, float(place), float(ends[-1]))
            drawn += self._partitions.run(draw, [part])
        return np.array(drawn, np.intp)

    @cached_property
    def _ends(self) -> Floats:
        """The cumulated weight at the end of every partition."""
        source, numbers = SourceOf(self.scale), range(len(self._partitions.starts) - 1)
        if self.scale.whole:  # sums of integers have the same bits in any order
            counts = self._partitions.run(tasks.TotalCount(source))
            return np.cumsum(counts) * self.unit
        ends = [0.0]
        for part in numbers:  # one after the other, as in one array
            ends += self._partitions.run(tasks.CumulatedWeight(source, ends[-1]), [part])
        return np.array(ends[1:])


class PartitionedRows:
    """Rows in partitions, as the loop, the survey and starts ask for them."""

    prunable_rows = None  # partitions prune their own

    def __init__(
        self,
        partitions: Partitions,
        scale: WeightScale,
        workers: Workers,
        memory: float = math.inf,  # bytes of rows that the driver may fetch
    ) -> None:
        self.partitions, self.workers, self._memory = partitions, workers, memory
        self.n, self.d = int(partitions.starts[-1]), partitions.d
        self.dtype = np.dtype(np.float32 if partitions.dtype == np.float32 else np.float64)
        self.kernel_dtype = kernel_type(partitions.dtype)
        self.weights: Any = PartitionedWeights(partitions, scale)
        self.scale = scale
        self.numbers = itertools.count()  # of states that starts keep beside partitions

    @cached_property
    def source(self) -> SourceOf:
        """Makes the source of a partition, on the grid of all rows."""
        return SourceOf(self.scale, self.survey())

    @cached_property
    def _extent(self) -> tasks.PartExtent:
        return self.partitions.total(tasks.FindExtent(SourceOf(self.scale)), _add)

    @cached_property
    def _survey(self) -> Survey:
        asked = _Surveyed(self)
        return survey_dense(asked, asked)

    def extent(self) -> tuple[Floats, Floats, Ints]:
        """Lowest and highest value (d,) over rows of weight; which columns are not finite."""
        low, high, taint = self._extent
        return low, high, np.flatnonzero(taint)

    def survey(self) -> Survey:
        """Extent, origin and grid of the data; computed once."""
        return self._survey

    def survey_from_sample(self, rows: Ints) -> None:
        """Make a survey from the extent of all rows and the mean and the medians of some."""
        sample = self.subset(rows, self.weights.subset(rows))
        self._survey = survey_dense(_Surveyed(self), sample)

    def owners(self, rows: Ints) -> list[int]:
        """Return the partitions that hold some rows."""
        parts = np.searchsorted(self.partitions.starts, rows, side="right") - 1
        return [int(part) for part in np.unique(parts)]

    def read_rows(self, rows: Ints) -> Array:
        """Fetch some rows (m, d) in the type of the data."""
        out = np.empty((len(rows), self.d), self.partitions.dtype)
        for places, values in self.partitions.run(tasks.ReadRows(rows), self.owners(rows)):
            out[places] = values
        return out

    def take_rows(self, rows: Ints) -> Floats:
        """Fetch some rows (m, d) as doubles."""
        return np.asarray(self.read_rows(rows), dtype=np.float64)

    def subset(self, rows: Ints, weights: Weights, survey: Survey | None = None) -> DenseSource:
        """Fetch some rows, as a source in memory."""
        size = len(rows) * self.d * self.partitions.dtype.itemsize
        if size > self._memory:
            wanted = f"at least {size:.0f} bytes, for {len(rows)} rows that the driver works on"
            advice = "Raise it, or use KMeans with init='k-means||', which fetches few rows."
            raise must_be("memory_limit", wanted, Got(f"{self._memory:.0f}"), advice)
        return DenseSource(self.read_rows(rows), weights, self.workers, survey)

    def seeding(self, k: int, trials: int, memory: float = math.inf) -> PartitionedSeeding:
        """The state of k-means++ before the first row is chosen."""
        run = next(self.numbers)
        return PartitionedSeeding(self.partitions, self.weights, self.source, run, (k, trials))

    def in_order(self, make: Callable[[Any], Any], carry: Any) -> Any:
        """Run make(carry) beside one partition after the other; each returns the next carry."""
        for part in range(len(self.partitions.starts) - 1):
            carry = self.partitions.run(make(carry), [part])[0]
        return carry


class _Surveyed:
    """The same rows, as a survey asks for them: `SurveyedRows`."""

    def __init__(self, rows: PartitionedRows) -> None:
        self._rows, self._partitions = rows, rows.partitions
        self._source = SourceOf(rows.scale)
        self.n, self.d, self.kernel_dtype, self.weights = (
            rows.n, rows.d, rows.kernel_dtype, rows.scale,
        )  # fmt: skip

    def extent(self) -> tuple[Floats, Floats, Ints]:
        return self._rows.extent()

    def total_count(self) -> int:
        return sum(self._partitions.run(tasks.TotalCount(self._source)))

    def all_values(self, most: int) -> Floats | None:
        return None  # they are elsewhere

    def crowded_features(self, low: Floats, extent: Floats, near: Floats) -> Ints:
        raise NotImplementedError  # nor are there few of them

    def sample(self, most: int) -> Floats:
        every = max(1, (len(self._partitions.starts) - 1) // most)  # a row of each is enough
        which = range(0, len(self._partitions.starts) - 1, every)
        return np.concatenate(
            self._partitions.run(tasks.SampleRows(self._source, most, self.n), which)
        )

    def sum_up(self, moments: Moments, cuts: Floats) -> Ints:
        task = tasks.SumUp(self._source, moments.grid, cuts)
        counts, hi, lo = self._partitions.total(task, _add).parts
        moments.add(Moments(moments.grid, hi, lo))
        return counts

    def count_beyond(self, cuts: Floats) -> Ints:
        return self._partitions.total(tasks.SumUp(self._source, None, cuts), _add).parts[0]

    def medians(self, features: Ints, may_be_whole: Array) -> Iterator[tuple[float, float] | None]:
        return counted_medians(self._partitions, self._source, features, may_be_whole)


def find_scale(partitions: Partitions, check: Callable[[tasks.WeightFacts], None]) -> WeightScale:
    """Return the form of all weights; `check` raises an error if some are not valid."""
    if not partitions.weighted:
        return WeightScale(count=float(partitions.starts[-1]))
    facts = partitions.total(tasks.weight_facts, _add)
    check(facts)
    unit = partitions.total(tasks.FindUnit(facts.span.peak), _add)
    return facts.span.scale(unit.share, float(unit.total.totals()[0]))


def _add(one: Any, other: Any) -> Any:
    return one + other
