"""The rules that say a numeric column is probably an id, a code, or the labels of an earlier fit.

Such columns are still features: `select` reports them, and the user decides.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Array
from partita.tables import cell_types
from partita.tables.table import Table

INTEGER_SAMPLE_ROWS = 1000  # enough to tell most measurements from integers
ID_MIN_ROWS = 10  # in fewer rows, consecutive numbers may be chance
_ID_NAME = re.compile(r"(^|[\W_])(id|Id|ID)$|[a-z]I[dD]$")
_LABELS_NAME = re.compile(r"cluster(_\d+)?")  # the names that our own label columns get


class Suspicion(NamedTuple):
    """The reason why a feature may not be a measurement."""

    why: str  # the predicate of a sentence about the column
    may_be_id: bool = False


def suspicion_of(table: Table, name: str, values: Array) -> Suspicion | None:
    """Return why a numeric column may not be a measurement, None if no rule applies."""
    if not _are_integers(values[:INTEGER_SAMPLE_ROWS]) or not _are_integers(values):
        return None
    if is_old_labels(name):
        return Suspicion("looks like the labels of an earlier fit")
    if is_code(table, name):
        return Suspicion("has leading zeros, like a code")
    if is_id(name, values):
        return Suspicion("looks like a row number or id", may_be_id=True)
    return None


def is_old_labels(name: str) -> bool:
    """Return whether a column of integers has a name that we give to labels."""
    return _LABELS_NAME.fullmatch(name) is not None


def is_code(table: Table, name: str) -> bool:
    """Return whether a column of integers has leading zeros in its file, as 01003."""
    return table.text is not None and cell_types.has_leading_zeros(table.text[name])


def is_id(name: str, values: Array) -> bool:
    """Return whether integers number the rows, or are distinct in a column named like an id."""
    if len(values) < ID_MIN_ROWS or np.isnan(values).any():
        return False
    if (np.diff(values) == 1).all():
        return True
    return _ID_NAME.search(name) is not None and len(np.unique(values)) == len(values)


def _are_integers(values: Array) -> bool:
    return bool(((values == np.rint(values)) | np.isnan(values)).all())
