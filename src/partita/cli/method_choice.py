"""The member of the family that fits a table: categories, gaps, or neither; and what it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import typer

from partita._common.text import isolated, listed, one_line, plural
from partita.cli.method_options import MethodOptions
from partita.cli.options import ColumnOptions
from partita.tables import Selection
from partita.tables.preparation_plan import Decision

AUTO_METHOD = "auto"  # of --method: chosen by the table
ALL, NONE = "auto", "none"  # of --categories
MAX_NAME_CHARACTERS = 30
RULE = (
    "prototypes if columns are categories, which K-means cannot use; else kmeans, with the gaps "
    "left open (--missing partial) if values are missing"
)
RANGES = "each number by its range, each category as equal or not (Gower); gaps are skipped"


class MethodChoice(NamedTuple):
    """A method, and why it was chosen; empty if the user did."""

    method: MethodOptions
    why: str = ""

    @property
    def decision(self) -> Decision | None:
        """The line of the plan."""
        if not self.why:
            return None
        partial = ", --missing partial" * (self.method.missing == "partial")
        line = f"method: {self.method.method}{partial} ({self.why})"
        undo = "" if line.startswith("method: kmeans (") else "--method kmeans --missing auto"
        return Decision("method", (), line, RULE, undo)


def check_columns(columns: ColumnOptions, method: MethodOptions) -> None:
    """Refuse options about columns that the method cannot use."""
    named = wanted_categories(columns)
    if named not in (None, NONE) and not (takes_categories(method) or is_auto(method)):
        raise typer.BadParameter(
            "--categories needs --method prototypes, or --method medoids --metric gower, got "
            f"--method {method.method}."
        )
    if columns.missing == "partial" and not (takes_gaps(method) or is_auto(method)):
        raise typer.BadParameter(
            "--missing partial needs --method kmeans, or --method medoids --metric gower, got "
            f"--method {method.method}. Use --missing auto to fill in medians."
        )


def wanted_categories(columns: ColumnOptions) -> str | None:
    """Return "auto", "none", names with commas, or None if the user did not say."""
    return None if columns.categories is None else ",".join(columns.categories).strip()


def is_auto(method: MethodOptions) -> bool:
    """Return whether the table is to choose the method."""
    return method.method == AUTO_METHOD


def takes_categories(method: MethodOptions) -> bool:
    """Return whether rows may have categories."""
    return method.method == "prototypes" or is_gower(method)


def takes_gaps(method: MethodOptions) -> bool:
    """Return whether rows may have gaps."""
    return method.method == "kmeans" or is_gower(method)


def is_gower(method: MethodOptions) -> bool:
    """Return whether numbers are compared by their ranges."""
    return method.method == "medoids" and method.metric == "gower"


def policy_of(columns: ColumnOptions, method: MethodOptions | None) -> str:
    """Return the policy for missing values: that of the user, or the method's default."""
    default = "error" if columns.raw else "auto"
    if method is not None and is_gower(method):
        default = "partial"
    return columns.missing or default


def chosen_method(
    selection: Selection, columns: ColumnOptions, method: MethodOptions
) -> MethodChoice:
    """Return the method for a table, chosen by what its columns hold."""
    if not is_auto(method):
        is_partial = columns.missing == "partial" and method.method == "kmeans"
        return MethodChoice(replace(method, missing="partial") if is_partial else method)
    if selection.categories:
        count = plural(len(selection.categories), "column")
        why = f"{count} of categories: {names_text(selection.categories)}"
        return MethodChoice(replace(method, method="prototypes"), why)
    gaps = sum(selection.gaps.values())
    if gaps and columns.missing in (None, "auto", "partial") and not columns.raw:
        known = replace(method, method="kmeans", missing="partial")
        return MethodChoice(known, f"no categories, but {plural(gaps, 'missing value')}")
    return MethodChoice(replace(method, method="kmeans"), "neither categories nor missing values")


def names_text(names: object) -> str:
    """Return names of columns for a sentence."""
    return listed([isolated(one_line(name, MAX_NAME_CHARACTERS)) for name in names], str)  # type: ignore[attr-defined]


def unused_categories(selection: Selection) -> str:
    """Return a remark on columns that another method would use; empty if there are none."""
    names = selection.candidates
    if not names or selection.categories:
        return ""
    verb, them = ("is", "it") if len(names) == 1 else ("are", "them")
    count = plural(len(names), "column")
    return (
        f"{count} of categories {verb} not used: {names_text(names)}; --method prototypes uses "
        f"{them}"
    )
