"""Roles of the columns of a table: by themselves, and beside the others.

Flags, copies and columns with many gaps are no measurements if enough other columns are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.spaced_rows import evenly_spaced
from partita._common.text import format_number
from partita.tables.column_roles import (
    CONSTANT,
    MISSING_MAX_SHARE,
    NAMES_ROWS,
    OPEN_MAX_SHARE,
    Role,
    percent,
    role_of,
)
from partita.tables.shared_units import shared_unit
from partita.tables.table import Table

FILLED_MAX_SHARE = 0.3  # beyond that, equal values in the gaps form groups of their own
COPY_MIN_CORRELATION = 0.9999  # 1.4 % of the deviation is not shared: rounding, not information
COPY_MIN_ROWS = 10  # in fewer rows, columns may be correlated by chance
COPY_MIN_SHARED = 0.5  # of the known values of a copy: where the original is known too
COPY_SAMPLE_ROWS = 2000
SAMPLE_SLACK = 1e-3  # of a correlation in the sample
COPY_MAX_FEATURES = 1000  # beyond that the matrix of correlations is too large
_STEM = re.compile(r"[ _.=:-][^ _.=:-]*$")  # color_red and color_blue are of one color


def roles_of(
    table: Table, columns: dict[str, Array], include: frozenset[str], open_gaps: bool = False
) -> dict[str, Role]:
    """Return the columns that are no measurements, except those of `include`.

    With `open_gaps`, nothing is filled in, so that columns with gaps are measurements.
    """
    most = OPEN_MAX_SHARE if open_gaps else MISSING_MAX_SHARE
    judged = {name: values for name, values in columns.items() if name not in include}
    roles = {n: role for n, x in judged.items() if (role := role_of(table, n, x, most))}
    known = {name: values for name, values in columns.items() if np.isfinite(values).any()}
    rest = {name: values for name, values in known.items() if name not in roles}
    gaps = {} if open_gaps else gaps_of(rest)
    roles |= {name: role for name, role in gaps.items() if name in judged}
    rest = {name: values for name, values in rest.items() if name not in roles}
    if len(rest) > 1 and shared_unit(tuple(rest), _side_by_side(rest)):
        return roles  # flags and copies among pixels or answers are measured like the others
    roles |= {name: role for name, role in flags_of(rest).items() if name in judged}
    rest = {name: values for name, values in rest.items() if name not in roles}
    return roles | {name: role for name, role in copies_of(rest).items() if name in judged}


def without_last_resort(roles: dict[str, Role], n_features: int) -> dict[str, Role]:
    """Return the columns to leave out: if no measurement remains, only names of rows.

    Flags, dates and copies can be clustered; constants too, as one cluster.
    """
    if len(roles) < n_features:
        return roles
    for kinds in ((*NAMES_ROWS, CONSTANT), NAMES_ROWS):
        kept = {name: role for name, role in roles.items() if role.kind in kinds}
        if len(kept) < n_features:
            return kept
    return roles


def _side_by_side(columns: dict[str, Array]) -> Floats:
    """Return the columns as a matrix; NaN for gaps."""
    stacked = np.stack(list(columns.values()), axis=1)
    return np.where(np.isfinite(stacked), stacked, np.nan)


def gaps_of(columns: Mapping[str, Array]) -> dict[str, Role]:
    """Return the columns with many gaps, if they are not more than the other columns."""
    shares = {name: float((~np.isfinite(x)).mean()) for name, x in columns.items()}
    gaps = {
        name: Role("many gaps", f"{percent(share)} of the values are missing")
        for name, share in shares.items()
        if share > FILLED_MAX_SHARE
    }
    return gaps if _are_minority(len(gaps), len(columns) - len(gaps)) else {}


def _are_minority(n_left_out: int, n_others: int) -> bool:
    return n_others >= max(2, n_left_out)


def flags_of(columns: Mapping[str, Array]) -> dict[str, Role]:
    """Return the columns of two values, if they are not more than the other columns.

    One-hot columns count as one: they are one category.
    """
    flags = {}
    for name, values in columns.items():
        found = _two_values(values)
        if found is not None:
            low, high = map(format_number, found)
            flags[name] = Role("two values only", f"{low} and {high}")
    n_categories = _count_categories({name: columns[name] for name in flags})
    return flags if _are_minority(n_categories, len(columns) - len(flags)) else {}


def _count_categories(flags: Mapping[str, Array]) -> int:
    """Return how many categories columns of two values encode, by their names and values."""
    groups: dict[str, list[Array]] = {}
    for name, values in flags.items():
        groups.setdefault(_STEM.sub("", name), []).append(values)
    return sum(1 if _are_one_hot(group) else len(group) for group in groups.values())


def _are_one_hot(group: Sequence[Array]) -> bool:
    """Return whether columns are 0 or 1, and at most one of them is 1 in a row."""
    stacked = np.nan_to_num(np.stack(group))
    return bool(np.isin(stacked, (0, 1)).all() and (stacked.sum(axis=0) <= 1).all())


def _two_values(values: Array) -> tuple[float, float] | None:
    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    return (low, high) if low < high and ((known == low) | (known == high)).all() else None


def copies_of(columns: Mapping[str, Array]) -> dict[str, Role]:
    """Return the columns that another one, before them, determines up to unit and rounding."""
    names = list(columns)
    if not 1 < len(names) <= COPY_MAX_FEATURES:
        return {}
    n = len(columns[names[0]])
    rows = evenly_spaced(n, COPY_SAMPLE_ROWS)
    sample = np.stack([columns[name][rows].astype(np.float64) for name in names], axis=1)
    sample[np.isinf(sample)] = np.nan
    copies: dict[str, Role] = {}
    likely = np.abs(_correlations(sample)) >= COPY_MIN_CORRELATION - SAMPLE_SLACK
    for j, i in np.argwhere(np.tril(likely, -1)).tolist():
        name, original = names[j], names[i]
        if name in copies or original in copies:
            continue
        x, y = columns[name], columns[original]
        both = np.isfinite(x) & np.isfinite(y)
        is_equal = np.array_equal(x[both], y[both])
        if np.array_equal(x, y, equal_nan=True) or _is_copy(x, y, both):
            copies[name] = Role("a copy", _of_original(original, is_equal))
    return copies


def _of_original(original: str, is_equal: bool) -> str:
    return f"the values of {original}" if is_equal else f"{original} in another unit"


def _correlations(sample: Floats) -> Floats:
    """Return the correlations (d, d) of columns, each over the rows where both are known."""
    unit, known = _centered(sample), (~np.isnan(sample)).astype(np.float64)
    if known.all():
        return np.asarray(unit.T @ unit)
    count = np.maximum(1.0, known.T @ known)
    total = unit.T @ known  # of column i, over the rows where j is known
    square = np.maximum(0.0, (unit * unit).T @ known - total * total / count)
    product = unit.T @ unit - total * total.T / count
    length = np.sqrt(square) * np.sqrt(square.T)
    return np.asarray(np.divide(product, length, out=np.zeros_like(product), where=length > 0))


def _centered(sample: Floats) -> Floats:
    """Return columns of mean 0 and length 1; a gap counts as the mean of its column."""
    gaps = np.isnan(sample)
    largest = np.where(gaps, 0.0, np.abs(sample)).max(axis=0)
    scaled = np.where(gaps, 0.0, sample) / np.where(largest > 0, largest, 1.0)
    mean = scaled.sum(axis=0) / np.maximum(1, (~gaps).sum(axis=0))
    centered: Floats = np.where(gaps, 0.0, scaled - mean)
    length = np.sqrt((centered * centered).sum(axis=0))
    return centered / np.where(length > 0, length, 1.0)


def _is_copy(x: Array, y: Array, both: Array) -> bool:
    """Return whether x is fully correlated with y, up to rounding, where `both` are known.

    That must be in enough rows, else most values of x tell something that y does not.
    """
    if both.sum() < max(COPY_MIN_ROWS, COPY_MIN_SHARED * np.isfinite(x).sum()):
        return False
    unit = _centered(np.stack([x[both], y[both]], axis=1).astype(np.float64))
    return bool(abs((unit[:, :1] * unit[:, 1:]).sum(axis=0)[0]) >= COPY_MIN_CORRELATION)
