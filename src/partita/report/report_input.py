"""What a report is about: a fit, the rows it was made from, and how it came about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita.chart_layout.model_rows import names_of
from partita.diagnosis import Finding
from partita.estimators import validation
from partita.estimators.fitted_models import (
    check_fitted,
    count_clusters,
    takes_a_matrix,
    unwrap_pipeline,
    without_feature_names,
)
from partita.report.safe_text import shown

_KINDS = {"StandardScaler": "standard", "RobustScaler": "robust"}


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted model and its rows; all but these two may be left out.

    Attributes
    ----------
    model : fitted estimator
        Of a pipeline the last step is meant, with X as the others hand it over.
    X : array or CSR matrix of shape (n, d)
        The rows as they were clustered: scaled, without gaps.
    original : array or CSR matrix of shape (n, d), optional
        The same rows in the user's units; NaN where a value was missing.
    names, ids : sequences, optional
        Of the features (d,) and of the rows (n,).
    weight, labels : arrays of shape (n,), optional
        What every row counts, and its cluster; `predict` says it if it is not given.
    scaling : record with a `kind`, optional
        How `original` became X.
    sweep : Sweep, optional
        How the number of clusters was chosen.
    diagnosis : Diagnosis, optional
        What there is to worry about; made here if it is not given.
    source, command : str
        Where the rows come from, and what made the fit.
    seed, seconds, versions, created, fingerprint : optional
        For those who want to make it again. Nothing is looked up: the same record gives the same
        report, to the last byte.
    rows_total : int, optional
        How many rows the source has, if some were left out; `kept` (n,) are the numbers of those
        that were not, from 0.
    left_out : mapping, optional
        Columns that were not used, and why.
    remarks : sequence of str, optional
        What else the reader should know of the data, or of how the fit ended; shown first.
    filled : int
        How many values were missing, and filled in by the means of their features.
    advice : callable, optional
        Words the advice of a finding as options of the program that made the report.
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
    source: str = ""
    command: str = ""
    seed: Any = None
    seconds: float | None = None
    versions: Mapping[str, str] | None = None
    rows_total: int | None = None
    left_out: Mapping[str, str] | None = None
    kept: Any = None
    fingerprint: str = ""
    created: str = ""
    filled: int = 0
    remarks: Sequence[str] = ()
    advice: Callable[[Finding], str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A `Fitted` that was checked: what all parts of a report stand on."""

    fitted: Fitted
    model: Any  # that does not ask for the names of columns
    k: int
    rows: Any  # (n, d) as clustered, dense or CSR; or a matrix in the place of rows
    original: Any  # (n, d) in the user's units
    names: tuple[str, ...]  # of the features, as they are shown
    labels: Ints  # (n,); −1 for rows that belong nowhere
    weight: Floats  # (n,)
    ids: Any  # (n,) or None
    kept: Ints | None  # (n,) numbers of the rows in the source, from 0
    is_matrix: bool
    sizes: Ints  # (k,) how many rows each cluster has
    mass: Floats  # (k,) what they weigh
    order: Ints  # (n,) rows by cluster, in their order; those that belong nowhere first
    start: Ints  # (k + 1,) where each cluster begins there

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.labels)

    @property
    def given_weight(self) -> Floats | None:
        """The weights, if there are any."""
        return None if self.fitted.weight is None else self.weight

    @property
    def began_in_sweep(self) -> bool:
        """Whether the fit is the sweep's own, which does not begin where a fit alone would."""
        sweep = self.fitted.sweep
        return sweep is not None and sweep.is_own(self.fitted.model)

    def members(self, j: int) -> Ints:
        """The rows of a cluster."""
        return self.order[self.start[j] : self.start[j + 1]]

    def row_name(self, i: int) -> str:
        """The id of a row, or its number in the source: the first is row 1."""
        if self.ids is not None:
            return shown("" if self.ids[i] is None else self.ids[i], 40)
        return f"row {self.row_number(i)}"

    def row_number(self, i: int) -> int:
        """The number of a row in the source, from 1."""
        return 1 + int(i if self.kept is None else self.kept[i])

    def largest(self, most: int) -> list[int]:
        """The numbers of the largest clusters, at most so many, ascending."""
        return sorted(np.argsort(-self.mass, kind="stable")[:most].tolist())

    def values(self, i: int) -> Floats:
        """The values (d,) of a row in the user's units."""
        row = self.original[[i]].toarray()[0] if sp.issparse(self.original) else self.original[i]
        return np.asarray(row, dtype=np.float64)


