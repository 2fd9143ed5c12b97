"""Checks of how the fit ended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita._common.text import plural
from partita._common.threads import Workers
from partita.diagnosis.finding import CheckSkipped, Finding, percent
from partita.diagnosis.fit_context import MAX_GAIN_OF_MEANS, FitContext
from partita.estimators.capabilities import MEANS, ROWS, WARM_STARTS
from partita.estimators.fitted_models import capabilities_of
from partita.estimators.validation import make_source
from partita.geometry import EUCLIDEAN
from partita.trace import Progress

SAME_ROWS_MIN_AGREEMENT = 0.9  # share of equal labels; other rows agree only by chance
SAME_WEIGHT_MAX_DIFFERENCE = 0.02  # in a cluster's share of the weight; else weights differ
MOVING_MIN_SHARE = 0.01  # of rows that changed cluster in the last iteration


def check_convergence(fit: FitContext) -> Finding | None:
    """Report if the search stopped although it could still improve."""
    model = fit.model
    trace: Sequence[Progress] = getattr(model, "trace_", ())
    limit, used = getattr(model, "max_iter", None), getattr(model, "n_iter_", 0)
    limit = limit if isinstance(limit, int) else None
    gain = _gain_of_update(fit)
    moved = _moved_rows(trace, gain)
    if not len(trace) and gain is None and not (used and limit is not None):
        missing = f"the model has no `trace_` and no `{'max_iter' if used else 'n_iter_'}`"
        has_means = MEANS not in fit.lacks and ROWS not in fit.lacks
        raise CheckSkipped(missing + ", and X is not the data it was fitted to" * has_means)
    reasons = []
    at_limit = limit is not None and used >= limit and (moved or not len(trace))
    if at_limit or moved > MOVING_MIN_SHARE * max(fit.n, _rows_of_fit(trace)):
        stop = f"It used {plural(used, 'iteration')} of at most {limit}"
        if len(trace):
            stop = f"It stopped because {getattr(model, 'stopped_by_', 'of its limit')}"
        still = f", while {plural(moved, 'row')} still changed cluster" if moved else ""
        reasons.append(stop + still)
    if gain is not None and gain > MAX_GAIN_OF_MEANS:
        reasons.append(f"Moving the centers to the means reduces J by {percent(gain)} at once")
    if not reasons:
        return None
    return Finding(
        "not-converged",
        "The search stopped before the groups had settled.",
        ". ".join(reasons) + ".",
        f"Increase max_iter or the time limit, or reduce tol{_continuation(fit)}.",
    )


def _continuation(fit: FitContext) -> str:
    """The code that continues the search, if the model can start from its result."""
    capabilities = capabilities_of(fit.model)
    if capabilities.geometry is EUCLIDEAN:  # KMeans starts from any model with centers
        call = "KMeans(init=model)"
    elif capabilities.warm_start in WARM_STARTS:
        call = f"{fit.method}({fit.k}, init=model.{WARM_STARTS[capabilities.warm_start]})"
    else:
        return ""
    return f"; or continue from here: {call}.fit(X)"


def _rows_of_fit(trace: Sequence[Progress]) -> int:
    """The number of rows of the fit: all of them are new to their clusters at first."""
    return int(trace[0].moved_points) if len(trace) else 0


def _moved_rows(trace: Sequence[Progress], gain: float | None) -> int:
    """The number of rows that changed cluster in the last iteration.

    In the first iteration every row is new to its cluster. Then only the `gain` of another update
    shows whether the fit has converged, or that of the first if the rows do not tell. Rows that
    moved without changing a center or J led to a fixed point: they would move no further.
    """
    if not len(trace):
        return 0
    last = trace[-1]
    last_gain = (last.cost - last.cost_after) / last.cost if last.cost > 0 else 0.0
    if last.shift == 0 and last_gain <= MAX_GAIN_OF_MEANS:
        return 0
    if len(trace) == 1 and (last_gain if gain is None else gain) <= MAX_GAIN_OF_MEANS:
        return 0
    return last.moved_points


def _has_rows_of_fit(fit: FitContext) -> bool:
    """Return whether these seem to be the rows of the fit, by their labels and weights."""
    labels = getattr(fit.model, "labels_", None)
    if labels is None:
        return _rows_of_fit(getattr(fit.model, "trace_", ())) <= fit.n_given
    if len(labels) != fit.n_given:
        return False
    stats = getattr(fit.model, "stats_", None)
    if stats is not None and fit.n == fit.n_given:  # all rows of X are here
        shares = np.bincount(fit.labels, fit.weight, minlength=len(stats.weight)) / fit.total
        difference = np.abs(shares - stats.weight / stats.weight.sum()).max()
        if not difference < SAME_WEIGHT_MAX_DIFFERENCE:
            return False
    return bool((np.asarray(labels)[fit.index] == fit.labels).mean() > SAME_ROWS_MIN_AGREEMENT)


def _gain_of_update(fit: FitContext) -> float | None:
    """The share of J that moving the centers to the means would save; None if not known."""
    if MEANS in fit.lacks or ROWS in fit.lacks or not _has_rows_of_fit(fit):
        return None
    before = float(fit.stats.cost_at(fit.centers).sum())
    return (before - fit.cost) / before if 0 < before < np.inf else 0.0


def check_magnitudes(fit: FitContext) -> Finding | None:
    """Report weights or values so unequal that sums need long integers."""
    if not capabilities_of(fit.model).exact_sums:
        raise CheckSkipped(
            "only partita's KMeans, MiniBatchKMeans and SphericalKMeans have exact sums"
        )
    with Workers(fit.threads) as workers:
        beyond_grid = make_source(fit.rows, fit.weight, workers).survey().beyond_grid
    if not beyond_grid:
        return None
    return Finding(
        "unequal-magnitudes",
        "A few values or weights are many times larger than all others.",
        f"Weights from {fit.weight.min():.3g} to {fit.weight.max():.3g}, values up to "
        f"{float(abs(fit.rows).max()):.3g}: sums take much longer.",
        "Look for fill values (1e37, -999…) and wrong weights.",
    )
