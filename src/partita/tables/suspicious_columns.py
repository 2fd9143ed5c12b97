"""Rules that tell ids, codes and old labels from measurements."""

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
    """Return why a numeric column may not be a measurement, None if no rule applies.

    Such a column is still a feature: `select` reports it, and the user decides.
    """
    if not _are_integers(values[:INTEGER_SAMPLE_ROWS]) or not _are_integers(values):
        return None
    if _LABELS_NAME.fullmatch(name):
        return Suspicion("looks like the labels of an earlier fit")
    if table.text is not None and cell_types.has_leading_zeros(table.text[name]):
        return Suspicion("has leading zeros, like a code")
    if len(values) >= ID_MIN_ROWS and not np.isnan(values).any():
        has_id_name = _ID_NAME.search(name) is not None
        consecutive = bool((np.diff(values) == 1).all())
        if consecutive or (has_id_name and len(np.unique(values)) == len(values)):
            return Suspicion("looks like a row number or id", may_be_id=True)
    return None


def _are_integers(values: Array) -> bool:
    return bool(((values == np.rint(values)) | np.isnan(values)).all())
