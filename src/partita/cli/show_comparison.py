"""New rows beside those of the fit: as sentences, as JSON, and as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from partita._common.text import isolated, listed, plural
from partita.cli.paragraphs import print_item
from partita.cli.prepared_data import PreparedData
from partita.estimators.fitted_models import capabilities_of, count_clusters
from partita.new_rows.comparison import Comparison
from partita.new_rows.own_distances import own_distances

if TYPE_CHECKING:
    from partita.cli.workflow import FitOutcome
    from partita.report.report_input import OtherModel

NO_REFERENCE = (
    "the model file does not know the rows of its fit, so rows that are unlike them are not "
    "marked; a file that fit --model writes does"
)


def compare(fitted: Any, prepared: PreparedData, labels: Any) -> tuple[Any, Comparison | None]:
    """Return the distances (n,) to the own centers, and the comparison if the file allows one."""
    rows, reference = prepared.rows_to_measure, fitted.saved_.reference
    distance = own_distances(fitted, rows, labels)
    if reference is None:
        return distance, None
    weight = prepared.selection.weight
    new = Comparison.of(reference, rows, labels, distance, weight)
    return distance, replace(new, group_names=getattr(fitted.saved_, "group_names", None))


def unseen_categories(fitted: Any, prepared: PreparedData) -> dict[str, int]:
    """Return in how many rows each column has a category that no row of the fit had."""
    mixed = capabilities_of(fitted).mixed
    if mixed is None or not len(prepared.X):
        return {}
    known = mixed(prepared.X).categories.values()  # as missing where the fit did not see them
    given = prepared.selection.categories.items()
    counts = {
        name: int(((column.codes >= 0) & (seen.codes < 0)).sum())
        for (name, column), seen in zip(given, known, strict=True)
    }
    return {name: count for name, count in counts.items() if count}


def unseen_note(unseen: Mapping[str, int], n: int) -> list[str]:
    """Return a sentence on categories that the fit did not have, if n rows have some."""
    columns = [f"{isolated(name)} in {count}" for name, count in unseen.items()]
    of = f"of {plural(n, 'row')}"
    return [f"categories that the fit did not have: {listed(columns, str)} {of}"] if unseen else []


def row_names(prepared: PreparedData) -> list[Any]:
    """Return the ids of the rows, or their numbers in the file, from 1."""
    ids = prepared.selection.ids
    return list(prepared.selection.kept + 1) if ids is None else list(ids.to_pylist())


def print_comparison(comparison: Comparison, prepared: PreparedData, out: Console) -> None:
    """Print the comparison in words, with means in the units of the data."""
    names, rows = prepared.model_names, row_names(prepared)
    for line in comparison.sentences(names, rows, prepared.undo):
        print_item(out, line, 0)


def print_flows(outcome: FitOutcome, other: OtherModel, out: Console) -> None:
    """Print how many rows another model has in other groups, and the largest moves."""
    from partita.report.comparisons.model_flows import ModelFlows

    weight, names = outcome.prepared.selection.weight, outcome.group_names
    k = count_clusters(outcome.model)
    flows = ModelFlows.of(
        np.asarray(outcome.labels),
        other.labels,
        np.ones(len(other.labels)) if weight is None else weight,
        (k, len(other.group_names)),
    )
    texts = [name or f"Group {j}" for j, name in enumerate(names or (None,) * k)]
    moves = [
        f"{plural(move.rows, 'row')} from {_named(texts, move.left)} to "
        f"{_named(other.group_names, move.right)}"
        for move in flows.moves
    ]
    n, title = len(other.labels), isolated(other.title)
    if not moves:
        print_item(out, f"All {plural(n, 'row')} are in the same groups in {title}", 0)
        return
    verb = "is" if flows.moved_rows == 1 else "are"
    head = f"{flows.moved_rows} of {plural(n, 'row')} {verb} in another group in {title}"
    print_item(out, f"{head}: {listed(moves, str)}", 0)


def _named(names: Sequence[str], j: int) -> str:
    return "no group" if j < 0 else isolated(names[j])


def columns(distance: Any, comparison: Comparison | None) -> dict[str, Any]:
    """Return the columns that --distance adds."""
    stranger = {} if comparison is None else {"stranger": comparison.is_stranger}
    return {"distance": distance, **stranger}


def to_dict(distance: Any, comparison: Comparison | None, prepared: PreparedData) -> dict[str, Any]:
    """Return the values for --json; distances are of all rows of the table."""
    every = np.full(prepared.table.data.num_rows, np.nan)
    every[prepared.selection.kept] = distance
    if comparison is None:
        return {"distances": every, "reach": None, "strangers": None, "drift": None}
    names = prepared.model_names
    shares = [
        {"cluster": drift.cluster, "share": drift.share, "fit_share": drift.fit_share}
        for drift in comparison.share_drift
    ]
    means = [
        {
            "feature": names[drift.feature],
            "deviations": drift.deviations,
            "mean": drift.mean,
            "fit_mean": drift.fit_mean,
        }
        for drift in comparison.drift_in_units(prepared.undo)
    ]
    return {
        "distances": every,
        "reach": comparison.reference.reach,
        "strangers": prepared.selection.kept[comparison.is_stranger] + 1,
        "drift": {"shares": shares, "means": means},
    }
