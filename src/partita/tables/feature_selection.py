"""`select`: choose the features, weights and ids of a table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.errors import Setting, TableError
from partita._common.parameters import describe_value
from partita._common.text import listed, quoted
from partita.source.mixed_columns import Factor
from partita.tables.calendar_days import are_calendar_days, to_days
from partita.tables.category_choice import (
    category_candidates,
    missing_categories,
    named_categories,
    read_categories,
)
from partita.tables.column_roles import NAMES_ROWS, Role, percent
from partita.tables.column_values import read_column, read_days
from partita.tables.missing_values import (
    KNOWN_MIN_SHARE,
    LENIENT_POLICIES,
    Completed,
    check_policy,
    complete,
    read_weights,
    unknown_in_kept_rows,
)
from partita.tables.table import Table, arrow
from partita.tables.table_roles import roles_of, without_last_resort

NOT_CHOSEN, EXCLUDED = "not chosen", "excluded"  # by the caller: reasons in `left_out`
NO_VALUE_LEFT = "only gaps"  # in the rows with enough values: a kind of reason
MAX_MARKER_CHARACTERS = 20  # of a cell that may mean "missing"
FRAME_INDEX = "the index of a pandas frame"


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
    missing : str
        The policy for missing values.
    fill : ndarray of shape (d,) or None
        The values that replace missing ones.
    gaps : dict
        The number of missing values in each feature that has some, in the rows of X.
    nearly : tuple of str
        The columns left out although at least nine tenths of their values are numbers.
    texts_of_nearly : dict
        Of those columns, the first cell that is no number, if there is one.
    doubtful : dict
        The features that are ids, codes or the like by a rule, but used all the same.
    days : tuple of str
        The features that are dates, as days since 1970.
    categories : dict
        The features that are categories, in the rows of X.
    candidates : tuple of str
        Columns that are not used, but could be features as categories.
    """

    X: Floats
    names: tuple[str, ...]
    ids: Any
    weight: Floats | None
    kept: Ints
    left_out: dict[str, str] = field(default_factory=dict)
    missing: str = "error"
    fill: Floats | None = None
    gaps: dict[str, int] = field(default_factory=dict)
    nearly: tuple[str, ...] = ()
    texts_of_nearly: dict[str, str] = field(default_factory=dict)
    doubtful: dict[str, Role] = field(default_factory=dict)
    days: tuple[str, ...] = ()
    categories: dict[str, Factor] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()

    @property
    def all_names(self) -> tuple[str, ...]:
        """All features: measurements, then categories."""
        return (*self.names, *self.categories)

    @property
    def filled(self) -> int:
        """The number of missing values that were replaced."""
        return 0 if self.fill is None else sum(self.gaps.values())


class ColumnChoice(NamedTuple):
    """The columns that the user names: `columns` alone, or all but `exclude`, with `include`."""

    columns: Sequence[str] | None = None
    exclude: frozenset[str] = frozenset()
    include: frozenset[str] = frozenset()
    by_role: bool = True
    open_gaps: bool = False
    days: frozenset[str] = frozenset()

    def are_days(self, name: str, values: Array) -> bool:
        """Return whether a column is used as days, although it holds integers like 20240531."""
        known = values[np.isfinite(values)]
        is_named = self.columns is not None or name in self.include
        return name in self.days or (self.by_role and is_named and are_calendar_days(known))