def receive(fitted: Fitted) -> Case:
    """Check what came in, and find what was left out."""
    fitted = _unpiped(fitted)
    model = fitted.model
    check_fitted(model)
    is_matrix = takes_a_matrix(model)
    rows = validation.as_rows(fitted.X, "a report")
    original = rows if fitted.original is None else _rows(fitted.original, rows.shape)
    names = names_of(model, fitted.X, original.shape[1], fitted.names)
    n = len(model.labels_) if is_matrix else rows.shape[0]
    bare = without_feature_names(model)
    labels = bare.predict(rows) if fitted.labels is None else np.asarray(fitted.labels)
    for what, given in (("labels", labels), ("ids", fitted.ids), ("kept", fitted.kept)):
        if given is not None and len(given) != n:
            raise ValueError(f"{what} has {len(given)} entries; {n} are expected, one for each row")
    weight = validation.check_weights(fitted.weight, n)
    k = count_clusters(model)
    labels = np.where((labels >= 0) & (labels < k), labels, -1).astype(np.intp)
    weight = np.ones(n) if weight is None else weight
    some, order = labels >= 0, np.argsort(labels, kind="stable")
    return Case(
        fitted=fitted,
        model=bare,
        k=k,
        rows=rows,
        original=original,
        names=tuple(shown(name) for name in names),
        labels=labels,
        weight=weight,
        ids=_listed(fitted.ids),
        kept=None if fitted.kept is None else np.asarray(fitted.kept),
        is_matrix=is_matrix,
        sizes=np.bincount(labels[some], minlength=k),
        mass=np.bincount(labels[some], weight[some], k).astype(np.float64),
        order=order,
        start=np.searchsorted(labels[order], np.arange(k + 1)),
    )


def _unpiped(fitted: Fitted) -> Fitted:
    """The last step of a pipeline, with X as the others hand it over."""
    model, rows, names = unwrap_pipeline(fitted.model, fitted.X)
    if model is fitted.model:
        return fitted
    original = fitted.X if fitted.original is None else fitted.original
    first = fitted.model.steps[0][1]
    if fitted.original is None and hasattr(first, "columns_of"):  # of a model that was saved
        original = first.columns_of(fitted.X)
    if np.shape(original) != np.shape(rows):  # not the same features in other units
        original = rows
    known = names if fitted.names is None else fitted.names
    scaling = _scaling(fitted.model) if fitted.scaling is None else fitted.scaling
    return replace(fitted, model=model, X=rows, original=original, names=known, scaling=scaling)


def _scaling(pipeline: Any) -> Any:
    """What the steps before the model do to features, as a record with its `kind`."""
    steps = [step for _, step in pipeline.steps[:-1]]
    own = next((step.scaling for step in steps if getattr(step, "scaling", None)), None)
    if own is not None:
        return own
    kinds = [_KINDS.get(type(step).__name__, type(step).__name__) for step in steps]
    return SimpleNamespace(kind=", ".join(kinds)) if kinds else None


def _rows(original: Any, shape: tuple[int, int]) -> Any:
    found = validation.as_rows(original, "a report")
    if found.shape != shape:
        raise ValueError(
            f"original has the shape {found.shape}; {shape} is expected, that of X, as it holds "
            "the same rows in other units"
        )
    return found


def _listed(ids: Any) -> Any:
    """What can be asked for by place: arrays of pyarrow hold wrappers, those of pandas an index."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(ids, method):
            return getattr(ids, method)()
    return ids
