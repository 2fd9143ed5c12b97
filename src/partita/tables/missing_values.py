"""Missing values: refuse them, leave out their rows, or fill them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.errors import Setting, TableError
from partita._common.text import plural, quoted
from partita.tables.column_values import read_column
from partita.tables.quantiles import quantiles
from partita.tables.table import Table

MISSING_POLICIES = ("error", "drop", "mean", "auto", "partial")
LENIENT_POLICIES = ("auto", "partial")  # that keep rows with enough values
KNOWN_MIN_SHARE = 0.5  # of the features of a row: with fewer, its cluster would be a guess
_ADVICE = {"drop": "leave such rows out ({})", "mean": "fill in the column mean ({})"}


class Completed(NamedTuple):
    """Rows without missing values."""

    X: Floats
    weight: Floats | None
    kept: Ints  # the rows of the table
    fill: Floats | None  # the values that replaced missing ones
    gaps: dict[str, int]  # the number of missing values of features, in the rows kept


def check_policy(missing: str) -> None:
    """Refuse an unknown policy."""
    if missing not in MISSING_POLICIES:
        policies = ", ".join(map(repr, MISSING_POLICIES))
        raise TableError(
            f"`missing` must be one of {policies}, got {missing!r}.", parameter="missing"
        )


def complete(
    table: Table,
    columns: Mapping[str, Array],
    weight: Floats | None,
    missing: str,
    fill: Floats | None,
    ways: Sequence[str],
    beside: Array | None = None,
) -> Completed:
    """Stack the columns of the features, and treat their gaps by the policy.

    `beside` are the gaps (n, q) of other features, of categories, which count in a row's share.
    """
    names, X = tuple(columns), _stack(list(columns.values()), table.data.num_rows)
    if (infinite := np.isinf(X)).any():
        if missing not in LENIENT_POLICIES:
            fault = _fault_text(table, infinite, names, "infinite")
            raise TableError(f"{fault}. Fix it, or leave the column out.")
        X[infinite] = np.nan
    is_missing = np.isnan(X)
    if missing == "error" and is_missing.any():
        raise _missing_error(table, is_missing, names, ways)
    kept: Ints = np.arange(len(X))
    if missing in ("drop", *LENIENT_POLICIES):
        every = is_missing if beside is None else np.hstack([is_missing, beside])
        kept = _kept_rows(table, every, weight, missing)
        X, is_missing = X[kept], is_missing[kept]
        weight = None if weight is None else weight[kept]
    counts = is_missing.sum(axis=0).tolist()
    gaps = {name: count for name, count in zip(names, counts, strict=True) if count}
    if missing in ("error", "drop", "partial"):
        return Completed(X, weight, kept, None, gaps)
    if fill is None:
        middle = _median if missing == "auto" else _mean
        fill = np.array([middle(x, weight) for x in X.T])
    fill = np.asarray(fill, dtype=np.float64)
    return Completed(np.where(is_missing, fill, X).astype(X.dtype), weight, kept, fill, gaps)


def filled_with_medians(X: Floats, weight: Floats | None) -> Floats:
    """Return rows with the median of each feature in its gaps: for what needs complete rows."""
    gaps = np.isnan(X)
    if not gaps.any():
        return X
    return np.where(gaps, [_median(x, weight) for x in X.T], X).astype(X.dtype)


def unknown_in_kept_rows(
    table: Table, columns: Mapping[str, Array], weight: Floats | None, missing: str
) -> list[str]:
    """Return the features without a known value in the rows that the policy keeps."""
    is_missing = np.stack([~np.isfinite(x) for x in columns.values()], axis=1)
    kept = _kept_rows(table, is_missing, weight, missing)
    names, unknown = tuple(columns), np.flatnonzero(is_missing[kept].all(axis=0))
    return [names[t] for t in unknown.tolist()]


def _stack(columns: list[Array], n: int) -> Floats:
    if not columns:
        return np.empty((n, 0))
    single = all(column.dtype == np.float32 for column in columns)
    single = single and not all(np.isnan(column).all() for column in columns)
    return np.stack(columns, axis=1, dtype=np.float32 if single else np.float64)


def _missing_error(
    table: Table, is_missing: Array, names: tuple[str, ...], ways: Sequence[str]
) -> TableError:
    n_rows = int(is_missing.any(axis=1).sum())
    advice = ", or ".join(_ADVICE[way] for way in ways)
    return TableError(
        f"{_fault_text(table, is_missing, names, 'missing')} ({n_rows} of {len(is_missing)} rows). "
        f"{advice[:1].upper()}{advice[1:]}.",
        *(Setting("missing", way) for way in ways),
    )


def _fault_text(table: Table, mask: Array, names: Sequence[str], fault: str) -> str:
    """Return the place of the first value at fault, and how many others there are."""
    row, column = (int(indices[0]) for indices in np.nonzero(mask))
    others = int(mask.sum()) - 1
    also = f", and so {'is' if others == 1 else 'are'} {plural(others, 'other value')}"
    return f"{table.locate(row, names[column])}: the value is {fault}{also if others else ''}"


def have_enough(is_missing: Array, missing: str) -> Array:
    """Return which rows have enough known values by the policy: with "partial", one is enough."""
    d = is_missing.shape[1]
    least = {"drop": d, "partial": min(1, d)}.get(missing, KNOWN_MIN_SHARE * d)
    return np.asarray((~is_missing).sum(axis=1) >= least)


def _kept_rows(table: Table, is_missing: Array, weight: Floats | None, missing: str) -> Ints:
    """Return the rows with enough known values, and a known weight."""
    enough = have_enough(is_missing, missing)
    if weight is not None:
        enough &= ~np.isnan(weight)
    if not (enough.any() or table.is_part):
        few = "a missing value" if missing == "drop" else "too few values"
        raise TableError(
            f"{table.name}: every row has {few}, so no row is left. Leave out the columns that "
            "miss most values, or fill in the column means ({}).",
            Setting("missing", "mean"),
        )
    return np.flatnonzero(enough)


def read_weights(table: Table, name: str, missing: str) -> Floats:
    """Return the weights of the rows; NaN where unknown, if such rows are left out."""
    column = read_column(table, name)
    if column.values is None:
        raise TableError(f"{table.name}: column {quoted(name)} cannot be a weight: {column.why}.")
    weight = column.values.astype(np.float64)
    faults = {"infinite": np.isinf(weight), "negative": weight < 0}
    if missing not in ("drop", *LENIENT_POLICIES):
        faults = {"missing": np.isnan(weight), **faults}
    for fault, wrong in faults.items():
        if wrong.any():
            place = table.locate(int(wrong.argmax()), name)
            raise TableError(f"{place}: the weight is {fault}. Weights must be finite and >= 0.")
    if not (table.is_part or (weight[~np.isnan(weight)] > 0).any()):
        raise TableError(
            f"{table.name}: the weight {quoted(name)} is 0 in all rows. At least one must be "
            "positive."
        )
    return weight


def _mean(x: Floats, weight: Floats | None) -> float:
    """Return the mean of the known values; unweighted if all their weights are 0."""
    known = ~np.isnan(x)
    w = known * (1.0 if weight is None else weight)
    w = w if w.sum() > 0 else known
    share = w / w.sum()  # sums to 1, so large values do not overflow
    return float((share * np.where(known, x, 0.0)).sum(dtype=np.float64))


def _median(x: Floats, weight: Floats | None) -> float:
    """Return the median of the known values; unweighted if all their weights are 0."""
    known = ~np.isnan(x)
    w = None if weight is None else weight[known]
    x = x[known]
    if w is not None and (w > 0).any():
        x, w = x[w > 0], w[w > 0]
    else:
        w = None
    return float(quantiles(x, w, [0.5])[0])
