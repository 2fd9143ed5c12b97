"""Quality of a fit: the objective, the explained variance, silhouettes and merges."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from partita._common.array_types import Floats
from partita.estimators.capabilities import MEANS
from partita.estimators.fitted_models import capabilities_of
from partita.factorization import factorize
from partita.merging.tree import MergeTree, merge_tree
from partita.report.cluster_distances import ClusterDistances
from partita.report.not_shown import NotApplicable
from partita.report.report_input import Case
from partita.report.silhouette_sample import SilhouetteSample, measure_silhouettes

_MAX_COSTS = 5e7  # rows times clusters: above it, merges that need costs of rows are left out
_COST_TOLERANCE = 1e-6  # relative: sums in single precision have no more digits

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ObjectiveValues:
    """The objective."""

    here: float | None  # of these rows
    fit: float | None  # of the rows of the fit, by the model
    is_of_fit: bool  # whether these are the same rows, judged by J


@dataclass(frozen=True, slots=True)
class MergeSummary:
    """The merge tree of the clusters."""

    tree: MergeTree
    mass: Floats  # (k,) of its clusters
    of_others: bool  # whether it is of the rows of the fit, which differ from these


@dataclass(frozen=True, slots=True)
class Quality:
    """Measures of a fit; a note gives the reason for each that is None."""

    cost: ObjectiveValues
    explained: float | None
    explained_note: str
    silhouettes: SilhouetteSample | None
    silhouettes_note: str
    merges: MergeSummary | None
    merges_note: str


def measure_quality(case: Case, distances: ClusterDistances) -> Quality:
    """Measure a fit; a note replaces what does not apply to this kind of model."""
    factors = None
    if _has_means(case):
        factors = factorize(case.model, case.rows, case.given_weight)
    weight = case.given_weight
    cost = _cost(case, distances.cost(weight) if factors is None else factors.objective)
    merges, merges_note = _attempt(lambda: _merges(case, cost))
    explained, explained_note = _attempt(
        lambda: _explained(case, cost, merges, factors and factors.explained_variance)
    )
    silhouettes, silhouettes_note = _attempt(lambda: measure_silhouettes(case))
    return Quality(
        cost=cost,
        explained=explained,
        explained_note=explained_note,
        silhouettes=silhouettes,
        silhouettes_note=silhouettes_note,
        merges=merges,
        merges_note=merges_note,
    )


def _attempt(measure: Callable[[], Value]) -> tuple[Value | None, str]:
    try:
        return measure(), ""
    except NotApplicable as why:
        return None, str(why)


def _has_means(case: Case) -> bool:
    """Return whether J is a sum of squared distances to the centers."""
    has_centers = getattr(case.model, "cluster_centers_", None) is not None
    return has_centers and capabilities_of(case.model).geometry is not None


def _cost(case: Case, here: float) -> ObjectiveValues:
    """J of these rows; that of the model, if they are the rows of the fit."""
    known, own = getattr(case.model, "inertia_", None), getattr(case.model, "labels_", None)
    if known is None:
        return ObjectiveValues(None, None, True)
    known = float(known)
    if case.is_matrix:  # only the matrix of the fit can be read
        return ObjectiveValues(known, known, True)
    same_cost = here == known or math.isclose(here, known, rel_tol=_COST_TOLERANCE)
    if same_cost and (own is None or len(own) == case.n):
        return ObjectiveValues(known, known, True)
    return ObjectiveValues(None if math.isnan(here) else here, known, False)


def _merges(case: Case, cost: ObjectiveValues) -> MergeSummary:
    rule = capabilities_of(case.model).merge_rule
    needs_rows = rule != "means"
    if needs_rows and case.n * case.k > _MAX_COSTS:
        raise NotApplicable("There are too many rows to compute merges of this kind of cluster.")
    stats: Any = getattr(case.model, "stats_", None)
    if not needs_rows and stats is None:
        raise NotApplicable("The model keeps no summaries of its clusters.")
    if rule == "distances" and not cost.is_of_fit:
        raise NotApplicable("Merges of these clusters need the rows of the fit; these differ.")
    try:
        if needs_rows:
            tree = merge_tree(case.model, case.rows, case.given_weight)
            return MergeSummary(tree, case.mass, False)
        return MergeSummary(merge_tree(case.model), np.asarray(stats.weight), not cost.is_of_fit)
    except ValueError as error:
        raise NotApplicable(f"{str(error)[0].upper()}{str(error)[1:].rstrip('.')}.") from error


def _explained(case: Case, cost: ObjectiveValues, merges: MergeSummary | None, share: Any) -> float:
    capabilities = capabilities_of(case.model)
    if capabilities.merge_rule == "representatives":
        why = capabilities.why_not(MEANS)
        raise NotApplicable(f"Explained variance needs centers that are means; {why}.")
    if capabilities.merge_rule == "distances":
        whole = math.nan if merges is None else merges.tree.cost_at(1)
        if cost.here is None or not whole > 0:
            raise NotApplicable("The variance in the feature space of the kernel was not measured.")
        return float(1 - cost.here / whole)
    if share is None:
        raise NotApplicable("The model has no centers.")
    if not math.isfinite(share):
        raise NotApplicable("All rows are equal: there is no variance to explain.")
    return float(share)
