"""How the fit ended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita._common.threads import Workers
from partita.diagnosis.check import Look
from partita.diagnosis.finding import Finding, Skip, percent
from partita.diagnosis.fit_context import View
from partita.diagnosis.model_facts import AT_REST, MEANS, ROWS
from partita.estimators.center_clusterer import CenterClusterer
from partita.estimators.validation import make_source
from partita.trace import Progress

SAME_ROWS = 0.9  # share of labels that agree: other rows would agree by chance
UNLIKE = 0.02  # share of the weight of a cluster: it had other weights
MOVING = 0.01  # share of rows that changed their cluster in the last iteration


def not_converged(view: View) -> Finding | None:
    """The search was stopped while there was more to gain."""
    model, reasons = view.facts.model, []
    trace: Sequence[Progress] = getattr(model, "trace_", ())
    limit = getattr(model, "max_iter", None)
    moved = _still_moving(trace)
    used = getattr(model, "n_iter_", 0)
    gain = _gain(view)
    if not len(trace) and gain is None and not (used and isinstance(limit, int)):
        raise Skip("neither the model nor these rows tell how its search ended")
    at_limit = isinstance(limit, int) and used >= limit and (moved or not len(trace))
    if at_limit or moved > MOVING * view.n:
        why = getattr(model, "stopped_by_", f"{used} iterations, the limit is {limit}")
        reasons.append(f"It stopped because {why}" if len(trace) else f"It took {why}")
        if moved:
            reasons[-1] += f", while {moved} rows still changed their cluster"
    if gain is not None and gain > AT_REST:
        reasons.append(f"Moving the centers to the means lowers J by {percent(gain)} at once")
    if not reasons:
        return None
    return Finding(
        "not-converged",
        "The fit ended before it came to rest.",
        "; ".join(reasons) + ".",
        "Raise max_iter or the time limit, or lower tol; or go on from here: "
        "KMeans(init=model).fit(X).",
    )


def _still_moving(trace: Sequence[Progress]) -> int:
    """How many rows changed their cluster in the last iteration."""
    if not len(trace):
        return 0
    last = trace[-1]
    if len(trace) == 1 and last.cost - last.cost_after <= AT_REST * last.cost:
        return 0  # in the first iteration every row is new to its cluster
    return last.moved_points


def _weighs_as_much(view: View) -> bool:
    """Whether the fit had these weights: without them the means are others."""
    stats = getattr(view.facts.model, "stats_", None)
    if stats is None or len(view.index) != view.given:  # a sample
        return True
    before, now = stats.weight.sum(), view.weight.sum()
    shares = np.bincount(view.labels, view.weight, minlength=len(stats.weight)) / now
    return bool(np.abs(shares - stats.weight / before).max() < UNLIKE)


def _is_of_the_fit(view: View) -> bool:
    """Whether these are the rows that the centers are the means of, as far as one can tell."""
    own = getattr(view.facts.model, "labels_", None)
    if own is None:
        return True
    if len(own) != view.given or not _weighs_as_much(view):
        return False
    return bool((np.asarray(own)[view.index] == view.labels).mean() > SAME_ROWS)


def _gain(view: View) -> float | None:
    """What share of J the next move of the centers would save; None if that cannot be told."""
    if MEANS in view.facts.lacks or ROWS in view.facts.lacks or not _is_of_the_fit(view):
        return None
    before = float(view.stats.cost_at(view.centers).sum())
    return (before - view.cost) / before if 0 < before < np.inf else 0.0


def inexact_sums(view: View) -> Finding | None:
    """Weights or values so unequal that sums were not exact."""
    if not isinstance(view.facts.model, CenterClusterer):
        raise Skip("only KMeans, MiniBatchKMeans and SphericalKMeans of partita promise exact sums")
    with Workers(view.facts.threads) as workers:
        ordered = make_source(view.rows, view.weight, workers).survey().ordered
    if not ordered:
        return None
    return Finding(
        "inexact-sums",
        "Some weights or values are so much larger than the others that sums are rounded: the "
        "result may depend on the order of the rows.",
        f"Weights from {view.weight.min():.3g} to {view.weight.max():.3g}, values up to "
        f"{float(abs(view.rows).max()):.3g}.",
        "Look for fill values (1e37, -999…) and weights that are not meant.",
    )


LOOKS = (
    Look("not-converged", not_converged),
    Look("inexact-sums", inexact_sums, (ROWS,)),
)
