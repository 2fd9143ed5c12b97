"""`select`: from the columns of a table to the features that are clustered."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.errors import Setting
from partita._common.text import listed
from partita.tables.column_values import NO_VALUE, read_column
from partita.tables.suspicious_columns import Suspicion, suspicion_of
from partita.tables.table import Table, TableError, arrow

MISSING_POLICIES = ("error", "drop", "mean")
_MISSING_ADVICE = {"drop": "leave such rows out ({})", "mean": "fill in the column mean ({})"}


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What is clustered.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Doubles; float32 if all columns are.
    names : tuple of str
        The features.
    ids : pyarrow array or None
        What rows are called.
    weight : ndarray of shape (n,) or None
    kept : ndarray of shape (n,)
        Which rows of the table these are.
    left_out : dict
        Columns that are not features, and why.
    fill : ndarray of shape (d,) or None
        What stands in for missing values.
    filled : int
        How many values were missing and filled in.
    nearly : tuple of str
        Columns that are left out, though at least nine tenths of their values are numbers.
    doubtful : dict
        Features that look like no measurements, and why; empty if the user named the features.
    """

    X: Floats
    names: tuple[str, ...]
    ids: Any
    weight: Floats | None
    kept: Ints
    left_out: dict[str, str] = field(default_factory=dict)
    fill: Floats | None = None
    filled: int = 0
    nearly: tuple[str, ...] = ()
    doubtful: dict[str, Suspicion] = field(default_factory=dict)


def select(
    table: Table,
    *,
    columns: Sequence[str] | None = None,
    exclude: Iterable[str] | None = None,
    id: str | None = None,
    weight: str | None = None,
    missing: str = "error",
    fill: Floats | None = None,
    ways: Sequence[str] = ("drop", "mean"),
) -> Selection:
    """Take the features of a table: all columns of numbers, or those that are named.

    Booleans are 0 and 1. Text, dates and what else is not a number is left out, with the reason in
    `left_out`; named in `columns`, it is an error. So are whole numbers that no double holds. The
    index of a pandas frame is a feature only if it is named. Infinity is always an error.

    Parameters
    ----------
    table : Table
    columns, exclude : names, or None
        The features, or what is not one.
    id, weight : str or None
        Columns that say what a row is called, and how often it counts.
    missing : {"error", "drop", "mean"}, default="error"
        What to do where there is no value: say where, leave the row out, or take the mean of the
        column (weighted).
    fill : array of shape (d,) or None
        What "mean" takes instead: the means of an earlier table. With it, as with "drop", a column
        that is named may have no value at all.
    ways : sequence of {"drop", "mean"}
        What an error may advise in the place of "error".

    Examples
    --------
    >>> import pyarrow
    >>> table = Table(pyarrow.table({"who": ["a", "b"], "x": [1, 2]}), "example", "csv")
    >>> found = select(table, id="who")
    >>> found.X.tolist(), found.names, found.ids.to_pylist()
    ([[1.0], [2.0]], ('x',), ['a', 'b'])
    """
    if missing not in MISSING_POLICIES:
        raise TableError(
            f"missing={missing!r} was given; one of {', '.join(MISSING_POLICIES)} is expected"
        )
    exclude = tuple(exclude or ())
    _check_known(table, (*(columns or ()), *exclude, *(n for n in (id, weight) if n is not None)))
    hollow = fill is not None or missing == "drop"
    names, parts, left_out, nearly = _features(table, columns, set(exclude), {id, weight}, hollow)
    X = _side_by_side(parts, table.data.num_rows)
    _check_finite(table, X, names)
    w = None if weight is None else _weights(table, weight, missing)
    kept = np.arange(len(X))
    holes = np.isnan(X)
    filled = int(holes.sum())
    if missing == "drop":
        kept = np.flatnonzero(~(holes.any(axis=1) | (np.isnan(w) if w is not None else False)))
        _check_some(table, kept)
        X, w, filled = X[kept], None if w is None else w[kept], 0
    elif filled and missing == "error":
        advice = ", or ".join(_MISSING_ADVICE[way] for way in ways)
        settings = (Setting("missing", way) for way in ways)
        raise TableError(f"{_missing_text(table, holes, names)}; {advice}", *settings)
    if missing == "mean":
        fill = _means(X, w) if fill is None else np.asarray(fill, dtype=np.float64)
        X = np.where(holes, fill, X).astype(X.dtype)
    ids = None if id is None else _cells(table, id).take(arrow().array(kept))
    doubts = {
        n: suspicion_of(table, n, x) for n, x in zip(names, parts, strict=True) if columns is None
    }
    return Selection(
        X=X,
        names=names,
        ids=ids,
        weight=w,
        kept=kept,
        left_out=left_out,
        fill=fill if missing == "mean" else None,
        filled=filled,
        nearly=nearly,
        doubtful={name: found for name, found in doubts.items() if found is not None},
    )


def _check_known(table: Table, names: Iterable[str]) -> None:
    there = set(table.names)
    for name in names:
        if name not in there:
            near = difflib.get_close_matches(name, table.names, n=3, cutoff=0.5)
            hint = f"did you mean {listed(near)}?" if near else f"it has {listed(table.names)}"
            raise TableError(f"{table.name} has no column {name!r}; {hint}")