def select(
    table: Table,
    *,
    columns: Sequence[str] | None = None,
    exclude: Iterable[str] | None = None,
    include: Iterable[str] | None = None,
    by_role: bool = False,
    id: str | None = None,
    weight: str | None = None,
    missing: str = "error",
    fill: Floats | None = None,
    days: Iterable[str] = (),
    ways: Sequence[str] = ("drop", "mean"),
    categories: Sequence[str] | str | None = None,
) -> Selection:
    """Choose the features of a table: all numeric columns, or the named ones.

    Booleans are 0 and 1. Columns of text, of dates, or of integers that no double holds are left
    out, with the reason in `left_out`. Naming a column of text in `columns` or `include` is an
    error; dates become days. The index of a pandas frame is a feature only if it is named.

    Parameters
    ----------
    table : Table
    columns, exclude, include : names, or None
        The features; the columns that are not features; and columns that are features in addition,
        although a rule tells that they are not.
    by_role : bool, default=False
        Whether to leave out ids, codes and other columns that are no measurements by the rules of
        `column_roles`, which do not apply to `columns`.
    id, weight : str or None
        The columns with the ids and the weights of the rows.
    missing : {"error", "drop", "mean", "auto", "partial"}, default="error"
        For missing values: raise an error that locates the first, leave out the row, fill in the
        (weighted) mean of the column; or "auto": fill in the median, and leave out rows with fewer
        than half of the values, and features without a value in the others. "partial"
        leaves the gaps, and leaves out only rows without any value. Infinite values are an error,
        except with these two: missing.
    fill : array of shape (d,) or None
        The values for "mean" and "auto" to fill in: those of an earlier table. With it, as with
        "drop", a column in `columns` may have no value at all.
    days : names
        Columns that were dates in an earlier table: integers like 20240531 become days. With
        `by_role`, named columns of such integers do so by themselves.
    ways : sequence of {"drop", "mean"}
        The alternatives that the message of "error" mentions.
    categories : sequence of names, "auto" or None
        Columns that are categories, of any values; "auto": those of text, yes or no with few
        values. None: there are no categories.

    Examples
    --------
    >>> import pyarrow
    >>> table = Table(pyarrow.table({"who": ["a", "b"], "x": [1, 2]}), "example", "csv")
    >>> selection = select(table, id="who")
    >>> selection.X.tolist(), selection.names, selection.ids.to_pylist()
    ([[1.0], [2.0]], ('x',), ['a', 'b'])
    """
    check_policy(missing)
    excluded, included = frozenset(exclude or ()), frozenset(include or ())
    choice = ColumnChoice(
        columns, excluded, included, by_role, missing == "partial", frozenset(days)
    )
    roles = tuple(name for name in (id, weight) if name is not None)
    named = () if isinstance(categories, str) else tuple(categories or ())
    known = set(table.names)
    asked = [name for name in (*(columns or ()), *choice.include) if name in known]
    texts = named_categories(table, asked) if categories == "auto" else []
    if texts:
        named = tuple(dict.fromkeys(texts))
        columns = None if columns is None else [name for name in columns if name not in named]
        choice = choice._replace(columns=columns, include=choice.include - set(named))
    _check_known(table, (*(columns or ()), *choice.exclude, *choice.include, *roles, *named))
    if both := choice.include & choice.exclude:
        raise TableError(
            f"`include` and `exclude` must name different columns, got {listed(sorted(both))} in "
            "both. Name each column once.",
            parameter="include",
        )
    allow_empty = fill is not None or missing == "drop" or table.is_part
    is_mixed = categories is not None
    features = _choose_features(table, choice, {*roles, *named}, allow_empty, is_mixed)
    candidates = category_candidates(table, features.left_out) if columns is None else ()
    by_rule = candidates if categories == "auto" else ()
    used = {*named, *by_rule}
    found = read_categories(table, [name for name in table.names if name in used])
    if is_mixed and not (features.columns or found):
        raise _no_feature_error(table, features.left_out, {}, features.nearly_numeric)
    left_out = {name: why for name, why in features.left_out.items() if name not in found}
    features = features._replace(left_out=left_out)
    gaps = missing_categories(found.values(), table.data.num_rows) if is_mixed else None
    w = None if weight is None else read_weights(table, weight, missing)
    if missing in LENIENT_POLICIES and fill is None and features.columns and not table.is_part:
        features = _without_unknown(table, features, choice, w, missing)
    rows = complete(table, features.columns, w, missing, fill, ways, gaps)
    selection = _selection(table, features, rows, id, missing)
    kept = {name: column._replace(codes=column.codes[rows.kept]) for name, column in found.items()}
    return replace(
        selection,
        categories=kept,
        candidates=tuple(name for name in candidates if name not in found),
    )


