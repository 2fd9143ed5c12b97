"""Columns of numbers that the caller left out: they may describe groups that they did not make."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats
from partita.source.category_column import MANY_CATEGORIES
from partita.tables.column_values import read_column
from partita.tables.feature_selection import EXCLUDED, NOT_CHOSEN, Selection
from partita.tables.table import Table

MAX_COLUMNS = 50  # that are examined


def unused_numbers(table: Table, selection: Selection) -> dict[str, Floats]:
    """Return the measurements that were excluded or not chosen, for the rows of the selection.

    Columns of few values are categories, and integers that all differ are numbers of rows.
    """
    reasons = selection.left_out.items()
    names = [name for name, why in reasons if why in (EXCLUDED, NOT_CHOSEN)][:MAX_COLUMNS]
    found: dict[str, Floats] = {}
    for name in names:
        values = read_column(table, name).values
        if values is not None and _are_measurements(values):
            found[name] = np.asarray(values, dtype=np.float64)[selection.kept]
    return found


def _are_measurements(values: Array) -> bool:
    known = values[np.isfinite(values)]
    count = len(np.unique(known))
    is_number_of_row = count == len(known) and (known == np.rint(known)).all()
    return count > MANY_CATEGORIES and not is_number_of_row
