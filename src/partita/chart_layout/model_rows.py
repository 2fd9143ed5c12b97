"""The rows, names, centers and cells that a picture of a fitted model needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.parameters import check_items
from partita._common.random_state import generator
from partita._common.text import format_number, plural
from partita._common.threads import Workers
from partita.chart_layout.captions import left_out_text
from partita.chart_layout.mixed_places import places_of
from partita.estimators import validation
from partita.estimators.fitted_models import (
    capabilities_of,
    check_fitted,
    complete_rows,
    count_clusters,
    own_labels,
    without_feature_names,
)
from partita.estimators.table_rows import rows_for, takes_categories
from partita.geometry import SPHERICAL
from partita.source.raw_rows import as_doubles

MAX_DRAWN_ROWS = 20_000  # more are sampled
GAPS_NOTE = "missing values are drawn at the center of their cluster"


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """The rows to draw: all of them, or a sample."""

    values: Any  # (m, d) doubles, or CSR
    labels: Ints  # (m,)
    weight: Floats  # (m,)
    names: list[str]  # of the features
    note: str = ""  # about the sample, and rows without a cluster; empty if there is nothing to say
    placed: str = ""  # how rows with categories became points


def select_rows(
    model: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    names: Any = None,
    most: int | None = MAX_DRAWN_ROWS,
    random_state: Any = 0,
) -> DrawnRows:
    """Select rows of X, at most `most`, and label them by the model."""
    check_fitted(model)
    if capabilities_of(model).takes_matrix:
        raise ValueError(
            f"This plot needs rows of features, but the {type(model).__name__} was fitted to a "
            "matrix between rows."
        )
    if takes_categories(model):
        return _select_mixed(model, X, sample_weight, most, random_state)
    given = validation.check_new_rows(model, X)
    rows = complete_rows(model, given)
    names = feature_names(model, X, rows.shape[1], names)
    weight = validation.check_weights(sample_weight, rows.shape[0])
    with Workers(1) as workers:
        validation.check_finite(validation.make_source(rows, None, workers), rows, names)
    n = rows.shape[0]
    index = sample_index(n, most, random_state)
    drawn = rows[index]
    labels = own_labels(without_feature_names(model), rows)[index]
    weight = np.ones(len(labels)) if weight is None else weight[index]
    gaps = GAPS_NOTE if rows is not given else ""
    note = join_remarks(sample_note(len(labels), n), left_out_note(model, labels), gaps)
    return DrawnRows(drawn.astype(np.float64, copy=False), labels, weight, names, note)


def _select_mixed(
    model: Any, X: Any, sample_weight: Any, most: int | None, random_state: Any
) -> DrawnRows:
    """Select rows of a table with categories, as points."""
    table = rows_for(model, X, "a plot")
    weight = validation.check_weights(sample_weight, len(table))
    index = sample_index(len(table), most, random_state)
    mixed = capabilities_of(model).mixed
    assert mixed is not None
    places = places_of(mixed(table))
    labels = np.asarray(without_feature_names(model).predict(table[index]))
    weight = np.ones(len(labels)) if weight is None else weight[index]
    note = join_remarks(sample_note(len(labels), len(table)), left_out_note(model, labels))
    names = list(places.names)
    return DrawnRows(places.values[index], labels, weight, names, note, places.note)


def sample_index(n: int, most: int | None, random_state: Any) -> Ints | slice:
    """Select all rows, or `most` of them in their order."""
    if most is None or n <= most:
        return slice(None)
    return np.sort(generator(random_state).choice(n, most, replace=False))


def sample_note(m: int, n: int) -> str:
    """Return a note about m of n rows; empty if these are all."""
    return f"{format_number(m)} of {format_number(n)} rows, sampled" if m < n else ""


def left_out_note(model: Any, labels: Ints) -> str:
    """Return a note on the rows without a cluster, of members that leave rows out."""
    what = capabilities_of(model).left_out
    return left_out_text(int((labels < 0).sum()), len(labels), what) if what else ""


def join_remarks(*remarks: str) -> str:
    """Return the remarks that are not empty as one."""
    return "; ".join(filter(None, remarks))


def feature_names(
    model: Any, X: Any, d: int, given: Any = None, parameter: str = "feature_names"
) -> list[str]:
    """Names of the features: given, of the model, of the table, or numbers."""
    known: Any = getattr(model, "feature_names_in_", None)
    if given is not None:
        known = check_items(parameter, given, d, "names, one for each feature")
    if known is None:
        known = validation.feature_attributes(X).get("feature_names_in_")
    return [f"feature {t}" for t in range(d)] if known is None else [str(name) for name in known]


def centers_of(model: Any) -> Floats | None:
    """Centers (k, d) in the space of the rows, or None if they have no coordinates there."""
    if capabilities_of(model).mixed is not None:
        return None
    centers = getattr(model, "cluster_centers_", None)
    return None if centers is None else as_doubles(centers)


def is_spherical(model: Any) -> bool:
    """Return whether centers are directions."""
    return capabilities_of(model).geometry is SPHERICAL


def title_text(model: Any) -> str:
    """The class of the model, its number of clusters, and J if it has one."""
    title = f"{type(model).__name__}: {plural(count_clusters(model), 'cluster')}"
    cost = getattr(model, "inertia_", None)
    return title if cost is None else f"{title}, J = {format_number(float(cost))}"


def squared_lengths(values: Any) -> Floats:
    """Squared lengths (n,) of the rows."""
    squares = values.multiply(values) if sp.issparse(values) else np.square(values)
    return np.asarray(squares.sum(axis=1)).ravel()
