"""Checks that fit the data again: from other starts, and with resampled weights."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from partita._common.array_types import Floats
from partita._common.errors import Setting
from partita.certificates.certificate import Certificate
from partita.diagnosis.finding import CheckSkipped, Finding, percent
from partita.diagnosis.fit_context import FitContext
from partita.diagnosis.row_sample import RowSample
from partita.estimators.capabilities import MEANS, set_known
from partita.estimators.kmeans import KMeans
from partita.metrics.criteria import adjusted_rand

SAMPLE_ROWS = 5000  # more rows would only hide how much depends on chance
QUADRATIC_SAMPLE_ROWS = 1000  # for models whose time grows with the square of the rows
MAX_SAMPLE_VALUES = 1 << 23  # fewer rows, if there are very many features
REFITS = 8
N_INIT = 4  # of each refit, so that differences come from the data and not from one poor start
MIN_STABLE_RAND = 0.8  # adjusted Rand index: below it clusters are not reproduced
MIN_COST_DECREASE = 0.01  # of J, by other starts
MAX_MOVE_OF_COST = 1e-3  # of J, between given centers and the means of the labels
MIN_RESAMPLED_WEIGHT = 1e-3  # so that weights do not differ by more than exact sums can hold


def check_stability(fit: FitContext) -> Finding | None:
    """Report if refits to resampled data end in other partitions."""
    sample, rng = _refit_sample(fit), fit.rng("unstable")
    scores = []
    for _ in range(REFITS):
        # Bayesian bootstrap: Gamma(w) for each row is the sum of w draws of weight 1
        weight = np.maximum(rng.gamma(sample.weight), MIN_RESAMPLED_WEIGHT)
        seed = int(rng.integers(2**31))
        means = MEANS not in fit.lacks
        model = _kmeans(fit, seed, n_init=N_INIT) if means else _unfitted(fit.model, seed)
        labels = np.asarray(fit_quietly(model, sample.to_fit, weight).labels_)
        scores.append(adjusted_rand(sample.labels, labels, sample.weight))
    mean, error = float(np.mean(scores)), float(np.std(scores, ddof=1) / np.sqrt(REFITS))
    if mean + error >= MIN_STABLE_RAND:
        return None
    return Finding(
        "unstable",
        "The groups change when the data change a little.",
        f"{REFITS} refits to resampled rows agree with this fit by an adjusted Rand index of "
        f"{mean:.2f} ± {error:.2f} (mean and standard error; 1 means equal){sample.note}.",
        "Let choose_k find a number of clusters that is stable. More starts (n_init=10) depend "
        "less on chance. If no number is stable, the data may have no groups.",
        settings=(Setting("n_init", 10),),
    )


def check_local_minimum(fit: FitContext) -> Finding | None:
    """Report if a search ends at a lower cost; a certificate may prove that there is none."""
    certificate = _certificate_of(fit)
    if certificate is not None and certificate.excludes(MIN_COST_DECREASE):
        return None
    sample = _refit_sample(fit)
    start = _kmeans(fit, 0, init=fit.centers, n_init=1)
    cost = fit_quietly(start, sample.rows, sample.weight).inertia_
    seed = int(fit.rng("local-minimum").integers(2**31))
    search = _kmeans(fit, seed, init=fit.centers, quality="balanced")
    best = fit_quietly(search, sample.rows, sample.weight).inertia_
    if not best < (1 - MIN_COST_DECREASE) * cost:
        return None
    return Finding(
        "local-minimum",
        "A better division into the same number of groups exists.",
        f"A local minimum: a search reaches a J that is {percent(1 - best / cost)} lower"
        f"{sample.note}.{_possible(certificate)}",
        "Fit again with quality='balanced' or quality='best'.",
        settings=(Setting("quality", "best"),),
    )


def _certificate_of(fit: FitContext) -> Certificate | None:
    """Return the certificate that the model keeps, if these are the rows of its fit."""
    certificate: Certificate | None = getattr(fit.model, "certificate_", None)
    if certificate is None or certificate.n_rows != fit.n:
        return None
    is_of_rows = math.isclose(certificate.objective, fit.cost, rel_tol=MAX_MOVE_OF_COST)
    return certificate if is_of_rows else None


def _possible(certificate: Certificate | None) -> str:
    return "" if certificate is None else f" By the certificate of this fit, {certificate.verdict}."


def _refit_sample(fit: FitContext) -> RowSample:
    """The rows to fit again, the same for both checks."""
    max_rows = QUADRATIC_SAMPLE_ROWS if MEANS in fit.lacks else SAMPLE_ROWS
    sample = fit.sample(min(max_rows, max(1, MAX_SAMPLE_VALUES // fit.d)), "unstable")
    if len(sample.weight) <= fit.k:
        raise CheckSkipped("there are no more distinct rows than clusters")
    return sample


def fit_quietly(model: Any, X: Any, weight: Floats | None = None) -> Any:
    """Fit without warnings, such as that a cluster is empty: the score shows it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, sample_weight=weight)


def _kmeans(fit: FitContext, seed: int, **parameters: Any) -> KMeans:
    return KMeans(fit.k, random_state=seed, n_threads=fit.threads, **parameters)


def _unfitted(model: Any, seed: int) -> Any:
    """A copy of the model with the same parameters, but default starts and this seed."""
    default = type(model)().get_params()
    init = getattr(model, "init", "")
    return set_known(
        clone(model),
        random_state=seed,
        verbose=0,
        callback=None,
        n_init=default.get("n_init"),
        init=init if isinstance(init, str) else default["init"],
    )
