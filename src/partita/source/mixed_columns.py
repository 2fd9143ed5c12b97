"""Columns of tables that hold numbers and categories, from dataframes and from arrays."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import Got, must_be
from partita._common.text import listed
from partita.source.dataframes import check_unique_names, names_of, numbers_of

MISSING = -1  # the code of a missing category
Category: TypeAlias = str | bool | int | float
_MISSING_TYPES = ("NoneType", "NAType", "NaTType")
DATES, NESTED = "dates or times", "lists, records or other objects"


class Factor(NamedTuple):
    """A column of categories: a code for each row."""

    levels: tuple[Category, ...]  # sorted, or in the order that the column's type declares
    codes: Ints  # (n,) index in `levels`; −1 where missing
    is_ordered: bool = False  # the type declares an order


# numbers, NaN where missing; or categories; or what else the column holds, in words
Column: TypeAlias = Floats | Factor | str


def frame_columns(data: Any, chosen: Collection[int] = ()) -> list[Floats | Factor]:
    """Read the columns of a dataframe of pandas, polars, pyarrow, …

    Numbers are numbers, except in the columns `chosen` as categories (by position). Text, booleans
    and types of categories are categories.
    """
    import narwhals.stable.v2 as nw

    names = names_of(data)
    check_unique_names(names)
    if type(data).__name__ == "RecordBatch":
        data = type(data).to_pandas(data)
    columns = nw.from_native(data, eager_only=True).iter_columns()
    return _checked([_frame_column(c, t in chosen) for t, c in enumerate(columns)], names)


def array_columns(rows: Array, chosen: Collection[int] = ()) -> list[Floats | Factor]:
    """Read the columns of an array (n, d) of numbers, texts or objects; as `frame_columns`."""
    found = [_array_column(rows[:, t], t in chosen) for t in range(rows.shape[1])]
    return _checked(found, range(rows.shape[1]))


def _checked(found: Sequence[Column], names: Sequence[Any]) -> list[Floats | Factor]:
    pairs = zip(names, found, strict=True)
    wrong = [f"{name!r} ({column})" for name, column in pairs if isinstance(column, str)]
    if wrong:
        plural = "s" * (len(wrong) > 1)
        raise must_be(
            "X",
            "a table of numbers and categories",
            Got(f"the column{plural} {listed(wrong, str)}"),
            "Drop them, or make numbers or texts of them (for example days since a date, "
            "astype(str)).",
        )
    return [column for column in found if not isinstance(column, str)]


def _frame_column(column: Any, is_chosen: bool) -> Column:
    import narwhals.stable.v2 as nw

    kind, native = column.dtype, column.to_native()
    if kind.is_temporal():
        return DATES
    if kind.is_nested() or kind == nw.Binary:
        return NESTED
    if kind == nw.Object:
        return _array_column(np.array(_with_none(column), dtype=object), is_chosen)
    if kind.is_numeric() and not is_chosen:
        return np.asarray(numbers_of(column), dtype=np.float64)
    if not (kind.is_numeric() or kind in (nw.Boolean, nw.String, nw.Categorical, nw.Enum)):
        return str(getattr(native, "dtype", getattr(native, "type", kind)))
    declared = _declared_levels(column)
    return _factor(*_encoded(column, native), declared)


def as_factor(values: Floats) -> Factor:
    """Return a column of numbers as categories."""
    factor = _factor(*_encoded_values(values.tolist()), None)
    assert isinstance(factor, Factor)
    return factor


def _with_none(column: Any) -> Array:
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_list()
    values[np.asarray(column.is_null().to_numpy(), dtype=bool)] = None
    return values


def _declared_levels(column: Any) -> list[Any] | None:
    """Return the categories of a type that declares their order."""
    import narwhals.stable.v2 as nw

    if column.dtype == nw.Enum:
        return list(column.dtype.categories)
    native = column.to_native()
    if getattr(getattr(native, "type", None), "ordered", False):  # pyarrow
        combined = native.unify_dictionaries().combine_chunks()
        parts = getattr(combined, "chunks", [combined])
        return list(parts[0].dictionary.to_pylist()) if parts else []
    return None


def _encoded(column: Any, native: Any) -> tuple[list[Any], Ints]:
    """Return the different values of a column, and a code for each row: −1 where missing."""
    if hasattr(native, "factorize"):  # pandas
        codes, values = native.factorize()
        return list(values), np.asarray(codes, dtype=np.int64)
    if hasattr(native, "dictionary_encode"):  # pyarrow
        encoded = native.dictionary_encode().unify_dictionaries().combine_chunks()
        encoded = encoded.chunk(0) if hasattr(encoded, "chunks") else encoded
        return _first_codes(
            encoded.dictionary.to_pylist(),
            encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False),
        )
    return _encoded_values(column.to_list())


def _first_codes(values: list[Any], codes: Ints) -> tuple[list[Any], Ints]:
    """Drop the values of a dictionary that are missing, such as NaN."""
    kept = [i for i, value in enumerate(values) if not _is_missing(value)]
    renumbered = np.full(len(values) + 1, MISSING, np.int64)
    renumbered[kept] = np.arange(len(kept))
    return [values[i] for i in kept], renumbered[codes]


def _encoded_values(values: list[Any]) -> tuple[list[Any], Ints]:
    different = list(dict.fromkeys(values))
    known = [value for value in different if not _is_missing(value)]
    index = dict.fromkeys(different, MISSING) | {value: code for code, value in enumerate(known)}
    return known, np.fromiter(map(index.__getitem__, values), np.int64, len(values))


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in _MISSING_TYPES or bool(value != value)


def _array_column(values: Array, is_chosen: bool) -> Column:
    kind = values.dtype.kind
    if kind in "mM":
        return DATES
    if kind in "fiu" and not is_chosen:
        return np.asarray(values, dtype=np.float64)
    if kind not in "fiubUO":
        return str(values.dtype)
    cells = values.tolist()
    if kind == "O":
        held = _kinds_of(cells)
        if len(held) > 1:
            return " mixed with ".join(sorted(held))
        if held and not held & {"text", "booleans", "numbers"}:
            return held.pop()
        if not is_chosen and held <= {"numbers"}:
            return _as_floats(cells)
    return _factor(*_encoded_values(cells), None)


def _as_floats(cells: list[Any]) -> Floats | str:
    try:
        return np.array([np.nan if _is_missing(v) else float(v) for v in cells])
    except OverflowError:
        return "integers beyond 1.8e308"


def _kinds_of(cells: list[Any]) -> set[str]:
    """Return what the values of objects are, in words; nothing of missing ones."""
    types = {kind for kind in set(map(type, cells)) if kind.__name__ not in _MISSING_TYPES}
    if float in types and len(types) > 1 and all(_is_missing(v) for v in cells if type(v) is float):
        types.remove(float)  # NaN among texts
    return {_kind_of(kind) for kind in types}


def _kind_of(kind: type) -> str:
    named: list[tuple[Callable[[type], bool], str]] = [
        (lambda t: issubclass(t, str), "text"),
        (lambda t: issubclass(t, bool | np.bool_), "booleans"),
        (lambda t: issubclass(t, numbers.Real) or t.__name__ == "Decimal", "numbers"),
        (lambda t: t.__name__ in ("date", "datetime", "Timestamp", "timedelta", "time"), DATES),
    ]
    return next((words for holds, words in named if holds(kind)), NESTED)


def _factor(values: list[Any], codes: Ints, declared: list[Any] | None) -> Column:
    """Return categories in their order; words for values that have none in common."""
    plain = [_plain(value) for value in values]
    levels = plain if declared is None else [_plain(value) for value in declared]
    kinds = sorted({kind_of_category(level) for level in levels})
    if len(kinds) > 1:
        return " mixed with ".join(kinds)
    levels = sorted(set(plain)) if declared is None else list(dict.fromkeys(levels))
    rank = {level: code for code, level in enumerate(levels)}
    renumbered = np.array([rank[value] for value in plain] + [MISSING], dtype=np.int32)
    return Factor(tuple(levels), renumbered[codes], declared is not None)


def kind_of_category(level: Category) -> str:
    """Return what a category is, in words; a column has categories of one kind.

    >>> kind_of_category("a"), kind_of_category(True), kind_of_category(1)
    ('text', 'booleans', 'numbers')
    """
    if isinstance(level, str):
        return "text"
    return "booleans" if isinstance(level, bool) else "numbers"


def _plain(value: Any) -> Category:
    """Return a category as Python's text, boolean or number; others, such as intervals, as text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    return str(value)
