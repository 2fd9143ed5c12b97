"""A model that was fitted to rows with gaps: what it keeps of them, and what it cannot offer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.threads import Workers
from partita.engine.restarts import LabelledRun
from partita.estimators import labelling
from partita.estimators.capabilities import BOUNDS, COMPLETE, MERGES, METRIC, REFIT, Capabilities
from partita.estimators.gaps import mark_gaps
from partita.estimators.saved_state import FieldReader
from partita.exact_weights import Weights
from partita.source.partial_rows import PartialSource

GAPS_LACKS = {
    COMPLETE: "distances to borders and to other rows need all features, and some values are "
    "missing",
    BOUNDS: "no lower bounds are known of a sum over the values that are not missing",
    MERGES: "where values are missing, the features of a cluster differ in weight, so summaries "
    "do not merge",
    METRIC: "silhouettes compare all features of two rows, and some values are missing",
    REFIT: "the fit counted only the values that are there, which the checks do not repeat",
}


def has_gaps(model: Any) -> bool:
    """Return whether values were missing in the fit of a model."""
    observed = vars(model).get("observed_weight_")
    return observed is not None and bool((observed < model.stats_.weight[:, None]).any())


def with_gaps(model: Any, offered: Capabilities) -> Capabilities:
    """Return what a model offers that takes gaps, by what it would offer otherwise."""
    offered = replace(offered, complete=partial(fill_gaps, model), searches=False)
    if not has_gaps(model):
        return offered
    return replace(offered, lacks={**offered.lacks, **GAPS_LACKS}, metric=None)


def weight_of_values(run: LabelledRun) -> Floats:
    """The weight (k, d) of the values behind each value of a center."""
    if run.observed_weight is not None:
        return run.observed_weight
    return np.repeat(run.stats.weight[:, None], run.centers.shape[1], axis=1)


def fill_gaps(model: Any, rows: Any) -> Any:
    """Return checked rows with the values of their centers where some are missing.

    Every label, and every distance to the own center, stays the same: see `complete_rows`.
    """
    marked = mark_gaps(model, rows)
    if marked is rows:
        return rows
    labels = labelling.nearest(marked, model.cluster_centers_, model.n_threads, None)
    full = np.array(rows)
    i, t = np.nonzero(np.isnan(full))
    full[i, t] = model.cluster_centers_[labels[i], t]
    return full


def cost_of_one(rows: Any, weight: Floats) -> float:
    """J of rows with gaps in one cluster: about the means of the values that are there."""
    with Workers(1) as workers:
        source = PartialSource(rows, Weights.of(weight, len(rows)), workers)
        return float(source.whole.stats.sse[0])


def refuse_merging_gaps(model: Any, other: Any) -> None:
    """Raise an error if one of two models to merge was fitted to rows with gaps."""
    if any(hasattr(m, "stats_") and has_gaps(m) for m in (model, other)):
        raise TypeError(
            f"merge() is not available: {GAPS_LACKS[MERGES]}. Fit one model to the rows of both."
        )


def restored_weight_of_values(saved: FieldReader, k: int, d: int) -> Floats:
    """The weight (k, d) of the values behind each value of a center, from a model file."""
    weight = saved.floats("observed_weight", (k, d))
    if (weight < 0).any():
        raise ValueError("observed_weight has a value below zero")
    return weight
