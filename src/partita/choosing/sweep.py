"""The result of `choose_k`: a table of criteria, a recommendation, and the reasons for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from sklearn.base import clone

from partita._common.array_types import Floats
from partita._common.parameters import is_integer, must_be
from partita.choosing.criterion_kinds import CRITERION_KINDS
from partita.estimators.fitted_models import capabilities_of, unwrap_pipeline
from partita.estimators.fitted_steps import FittedSteps
from partita.estimators.validation import feature_attributes
from partita.source.dataframes import is_frame

MAX_ROUNDING_ERROR = 1e-9  # relative difference of equal sums


@dataclass(frozen=True, slots=True)
class Criterion:
    """One column of the table."""

    name: str
    values: Floats  # (m,) by number of clusters; NaN where the criterion is not defined
    spread: Floats | None  # (m,) standard errors, if it was sampled
    pick: int | None  # the number of clusters that it chooses
    better: str  # how it chooses: "high", "low", "elbow" or "rule"
    about: str  # a short description


@dataclass(frozen=True, slots=True)
class SweepFits:
    """The fits of a sweep; those without labels are completed on demand."""

    estimator: Any
    X: Any  # as the estimator sees it
    weight: Any
    models: dict[int, Any] = field(default_factory=dict)
    feature_names: Sequence[str] | None = None
    steps: FittedSteps = field(default_factory=FittedSteps)  # of a pipeline

    def model(self, k: int) -> Any:
        """Return the fitted estimator with k clusters; of a pipeline, one with this estimator."""
        return self.steps.around(self._own(k))

    def _own(self, k: int) -> Any:
        if not is_integer(k) or k not in self.models:
            advice = f"Use one of {', '.join(map(str, sorted(self.models)))}."
            raise must_be("k", "a number of clusters of this sweep", k, advice)
        model = self.models[k]
        if capabilities_of(model).open_session is not None and not hasattr(model, "trace_"):
            model = self.models[k] = self._completed(model)
        if is_frame(self.X) and not hasattr(model, "feature_names_in_"):
            # it was fitted to the rows alone
            model.feature_names_in_ = feature_attributes(self.X).get("feature_names_in_")
        return model

    def _completed(self, rung: Any) -> Any:
        """Refit with labels and trace, from the rung's start, or from its end if J ends higher."""
        own = {name: getattr(self.estimator, name) for name in ("init", "n_init")}
        for start in (rung.start_, rung.cluster_centers_):
            model = clone(self.estimator)
            model.set_params(n_clusters=rung.n_clusters, init=start, n_init=1)
            model.fit(self.X, sample_weight=self.weight)
            if model.inertia_ <= rung.inertia_ * (1 + MAX_ROUNDING_ERROR):
                break
        return model.set_params(**own)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Sweep:
    """Fits for several numbers of clusters, and the recommended one.

    Attributes
    ----------
    ks : tuple of int
        The numbers of clusters, ascending.
    criteria : dict of Criterion
        By name: "inertia", "silhouette", …
    best_k : int
        The recommended number of clusters; 1 if the data has no cluster structure.
    ranking : tuple of int
        All numbers above 1, by votes of the criteria.
    structure : bool or None
        Whether the data has more structure than a cloud without groups; None if not tested.
    verdict : str
        The recommendation, in one sentence.
    reasons : tuple of str
        Arguments for and against it.
    complete : bool
        False if the sweep was interrupted.
    voters : tuple of str
        The criteria that had a vote.
    """

    ks: tuple[int, ...]
    criteria: dict[str, Criterion]
    best_k: int
    ranking: tuple[int, ...]
    structure: bool | None
    verdict: str
    reasons: tuple[str, ...]
    complete: bool
    voters: tuple[str, ...]
    _fits: SweepFits

    def model(self, k: int | None = None) -> Any:
        """Return the fitted estimator with k clusters; the default is the recommended number.

        The sweep stops a fit when J decreases by less than a thousandth in an iteration. The
        returned model is fitted again from the same start until the estimator's own criterion
        stops it, so its objective may be lower than that in the table. After a sweep of a pipeline,
        it is a pipeline with the same fitted steps.
        """
        return self._fits.model(self.best_k if k is None else k)

    def is_own(self, model: Any) -> bool:
        """Return whether a model came from `model`, so its start is a result of the sweep."""
        last = unwrap_pipeline(model)[0]
        return any(last is one for one in self._fits.models.values())

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table as columns, for any dataframe library."""
        columns: dict[str, list[Any]] = {"k": list(self.ks)}
        for name, criterion in self.criteria.items():
            columns[name] = criterion.values.tolist()
            if criterion.spread is not None:
                columns[f"{name}_error"] = criterion.spread.tolist()
        return columns

    def to_frame(self, library: str | None = None) -> Any:
        """Return a dataframe by pandas, polars or pyarrow: `library`, or the first installed."""
        from partita._common.optional_imports import dataframe

        return dataframe(self.to_dict(), library)

    def __repr__(self) -> str:
        return f"Sweep over K = {self.ks[0]} to {self.ks[-1]}: {self.verdict}"

    def __str__(self) -> str:
        reasons = (f"  - {reason}" for reason in self.reasons)
        rows = list(table_rows(self))
        width = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ("  ".join(map(str.rjust, row, width)) for row in rows)
        return "\n".join([self.verdict, *reasons, "", *table, *legend_lines(self)])

    def _repr_html_(self) -> str:
        head, *rows = table_rows(self)
        top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
        )
        why = "".join(f"<li>{escape(reason)}</li>" for reason in self.reasons)
        return (
            f"<p><b>{escape(self.verdict)}</b></p><ul>{why}</ul>"
            f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
            f"<p><small>{escape(''.join(legend_lines(self)))}</small></p>"
        )


def table_rows(sweep: Sweep) -> Iterator[list[str]]:
    """The head of the table and its rows; a star marks the pick of a criterion."""
    yield ["K", *(CRITERION_KINDS[name].short for name in sweep.criteria)]
    for number, k in enumerate(sweep.ks):
        row = [f"{k}" + "<" * (k == sweep.best_k)]
        for criterion in sweep.criteria.values():
            value = float(criterion.values[number])
            text = "" if math.isnan(value) else f"{value:.4g}"
            row.append(text + "*" * (criterion.pick == k))
        yield row


def legend_lines(sweep: Sweep) -> tuple[str, str]:
    """The legend of the table, in two lines."""
    vote = ", ".join(CRITERION_KINDS[name].short for name in sweep.voters) or "none"
    return "(* the pick of a criterion, < the recommended number;", f" voting criteria: {vote})"
