"""Remarks on scale and outliers, for users of a recommended number of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.spaced_rows import evenly_spaced
from partita.choosing.sweep import SweepFits
from partita.choosing.sweep_problem import SweepProblem
from partita.estimators.capabilities import FEATURES
from partita.estimators.validation import feature_attributes
from partita.metrics.dominant_features import dominant_features
from partita.source.dataframes import is_frame

OUTLIERS_MAX_SHARE = 0.005  # of the weight of a cluster that outliers may have made
VARIANCE_SAMPLE_ROWS = 1 << 14


def remarks(problem: SweepProblem, fits: SweepFits, k: int) -> list[str]:
    """Scale and outliers, the two most frequent causes of an unintended answer."""
    texts = []
    if problem.capabilities.has(FEATURES) and not sp.issparse(problem.X) and problem.X.shape[1] > 1:
        dominance = dominant_features(_variance(problem))
        if dominance is not None:
            names = _names(fits, problem.X.shape[1])
            texts.append(f"{dominance.sentence(names)} (different units, or outliers?)")
    size = _sizes(problem, fits.models[k])
    if k > 1 and size.size and 0 < size.min() <= max(1.0, OUTLIERS_MAX_SHARE * size.sum()):
        texts.append(
            f"the smallest of the {k} clusters holds {size.min():.3g} of {size.sum():.6g} "
            "rows: outliers?"
        )
    return texts


def _sizes(problem: SweepProblem, model: Any) -> Floats:
    """The weight of every cluster, in rows."""
    stats = problem.stats(model) if hasattr(model, "stats_") else None
    if stats is not None:
        return stats.weight
    labels = np.asarray(getattr(model, "labels_", np.zeros(0, int)))
    known = labels >= 0
    weight = None if problem.weight is None or not len(labels) else problem.weight[known]
    return np.bincount(labels[known], weight).astype(np.float64)


def _variance(problem: SweepProblem) -> Floats:
    """The variance (d,) of every feature in a sample."""
    rows = evenly_spaced(problem.n, VARIANCE_SAMPLE_ROWS)
    weight = np.ones(len(rows)) if problem.weight is None else problem.weight[rows]
    if not weight.any():
        return np.zeros(problem.X.shape[1])
    share = weight / weight.sum()
    values = np.asarray(problem.X[rows], dtype=np.float64)
    gap = values - share @ values
    return np.asarray(share @ (gap * gap))


def _names(fits: SweepFits, d: int) -> Sequence[str | int]:
    names = fits.feature_names
    if names is None and is_frame(fits.X):
        names = feature_attributes(fits.X).get("feature_names_in_")
    return range(d) if names is None else [str(name) for name in names]
