"""Remarks on scale and outliers, for users of a recommended number of clusters."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from partita._common.spaced_rows import evenly_spaced
from partita._common.text import quoted
from partita.choosing.sweep import SweepFits
from partita.choosing.sweep_problem import SweepProblem
from partita.estimators.capabilities import FEATURES
from partita.estimators.validation import feature_attributes
from partita.source.dataframes import is_frame

DOMINANT_MIN_SHARE = 0.9  # of the variance: the other features hardly count
OUTLIERS_MAX_SHARE = 0.005  # of the weight of a cluster that outliers may have made
VARIANCE_SAMPLE_ROWS = 1 << 14


def remarks(problem: SweepProblem, fits: SweepFits, k: int) -> list[str]:
    """Scale and outliers, the two most frequent causes of an unintended answer."""
    texts = []
    if problem.capabilities.has(FEATURES) and not sp.issparse(problem.X) and problem.X.shape[1] > 1:
        sample = problem.X[evenly_spaced(problem.n, VARIANCE_SAMPLE_ROWS)]
        variance = np.asarray(sample, dtype=np.float64).var(axis=0)
        largest = int(variance.argmax())
        if variance[largest] > DOMINANT_MIN_SHARE * variance.sum() > 0:
            texts.append(
                f"{_name(fits, largest)} has {variance[largest] / variance.sum():.1%} of the "
                "variance and decides nearly alone: scale the features?"
            )
    stats = getattr(fits.models[k], "stats_", None)
    labels = getattr(fits.models[k], "labels_", np.zeros(0, int))
    size = np.bincount(labels[labels >= 0]) if stats is None else stats.weight
    if k > 1 and size.size and 0 < size.min() <= max(1.0, OUTLIERS_MAX_SHARE * size.sum()):
        texts.append(
            f"the smallest of the {k} clusters holds {size.min():.3g} of {size.sum():.6g} "
            "rows: outliers?"
        )
    return texts


def _name(fits: SweepFits, feature: int) -> str:
    names = fits.feature_names
    if names is None and is_frame(fits.X):
        names = feature_attributes(fits.X).get("feature_names_in_")
    return f"feature {feature}" if names is None else quoted(str(names[feature]))
