"""Medians of features whose columns are in several places, by counting.

The lower median is the lowest double v such that the values up to v have at least half of the
weight. Doubles have an order in which they can be numbered, so a few counts for each feature find
it, and only counts travel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita.source.partition_tasks import SourceOf
from partita.source.partitions import Part, Partitions

CUTS = 15  # that one pass counts up to: each pass finds four bits


@dataclass(frozen=True, slots=True)
class CountUpTo:
    """Counts the values up to cuts (m, c) of features (m,), each row as often as it weighs.

    With medians (m,), deviations from them that are not 0 are counted instead of values.
    """

    source: SourceOf
    features: Ints
    cuts: Floats
    medians: Floats | None = None

    def __call__(self, part: Part) -> Ints:
        source = self.source(part)
        times, out = source.weights.counts(), np.zeros(self.cuts.shape, np.int64)
        for i, values in enumerate(source.read_columns(self.features)):
            counts = np.ones(len(values), np.int64) if times is None else times
            if self.medians is not None:
                values = np.abs(values - self.medians[i])
                values, counts = values[values > 0], counts[values > 0]
            out[i] = [counts[values <= cut].sum() for cut in self.cuts[i]]
        return out


@dataclass(frozen=True, slots=True)
class AreWhole:
    """Tells which features (m,) hold whole numbers only."""

    source: SourceOf
    features: Ints

    def __call__(self, part: Part) -> Array:
        columns = self.source(part).read_columns(self.features)
        return np.asarray((columns == np.rint(columns)).all(axis=1))


def counted_medians(
    partitions: Partitions, source: SourceOf, features: Ints, may_be_whole: Array
) -> Iterator[tuple[float, float] | None]:
    """Yield the lower median and the typical deviation of each feature: `SurveyedRows.medians`."""
    if len(features) == 0:
        return
    whole = partitions.total(AreWhole(source, features), np.logical_and) & may_be_whole
    asked = features[~whole]
    median = _lower_medians(partitions, CountUpTo(source, asked, np.empty((len(asked), 0))))
    count = CountUpTo(source, asked, np.empty((len(asked), 0)), median)
    found = iter(zip(median, _lower_medians(partitions, count), strict=True))
    for is_whole in whole:
        yield None if is_whole else next((float(m), float(away)) for m, away in found)


def _lower_medians(partitions: Partitions, count: CountUpTo) -> Floats:
    """Return the lower median of each feature; 0 where nothing is counted."""
    m = len(count.features)

    def counts_up_to(cuts: Floats) -> Ints:
        task = CountUpTo(count.source, count.features, cuts, count.medians)
        return partitions.total(task, np.add)

    total = counts_up_to(np.full((m, 1), np.inf))
    wanted = (total + 1) // 2
    low, high = (np.full(m, _number(np.array([end]))[0]) for end in (-np.inf, np.inf))
    while (low < high).any():  # the median is the double of a number in low … high
        gap = (high - low) // np.uint64(CUTS + 1)
        steps = np.arange(1, CUTS + 1, dtype=np.uint64)
        places = np.minimum(low[:, None] + gap[:, None] * steps, high[:, None])
        places[gap == 0] = np.minimum(low[:, None] + steps - np.uint64(1), high[:, None])[gap == 0]
        enough = counts_up_to(_double(places)) >= wanted
        first = np.where(enough.any(axis=1), enough.argmax(axis=1), CUTS)
        rows = np.arange(m)
        after = places[rows, np.maximum(first, 1) - 1] + np.uint64(1)
        high = np.where(first < CUTS, places[rows, np.minimum(first, CUTS - 1)], high)
        low = np.where(first > 0, np.minimum(after, high), low)
    return np.where(total[:, 0] > 0, _double(low), 0.0) + 0.0  # -0.0 becomes 0.0


def _number(values: Floats) -> Array:
    """Number doubles (not NaN) in their order."""
    bits = values.view(np.uint64)
    top = np.uint64(1 << 63)
    return np.where(bits & top, ~bits, bits | top)


def _double(numbers: Array) -> Floats:
    """Return the doubles of `_number`."""
    top = np.uint64(1 << 63)
    bits = np.where(numbers & top, numbers ^ top, ~numbers)
    return np.ascontiguousarray(bits).view(np.float64)
