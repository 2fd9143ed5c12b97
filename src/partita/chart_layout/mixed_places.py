"""Tables of numbers and categories as points, so that they can be drawn and compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Array, Floats
from partita.source.category_column import CategoryColumn
from partita.source.mixed_rows import MixedView

MAX_LEVELS = 20  # of a column: the most frequent ones
UNSEEN = "unseen"  # the category that a model may have for those that its fit did not see
MIN_COLUMNS = 3  # so that a plane is always a projection
BETWEEN = "in the plane where the groups differ most"
MODEL_PLACES = f"rows are placed as the model compares them, {BETWEEN}"
MIXED_PLACES = (
    "rows are placed by their numbers, each at a standard deviation of 1, and by a column for each "
    "category, which counts more if it is rare (factor analysis of mixed data), " + BETWEEN
)


@dataclass(frozen=True, slots=True)
class Places:
    """Rows in a Euclidean space, only to be drawn."""

    values: Floats  # (n, m)
    names: tuple[str, ...]  # (m,) of the columns
    note: str  # how rows came there


def places_of(view: MixedView) -> Places:
    """Return the rows of a view as points: the model's own, else by the analysis of mixed data."""
    levels, indicators = indicator_columns(view)
    names = (*view.number_names, *levels)
    if view.embedded is not None:
        values = np.asarray(view.embedded, dtype=np.float64)
        every = [(*view.number_names, *level_names(view, more)) for more in ((), (UNSEEN,))]
        shown = next((names for names in every if len(names) == values.shape[1]), None)
        shown = shown or tuple(f"dimension {t}" for t in range(values.shape[1]))
        return _padded(values, shown, MODEL_PLACES)
    share = np.nanmean(indicators, axis=0) if indicators.size else np.zeros(len(levels))
    scale = np.sqrt(np.where(share > 0, share, 1.0))
    parts = [_standardized(view.numbers), np.nan_to_num(indicators - share) / scale]
    return _padded(np.column_stack(parts), names, MIXED_PLACES)


def _padded(values: Floats, names: tuple[str, ...], note: str) -> Places:
    lacking = max(0, MIN_COLUMNS - values.shape[1])
    padded = np.pad(values, ((0, 0), (0, lacking)))
    return Places(padded, names + ("",) * lacking, note)


def _standardized(numbers: Floats) -> Floats:
    """Return numbers with mean 0 and deviation 1; gaps are at the mean."""
    known = np.isfinite(numbers)
    values = np.where(known, numbers, 0.0)
    largest = np.maximum(np.abs(values).max(axis=0, initial=0.0), np.finfo(float).tiny)
    values, count = values / largest, np.maximum(known.sum(axis=0), 1)
    centered = np.where(known, values - values.sum(axis=0) / count, 0.0)
    deviation = np.sqrt((centered * centered).sum(axis=0) / count)
    return np.asarray(centered / np.where(deviation > 0, deviation, 1.0))


def level_names(view: MixedView, more: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names of all categories, like "plan: premium", of each column with `more`."""
    return tuple(
        f"{name}: {value}"
        for name, column in view.categories.items()
        for value in (*column.values, *more)
    )


def indicator_columns(view: MixedView) -> tuple[tuple[str, ...], Floats]:
    """Return a column for each category, 1 for the rows that have it, and the names.

    NaN where the category of a row is missing. Of columns with many categories, the frequent ones.
    """
    names: list[str] = []
    columns: list[Array] = []
    for name, column in view.categories.items():
        for value in most_frequent(column):
            names.append(f"{name}: {column.values[value]}")
            has_it = (column.codes == value).astype(np.float64)
            columns.append(np.where(column.codes < 0, np.nan, has_it))
    stacked = np.column_stack(columns) if columns else np.zeros((len(view.numbers), 0))
    return tuple(names), stacked


def most_frequent(column: CategoryColumn) -> list[int]:
    """Return the codes of the most frequent categories, in their order; only those that occur."""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    order = np.argsort(-counts, kind="stable")[:MAX_LEVELS]
    found: list[int] = np.sort(order[counts[order] > 0]).tolist()
    return found
