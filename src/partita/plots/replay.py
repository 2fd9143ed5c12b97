"""Repeat a fit iteration by iteration: the start, some iterations, and the end.

Fits are reproducible bit by bit, so the first t iterations of a fit are the fit with max_iter=t
from the same start.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from partita.chart_layout import model_rows
from partita.estimators.capabilities import REPLAY, Replay, set_known
from partita.estimators.fitted_models import capabilities_of, check_fitted
from partita.estimators.labelling import matching_order
from partita.source.raw_rows import as_doubles

_ATTRIBUTES = ("start_", "n_iter_")  # of a fit that can be repeated


def replay(model: Any, X: Any, sample_weight: Any, most: int) -> tuple[dict[int, Any], bool]:
    """Repeat the run of a fit; return models by iteration, and whether it ends like the fit.

    The start is 0; up to `most` − 1 iterations follow. All number their clusters alike.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fit has warned
        again = _replay_of(model).rerun()
        last = clone(again).fit(X, sample_weight=sample_weight)
        start = _replay_of(last).at_start(X)
        start.inertia_ = -start.score(X, sample_weight=sample_weight)
        iterations = select_iterations(last.n_iter_, most)
        fits = {iterations[0]: start}
        for t in iterations[1:-1]:
            partial_run = set_known(clone(again), max_iter=t, halt=None)
            fits[t] = partial_run.fit(X, sample_weight=sample_weight)
    fits[iterations[-1]] = last
    later = model
    for t in reversed(iterations):
        later = fits[t] = _renumbered(fits[t], later)
    same = last.inertia_ == model.inertia_ and last.n_iter_ == model.n_iter_
    return fits, bool(same)


def select_iterations(last: int, most: int) -> list[int]:
    """Select iterations to show: 0, the last, and others at increasing intervals."""
    if last < most:
        return list(range(last + 1))
    chosen = np.unique(np.geomspace(last, 1, most - 1).round().astype(int)).tolist()
    others = [t for t in range(1, last) if t not in chosen]
    return sorted([0, *chosen, *others[: most - 1 - len(chosen)]])


def _replay_of(model: Any) -> Replay:
    check_fitted(model)
    capabilities = capabilities_of(model)
    why, absent = capabilities.why_not(REPLAY), [n for n in _ATTRIBUTES if not hasattr(model, n)]
    if capabilities.mixed is not None and REPLAY not in capabilities.lacks:
        why = "categories have no coordinates in which centers could move"
    if absent and capabilities.replay is not None:
        why = f"it has no {' and no '.join(absent)}"
    if absent or capabilities.replay is None or model_rows.centers_of(model) is None:
        raise ValueError(
            f"The iterations of this {type(model).__name__} cannot be repeated: {why}. Fit a "
            "KMeans, SphericalKMeans or KMedoids with a given n_clusters to rows."
        )
    return capabilities.replay


def _renumbered(fit: Any, later: Any) -> Any:
    """Return the fit with its clusters numbered as the nearest ones of a later step."""
    order = matching_order(as_doubles(fit.cluster_centers_), as_doubles(later.cluster_centers_))
    again = copy.copy(fit)
    again.cluster_centers_ = fit.cluster_centers_[order]
    return again
