"""`select`: choose the features, weights and ids of a table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.errors import Setting
from partita._common.parameters import describe_value
from partita._common.text import listed, plural, quoted
from partita.tables.column_values import read_column
from partita.tables.suspicious_columns import Suspicion, suspicion_of
from partita.tables.table import Table, TableError, arrow

MISSING_POLICIES = ("error", "drop", "mean")
NOT_CHOSEN, EXCLUDED = "not chosen", "excluded"  # by the caller: reasons in `left_out`
_MISSING_ADVICE = {"drop": "leave such rows out ({})", "mean": "fill in the column mean ({})"}


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The features, weights and ids of the rows to cluster.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        float64; float32 if all columns are.
    names : tuple of str
        The features.
    ids : pyarrow array or None
        The ids of the rows.
    weight : ndarray of shape (n,) or None
    kept : ndarray of shape (n,)
        The rows of the table that X has.
    left_out : dict
        The columns that are not features, and why.
    fill : ndarray of shape (d,) or None
        The values that replace missing ones.
    filled : int
        The number of missing values that were replaced.
    nearly : tuple of str
        The columns left out although at least nine tenths of their values are numbers.
    doubtful : dict
        The features that look like ids, codes or old labels, and why; empty if the user named the
        features.
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
    """Choose the features of a table: all numeric columns, or the named ones.

    Booleans are 0 and 1. Columns of text, of dates, or of integers that no double holds are left
    out, with the reason in `left_out`; naming one in `columns` is an error. The index of a pandas
    frame is a feature only if it is named. Infinity is always an error.

    Parameters
    ----------
    table : Table
    columns, exclude : names, or None
        The features, and the columns that are not features.
    id, weight : str or None
        The columns with the ids and the weights of the rows.
    missing : {"error", "drop", "mean"}, default="error"
        For missing values: raise an error that locates the first, leave out the row, or fill in
        the (weighted) mean of the column.
    fill : array of shape (d,) or None
        The values for "mean" to fill in: the means of an earlier table. With it, as with "drop", a
        column in `columns` may have no value at all.
    ways : sequence of {"drop", "mean"}
        The alternatives that the message of "error" mentions.

    Examples
    --------
    >>> import pyarrow
    >>> table = Table(pyarrow.table({"who": ["a", "b"], "x": [1, 2]}), "example", "csv")
    >>> selection = select(table, id="who")
    >>> selection.X.tolist(), selection.names, selection.ids.to_pylist()
    ([[1.0], [2.0]], ('x',), ['a', 'b'])
    """
    if missing not in MISSING_POLICIES:
        policies = ", ".join(map(repr, MISSING_POLICIES))
        raise TableError(
            f"`missing` must be one of {policies}, got {missing!r}.", parameter="missing"
        )
    exclude = tuple(exclude or ())
    _check_known(table, (*(columns or ()), *exclude, *(n for n in (id, weight) if n is not None)))
    allow_empty = fill is not None or missing == "drop"
    features = _choose_features(table, columns, set(exclude), {id, weight}, allow_empty)
    names, X = tuple(features.columns), _stack(list(features.columns.values()))
    if (infinite := np.isinf(X)).any():
        fault = _fault_text(table, infinite, names, "infinite")
        raise TableError(f"{fault}. Fix it, or leave the column out.")
    w = None if weight is None else _read_weights(table, weight, missing)
    kept: Ints = np.arange(len(X))
    is_missing = np.isnan(X)
    filled = int(is_missing.sum())
    if missing == "drop":
        kept = _complete_rows(table, is_missing, w)
        X, w, filled = X[kept], None if w is None else w[kept], 0
    elif filled and missing == "error":
        raise _missing_error(table, is_missing, names, ways)
    if missing == "mean":
        fill = np.asarray([_mean(x, w) for x in X.T] if fill is None else fill, dtype=np.float64)
        X = np.where(is_missing, fill, X).astype(X.dtype)
    return Selection(
        X=X,
        names=names,
        ids=None if id is None else _cells(table, id).take(arrow().array(kept)),
        weight=w,
        kept=kept,
        left_out=features.left_out,
        fill=fill if missing == "mean" else None,
        filled=filled,
        nearly=features.nearly_numeric,
        doubtful=_suspicions(table, features.columns) if columns is None else {},
    )


def _check_known(table: Table, names: Iterable[str]) -> None:
    known = set(table.names)
    for name in names:
        if name not in known:
            similar = listed(difflib.get_close_matches(name, table.names, n=3, cutoff=0.5))
            hint = f"Did you mean {similar}?" if similar else f"It has {listed(table.names)}."
            raise TableError(f"{table.name} has no column {describe_value(name)}. {hint}")


def _cells(table: Table, name: str) -> Any:
    """Return a column as written, if the file is text: 007 stays 007."""
    return (table.data if table.text is None else table.text)[name]


class _Features(NamedTuple):
    columns: dict[str, Array]
    left_out: dict[str, str]
    nearly_numeric: tuple[str, ...]


def _choose_features(
    table: Table,
    columns: Sequence[str] | None,
    exclude: set[str],
    other_roles: set[str | None],
    allow_empty: bool,
) -> _Features:
    """Read the feature columns, and collect why the others are left out.

    With `allow_empty`, a column named in `columns` may have no value at all.
    """
    available = [name for name in table.names if name not in other_roles]
    features_by_default = (name for name in available if name not in table.index)
    wanted = dict.fromkeys(features_by_default if columns is None else columns)
    why = "the index of a pandas frame" if columns is None else NOT_CHOSEN
    left_out = {name: why for name in available if name not in wanted}
    features, nearly_numeric = {}, []
    for name in wanted:
        if name in exclude:
            left_out[name] = EXCLUDED
            continue
        column = read_column(table, name)
        if column.values is not None:
            features[name] = column.values
        elif columns is None:
            left_out[name] = column.why
            nearly_numeric += [name] if column.is_nearly_numeric else []
        elif column.is_empty and allow_empty:
            # float32, so that the other columns determine the dtype of X
            features[name] = np.full(table.data.num_rows, np.nan, np.float32)
        else:
            raise TableError(
                f"{table.name}: column {quoted(name)} cannot be a feature: {column.why}. Leave it "
                "out, or convert it to numbers."
            )
    if not features:
        reasons = listed(left_out.items(), lambda item: f"{quoted(item[0])} ({item[1]})")
        raise TableError(f"{table.name} has no numeric column to cluster: {reasons}.")
    return _Features(features, left_out, tuple(nearly_numeric))


def _suspicions(table: Table, columns: dict[str, Array]) -> dict[str, Suspicion]:
    suspicions = {name: suspicion_of(table, name, values) for name, values in columns.items()}
    return {name: suspicion for name, suspicion in suspicions.items() if suspicion is not None}


def _stack(columns: list[Array]) -> Floats:
    single = all(column.dtype == np.float32 for column in columns)
    single = single and not all(np.isnan(column).all() for column in columns)
    return np.stack(columns, axis=1, dtype=np.float32 if single else np.float64)


def _missing_error(
    table: Table, is_missing: Array, names: tuple[str, ...], ways: Sequence[str]
) -> TableError:
    n_rows = int(is_missing.any(axis=1).sum())
    advice = ", or ".join(_MISSING_ADVICE[way] for way in ways)
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


def _complete_rows(table: Table, is_missing: Array, weight: Floats | None) -> Ints:
    incomplete = is_missing.any(axis=1) | (False if weight is None else np.isnan(weight))
    if incomplete.all():
        raise TableError(
            f"{table.name}: every row has a missing value, so no row is left. Leave out the "
            "columns that miss most values, or fill in the column means ({}).",
            Setting("missing", "mean"),
        )
    return np.flatnonzero(~incomplete)


def _read_weights(table: Table, name: str, missing: str) -> Floats:
    column = read_column(table, name)
    if column.values is None:
        raise TableError(f"{table.name}: column {quoted(name)} cannot be a weight: {column.why}.")
    weight = column.values.astype(np.float64)
    faults = {"infinite": np.isinf(weight), "negative": weight < 0}
    if missing != "drop":
        faults = {"missing": np.isnan(weight), **faults}
    for fault, wrong in faults.items():
        if wrong.any():
            place = table.locate(int(wrong.argmax()), name)
            raise TableError(f"{place}: the weight is {fault}. Weights must be finite and >= 0.")
    if not (weight[~np.isnan(weight)] > 0).any():
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
