"""How good a fit is: the objective, what it explains, its silhouettes and its merges."""

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
from partita.report.cluster_distances import Distances
from partita.report.not_shown import NotHere
from partita.report.report_input import Case
from partita.report.silhouette_sample import Silhouettes, silhouettes_of

_SCORES = 5e7  # numbers of rows times clusters beyond which no tree of medoids is made
_ROUNDING = 1e-6  # of J: a sum in single precision has no more digits

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Cost:
    """The objective."""

    here: float | None  # of these rows
    fit: float | None  # of the rows of the fit, as the model says
    is_of_fit: bool  # whether these are the same rows, as far as J tells


@dataclass(frozen=True, slots=True)
class Merges:
    """The merge tree of the clusters."""

    tree: MergeTree
    mass: Floats  # (k,) of the clusters that it fuses
    of_others: bool  # whether these are clusters of the rows of the fit, which are not these


@dataclass(frozen=True, slots=True)
class Quality:
    """Figures of merit; where one is None, its note says why."""

    cost: Cost
    explained: float | None
    explained_note: str
    silhouettes: Silhouettes | None
    silhouettes_note: str
    merges: Merges | None
    merges_note: str


def quality_of(case: Case, far: Distances) -> Quality:
    """Measure a fit; what does not apply to this kind of model is left out, with the reason."""
    found = None
    if _has_means(case):
        found = factorize(case.model, case.rows, case.given_weight)
    cost = _cost(case, far.cost(case.given_weight) if found is None else found.objective)
    merges, merges_note = _attempt(lambda: _merges(case, cost))
    explained, explained_note = _attempt(
        lambda: _explained(case, cost, merges, found and found.explained_variance)
    )
    silhouettes, silhouettes_note = _attempt(lambda: silhouettes_of(case))
    return Quality(
        cost=cost,
        explained=explained,
        explained_note=explained_note,
        silhouettes=silhouettes,
        silhouettes_note=silhouettes_note,
        merges=merges,
        merges_note=merges_note,
    )


def _attempt(find: Callable[[], Found]) -> tuple[Found | None, str]:
    try:
        return find(), ""
    except NotHere as why:
        return None, str(why)


def _has_means(case: Case) -> bool:
    """Return whether the centers are such that J is a sum of squares to them."""
    has_centers = getattr(case.model, "cluster_centers_", None) is not None
    return has_centers and capabilities_of(case.model).geometry is not None


def _cost(case: Case, here: float) -> Cost:
    """J of these rows; as the fit says it, if they are those of the fit."""
    known, own = getattr(case.model, "inertia_", None), getattr(case.model, "labels_", None)
    if known is None:
        return Cost(None, None, True)
    known = float(known)
    if case.is_matrix:  # which is that of the fit, or it could not be read
        return Cost(known, known, True)
    alike = here == known or math.isclose(here, known, rel_tol=_ROUNDING)
    if alike and (own is None or len(own) == case.n):
        return Cost(known, known, True)
    return Cost(None if math.isnan(here) else here, known, False)


def _merges(case: Case, cost: Cost) -> Merges:
    rule = capabilities_of(case.model).merge_rule
    needs_rows = rule != "means"
    if needs_rows and case.n * case.k > _SCORES:
        raise NotHere("There are too many rows to price the merges of this kind of cluster.")
    stats: Any = getattr(case.model, "stats_", None)
    if not needs_rows and stats is None:
        raise NotHere("The model keeps no summaries of its clusters.")
    if rule == "distances" and not cost.is_of_fit:
        raise NotHere("Merges of these clusters are priced by the rows of the fit; these differ.")
    try:
        if needs_rows:
            tree = merge_tree(case.model, case.rows, case.given_weight)
            return Merges(tree, case.mass, False)
        return Merges(merge_tree(case.model), np.asarray(stats.weight), not cost.is_of_fit)
    except ValueError as error:
        raise NotHere(f"{str(error)[0].upper()}{str(error)[1:].rstrip('.')}.") from error


def _explained(case: Case, cost: Cost, merges: Merges | None, found: Any) -> float:
    capabilities = capabilities_of(case.model)
    if capabilities.merge_rule == "representatives":
        why = capabilities.why_not(MEANS)
        raise NotHere(f"Explained variance needs centers that are means; {why}.")
    if capabilities.merge_rule == "distances":
        whole = math.nan if merges is None else merges.tree.cost_at(1)
        if cost.here is None or not whole > 0:
            raise NotHere("The variance in the feature space of the kernel was not measured.")
        return float(1 - cost.here / whole)
    if found is None:
        raise NotHere("The model has no centers.")
    if not math.isfinite(found):
        raise NotHere("All rows are equal: there is no variance to explain.")
    return float(found)
