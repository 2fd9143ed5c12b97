"""Columns of numbers that are perhaps no measurements."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Array
from partita.tables import cell_types
from partita.tables.table import Table

_HEAD = 1000  # rows that tell most measurements from whole numbers
_FEW = 10  # rows below which a column that counts them may be chance
_CALLED_ID = re.compile(r"(^|[\W_])(id|Id|ID)$|[a-z]I[dD]$")
_CALLED_CLUSTER = re.compile(r"cluster(_\d+)?")  # as columns of labels are called


class Suspicion(NamedTuple):
    """Why a feature may be no measurement."""

    why: str  # the end of a sentence
    may_be_id: bool = False  # whether it may be what rows are called


def suspicion_of(table: Table, name: str, values: Array) -> Suspicion | None:
    """What speaks against a feature; None if nothing does."""
    if not _are_whole(values[:_HEAD]) or not _are_whole(values):
        return None
    if _CALLED_CLUSTER.fullmatch(name):
        return Suspicion("looks like the labels of an earlier fit")
    if table.text is not None and cell_types.has_leading_zeros(table.text[name]):
        return Suspicion("has leading zeros, like a code")
    if len(values) >= _FEW and not np.isnan(values).any() and _number_rows(name, values):
        return Suspicion("looks like a number of the rows", may_be_id=True)
    return None


def _are_whole(values: Array) -> bool:
    return bool(((values == np.rint(values)) | np.isnan(values)).all())


def _number_rows(name: str, values: Array) -> bool:
    """Whether whole numbers count the rows, or are all different and called an id."""
    if (np.diff(values) == 1).all():
        return True
    return _CALLED_ID.search(name) is not None and len(np.unique(values)) == len(values)
