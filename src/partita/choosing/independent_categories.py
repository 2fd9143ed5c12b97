"""Tables with categories that have no structure: columns of categories are shuffled.

Each column of categories is shuffled by itself: it keeps its shares, and tells nothing of the other
columns. Numbers become one cloud with the features of the data. Gaps stay where they are, as
distances over fewer columns are no groups either.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partita._common.array_types import Array, Floats
from partita.choosing.unimodal_reference import unimodal_cloud
from partita.source.column_table import ColumnTable
from partita.source.mixed_columns import MISSING, Factor


def shuffled_table(
    table: ColumnTable, category_columns: set[int]
) -> Callable[[np.random.Generator], ColumnTable]:
    """Return a function that draws as many rows as the table has.

    Columns of numbers among `category_columns`, which the estimator takes for categories, are
    shuffled as well.
    """
    columns = table.columns
    numbers = {
        t: column
        for t, column in enumerate(columns)
        if t not in category_columns and not isinstance(column, Factor)
    }
    draw_numbers = cloud_with_gaps(np.column_stack([*numbers.values()])) if numbers else None

    def draw(rng: np.random.Generator) -> ColumnTable:
        drawn = {} if draw_numbers is None else dict(zip(numbers, draw_numbers(rng).T, strict=True))
        both = [drawn[t] if t in drawn else _shuffled(c, rng) for t, c in enumerate(columns)]
        return ColumnTable(tuple(both), table.names)

    return draw


def cloud_with_gaps(rows: Floats) -> Callable[[np.random.Generator], Floats]:
    """Draw one cloud with features like those of rows (n, p), and NaN where these have it.

    A missing value has the median of its column when features and correlations are learned; a
    column without values stays empty.
    """
    gaps = np.isnan(rows)
    known = ~gaps.all(axis=0)
    filled = np.where(gaps[:, known], np.nanmedian(rows[:, known], axis=0), rows[:, known])
    draw = unimodal_cloud(filled)

    def draw_with_gaps(rng: np.random.Generator) -> Floats:
        drawn = np.full(rows.shape, np.nan)
        drawn[:, known] = draw(rng)
        drawn[gaps] = np.nan
        return drawn

    return draw_with_gaps


def _shuffled(column: Floats | Factor, rng: np.random.Generator) -> Floats | Factor:
    if isinstance(column, Factor):
        return column._replace(codes=_permuted(column.codes, column.codes != MISSING, rng))
    return _permuted(column, ~np.isnan(column), rng)


def _permuted(values: Array, present: Array, rng: np.random.Generator) -> Array:
    """Return values (n,) in random order; those that are missing stay where they are."""
    out = values.copy()
    out[present] = rng.permutation(values[present])
    return out
