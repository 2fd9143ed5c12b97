"""Tasks beside a partition: its weights, its survey, its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import PartialSums
from partita._common.threads import Workers
from partita.exact_weights import WeightScale, WeightSpan, common_unit
from partita.moments import Grid, Moments
from partita.source.dense import DenseSource
from partita.source.partitions import Part
from partita.source.survey import Survey


@dataclass(frozen=True, slots=True)
class SourceOf:
    """Makes the source of a partition: what all rows together decide is sent along."""

    scale: WeightScale
    survey: Survey | None = None

    def __call__(self, part: Part) -> DenseSource:
        found = part.state.get("source")
        if found is None or (found[1] is None) != (self.survey is None):
            # an engine runs one task per core, so a task has one thread
            made = DenseSource(part.rows, self.scale.of(part.weight), Workers(1), self.survey)
            found = part.state["source"] = made, self.survey
        source: DenseSource = found[0]
        return source


# --- weights --------------------------------------------------------------------------------------


class WeightFacts(NamedTuple):
    """The weights of a partition: those that are wrong, and the span of the others."""

    wrong: int  # NaN or infinite
    negative: int
    span: WeightSpan

    def __add__(self, other: WeightFacts) -> WeightFacts:  # type: ignore[override]
        one, two = self.span, other.span
        span = WeightSpan(
            one.rows + two.rows,
            one.positive + two.positive,
            min(one.smallest, two.smallest),
            max(one.largest, two.largest),
        )
        return WeightFacts(self.wrong + other.wrong, self.negative + other.negative, span)


def weight_facts(part: Part) -> WeightFacts:
    """Return what a check of all weights needs."""
    assert part.weight is not None
    positive = part.weight[part.weight > 0]
    ends = positive.min(initial=np.inf), positive.max(initial=0.0)
    span = WeightSpan(len(part.weight), len(positive), *map(float, ends))
    wrong = int((~np.isfinite(part.weight)).sum())
    return WeightFacts(wrong, int((part.weight < 0).sum()), span)


class WeightUnit(NamedTuple):
    """The common unit of some weights and their sum, in peaks."""

    share: float
    total: PartialSums

    def __add__(self, other: WeightUnit) -> WeightUnit:  # type: ignore[override]
        return WeightUnit(min(self.share, other.share), self.total + other.total)


@dataclass(frozen=True, slots=True)
class FindUnit:
    """Finds the common unit of the weights of a partition."""

    peak: float

    def __call__(self, part: Part) -> WeightUnit:
        assert part.weight is not None
        positive = np.ascontiguousarray(part.weight[part.weight > 0])
        share = common_unit(positive, self.peak) if len(positive) else np.inf
        return WeightUnit(share, PartialSums.of(positive / self.peak))


@dataclass(frozen=True, slots=True)
class CumulatedWeight:
    """Adds the weights of a partition to those before it, one after the other."""

    source: SourceOf
    before: float

    def __call__(self, part: Part) -> float:
        return float(cumulated(self.source(part), self.before)[-1])


@dataclass(frozen=True, slots=True)
class DrawByWeight:
    """Finds the first row of a partition at which the cumulated weight exceeds a place."""

    source: SourceOf
    before: float
    place: float
    last: float  # the weight of all rows, which the last row of weight reaches

    def __call__(self, part: Part) -> int:
        sums = cumulated(self.source(part), self.before)
        reached = int(sums.searchsorted(self.last, side="left"))
        return part.start + min(int(sums.searchsorted(self.place, side="right")), reached)


def cumulated(source: DenseSource, before: float) -> Floats:
    """The running sum of the weights, as one sum over all rows would have it here."""
    return np.cumsum(np.concatenate([[before], source.weights.as_floats(source.n)]))[1:]


def weights_of(part: Part) -> Floats | None:
    """Return the weights as they were given."""
    return part.weight


# --- the survey -----------------------------------------------------------------------------------


class PartExtent(NamedTuple):
    """Lowest and highest values (d,), and which columns (d,) are not finite."""

    low: Floats
    high: Floats
    taint: Array

    def __add__(self, other: PartExtent) -> PartExtent:  # type: ignore[override]
        low, high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)
        return PartExtent(low, high, self.taint | other.taint)


@dataclass(frozen=True, slots=True)
class FindExtent:
    """Finds the extent of a partition."""

    source: SourceOf

    def __call__(self, part: Part) -> PartExtent:
        low, high, columns = self.source(part).extent()
        taint = np.zeros(len(low), bool)
        taint[columns] = True
        return PartExtent(low, high, taint)


@dataclass(frozen=True, slots=True)
class CountNotFinite:
    """Counts rows with NaN or infinity in some columns, and tells which of both there are."""

    columns: Ints

    def __call__(self, part: Part) -> Ints:
        values = part.rows[:, self.columns]
        rows = (~np.isfinite(values)).any(axis=1).sum()
        return np.array([rows, np.isnan(values).sum(), np.isinf(values).sum()])


class CountedSums(NamedTuple):
    """Integer sums and counts, which add up."""

    parts: tuple[Ints, ...]

    def __add__(self, other: CountedSums) -> CountedSums:  # type: ignore[override]
        return CountedSums(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True, slots=True)
class SumUp:
    """Adds up the rows of a partition on a grid, and counts values beyond cuts."""

    source: SourceOf
    grid: Grid | None  # None: only count
    cuts: Floats

    def __call__(self, part: Part) -> CountedSums:
        source = self.source(part)
        if self.grid is None:
            return CountedSums((source.count_beyond(self.cuts),))
        moments = Moments.zero(1, self.grid)
        counts = source.sum_up(moments, self.cuts)
        return CountedSums((counts, moments.hi, moments.lo))


@dataclass(frozen=True, slots=True)
class SampleRows:
    """Takes a share of some rows that a partition has."""

    source: SourceOf
    most: int
    n: int  # of all partitions

    def __call__(self, part: Part) -> Floats:
        source = self.source(part)
        return source.sample(max(1, -(-self.most * source.n // self.n)))


@dataclass(frozen=True, slots=True)
class TotalCount:
    """Adds up the weights of a partition as integers."""

    source: SourceOf

    def __call__(self, part: Part) -> int:
        return self.source(part).total_count()


# --- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Reads some rows by their numbers among all, in the type of the data."""

    rows: Ints

    def __call__(self, part: Part) -> tuple[Ints, Array]:
        places, here = part.own(self.rows)
        return places, part.rows[here]
