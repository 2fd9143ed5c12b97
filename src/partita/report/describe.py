"""`describe`: the groups of a fit in words and numbers."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from partita._common.number_text import count_text, number_text, share_text
from partita._common.text import free_name
from partita.chart_layout.model_rows import left_out_note
from partita.description.category_traits import LeadingCategories
from partita.description.clarity import LIMITS_BY_FINDING
from partita.description.group_profile import GroupProfile
from partita.diagnosis.diagnose import run_checks
from partita.diagnosis.fit_context import FitContext
from partita.report.cluster_distances import measure_distances
from partita.report.group_summary import GroupSummary, describe_groups
from partita.report.group_tables import category_table
from partita.report.report_input import Fitted, NotApplicable, ReportInput, check_input
from partita.report.silhouette_sample import measure_silhouettes
from partita.report.summary import fit_context, grade_groups, sentence_of

_TEXT_COLUMNS = 80
_SHOWN_TRAITS = 3
GRADED_CHECKS = ("equal-rows", "few-distinct-rows", *LIMITS_BY_FINDING)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Description:
    """The groups of a fit, in words and numbers.

    Attributes
    ----------
    sentence : str
        The answer: how many groups, and how clear they are.
    grade : str
        "clear", "mostly", "overlapping", "blurred", "none", or "unknown"; `reason` says why.
    doubtful : float or None
        The share of rows near a border between groups.
    groups : tuple of GroupSummary
        By number: name, size, share, spread, `traits` (the features, or terms of text, that set a
        group apart), `categories`, `neighbour` (the nearest other group), `typical` rows.
    features : tuple of str
        The names of the features.
    profile : GroupProfile or None
        Typical values, means and quartiles by group and feature; None without features.
    left_out : str
        How many rows belong to no group, of members that leave rows out; else empty.
    leading : tuple of LeadingCategories
        The most frequent categories of each column, in all rows and in each group.
    missing : float
        The share of values that are missing, and left out by the model.
    """

    sentence: str
    grade: str
    reason: str
    doubtful: float | None
    groups: tuple[GroupSummary, ...]
    features: tuple[str, ...]
    profile: GroupProfile | None
    left_out: str = ""
    leading: tuple[LeadingCategories, ...] = ()
    missing: float = 0.0

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, number: int) -> GroupSummary:
        return self.groups[number]

    @property
    def by_size(self) -> tuple[GroupSummary, ...]:
        """The groups, the largest first."""
        return tuple(sorted(self.groups, key=lambda group: -group.share))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a table of the groups as columns: a row for each group, in order of size."""
        columns: dict[str, list[Any]] = {
            "group": [group.number for group in self.by_size],
            "name": [group.name for group in self.by_size],
            "size": [group.size for group in self.by_size],
            "share": [group.share for group in self.by_size],
            "spread": [group.spread for group in self.by_size],
            "sets_apart": [group.words for group in self.by_size],
        }
        if self.profile is not None:
            for t, name in enumerate(self.features):
                typical = self.profile.typical[:, t]
                values = [float(typical[group.number]) for group in self.by_size]
                columns[free_name(name, columns)] = values
        return columns

    def to_frame(self, library: str | None = None) -> Any:
        """Return a dataframe by pandas, polars or pyarrow: `library`, or the first installed."""
        from partita._common.optional_imports import dataframe

        return dataframe(self.to_dict(), library)

    def __repr__(self) -> str:
        return f"<Description: {self.sentence}>"

    def __str__(self) -> str:
        lines = [f"{self.sentence}.", *self._remarks]
        for group in self.by_size:
            head = f"{group.number}  {group.name}: {share_text(group.share)}, "
            lines += ["", f"{head}{count_text(group.size, 'row')}"]
            for text in _texts(group):
                lines.append(textwrap.fill(text, _TEXT_COLUMNS, **_INDENT))
        lines += ["", f"{self.left_out}."] if self.left_out else []
        return "\n".join(lines)

    @property
    def _remarks(self) -> list[str]:
        share = f"{share_text(self.missing)} of the values are missing; only the others count."
        return [text for text in (self.reason, share if self.missing else "") if text]

    def _repr_html_(self) -> str:
        """HTML for notebooks; everything that comes from the data is escaped."""
        rows = "".join(
            f"<tr><td>{group.number}</td><td><b>{escape(group.name)}</b></td>"
            f"<td>{share_text(group.share)}</td><td>{number_text(group.size)}</td>"
            f"<td style='text-align:left'>{'<br>'.join(map(escape, _texts(group)))}</td></tr>"
            for group in self.by_size
        )
        head = "".join(f"<th>{name}</th>" for name in ("group", "name", "share", "rows", ""))
        rest = f"<p>{escape(self.left_out)}.</p>" if self.left_out else ""
        return (
            f"<p><b>{escape(self.sentence)}.</b> {escape(' '.join(self._remarks))}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"{rest}"
        )


