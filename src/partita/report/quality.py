"""The quality of a fit: objective, explained variance, silhouettes and merges."""

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
from partita.geometry import SPHERICAL
from partita.merging.tree import MergeTree, merge_tree
from partita.report.cluster_distances import RowDistances
from partita.report.report_input import NotApplicable, ReportInput
from partita.report.silhouette_sample import SilhouetteSample, measure_silhouettes

_MAX_DISTANCES = 5e7  # rows times clusters; beyond it, merges that need rows are not priced
_MAX_ROUNDING_ERROR = 1e-6  # of J: a sum in single precision has no more digits

Figure = TypeVar("Figure")


@dataclass(frozen=True, slots=True)
class ReportedMerges:
    """The merge tree of the clusters."""

    tree: MergeTree
    weight: Floats  # (k,) of the clusters
    of_other_rows: bool  # whether they are clusters of the rows of the fit, which are others


@dataclass(frozen=True, slots=True)
class FitQuality:
    """Figures of merit; if one is None, its note gives the reason."""

    objective: float | None  # J of the rows of the report
    fit_objective: float | None  # J of the rows of the fit: the model's own value
    of_fit: bool  # whether both are of the same rows, judged by J
    explained: float | None
    explained_note: str
    silhouettes: SilhouetteSample | None
    silhouettes_note: str
    merges: ReportedMerges | None
    merges_note: str


def measure_quality(data: ReportInput, distances: RowDistances) -> FitQuality:
    """Measure a fit; figures that do not apply to this kind of model have a note instead."""
    here, explained = distances.cost(data.optional_weight), None
    has_centers = getattr(data.model, "cluster_centers_", None) is not None
    if has_centers and capabilities_of(data.model).geometry is not None:  # J adds up squares
        factors = factorize(data.model, data.given_rows, data.optional_weight)
        here, explained = factors.objective, factors.explained_variance
    if capabilities_of(data.model).left_out and hasattr(data.model, "score"):
        # rows at the edge may count in part
        here = -float(data.model.score(data.rows, sample_weight=data.optional_weight))
    objective, fit_objective, of_fit = _objective(data, here)
    merges = _figure_or_note(lambda: _merges(data, of_fit))
    return FitQuality(
        *(objective, fit_objective, of_fit),
        *_figure_or_note(lambda: _explained(data, objective, merges[0], explained)),
        *_figure_or_note(lambda: measure_silhouettes(data)),
        *merges,
    )


def _figure_or_note(measure: Callable[[], Figure]) -> tuple[Figure | None, str]:
    try:
        return measure(), ""
    except NotApplicable as reason:
        return None, str(reason)


def _objective(data: ReportInput, here: float) -> tuple[float | None, float | None, bool]:
    """J of these rows (the value of the model, if they are those of the fit), and of the fit."""
    fit, labels = getattr(data.model, "inertia_", None), getattr(data.model, "labels_", None)
    if fit is None:
        return None, None, True
    fit = float(fit)
    equal = here == fit or math.isclose(here, fit, rel_tol=_MAX_ROUNDING_ERROR)
    same_count = labels is None or len(labels) == data.n
    is_sample = data.fitted.sampled is not None  # of the rows of the fit
    # a matrix is that of the fit, or is refused
    if data.is_matrix or is_sample or (equal and same_count):
        return fit, fit, True
    return None if math.isnan(here) else here, fit, False


def _merges(data: ReportInput, of_fit: bool) -> ReportedMerges:
    rule = capabilities_of(data.model).merge_rule
    needs_rows = rule != "means"
    if needs_rows and data.n * data.k > _MAX_DISTANCES:
        raise NotApplicable("There are too many rows to price the merges of this kind of cluster.")
    stats: Any = getattr(data.model, "stats_", None)
    if not needs_rows and stats is None:
        raise NotApplicable("The model keeps no summaries of its clusters.")
    if rule == "distances" and not of_fit:
        raise NotApplicable("The merges of these clusters need the rows of the fit.")
    try:
        if needs_rows:
            tree = merge_tree(data.model, data.rows, data.optional_weight)
            return ReportedMerges(tree, data.cluster_weight, False)
        weight = np.asarray(stats.weight)
        return ReportedMerges(merge_tree(data.model), weight, not of_fit)
    except ValueError as error:
        raise NotApplicable(f"{str(error)[0].upper()}{str(error)[1:].rstrip('.')}.") from error


def explained_words(model: Any) -> str:
    """Return what `FitQuality.explained` is a share of, for the place after a percentage."""
    if capabilities_of(model).geometry is SPHERICAL:
        return "less than J with one cluster"
    return "of the variance explained"


def _explained(
    data: ReportInput,
    objective: float | None,
    merges: ReportedMerges | None,
    explained: float | None,
) -> float:
    """1 − J / J(1), where J(1) is that of one cluster; of K-means, the variance between them."""
    capabilities = capabilities_of(data.model)
    if capabilities.merge_rule == "representatives":
        why = capabilities.why_not(MEANS)
        raise NotApplicable(f"Explained variance needs centers that are means; {why}.")
    if capabilities.merge_rule == "distances":
        total = math.nan if merges is None else merges.tree.cost_at(1)
        if objective is None or not total > 0:
            raise NotApplicable("The variance in the feature space of the kernel is not known.")
        explained = float(1 - objective / total)
    if explained is None:
        raise NotApplicable("The model has no centers.")
    if not math.isfinite(explained):
        raise NotApplicable("All rows are equal: there is no variance to explain.")
    if explained < -_MAX_ROUNDING_ERROR:
        raise NotApplicable("One center, the best, would describe these rows better.")
    return max(float(explained), 0.0)
