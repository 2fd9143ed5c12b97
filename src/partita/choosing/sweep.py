"""What `choose_k` found: a table of criteria, a recommendation, and the reasons for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from sklearn.base import clone

from partita._common.array_types import Floats
from partita.choosing.criterion_kinds import CRITERION_KINDS
from partita.estimators.center_clusterer import LloydClusterer
from partita.estimators.validation import features_of
from partita.source.dataframes import is_frame

_ROUNDING = 1e-9  # by how much the same sums may differ


@dataclass(frozen=True, slots=True)
class Criterion:
    """One column of the table.

    Attributes
    ----------
    name : str
    values : ndarray of shape (m,)
        One for every number of clusters; NaN where it is not defined.
    spread : ndarray of shape (m,) or None
        Standard errors, of what was sampled.
    pick : int or None
        The number of clusters that it votes for.
    better : {"high", "low", "elbow", "rule"}
        What it looks for.
    about : str
        One sentence about it.
    """

    name: str
    values: Floats
    spread: Floats | None
    pick: int | None
    better: str
    about: str


@dataclass(frozen=True, slots=True)
class SweepFits:
    """The fits of a sweep; those without labels are finished when they are asked for."""

    estimator: Any
    X: Any
    weight: Any
    models: dict[int, Any] = field(default_factory=dict)
    feature_names: Sequence[str] | None = None

    def model(self, k: int) -> Any:
        """The fitted estimator with k clusters."""
        if k not in self.models:
            raise ValueError(
                f"k={k!r} was given, which is not part of the sweep; one of "
                f"{', '.join(map(str, sorted(self.models)))} is expected"
            )
        found = self.models[k]
        if isinstance(found, LloydClusterer) and not hasattr(found, "trace_"):
            found = self.models[k] = self._whole(found)
        if is_frame(self.X) and not hasattr(found, "feature_names_in_"):
            # it was fitted to the rows alone
            found.feature_names_in_ = features_of(self.X).get("feature_names_in_")
        return found

    def _whole(self, rung: Any) -> Any:
        """A fit with labels and trace: from where the rung began, or if that ends higher, ended."""
        asked = {name: getattr(self.estimator, name) for name in ("init", "n_init")}
        for start in (rung.start_, rung.cluster_centers_):
            model = clone(self.estimator)
            model.set_params(n_clusters=rung.n_clusters, init=start, n_init=1)
            model.fit(self.X, sample_weight=self.weight)
            if model.inertia_ <= rung.inertia_ * (1 + _ROUNDING):
                break
        return model.set_params(**asked)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Sweep:
    """Fits for several numbers of clusters, and which of them to take.

    Attributes
    ----------
    ks : tuple of int
        The numbers of clusters, ascending.
    criteria : dict of Criterion
        By name: "inertia", "silhouette", …
    best_k : int
        The recommended number of clusters; 1 if the data have no cluster structure.
    ranking : tuple of int
        All numbers above 1, by how the criteria vote.
    structure : bool or None
        Whether the data have more structure than uniform rows; None if that was not tested.
    verdict : str
        The recommendation, in one sentence.
    reasons : tuple of str
        What speaks for it, and what against it.
    complete : bool
        False if it was interrupted.
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
        """The fitted estimator with k clusters; with the recommended number, if not given.

        The sweep stops a fit when J falls by less than a thousandth in an iteration. What is asked
        for is run again, from the same clusters to the end that the estimator sets, so its
        objective may be lower than that of the table.
        """
        return self._fits.model(self.best_k if k is None else k)

    def is_own(self, model: Any) -> bool:
        """Whether a model came from `model`, so that it began with clusters of the sweep."""
        return any(model is one for one in self._fits.models.values())

    def to_dict(self) -> dict[str, list[Any]]:
        """Column by column: what any dataframe library makes a frame of."""
        columns: dict[str, list[Any]] = {"k": list(self.ks)}
        for name, criterion in self.criteria.items():
            columns[name] = criterion.values.tolist()
            if criterion.spread is not None:
                columns[f"{name}_error"] = criterion.spread.tolist()
        return columns

    def to_frame(self, library: str | None = None) -> Any:
        """A dataframe, by pandas, polars or pyarrow: the one named, or the first installed."""
        from partita._common.optional_imports import dataframe

        return dataframe(self.to_dict(), library)

    def __repr__(self) -> str:
        return f"Sweep over K = {self.ks[0]} to {self.ks[-1]}: {self.verdict}"

    def __str__(self) -> str:
        lines = [self.verdict, *(f"  - {reason}" for reason in self.reasons), ""]
        return "\n".join([*lines, *_table(self)])

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
        )


def table_rows(sweep: Sweep) -> Iterator[list[str]]:
    """The head of the table and its rows; a star where a criterion has its pick."""
    yield ["K", *(CRITERION_KINDS[name].short for name in sweep.criteria)]
    for at, k in enumerate(sweep.ks):
        row = [f"{k}" + "<" * (k == sweep.best_k)]
        for criterion in sweep.criteria.values():
            value = float(criterion.values[at])
            text = "" if math.isnan(value) else f"{value:.4g}"
            row.append(text + "*" * (criterion.pick == k))
        yield row


def _table(sweep: Sweep) -> list[str]:
    rows = list(table_rows(sweep))
    width = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    shown = ["  ".join(f"{cell:>{w}}" for cell, w in zip(row, width, strict=True)) for row in rows]
    return [*shown, *legend_lines(sweep)]


def legend_lines(sweep: Sweep) -> tuple[str, str]:
    """What the signs of the table mean, in two lines."""
    vote = ", ".join(CRITERION_KINDS[name].short for name in sweep.voters) or "nobody"
    return "(* the pick of a criterion, < the recommended number;", f" who votes: {vote})"