def _cells(table: Table, name: str) -> Any:
    """A column as it is written, where it is text: 007 stays 007."""
    return (table.data if table.text is None else table.text)[name]


# --- columns --------------------------------------------------------------------------------------


def _features(
    table: Table,
    columns: Sequence[str] | None,
    exclude: set[str],
    others: set[str | None],
    hollow: bool,
) -> tuple[tuple[str, ...], list[Array], dict[str, str], tuple[str, ...]]:
    """Names and values of the features; why the other columns are none, and which nearly are.

    `hollow`: a column that is named may have no value at all.
    """
    known = others | set(table.index)
    wanted = [n for n in table.names if n not in known] if columns is None else columns
    wanted = list(dict.fromkeys(wanted))
    rest = set(table.names) - set(wanted) - others
    why = "the index of a pandas frame" if columns is None else "not chosen"
    left_out = {name: why for name in table.names if name in rest}
    names, parts, nearly = [], [], []
    for name in wanted:
        if name in exclude:
            left_out[name] = "excluded"
            continue
        found = read_column(table, name)
        values = found.values
        if values is None and found.why == NO_VALUE and columns is not None and hollow:
            # of the smaller type, so that the other columns decide which X has
            values = np.full(table.data.num_rows, np.nan, np.float32)
        if values is not None:
            names.append(name)
            parts.append(values)
        elif columns is not None:
            raise TableError(
                f"{table.name}: column {name!r} cannot be a feature: {found.why}; leave it out, or "
                "make it numbers"
            )
        else:
            left_out[name] = found.why
            nearly += [name] if found.nearly else []
    if not names:
        reasons = [f"{name!r} ({why})" for name, why in list(left_out.items())[:5]]
        raise TableError(
            f"{table.name} has no column of numbers that could be clustered: {', '.join(reasons)}"
        )
    return tuple(names), parts, left_out, tuple(nearly)


def _side_by_side(parts: list[Array], n: int) -> Floats:
    single = all(part.dtype == np.float32 for part in parts)
    single = single and not all(np.isnan(part).all() for part in parts)  # then none can decide
    X = np.empty((n, len(parts)), np.float32 if single else np.float64)
    for at, part in enumerate(parts):
        X[:, at] = part
    return X


# --- values ---------------------------------------------------------------------------------------


def _check_finite(table: Table, X: Floats, names: tuple[str, ...]) -> None:
    wrong = np.isinf(X)
    if not wrong.any():
        return
    row, column = (int(at[0]) for at in np.nonzero(wrong))
    raise TableError(
        f"{table.name}: column {names[column]!r} is infinite in {table.where(row)}"
        f"{_and_more(int(wrong.sum()) - 1)}; clustering needs finite numbers, so mend the value or "
        "leave the column out"
    )


def _missing_text(table: Table, holes: Array, names: tuple[str, ...]) -> str:
    row, column = (int(at[0]) for at in np.nonzero(holes))
    rows = int(holes.any(axis=1).sum())
    return (
        f"{table.name}: column {names[column]!r} has no value in {table.where(row)}"
        f"{_and_more(int(holes.sum()) - 1)} ({rows} of {len(holes)} rows)"
    )


def _and_more(others: int) -> str:
    return f", and {others} more value{'s' * (others > 1)} like that" if others else ""


def _check_some(table: Table, kept: Ints) -> None:
    if len(kept) == 0:
        raise TableError(
            f"{table.name}: every row lacks a value, so none is left; leave out the columns that "
            "lack most, or fill in means ({})",
            Setting("missing", "mean"),
        )


def _weights(table: Table, name: str, missing: str) -> Floats:
    found = read_column(table, name)
    if found.values is None:
        raise TableError(f"{table.name}: column {name!r} cannot be a weight: {found.why}")
    weight = found.values.astype(np.float64)
    unknown = np.isnan(weight) if missing != "drop" else np.zeros(len(weight), bool)
    for wrong, what in (
        (unknown, "is missing"),
        (np.isinf(weight), "is infinite"),
        (weight < 0, "is negative"),
    ):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise TableError(
                f"{table.name}: the weight {name!r} {what} in {table.where(row)}; a weight says "
                "how often a row counts, so it must be a number of at least 0"
            )
    if not (weight[~np.isnan(weight)] > 0).any():
        raise TableError(f"{table.name}: the weight {name!r} is 0 in all rows; one must count")
    return weight


def _means(X: Floats, weight: Floats | None) -> Floats:
    """The means of what there is; without any weight, those of all rows alike."""
    return np.array([_mean(x, weight) for x in X.T])  # by columns: no second table in memory


def _mean(x: Floats, weight: Floats | None) -> float:
    known = ~np.isnan(x)
    w = known * (1.0 if weight is None else weight)
    w = w if w.sum() > 0 else known
    share = w / w.sum()  # adds up to 1: no sum of large values overflows
    return float((share * np.where(known, x, 0.0)).sum(dtype=np.float64))
