"""A fit run again, step by step: the start, some iterations, and the end.

Fits are bit-reproducible, so the first t iterations of a fit are the fit with max_iter=t from the
same start.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from partita._common.array_types import Floats, Ints
from partita.chart_layout import model_rows
from partita.estimators.fitted_models import check_fitted
from partita.estimators.kmeans import KMeans
from partita.estimators.labelling import matching_order
from partita.estimators.medoids.estimator import KMedoids
from partita.estimators.spherical import SphericalKMeans
from partita.geometry import directions


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """Where a run was after so many iterations; 0 is the start."""

    iteration: int
    centers: Floats  # (k, d)
    model: Any  # fitted, with the same centers in the same order
    cost: float


@dataclass(frozen=True, slots=True)
class Replay:
    """Some iterations of a run, first to last, with the clusters numbered alike."""

    steps: tuple[ReplayStep, ...]
    same: bool  # whether it ends as the fit did


def replay(model: Any, X: Any, sample_weight: Any, most: int) -> Replay:
    """The start and up to `most` − 1 iterations of the run that led to a fit, the last included."""
    _check(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fit has warned
        again = _again(model)
        last = clone(again).fit(X, sample_weight=sample_weight)
        turns = shown(last.n_iter_, most)
        fits = [_start(last, X, sample_weight)]
        for turn in turns[1:-1]:
            part = clone(again).set_params(max_iter=turn, halt=None)
            fits.append(part.fit(X, sample_weight=sample_weight))
        fits.append(last)
    steps: list[ReplayStep] = []
    for turn, fit in zip(reversed(turns), reversed(fits), strict=True):
        follow = model if not steps else steps[0].model
        fit = _renumbered(fit, model_rows.centers_of(follow))
        centers = model_rows.centers_of(fit)
        assert centers is not None
        steps.insert(0, ReplayStep(turn, centers, fit, float(fit.inertia_)))
    same = last.inertia_ == model.inertia_ and last.n_iter_ == model.n_iter_
    return Replay(tuple(steps), bool(same))


def shown(last: int, most: int) -> list[int]:
    """Which iterations to show: 0 and the last, and between them ever fewer."""
    if last < most:
        return list(range(last + 1))
    turns = np.unique(np.geomspace(last, 1, most - 1).round().astype(int)).tolist()
    spare = [turn for turn in range(1, last) if turn not in turns]
    return sorted([0, *turns, *spare[: most - 1 - len(turns)]])


def _check(model: Any) -> None:
    check_fitted(model)
    if not isinstance(model, (KMeans, SphericalKMeans, KMedoids)):
        raise ValueError(
            f"{type(model).__name__} was given; a fitted KMeans, SphericalKMeans or KMedoids of "
            "partita is expected, whose iterations can be run again"
        )
    if model.start_ is None or model_rows.centers_of(model) is None or _chose(model):
        raise ValueError(
            "the steps of KMedoids can be drawn for rows of features, a given n_clusters and the "
            "methods fasterpam, pam and alternate; this fit has another"
        )


def _chose(model: Any) -> bool:
    return getattr(model, "k_range", None) is not None


def _again(model: Any) -> Any:
    """A model that will make the same run."""
    again = clone(model).set_params(callback=None, verbose=0, n_init=1)
    by_chance = isinstance(model, KMedoids) and model.method == "fasterpam"
    if by_chance and model.n_init in (1, "auto"):
        return again  # its seed gives the start, then the order of the candidates
    return again.set_params(init=model.start_)


def _start(last: Any, X: Any, sample_weight: Any) -> Any:
    """The model as if it had been fitted by no iteration at all."""
    first = copy.copy(last)
    if isinstance(last, KMedoids):
        first.medoid_indices_ = last.start_
        first.cluster_centers_ = _rows(X, last.start_)
    else:
        start = directions(last.start_)[0] if model_rows.is_spherical(last) else last.start_
        first.cluster_centers_ = start.astype(last.cluster_centers_.dtype)
    first._n_features_out = len(last.start_)
    first.inertia_ = -first.score(X, sample_weight=sample_weight)
    return first


def _rows(X: Any, which: Ints | None) -> Any:
    from partita.estimators.validation import as_rows

    return as_rows(X)[which]


def _renumbered(fit: Any, after: Floats | None) -> Any:
    """The fit with its clusters numbered as those nearest to them one step later."""
    centers = model_rows.centers_of(fit)
    assert centers is not None
    assert after is not None
    order = matching_order(centers, after)
    again = copy.copy(fit)
    again.cluster_centers_ = fit.cluster_centers_[order]
    return again