def _selection(
    table: Table, features: _Features, rows: Completed, id: str | None, missing: str
) -> Selection:
    return Selection(
        X=rows.X,
        names=tuple(features.columns),
        ids=None if id is None else _cells(table, id).take(arrow().array(rows.kept)),
        weight=rows.weight,
        kept=rows.kept,
        left_out=features.left_out,
        missing=missing,
        fill=rows.fill,
        gaps=rows.gaps,
        nearly=tuple(features.nearly_numeric),
        texts_of_nearly={name: text for name, text in features.nearly_numeric.items() if text},
        doubtful=features.doubtful,
        days=features.days,
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
    nearly_numeric: dict[str, str]  # the first cell that is no number, "" if there is none
    doubtful: dict[str, Role]
    days: tuple[str, ...]


def _choose_features(
    table: Table,
    choice: ColumnChoice,
    other_roles: set[str],
    allow_empty: bool,
    allow_none: bool = False,
) -> _Features:
    """Read the feature columns, and collect why the others are left out.

    With `allow_empty`, a column named in `columns` may have no value at all; with `allow_none`,
    there may be no column of numbers.
    """
    available = [name for name in table.names if name not in other_roles]
    by_default = (n for n in available if n not in table.index or n in choice.include)
    named = None if choice.columns is None else (*choice.columns, *choice.include)
    wanted = dict.fromkeys(by_default if named is None else named)
    why = FRAME_INDEX if choice.columns is None else NOT_CHOSEN
    left_out = {name: why for name in available if name not in wanted}
    left_out |= {name: EXCLUDED for name in wanted if name in choice.exclude}
    features, nearly_numeric, days = dict[str, Array](), dict[str, str](), list[str]()
    for name in (name for name in wanted if name not in choice.exclude):
        is_named = choice.columns is not None or name in choice.include
        column = read_column(table, name)
        as_days = read_days(table, name) if is_named and column.values is None else None
        if column.values is not None:
            are_days = choice.are_days(name, column.values)
            features[name] = to_days(column.values) if are_days else column.values
            days += [name] if are_days else []
        elif as_days is not None:
            features[name] = as_days
            days.append(name)
        elif not is_named:
            left_out[name] = column.why
            nearly_numeric |= {name: column.first_text} if column.is_nearly_numeric else {}
        elif column.is_empty and allow_empty:
            # float32, so that the other columns determine the dtype of X
            features[name] = np.full(table.data.num_rows, np.nan, np.float32)
        else:
            raise TableError(
                f"{table.name}: column {quoted(name)} cannot be a feature: {column.why}. Leave it "
                "out, or convert it to numbers."
            )
    others = {}
    if choice.columns is None:
        others = roles_of(table, features, choice.include, choice.open_gaps)
    if choice.by_role and len(available) > 1:  # the only column is what the user means
        others = without_last_resort(others, len(features))
        left_out |= {name: role.why for name, role in others.items()}
        features = {name: values for name, values in features.items() if name not in others}
    doubtful = {n: role for n, role in others.items() if n in features and role.kind in NAMES_ROWS}
    if not features and not allow_none:
        raise _no_feature_error(table, left_out, others, nearly_numeric)
    return _Features(features, left_out, nearly_numeric, doubtful, tuple(days))


def _without_unknown(
    table: Table,
    features: _Features,
    choice: ColumnChoice,
    weight: Floats | None,
    missing: str,
) -> _Features:
    """Leave out the features that have no value in the rows with enough values.

    That changes how many values are enough, so it is repeated. The rows kept have a value, so at
    least one feature remains.
    """
    while unknown := unknown_in_kept_rows(table, features.columns, weight, missing):
        for name in unknown:
            if choice.columns is not None or name in choice.include:
                raise TableError(
                    f"{table.name}: column {quoted(name)} has no value in any row that has "
                    f"{percent(KNOWN_MIN_SHARE)} of the features. Leave it out, or keep all rows "
                    "and fill in the column means ({}).",
                    Setting("missing", "mean"),
                )
        why = Role(NO_VALUE_LEFT, "no value in any row with enough values").why
        features = features._replace(
            columns={n: x for n, x in features.columns.items() if n not in unknown},
            left_out=features.left_out | dict.fromkeys(unknown, why),
            doubtful={n: role for n, role in features.doubtful.items() if n not in unknown},
            days=tuple(n for n in features.days if n not in unknown),
        )
    return features


def _no_feature_error(
    table: Table, left_out: dict[str, str], others: dict[str, Role], nearly_numeric: dict[str, str]
) -> TableError:
    reasons = listed(left_out.items(), lambda item: f"{quoted(item[0])} ({item[1]})")
    if category_candidates(table, left_out) and not nearly_numeric:
        return TableError(
            f"{table.name} has no measurement to cluster: {reasons}. `fit` can cluster its columns "
            "of categories ({}).",
            Setting("method", "auto"),
        )
    if others:
        return TableError(
            f"{table.name} has no measurement to cluster: {reasons}. To use a column all the same, "
            "name it ({}).",
            Setting("include", next(iter(others))),
        )
    fault = f"{table.name} has no numeric column to cluster: {reasons}."
    if EXCLUDED in left_out.values():
        return TableError(f"{fault} Exclude fewer columns.")
    text = next((text for text in nearly_numeric.values() if text), None)
    if text is not None and len(text) <= MAX_MARKER_CHARACTERS:
        return TableError(
            f"{fault} Correct the cells that are no numbers. If they mean that a value is missing, "
            "say so ({}).",
            Setting("na", text),
        )
    return TableError(
        f"{fault} Encode text as numbers first, for example a column of 0 and 1 for each category."
    )
