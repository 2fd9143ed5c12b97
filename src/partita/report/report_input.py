"""The input of a report: a fit, its rows, and how it was made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import Got, must_be
from partita.chart_layout.mixed_places import Places, places_of
from partita.chart_layout.model_rows import feature_names
from partita.diagnosis import Finding
from partita.estimators import validation
from partita.estimators.fitted_models import (
    capabilities_of,
    check_fitted,
    count_clusters,
    unwrap_pipeline,
    without_feature_names,
)
from partita.estimators.pipeline_scaling import pipeline_scaling
from partita.estimators.table_rows import takes_categories
from partita.model_file.group_naming import check_group_names
from partita.report.page_text import safe_line
from partita.report.report_columns import (
    as_sequence,
    check_numbers,
    checked_categories,
    checked_labels,
    checked_numbers,
    checked_rows,
    checked_table,
)
from partita.report.sampled_fit import SampledFit
from partita.source.category_column import CategoryColumn
from partita.source.column_table import ColumnTable
from partita.source.mixed_rows import MixedView
from partita.tables.preparation_plan import Plan

MAX_NOUN_CHARACTERS = 30
MIN_TOLD_ROWS = 5  # of anything that is told, if no single row may be shown
_RULES = {
    "scaling": accept.optional(accept.having("kind", wanted="a Scaling")),
    "sweep": accept.optional(accept.having("verdict", "criteria", "is_own", wanted="a Sweep")),
    "diagnosis": accept.optional(accept.having("findings", "looked", wanted="a Diagnosis")),
    "comparison": accept.optional(accept.having("is_stranger", "reference", wanted="a Comparison")),
    "source": accept.TEXT,
    "command": accept.TEXT,
    "seconds": accept.optional(accept.number(0, finite=True)),
    "versions": accept.optional(accept.KEYWORDS),
    "rows_total": accept.optional(accept.integer(0, 2**63)),
    "left_out": accept.optional(accept.KEYWORDS),
    "categories": accept.optional(accept.KEYWORDS),
    "fingerprint": accept.TEXT,
    "created": accept.TEXT,
    "filled": accept.integer(0, 2**63),
    "remarks": accept.instance(Sequence, "a sequence of texts"),
    "plan": accept.instance((Sequence, Plan), "a Plan, or a sequence of texts"),
    "advice": accept.optional(accept.CALLABLE),
    "title": accept.TEXT,
    "author": accept.TEXT,
    "noun": accept.TEXT,
    "no_rows": accept.FLAG,
    "days": accept.instance(Sequence, "a sequence of names of features"),
    "unused": accept.optional(accept.KEYWORDS),
    "other": accept.optional(accept.having("labels", "group_names", wanted="an OtherModel")),
    "sampled": accept.optional(
        accept.having("rows", "cluster_rows", "cluster_weight", wanted="a SampledFit")
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted model and its rows; everything else is optional.

    Attributes
    ----------
    model : fitted estimator
        If it is a pipeline, the report is about its last step, on X as the steps before transform
        it.
    X : array or CSR matrix of shape (n, d)
        The rows as they were clustered: scaled, without missing values.
    original : array or CSR matrix of shape (n, d), optional
        The same rows in the user's units; NaN where a value was missing. Of a table with
        categories, only its numbers.
    names, ids : sequences, optional
        Of the features (d,) and of the rows (n,).
    weight, labels : arrays of shape (n,), optional
        The weight and the cluster of every row; labels default to those of `predict`.
    scaling : record with a `kind`, optional
        How `original` became X.
    sweep : Sweep, optional
        The sweep that chose the number of clusters.
    diagnosis : Diagnosis, optional
        The findings; `diagnose` is run if it is not given.
    comparison : Comparison, optional
        If these are not the rows of the fit: `compare_with_fit(model, X)`.
    source, command : str
        Where the rows come from, and the command that made the fit.
    seed, seconds, versions, created, fingerprint : optional
        What is needed to repeat the fit. Nothing is looked up: the same record gives the same
        report, to the last byte.
    rows_total : int, optional
        The number of rows of the source, if some were left out; `kept` (n,) holds the numbers of
        those that were not, from 0.
    left_out : mapping, optional
        Columns that were not used, and why.
    categories : mapping, optional
        Columns of categories (n,) that are not features, by name: text, yes or no. Those that are
        more frequent in a cluster than in all rows describe it.
    remarks : sequence of str, optional
        Remarks on the data or on the end of the fit; shown first.
    filled : int
        The number of missing values that were filled in.
    plan : Plan or sequence of str, optional
        How the rows were prepared, a line for each decision. With `no_rows`, only a Plan is shown,
        which knows the lines that tell nothing of single rows.
    advice : callable, optional
        Words the advice of a finding as options of the program that made the report.
    group_names : sequence or mapping, optional
        Names of the clusters, by number; those without one get a name from what sets them apart.
    title, author : str
        Shown at the top of the page.
    noun : str
        What a row is, in the plural: "customers". Default: rows.
    no_rows : bool
        Whether to leave out everything that shows single rows: names, values, points of the map,
        extremes, rare categories.
    other : OtherModel, optional
        Another clustering of the same rows: the page shows which rows change their group.
    days : sequence of str, optional
        The features that are dates, as days since 1970.
    unused : mapping, optional
        Columns of numbers (n,) that are not features, by name: their means describe the groups.
    sampled : SampledFit, optional
        If X is a sample of the rows of the fit: how many there are.
    """

    model: Any
    X: Any
    original: Any = None
    names: Any = None
    ids: Any = None
    weight: Any = None
    scaling: Any = None
    labels: Any = None
    sweep: Any = None
    diagnosis: Any = None
    comparison: Any = None
    source: str = ""
    command: str = ""
    seed: Any = None
    seconds: float | None = None
    versions: Mapping[str, str] | None = None
    rows_total: int | None = None
    left_out: Mapping[str, str] | None = None
    categories: Mapping[str, Any] | None = None
    kept: Any = None
    fingerprint: str = ""
    created: str = ""
    filled: int = 0
    remarks: Sequence[str] = ()
    plan: Plan | Sequence[str] = ()
    advice: Callable[[Finding], str] | None = None
    group_names: Any = None
    title: str = ""
    author: str = ""
    noun: str = ""
    no_rows: bool = False
    other: OtherModel | None = None
    days: Sequence[str] = ()
    unused: Mapping[str, Any] | None = None
    sampled: SampledFit | None = None


