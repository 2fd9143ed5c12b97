"""Categories of groups: those more frequent than in all rows, and the leading ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.number_text import percent_text
from partita._common.text import isolated, one_line
from partita.source.category_column import CategoryColumn

MAX_CATEGORY_TRAITS = 3  # of a group
MIN_SHARE_DIFFERENCE = 0.1  # between a group and all rows
MIN_DEVIATIONS = 3.0  # of that difference, in those of groups drawn at random
MAX_COLUMN_CHARACTERS = 48
MAX_VALUE_CHARACTERS = 24
MAX_LEADING = 3  # categories of a group and column


@dataclass(frozen=True, slots=True)
class CategoryTrait:
    """One category that sets a group apart."""

    column: str
    value: str
    share: float  # of the group's rows with a known value
    overall: float  # of all such rows
    words: str  # "city: 60 % Wien (all rows 21 %)"

    @property
    def verb(self) -> str:
        """The word between a share and a number: "60 % are 1"."""
        return _verb(self.value)


@dataclass(frozen=True, slots=True)
class LeadingCategories:
    """The most frequent categories of a column: in all rows, and in each group."""

    column: str
    overall: tuple[tuple[str, float], ...]  # (value, share)
    groups: tuple[tuple[tuple[str, float], ...], ...]  # (k,)
    # by value, the share in all rows of every category that is named here
    shares: Mapping[str, float]


def category_traits(
    categories: Mapping[str, CategoryColumn],
    labels: Ints,
    weight: Floats,
    k: int,
    min_rows: int = 1,
) -> list[tuple[CategoryTrait, ...]]:
    """Return, for each group, the categories whose shares differ most from those of all rows.

    A difference counts if it is at least a tenth, and too large for rows drawn at random: three
    standard deviations of a hypergeometric distribution. Each column gives one trait at most.
    Categories of fewer than `min_rows` rows of a group do not count.
    """
    traits: list[list[CategoryTrait]] = [[] for _ in range(k)]
    for name, column, counts, share, overall in _counted(categories, labels, weight, k):
        clear = (share - overall >= MIN_SHARE_DIFFERENCE) & (counts >= min_rows)
        clear &= _deviations(counts) >= MIN_DEVIATIONS
        gain = np.where(clear, share - overall, -1.0)
        best = gain.argmax(axis=1)
        for j in np.flatnonzero(clear.any(axis=1)).tolist():
            v = int(best[j])
            traits[j].append(_trait(name, column.values[v], float(share[j, v]), float(overall[v])))
    return [_largest(found) for found in traits]


def leading_categories(
    categories: Mapping[str, CategoryColumn],
    labels: Ints,
    weight: Floats,
    k: int,
    min_rows: int = 1,
) -> tuple[LeadingCategories, ...]:
    """Return the most frequent categories of every column, by group."""
    columns = []
    for name, column, counts, share, overall in _counted(categories, labels, weight, k):
        groups = tuple(_leading(column, share[j], counts[j] >= max(1, min_rows)) for j in range(k))
        total = _leading(column, overall, counts.sum(axis=0) >= max(1, min_rows))
        every = zip(map(_value, column.values), overall.tolist(), strict=True)
        named = {value for part in (total, *groups) for value, _ in part}
        shares = {value: each for value, each in every if value in named}
        title = one_line(name, MAX_COLUMN_CHARACTERS)
        columns.append(LeadingCategories(title, total, groups, shares))
    return tuple(columns)


def _counted(
    categories: Mapping[str, CategoryColumn], labels: Ints, weight: Floats, k: int
) -> Iterator[tuple[str, CategoryColumn, Floats, Floats, Floats]]:
    """Yield the columns of categories: counts of rows, shares of weight by group, and overall."""
    for name, column in categories.items():
        if column.are_categories:
            counts = _counts(column, labels, np.ones_like(weight), k)
            yield name, column, counts, *_shares(_counts(column, labels, weight, k))


def _leading(column: CategoryColumn, share: Floats, shown: Ints) -> tuple[tuple[str, float], ...]:
    order = [v for v in np.argsort(-share, kind="stable").tolist() if shown[v]][:MAX_LEADING]
    return tuple((_value(column.values[v]), float(share[v])) for v in order)


def _value(value: str) -> str:
    return one_line(value, MAX_VALUE_CHARACTERS) or "(no name)"


def _trait(column: str, value: str, share: float, overall: float) -> CategoryTrait:
    column, value = one_line(column, MAX_COLUMN_CHARACTERS) or "(no name)", _value(value)
    shares = percent_text(share), percent_text(overall)
    words = (
        f"{isolated(column)}: {shares[0]} {_verb(value)}{isolated(value)} (all rows {shares[1]})"
    )
    return CategoryTrait(column, value, share, overall, words)


def _verb(value: str) -> str:
    return "are " if value[:1].isdigit() or value[1:2].isdigit() else ""


def _counts(column: CategoryColumn, labels: Ints, weight: Floats, k: int) -> Floats:
    """Return the weight of each category in each group, shape (k, values)."""
    known = (column.codes >= 0) & (labels >= 0)
    width = len(column.values)
    cell = labels[known] * width + column.codes[known]
    counts = np.bincount(cell, weight[known], k * width)
    return counts.reshape(k, width).astype(np.float64)


def _shares(counts: Floats) -> tuple[Floats, Floats]:
    """Return the share of each category in each group, and in all rows."""
    sizes, total = counts.sum(axis=1, keepdims=True), counts.sum()
    share = np.divide(counts, sizes, out=np.zeros_like(counts), where=sizes > 0)
    return share, counts.sum(axis=0) / (total if total > 0 else 1.0)


def _deviations(counts: Floats) -> Floats:
    """Return how far counts are above those of groups drawn at random, in deviations."""
    n, sizes, totals = counts.sum(), counts.sum(axis=1, keepdims=True), counts.sum(axis=0)
    q = totals / max(n, 1.0)
    expected = sizes * q
    variance = sizes * q * (1 - q) * (n - sizes) / max(n - 1, 1.0)
    excess = counts - expected
    result: Floats = np.divide(
        excess, np.sqrt(variance), out=np.zeros_like(counts), where=variance > 0
    )
    return result


def _largest(traits: list[CategoryTrait]) -> tuple[CategoryTrait, ...]:
    order = sorted(traits, key=lambda trait: trait.overall - trait.share)
    return tuple(order[:MAX_CATEGORY_TRAITS])
