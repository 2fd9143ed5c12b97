"""What other starts, and slightly other data, would have given."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.errors import Setting
from partita.diagnosis.check import Look
from partita.diagnosis.finding import Finding, Skip, percent
from partita.diagnosis.fit_context import View
from partita.diagnosis.model_facts import MEANS, REFIT, ROWS
from partita.diagnosis.row_sample import Sample
from partita.estimators.kmeans import KMeans
from partita.metrics.criteria import adjusted_rand

SAMPLE = 5000  # rows: more would only hide how much depends on chance
SLOW_SAMPLE = 1000  # for models whose time grows with the square of the rows
VALUES = 1 << 23  # at most, where there are very many features
REFITS = 8
STARTS = 4  # of every refit: what differs shall come from the data, not from one poor start
STABLE = 0.8  # adjusted Rand index: below it clusters do not come back as they were
LOWER = 0.01  # of J: what other starts may gain before it is worth a word
LEAST_WEIGHT = 1e-3  # in a resample, so that weights differ by no more than sums can hold


def unstable(view: View) -> Finding | None:
    """Refits to resampled data end in other partitions."""
    sample = _sample(view, "unstable")
    rng = view.rng("unstable")
    scores = []
    for _ in range(REFITS):
        # Bayesian bootstrap: each row drawn Gamma(w), which is the sum of w draws of weight 1
        drawn = np.maximum(rng.gamma(sample.weight), LEAST_WEIGHT)
        found = _refit(view, sample, drawn, int(rng.integers(2**31)))
        scores.append(adjusted_rand(sample.labels, found, sample.weight))
    mean, error = float(np.mean(scores)), float(np.std(scores, ddof=1) / np.sqrt(REFITS))
    if mean + error >= STABLE:
        return None
    return Finding(
        "unstable",
        "The clusters do not come back when the data changes a little.",
        f"{REFITS} refits to resampled rows agree with this fit by an adjusted Rand index of "
        f"{mean:.2f} ± {error:.2f} (mean and its standard error; 1 is the same){sample.told}.",
        "Ask choose_k for a number of clusters that is stable; with more starts (n_init=10) less "
        "depends on chance. If none is stable, the data may have no groups.",
        settings=(Setting("n_init", 10),),
    )


def local_minimum(view: View) -> Finding | None:
    """Other starts end at a lower cost."""
    sample = _sample(view, "unstable")
    ours = _polished(view, sample)
    seed = int(view.rng("local-minimum").integers(2**31))
    model = _kmeans(view, seed, n_init=2 * STARTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = model.fit(sample.rows, sample_weight=sample.weight).inertia_
    if not best < (1 - LOWER) * ours:
        return None
    return Finding(
        "local-minimum",
        "Other starts end in a better partition: this fit is stuck in a local minimum.",
        f"J is {percent(1 - best / ours)} lower in the best of {2 * STARTS} other starts"
        f"{sample.told}.",
        f"Fit again with n_init={4 * STARTS} or more, or another random_state.",
        settings=(Setting("n_init", 4 * STARTS),),
    )


def _polished(view: View, sample: Sample) -> float:
    """J of this fit on the sample, with its centers moved to the means there."""
    model = _kmeans(view, 0, init=view.centers, n_init=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(model.fit(sample.rows, sample_weight=sample.weight).inertia_)


def _sample(view: View, name: str) -> Sample:
    """Rows to fit again, for all looks the same."""
    if view.k < 2:
        raise Skip("there is one cluster only")
    most = SAMPLE if MEANS not in view.facts.lacks else SLOW_SAMPLE
    sample = view.sample(min(most, max(1, VALUES // view.d)), name)
    if len(sample.weight) <= view.k:
        raise Skip("there are not more distinct rows than clusters")
    return sample


def _refit(view: View, sample: Sample, weight: Floats, seed: int) -> Ints:
    """Labels of the sample by a fit of the same kind to these weights."""
    if MEANS in view.facts.lacks:
        model = _twin(view.facts.model, seed)
    else:
        model = _kmeans(view, seed, n_init=STARTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a cluster is empty, say: the score tells
        return np.asarray(model.fit(sample.rows, sample_weight=weight).labels_)


def _kmeans(view: View, seed: int, **more: Any) -> KMeans:
    return KMeans(view.k, random_state=seed, n_threads=view.facts.threads, **more)


def _twin(model: Any, seed: int) -> Any:
    """An unfitted model with the same parameters, but starts of its own."""
    from sklearn.base import clone

    usual = type(model)().get_params()
    own = {"random_state": seed, "verbose": 0, "callback": None, "n_init": usual["n_init"]}
    if not isinstance(model.init, str):
        own["init"] = usual["init"]
    return clone(model).set_params(**own)


LOOKS = (
    Look("unstable", unstable, (ROWS, REFIT)),
    Look("local-minimum", local_minimum, (ROWS, REFIT, MEANS)),
)