_INDENT: dict[str, Any] = {"initial_indent": "   ", "subsequent_indent": "     "}


def _texts(group: GroupSummary) -> list[str]:
    traits = [trait.words for trait in group.traits[:_SHOWN_TRAITS]]
    traits += [trait.words for trait in group.categories[:_SHOWN_TRAITS]]
    return traits or [group.likeness or "nothing sets it apart"]


def describe(
    model: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    feature_names: Any = None,
    group_names: Any = None,
    categories: Any = None,
) -> Description:
    """Describe the groups of a fit: what sets each apart, and how clear they are.

    Parameters
    ----------
    model : fitted estimator or pipeline
        Groups of a pipeline are described in the units of X, if it keeps the features.
    X : array, CSR matrix or table of shape (n_samples, n_features)
        The rows of the fit, or similar ones. Features of sparse rows are terms: they are described
        by the share of rows that have them.
    sample_weight : array of shape (n_samples,), optional
    feature_names : sequence of str, optional
        By default those that `fit` saw.
    group_names : sequence or mapping, optional
        Names of groups by number. The others get a name from what sets them apart.
    categories : mapping, optional
        Columns of categories (n_samples,) by name, which describe the groups too. Those of a table
        that the model was fitted to (`KMedoids(metric="gower")`, …) are known without it.

    Returns
    -------
    Description
        Print it, show it in a notebook, or take `to_frame()`.

    Notes
    -----
    A difference is measured by the spread within groups. The grade depends on the share of rows
    near a border: up to 3 % "clear", 7 % "mostly", 10 % "overlapping", else "blurred" (see the
    guide).

    Examples
    --------
    >>> from partita import KMeans, describe
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> found = describe(KMeans(2, random_state=0, n_init=5).fit(X), X)
    >>> found.sentence
    '150 rows fall into 2 mostly separate groups'
    >>> found[0].name
    'High petal length (cm)'
    """
    fitted = Fitted(
        model,
        X,
        names=feature_names,
        weight=sample_weight,
        group_names=group_names,
        categories=categories,
    )
    with np.errstate(all="ignore"):
        data = check_input(fitted)
        described = describe_groups(data, measure_distances(data))
        context = fit_context(data) if data.k > 1 else None
        findings = () if context is None else _found(context)
        clarity = grade_groups(data, context, lambda: _silhouette(data), findings)
    return Description(
        sentence_of(data, clarity),
        clarity.grade,
        clarity.reason,
        clarity.doubtful,
        described.groups,
        data.names if described.profile is not None else (),
        described.profile,
        left_out_note(data.model, data.labels),
        category_table(data),
        data.left_missing / max(1, np.size(data.given_rows)),
    )


def _found(context: FitContext) -> tuple[str, ...]:
    """The names of the findings that a grade depends on."""
    return run_checks(context, GRADED_CHECKS).names


def _silhouette(data: ReportInput) -> float | None:
    try:
        return measure_silhouettes(data).mean
    except NotApplicable:
        return None