@dataclass(frozen=True, slots=True, eq=False)
class OtherModel:
    """Another clustering of the rows of a report, to compare with.

    Attributes
    ----------
    labels : array of shape (n,)
        The group of every row by the other model; −1 for none.
    group_names : sequence of str
        The names of its groups, by number.
    title : str
        What the other model is called, such as the name of its file.
    """

    labels: Any
    group_names: Any
    title: str = "the other model"


class NotApplicable(Exception):
    """A figure does not apply to this kind of model or to these rows; the message is the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportInput:
    """A `Fitted` that was checked, with the facts that all parts of a report use."""

    fitted: Fitted
    model: Any  # without the names of columns
    k: int
    rows: Any  # (n, d) as clustered, dense or CSR; a `ColumnTable`; or a matrix in their place
    given_rows: Any  # the same with NaN where the model sees a missing value
    original: Any  # (n, d) in the user's units; of a table with categories, its numbers
    names: tuple[str, ...]  # of the features (of the numbers), as they are shown
    labels: Ints  # (n,); −1 for rows without a cluster
    weight: Floats  # (n,)
    ids: Any  # (n,) or None
    row_numbers: Ints  # (n,) in the source, from 1
    is_matrix: bool
    cluster_weight: Floats  # (k,) weight of each cluster
    cluster_counts: Ints  # (k,) rows with weight of each cluster
    cluster_rows: Sequence[Ints]  # (k,) the rows of each cluster
    categories: Mapping[str, CategoryColumn]
    used_categories: tuple[str, ...]  # those of `categories` that are features
    unused: Mapping[str, Floats]  # (n,) columns of numbers that are not features
    places: Places | None  # where rows with categories are drawn; None: as they are
    given_names: tuple[str | None, ...]  # (k,) of the clusters; None: to be proposed
    group_names: tuple[str, ...] = ()  # (k,), once all are known

    def with_names(self, group_names: tuple[str, ...]) -> ReportInput:
        """Return the same input with names of all groups."""
        return replace(self, group_names=group_names)

    @property
    def day_features(self) -> tuple[int, ...]:
        """The numbers of the features that are dates, as days since 1970."""
        days = set(self.fitted.days)
        return tuple(t for t, name in enumerate(self.names) if name in days)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.labels)

    @property
    def left_missing(self) -> int:
        """The number of missing values that the model leaves out."""
        return 0 if self.given_rows is self.rows else int(np.isnan(self.given_rows).sum())

    @property
    def rows_of_fit(self) -> int:
        """The number of rows: of the fit, if the rows are a sample of its own."""
        return self.n if self.fitted.sampled is None else int(self.fitted.sampled.rows)

    @property
    def n_groups(self) -> int:
        """The number of clusters that have weight."""
        return int((self.cluster_weight > 0).sum())

    @property
    def min_rows(self) -> int:
        """The number of rows from which a group, a category or a bin may be told."""
        return MIN_TOLD_ROWS if self.fitted.no_rows else 1

    @property
    def points(self) -> Any:
        """The rows (n, m) as points, dense or CSR."""
        return self.rows if self.places is None else self.places.values

    @property
    def point_names(self) -> tuple[str, ...]:
        """The names (m,) of the columns of `points`."""
        return self.names if self.places is None else self.places.names

    @property
    def is_told(self) -> Array:
        """Flags (k,) of clusters that may be described: a mean of few rows nearly tells them."""
        return self.cluster_counts >= self.min_rows

    @property
    def told_rows(self) -> Ints | slice:
        """The rows that enter descriptions.

        All of them; without single rows, those of clusters that are told: else the others would
        follow from all rows by subtraction.
        """
        if not self.fitted.no_rows:
            return slice(None)
        return np.flatnonzero(np.append(self.is_told, False)[self.labels])

    @property
    def told_categories(self) -> Mapping[str, CategoryColumn]:
        """The columns of categories, of the rows that enter descriptions."""
        rows = self.told_rows
        if isinstance(rows, slice):
            return self.categories
        return {
            name: CategoryColumn(column.values, column.codes[rows])
            for name, column in self.categories.items()
        }

    @property
    def optional_weight(self) -> Floats | None:
        """The weights; None if none were given."""
        return None if self.fitted.weight is None else self.weight

    @property
    def scaling(self) -> str:
        """The kind of scaling by which `original` became `rows`."""
        return str(getattr(self.fitted.scaling, "kind", "none"))

    @property
    def started_in_sweep(self) -> bool:
        """True if the fit is the sweep's own, which starts from clusters of a larger K."""
        sweep = self.fitted.sweep
        return sweep is not None and sweep.is_own(self.fitted.model)

    @property
    def noun(self) -> str:
        """The word for rows, in the plural; empty if none was given."""
        return safe_line(self.fitted.noun, MAX_NOUN_CHARACTERS) if self.fitted.noun else ""

    def group_name(self, j: int) -> str:
        """Return the name of a group; its number until all names are known."""
        return self.group_names[j] if self.group_names else f"Group {j}"

    def row_name(self, i: int) -> str:
        """Return the id of a row, or "row 17"."""
        if self.ids is not None:
            return safe_line("" if self.ids[i] is None else self.ids[i], 40)
        return f"row {self.row_numbers[i]}"

    def groups_by_size(self) -> list[int]:
        """Return the numbers of the groups, the largest first."""
        order: list[int] = np.argsort(-self.cluster_weight, kind="stable").tolist()
        return order

    def largest_clusters(self, count: int) -> list[int]:
        """Return the numbers of the largest clusters, ascending."""
        return sorted(self.groups_by_size()[:count])


