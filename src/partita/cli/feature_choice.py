"""The features of a table and their scaling, by the options or by default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from partita._common.text import quoted
from partita.cli.method_choice import (
    ALL,
    NONE,
    is_auto,
    policy_of,
    takes_categories,
    wanted_categories,
)
from partita.cli.method_options import MethodOptions
from partita.cli.options import ColumnOptions
from partita.tables import Scaling, Selection, Table, TableError, fit_auto, select
from partita.tables.auto_scaling import without_limits

MAX_COMMAS_IN_NAME = 7  # of a column in a list
# those for which a shift or a change of units keeps the meaning of distances
SCALABLE_KERNELS = (
    None,
    "rbf",
    "laplacian",
    "polynomial",
    "sigmoid",
    "linear",
    "nearest_neighbors",
)
SCALABLE_METRICS = (None, "euclidean", "sqeuclidean", "manhattan", "chebyshev", "gower")


def choose_features(
    table: Table,
    options: ColumnOptions,
    not_numeric: Mapping[str, str] = MappingProxyType({}),
    method: MethodOptions | None = None,
) -> Selection:
    """Choose the features by the options or by default.

    `not_numeric` are columns that other rows show to be no numbers, and why. With `method` "auto"
    there may be categories among the features.
    """
    columns, include = (_split_names(t, table) for t in (options.columns, options.include))
    for option, name in (("--weight", options.weight), ("--id", options.id)):
        if columns is not None and name in columns:
            raise TableError(
                f"column {quoted(name)} is named by {option}; it cannot be a feature too"
            )
    if columns is not None:  # in the order of the file, as in files without names
        place = {name: i for i, name in enumerate(table.names)}
        columns = sorted({*columns, *(include or ())}, key=lambda name: place.get(name, -1))
    selection = select(
        table,
        columns=columns,
        exclude=[*(_split_names(options.exclude, table) or ()), *not_numeric],
        include=include,
        by_role=not options.raw,
        id=options.id,
        weight=options.weight,
        missing=policy_of(options, method),
        categories=_categories(table, options, method),
    )
    if wanted_categories(options) == NONE:
        selection = replace(selection, candidates=())
    if not not_numeric:
        return selection
    left_out = {**selection.left_out, **not_numeric}
    return replace(selection, left_out=left_out, nearly=(*selection.nearly, *not_numeric))


def _categories(
    table: Table, options: ColumnOptions, method: MethodOptions | None
) -> list[str] | str | None:
    """Return the columns of categories, "auto" to find them, or None if there are none."""
    wanted = wanted_categories(options)
    if method is None:
        if wanted in (None, NONE):
            return None
    elif not (takes_categories(method) or is_auto(method)):
        return None
    if wanted == NONE:
        return []
    named = None if wanted in (None, ALL) else _split_names(options.categories, table)
    return ALL if named is None else named


def choose_scaling(
    selection: Selection, options: ColumnOptions, method: MethodOptions | None = None
) -> tuple[Scaling, str]:
    """Return the scaling, and why "auto" leaves the features as they are."""
    kind = options.scale or ("none" if options.raw else "auto")
    X, weight = selection.X, selection.weight
    if kind != "auto":
        return Scaling.fit(X, kind, weight), ""
    if X.shape[1] == 0:
        return Scaling.fit(X, "none", weight), ""
    if method is not None and method.method == "spherical":
        return Scaling.fit(X, "none"), "directions are measured from the origin"
    if method is not None and method.kernel not in SCALABLE_KERNELS:
        return Scaling.fit(X, "none"), f"the kernel {method.kernel} needs the values as they are"
    if method is not None and method.metric not in SCALABLE_METRICS:
        return Scaling.fit(X, "none"), f"the metric {method.metric} needs the values as they are"
    scaling, why = fit_auto(X, selection.names, weight)
    if method is not None and method.method == "trimmed":
        return without_limits(scaling), why
    return scaling, why


def _split_names(texts: list[str] | None, table: Table) -> list[str] | None:
    """Split names at commas, except commas inside the name of a column."""
    if texts is None:
        return None
    known = set(table.names)
    return [name for text in texts for name in _split(text.split(","), known)]


def _split(parts: list[str], known: set[str]) -> Iterator[str]:
    """Join as many parts as give the name of a column; a part that gives none stays alone."""
    while parts:
        for end in range(min(len(parts), 1 + MAX_COMMAS_IN_NAME), 0, -1):
            joined = ",".join(parts[:end])
            name = joined if joined in known else joined.strip()
            if name in known or end == 1:
                yield name
                parts = parts[end:]
                break
