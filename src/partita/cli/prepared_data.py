"""A table made ready for a fit: read it, choose its features, prepare them by a plan."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partita._common.array_types import Ints
from partita._common.errors import Setting
from partita._common.text import printable, quoted
from partita.cli.column_matching import match_columns
from partita.cli.options import ColumnOptions, MethodOptions, ReadOptions
from partita.tables import (
    NO_CLUSTER,
    Plan,
    Scaling,
    Selection,
    Table,
    TableError,
    fit_auto,
    plan_of,
    read_table,
    repeated_plan_of,
    select,
)
from partita.tables.feature_selection import MAX_MARKER_CHARACTERS
from partita.tables.placeholders import placeholders_of

if TYPE_CHECKING:
    from partita.model_file.pipeline_steps import PipelineSteps

MAX_COMMAS_IN_NAME = 7  # of a column in a list
# those for which a shift or a change of units keeps the meaning of distances
SCALABLE_KERNELS = (None, "rbf", "laplacian", "polynomial", "sigmoid", "linear")
SCALABLE_METRICS = (None, "euclidean", "sqeuclidean", "manhattan", "chebyshev")


@dataclass(frozen=True, slots=True, eq=False)
class PreparedData:
    """A table, its features, the rows as they are clustered, and how they became that."""

    table: Table
    selection: Selection
    scaling: Scaling
    X: Any
    plan: Plan
    pipeline: PipelineSteps | None = None  # of the model, between the features and X
    id_column: str | None = None

    @property
    def rows_to_measure(self) -> Any:
        """The rows with outliers where they are: `X` may limit their values."""
        if self.pipeline is not None:
            return self.X
        return self.scaling.apply(self.selection.X, limit=False)

    @property
    def model_names(self) -> tuple[str, ...]:
        """The features of `X`: those of the table, unless a step of a pipeline makes others."""
        names = self.selection.names
        return names if self.pipeline is None else self.pipeline.names_out(names) or names

    @property
    def undo(self) -> Callable[[Any], Any] | None:
        """A function that returns means of `X` in the units of the table; None if there is none."""
        if self.pipeline is None:
            return self.scaling.undo
        has_units = self.model_names == self.selection.names and self.pipeline.can_undo
        return self.pipeline.undo if has_units else None

    def labels_of_all_rows(self, labels: Any) -> Ints:
        """Return the label of every row of the table: −1 for those that were left out."""
        every = np.full(self.table.data.num_rows, NO_CLUSTER, dtype=np.int64)
        every[self.selection.kept] = labels
        return every

    def cells(self, name: str) -> Any:
        """Return a column of all rows, as written if the file is text."""
        return (self.table.data if self.table.text is None else self.table.text)[name]


def read(options: ReadOptions) -> Table:
    """Read the table."""
    return read_table(
        options.data,
        delimiter=options.delimiter,
        encoding=options.encoding,
        header=options.header,
        decimal=options.decimal,
        thousands=options.thousands,
        na=options.na or (),
        skip_rows=options.skip_rows,
        sheet=options.sheet,
        source=options.source_column,
    )


def prepare(
    table: Table, options: ColumnOptions, method: MethodOptions | None = None
) -> PreparedData:
    """Choose the features and prepare them, by the options or by default."""
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
        exclude=_split_names(options.exclude, table),
        include=include,
        by_role=not options.raw,
        id=options.id,
        weight=options.weight,
        missing=options.missing or ("error" if options.raw else "auto"),
    )
    kind = options.scale or ("none" if options.raw else "auto")
    scaling, why_unscaled = _scaling(selection, kind, method)
    plan = plan_of(table, selection, scaling, why_unscaled)
    rows = scaling.apply(selection.X)
    return PreparedData(table, selection, scaling, rows, plan, id_column=options.id)


def _scaling(selection: Selection, kind: str, method: MethodOptions | None) -> tuple[Scaling, str]:
    """Return the scaling, and why "auto" leaves the features as they are."""
    X, weight = selection.X, selection.weight
    if kind != "auto":
        return Scaling.fit(X, kind, weight), ""
    if method is not None and method.method == "spherical":
        return Scaling.fit(X, "none"), "directions are measured from the origin"
    if method is not None and method.kernel not in SCALABLE_KERNELS:
        return Scaling.fit(X, "none"), f"the kernel {method.kernel} needs the values as they are"
    if method is not None and method.metric not in SCALABLE_METRICS:
        return Scaling.fit(X, "none"), f"the metric {method.metric} needs the values as they are"
    return fit_auto(X, selection.names, weight)


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


def prepare_for_model(
    path: Path,
    options: ReadOptions,
    id: str | None,
    missing: str | None,
    weight: str | None = None,
    read_model: Callable[[Path], Any] | None = None,
) -> tuple[Any, PreparedData]:
    """Return the model in a file, and rows with its columns, scaling and values for gaps."""
    from partita import model_file

    fitted = (read_model or model_file.read_model)(path)
    saved = fitted.saved_
    table, names = match_columns(read(options), fitted, path)
    vars(fitted).pop("feature_names_in_", None)  # the rows are arrays without names
    fill = saved.fill if saved.pipeline is None else saved.pipeline.fill
    if missing in ("mean", "auto") and fill is None:
        raise TableError(
            f"{path} has no values to fill in. Fit it with {{}}, or leave such rows out with {{}}.",
            Setting("missing", missing),
            Setting("missing", "drop"),
        )
    missing = missing or _policy_of(saved, fill)
    fills = missing in ("mean", "auto")
    selection = select(
        table,
        columns=names,
        id=id,
        weight=weight,
        missing=missing,
        fill=fill if fills else None,
        days=saved.days,
        ways=("drop",) if fill is None else ("drop", "mean"),
    )
    scaling = saved.scaling or Scaling.fit(selection.X, "none")
    plan = repeated_plan_of(table, selection, scaling)
    if saved.pipeline is not None:
        prepared = _prepared_by(saved.pipeline, table, selection, scaling, plan)
    else:
        rows = scaling.apply(selection.X)
        prepared = PreparedData(table, selection, scaling, rows, plan)
    return fitted, replace(prepared, id_column=id)


def _prepared_by(
    pipeline: PipelineSteps, table: Table, selection: Selection, scaling: Scaling, plan: Plan
) -> PreparedData:
    """Prepare rows by the steps of a pipeline, some of which may fill gaps."""
    X, gaps = pipeline.apply(selection.X), np.isnan(selection.X)
    if gaps.any() and pipeline.can_undo:
        selection = replace(selection, X=np.where(gaps, pipeline.undo(X), selection.X))
    return PreparedData(table, selection, scaling, X, plan, pipeline)


def _policy_of(saved: Any, fill: Any) -> str:
    """Return the policy for missing values of the fit; for rows as they come, an error."""
    policy = (saved.plan or {}).get("missing")
    if fill is None:
        return "drop" if policy == "drop" else "error"
    return "auto" if policy == "auto" else "mean"


def column_remarks(prepared: PreparedData) -> list[str]:
    """Return remarks on features that may not be measurements, and on columns that nearly are."""
    selection = prepared.selection
    remarks = [
        f"{printable(name)} is NOT used: {selection.left_out[name]}"
        f"{_marker_hint(selection.texts_of_nearly.get(name, ''))}"
        for name in selection.nearly
    ]
    for column, role in selection.doubtful.items():
        name, word = printable(column), shlex.quote(printable(column))
        remarks.append(
            f"{name} is used as a feature, but looks like {role.why}; --exclude {word} leaves it "
            f"out, --id {word} uses it as the names of the rows"
        )
    for column, placeholder in placeholders_of(selection).items():
        name, option = printable(column), Setting("na", placeholder.value).as_option()
        remarks.append(f"{name}: {placeholder.why}; {option} makes such values missing")
    if len(prepared.X) > 1 and (prepared.X[:1] == prepared.X).all():
        remarks.append("all rows are equal: they are one group")
    return remarks


def _marker_hint(text: str) -> str:
    """Return the option that makes a text among numbers a missing value."""
    if not text or len(text) > MAX_MARKER_CHARACTERS:
        return ""
    return f"; {Setting('na', printable(text)).as_option()} uses it, with such cells as missing"