def check_input(fitted: Fitted) -> ReportInput:
    """Check the input of a report, and add what was left out."""
    if not isinstance(fitted, Fitted):
        raise must_be("fitted", "a Fitted", Got(type(fitted).__name__), "Use Fitted(model, X).")
    accept.check_parameters(fitted, _RULES)
    given, fitted = fitted, _unwrapped(fitted)
    check_fitted(fitted.model)
    is_matrix = capabilities_of(fitted.model).takes_matrix
    model = without_feature_names(fitted.model)
    given_rows, rows, original, names, view = _rows_of(fitted, is_matrix)
    n = rows.shape[0]
    kept = np.arange(n) if fitted.kept is None else check_numbers("kept", fitted.kept, n)
    ids = as_sequence(fitted.ids)
    if ids is not None:
        ids = accept.check_items("ids", ids, n, "names, one for each row")
    weight = validation.check_weights(fitted.weight, n, "weight")
    weight = np.ones(n) if weight is None else weight
    if fitted.comparison is not None:
        check_numbers("comparison", fitted.comparison.labels, n)
    k = count_clusters(model)
    labels = checked_labels(model, rows, fitted.labels, k)
    inside, order = labels >= 0, np.argsort(labels, kind="stable")
    used = {} if view is None else {safe_line(name): c for name, c in view.categories.items()}
    others = {t: values for t, values in (fitted.categories or {}).items() if t not in used}
    categories = used | {t: checked_categories(t, values, n) for t, values in others.items()}
    return ReportInput(
        fitted=fitted,
        model=model,
        k=k,
        rows=rows,
        given_rows=given_rows,
        original=original,
        names=tuple(safe_line(name) for name in names),
        labels=labels,
        weight=weight,
        ids=ids,
        row_numbers=1 + kept,
        is_matrix=is_matrix,
        cluster_weight=np.bincount(labels[inside], weight[inside], k).astype(np.float64),
        cluster_counts=np.bincount(labels[inside & (weight > 0)], minlength=k),
        cluster_rows=np.split(order, np.searchsorted(labels[order], np.arange(k + 1)))[1:-1],
        categories=categories,
        used_categories=tuple(used),
        places=None if view is None else places_of(view),
        unused={name: checked_numbers(name, v, n) for name, v in (fitted.unused or {}).items()},
        given_names=check_group_names(_given_names(given), k) or (None,) * k,
    )


