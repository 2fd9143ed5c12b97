"""What else a user should know before taking a recommended number of clusters for granted."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from partita._common.spaced_rows import evenly_spaced
from partita.choosing.ladder import Rung
from partita.choosing.sweep import SweepFits
from partita.choosing.sweep_problem import Means, Medoids, SweepProblem
from partita.estimators.validation import features_of
from partita.source.dataframes import is_frame

_DOMINANT = 0.9  # share of the variance: the other features hardly count
_FEW = 0.005  # share of the weight of a cluster that outliers may have made
_LOOKED = 1 << 14  # rows that say which feature has the variance


def remarks(subject: SweepProblem, fits: SweepFits, rung: Rung) -> list[str]:
    """Scale and outliers: what most often makes an answer that is not meant."""
    found = []
    if type(subject) in (Means, Medoids) and not sp.issparse(subject.X) and subject.X.shape[1] > 1:
        rows = np.asarray(subject.X[evenly_spaced(subject.n, _LOOKED)], dtype=np.float64)
        share = rows.var(axis=0)
        if (most := int(share.argmax())) >= 0 and share[most] > _DOMINANT * share.sum() > 0:
            found.append(
                f"{_name(fits, most)} has {share[most] / share.sum():.1%} of the variance and "
                "decides nearly alone: bring the features to one scale?"
            )
    size = _sizes(rung)
    if rung.k > 1 and size.size and 0 < size.min() <= max(1.0, _FEW * size.sum()):
        found.append(
            f"the smallest of the {rung.k} clusters holds {size.min():.3g} of {size.sum():.6g} "
            "rows: outliers?"
        )
    return found


def _name(fits: SweepFits, feature: int) -> str:
    names = fits.feature_names
    if names is None and is_frame(fits.X):
        names = features_of(fits.X).get("feature_names_in_")
    return f"feature {feature}" if names is None else repr(str(names[feature]))


def _sizes(rung: Rung) -> np.ndarray:
    stats = getattr(rung.model, "stats_", None)
    if stats is not None:
        return np.asarray(stats.weight)
    labels = getattr(rung.model, "labels_", np.zeros(0, int))
    return np.bincount(labels[labels >= 0])
