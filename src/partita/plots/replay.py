"""Repeat a fit iteration by iteration: the start, some iterations, and the end.

Fits are reproducible bit by bit, so the first t iterations of a fit are the fit with max_iter=t
from the same start.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from partita._common.array_types import Floats
from partita.chart_layout import model_rows
from partita.estimators.capabilities import REPLAY, Replay, set_known
from partita.estimators.fitted_models import capabilities_of, check_fitted
from partita.estimators.labelling import matching_order


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """The state of a run after some iterations; 0 is the start."""

    iteration: int
    centers: Floats  # (k, d)
    model: Any  # fitted, with the same centers in the same order
    cost: float


@dataclass(frozen=True, slots=True)
class ReplayedRun:
    """Some iterations of a run, first to last, with consistent labels."""

    steps: tuple[ReplayStep, ...]
    same: bool  # whether it ends like the fit


def replay(model: Any, X: Any, sample_weight: Any, most: int) -> ReplayedRun:
    """Repeat the run of a fit; return its start and up to `most` − 1 iterations with the last."""
    repeat = _replay_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fit has warned
        again = repeat.rerun()
        last = clone(again).fit(X, sample_weight=sample_weight)
        iterations = select_iterations(last.n_iter_, most)
        fits = [_start(last, X, sample_weight)]
        for t in iterations[1:-1]:
            partial_run = set_known(clone(again), max_iter=t, halt=None)
            fits.append(partial_run.fit(X, sample_weight=sample_weight))
        fits.append(last)
    steps: list[ReplayStep] = []
    for t, fit in zip(reversed(iterations), reversed(fits), strict=True):
        later = steps[0].model if steps else model
        fit = _renumbered(fit, model_rows.centers_of(later))
        centers = model_rows.centers_of(fit)
        assert centers is not None
        steps.insert(0, ReplayStep(t, centers, fit, float(fit.inertia_)))
    same = last.inertia_ == model.inertia_ and last.n_iter_ == model.n_iter_
    return ReplayedRun(tuple(steps), bool(same))


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
    if capabilities.replay is None or model_rows.centers_of(model) is None:
        raise ValueError(
            f"The iterations of this {type(model).__name__} cannot be repeated: "
            f"{capabilities.why_not(REPLAY)}. Fit a KMeans, SphericalKMeans or KMedoids with a "
            "given n_clusters to rows."
        )
    return capabilities.replay


def _start(last: Any, X: Any, sample_weight: Any) -> Any:
    """The model before its first iteration."""
    first = _replay_of(last).at_start(X)
    first.inertia_ = -first.score(X, sample_weight=sample_weight)
    return first


def _renumbered(fit: Any, later: Floats | None) -> Any:
    """The fit with its clusters numbered as the nearest ones of a later step."""
    centers = model_rows.centers_of(fit)
    assert centers is not None
    assert later is not None
    order = matching_order(centers, later)
    again = copy.copy(fit)
    again.cluster_centers_ = fit.cluster_centers_[order]
    return again