def _rows_of(
    fitted: Fitted, is_matrix: bool
) -> tuple[Any, Any, Any, Sequence[str], MixedView | None]:
    """The rows as given, without gaps, and in units; names; and the view, if there are categories.

    Of a table with categories, those given and those in units are its numbers.
    """
    X, known = fitted.X, fitted.original
    if takes_categories(fitted.model):
        rows, original, view = checked_table(fitted.model, X, known)
        return view.numbers, rows, original, view.number_names, view
    given_rows, rows, original = checked_rows(fitted.model, X, known, is_matrix)
    names = feature_names(fitted.model, X, original.shape[1], fitted.names, "names")
    return given_rows, rows, original, names, None


def _given_names(fitted: Fitted) -> Any:
    """The names that were given, else those in the file of a loaded model."""
    if fitted.group_names is not None:
        return fitted.group_names
    saved = getattr(getattr(fitted.model, "saved_", None), "group_names", None)
    return {} if saved is None else saved


def _unwrapped(fitted: Fitted) -> Fitted:
    """The last step of a pipeline, with X as the steps before transform it."""
    model, rows, names = unwrap_pipeline(fitted.model, fitted.X)
    if model is fitted.model:
        return fitted
    original = fitted.X if fitted.original is None else fitted.original
    first = fitted.model.steps[0][1]
    if fitted.original is None and hasattr(first, "columns_of"):  # of a saved model
        original = first.columns_of(fitted.X)
    is_mixed = isinstance(rows, ColumnTable)  # whose original has only its numbers
    if not (is_mixed or np.shape(original) == np.shape(rows)):  # they are not the same features
        original = rows
    names = names if fitted.names is None else fitted.names
    scaling = pipeline_scaling(fitted.model) if fitted.scaling is None else fitted.scaling
    return replace(fitted, model=model, X=rows, original=original, names=names, scaling=scaling)
