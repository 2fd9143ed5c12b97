"""A table made ready for a fit: read it, choose its features, prepare them by a plan."""

from __future__ import annotations

import shlex
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.errors import Setting
from partita._common.text import printable
from partita.cli.feature_choice import choose_features, choose_scaling
from partita.cli.method_choice import (
    RANGES,
    MethodChoice,
    chosen_method,
    is_auto,
    is_gower,
    takes_categories,
    unused_categories,
)
from partita.cli.method_options import MethodOptions
from partita.cli.options import ColumnOptions, ReadOptions
from partita.source.column_table import ColumnTable
from partita.source.mixed_columns import Factor
from partita.tables import (
    NO_CLUSTER,
    Plan,
    Scaling,
    Selection,
    Table,
    plan_of,
    read_table,
)
from partita.tables.category_choice import footing_of_categories
from partita.tables.feature_selection import MAX_MARKER_CHARACTERS
from partita.tables.placeholders import placeholders_of
from partita.tables.preparation_plan import RULES, Decision

if TYPE_CHECKING:
    from partita.model_file.pipeline_steps import PipelineSteps
    from partita.tables.streamed_rows import StreamedRows


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
    streamed: StreamedRows | None = None  # all rows of the files, if the table is a sample of them
    method: MethodOptions | None = None  # of the fit, as asked for or chosen by the table

    @property
    def is_sample(self) -> bool:
        """True if the files have more rows than the table."""
        return self.table.sample_of is not None

    @property
    def n_rows(self) -> int:
        """The number of rows of the files."""
        return self.table.sample_of or int(self.table.data.num_rows)

    @property
    def n_used(self) -> int:
        """The number of rows to cluster."""
        return len(self.X) if self.streamed is None else self.streamed.n_used

    @property
    def filled(self) -> int:
        """The number of missing values that were filled in."""
        if self.streamed is None or self.selection.fill is None:
            return self.selection.filled
        return sum(self.streamed.gaps.values())

    @property
    def rows_to_fit(self) -> tuple[Any, Any]:
        """All rows to cluster, in memory or not, and their weights."""
        if self.streamed is None:
            return self.X, self.selection.weight
        return self.streamed.scan, self.streamed.weight

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the features and weights of all rows to cluster."""
        from partita import model_file

        if self.streamed is not None:
            return self.streamed.fingerprint
        return model_file.fingerprint(with_category_keys(self.selection), self.selection.weight)

    @property
    def numbers_in_files(self) -> Ints:
        """The numbers of the rows of `X` in the files, from 0."""
        kept = self.selection.kept
        return kept if self.streamed is None else self.streamed.sample.rows[kept]

    @property
    def rows_to_measure(self) -> Any:
        """The rows with outliers where they are: `X` may limit their values."""
        if self.pipeline is not None:
            return self.X
        return rows_of(self.selection, self.scaling, limit=False, like=self.X)

    @property
    def rows_in_units(self) -> Any:
        """The features in the units of the table (its numbers, if there are categories)."""
        has_units = self.model_names == self.selection.names or self.is_mixed
        return self.selection.X if has_units else self.X

    @property
    def is_mixed(self) -> bool:
        """True if rows are a table of numbers and categories."""
        return isinstance(self.X, ColumnTable)

    @property
    def model_names(self) -> tuple[str, ...]:
        """The features of `X`: those of the table, unless a step of a pipeline makes others."""
        names = self.selection.all_names
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
    choice = None
    if method is not None:
        choice, selection = _chosen(table, options, method)
        method = choice.method
    else:
        selection = choose_features(table, options)
    scaling, why_unscaled = choose_scaling(selection, options, method)
    plan = plan_of(table, selection, scaling, why_unscaled)
    is_mixed = method is not None and takes_categories(method)
    if method is not None and is_gower(method):
        plan = compared_by_ranges(plan)
    if choice is not None and choice.decision is not None:
        plan = replace(plan, decisions=(choice.decision, *plan.decisions))
    if method is not None and method.method == "prototypes":
        method, plan = _on_one_footing(method, plan, selection, scaling)
    rows = mixed_rows(selection, scaling) if is_mixed else scaling.apply(selection.X)
    prepared = PreparedData(table, selection, scaling, rows, plan, id_column=options.id)
    return replace(prepared, method=method)


def _chosen(
    table: Table, options: ColumnOptions, method: MethodOptions
) -> tuple[MethodChoice, Selection]:
    """Return the method, and the features that it takes."""
    selection = choose_features(table, options, method=method)
    choice = chosen_method(selection, options, method)
    if choice.method.missing == "partial" and selection.missing != "partial":
        options = replace(options, missing="partial")
    elif not is_auto(method):
        return choice, selection
    return choice, choose_features(table, options, method=choice.method)


def _on_one_footing(
    method: MethodOptions, plan: Plan, selection: Selection, scaling: Scaling
) -> tuple[MethodOptions, Plan]:
    """Return the method with what a category counts, and the plan with a line about it."""
    if method.gamma is not None or not (selection.categories and selection.names):
        return method, plan
    numbers = scaling.apply(selection.X).astype(np.float64)
    gamma = footing_of_categories(selection.categories.values(), numbers, selection.weight)
    gamma = float(f"{gamma:.3g}")
    line = f"weighed: a different category costs {gamma:g}, so that columns count alike"
    decision = Decision("gamma", (), line, RULES["gamma"], "--gamma auto")
    return replace(method, gamma=gamma), replace(plan, decisions=(*plan.decisions, decision))


def compared_by_ranges(plan: Plan) -> Plan:
    """Return a plan whose line on scaling tells what Gower's dissimilarity does."""
    others = tuple(decision for decision in plan.decisions if decision.kind != "scale")
    return replace(plan, decisions=(*others, Decision("scale", (), f"compared: {RANGES}")))


def mixed_rows(selection: Selection, scaling: Scaling, *, limit: bool = True) -> ColumnTable:
    """Return scaled numbers and categories as one table."""
    numbers = scaling.apply(selection.X, limit=limit).astype(np.float64)
    columns: list[Floats | Factor] = [np.ascontiguousarray(x) for x in numbers.T]
    return ColumnTable((*columns, *selection.categories.values()), selection.all_names)


def rows_of(selection: Selection, scaling: Scaling, *, limit: bool, like: Any) -> Any:
    """Return the rows as a model takes them: an array, or a table, as `like` is."""
    if isinstance(like, ColumnTable):
        return mixed_rows(selection, scaling, limit=limit)
    return scaling.apply(selection.X, limit=limit)


def with_category_keys(selection: Selection) -> Any:
    """Return the features as numbers: of a category, a checksum of its text."""
    if not selection.categories:
        return selection.X
    keys = [
        np.append([zlib.crc32(str(level).encode()) for level in column.levels], np.nan)[
            column.codes
        ]
        for column in selection.categories.values()
    ]
    return np.column_stack([selection.X, *keys]).astype(np.float64)


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
    if unused := unused_categories(selection):
        remarks.append(unused)
    has_categories = prepared.is_mixed or selection.categories
    X = with_category_keys(selection) if has_categories else prepared.X
    if len(X) > 1 and (X[:1] == X).all():
        remarks.append("all rows are equal: they are one group")
    return remarks


def _marker_hint(text: str) -> str:
    """Return the option that makes a text among numbers a missing value."""
    if not text or len(text) > MAX_MARKER_CHARACTERS:
        return ""
    return f"; {Setting('na', printable(text)).as_option()} uses it, with such cells as missing"
