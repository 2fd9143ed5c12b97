"""The features in which clusters differ from all rows, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita.chart_layout.captions import format_deviations
from partita.chart_layout.cluster_profile import ClusterProfile, cluster_profile
from partita.report.page_text import mean_text
from partita.report.report_input import ReportInput

_MIN_DEVIATIONS = 0.5  # of a trait
_VERY_DEVIATIONS = 2.0  # from which it is "very" high or low
_MAX_TRAITS = 4


@dataclass(frozen=True, slots=True)
class Trait:
    """One feature in which a cluster differs from all rows."""

    feature: str
    score: float  # (mean of the cluster − mean of all rows) / deviation of all rows
    mean: float  # of the cluster, in the user's units
    words: str  # "alcohol high (13.7, +1.1 sd)"


def cluster_traits(profile: ClusterProfile, j: int, names: tuple[str, ...]) -> tuple[Trait, ...]:
    """Return the features that set cluster j apart, the largest difference first."""
    size = np.abs(profile.scores[j])
    largest = np.argsort(-size, kind="stable")[:_MAX_TRAITS]
    return tuple(
        _trait(names[t], float(profile.scores[j, t]), float(profile.centers[j, t]))
        for t in largest
        if size[t] >= _MIN_DEVIATIONS
    )


def _trait(name: str, score: float, mean: float) -> Trait:
    very = "very " if abs(score) >= _VERY_DEVIATIONS else ""
    level = f"{very}{'high' if score > 0 else 'low'}"
    words = f"{name} {level} ({mean_text(mean)}, {format_deviations(score)} sd)"
    return Trait(name, score, mean, words)


def profile_of(data: ReportInput) -> ClusterProfile | None:
    """Compare clusters with all rows in the user's units; None if the rows have no features."""
    if data.is_matrix or data.n == 0:
        return None
    weight = data.weight if data.weight.any() else np.ones(data.n)
    values = fill_missing(data.original, weight)
    return cluster_profile(values, data.labels, data.weight, data.k)


def fill_missing(values: Any, weight: Floats) -> Any:
    """Return values as doubles, with the mean of its feature for each missing one."""
    values = values.astype(np.float64, copy=False)
    if sp.issparse(values):
        return values
    known = np.isfinite(values)
    if known.all():
        return values
    total = weight @ known
    mean = weight @ np.where(known, values, 0.0) / np.where(total > 0, total, 1.0)
    return np.where(known, values, mean)
