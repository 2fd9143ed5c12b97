"""`diagnose`: known limits of K-means, checked on a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.random_state import generator
from partita._common.text import plural
from partita.diagnosis import (
    cluster_borders,
    cluster_shapes,
    convergence,
    duplicate_rows,
    features,
    neighbour_graph,
    refits,
)
from partita.diagnosis.finding import CheckSkipped, Diagnosis
from partita.diagnosis.fit_context import FitContext
from partita.diagnosis.model_facts import read_diagnosis_input
from partita.estimators.capabilities import ROWS
from partita.exact_weights import as_repeats

_CHECKS = tuple(
    check
    for module in (
        convergence,
        features,
        duplicate_rows,
        cluster_shapes,
        cluster_borders,
        neighbour_graph,
        refits,
    )
    for check in module.CHECKS
)


def diagnose(model: Any, X: Any, sample_weight: Any = None, *, random_state: Any = 0) -> Diagnosis:
    """Check a fit for the known limits of K-means.

    Parameters
    ----------
    model : fitted estimator
        Any of partita's, or another with `cluster_centers_` (rows are labelled by the nearest one,
        unless the model assigns them down a tree) or `labels_`. Checks that do not apply are listed
        with the reason. Of a pipeline, the last step is diagnosed on the transformed X.
    X : array, CSR matrix or table of shape (n_samples, n_features)
        The data it was fitted to, or similar data. Ignored if the model was fitted to a matrix of
        dissimilarities or inner products.
    sample_weight : array of shape (n_samples,), optional
        The weights it was fitted with. Integers count as repeated rows.
    random_state : int, RandomState, Generator or None, default=0
        Used for samples of large data and for refits; the same int gives the same diagnosis.

    Returns
    -------
    Diagnosis
        The findings, warnings first. `print` it, iterate over it, or ask `"scale" in diagnosis`.

    Examples
    --------
    >>> from partita import KMeans, diagnose
    >>> from sklearn.datasets import load_wine
    >>> X = load_wine(as_frame=True).data
    >>> found = diagnose(KMeans(3, n_init=5, random_state=0).fit(X), X)
    >>> "scale" in found
    True
    >>> found["scale"].features
    ('proline',)
    """
    fit = fit_context(model, X, sample_weight, random_state)
    findings, ran, skipped = [], [], []
    with np.errstate(all="ignore"):  # what exceeds the doubles compares as infinite
        for check in _CHECKS:
            lacks = [fit.facts.lacks[need] for need in check.needs if need in fit.facts.lacks]
            try:
                if lacks:
                    raise CheckSkipped(lacks[0])
                finding = check.run(fit)
            except CheckSkipped as reason:
                skipped.append((check.name, str(reason)))
                continue
            ran.append(check.name)
            findings += [finding] if finding else []
    findings.sort(key=lambda finding: finding.severity != "warning")
    return Diagnosis(_subject(fit), tuple(findings), tuple(ran), tuple(skipped))


def fit_context(model: Any, X: Any, sample_weight: Any, random_state: Any) -> FitContext:
    """Check the input, and keep the rows that have weight and a label."""
    entropy = int(generator(random_state).integers(2**63))
    given = read_diagnosis_input(model, X, sample_weight)
    weight = as_repeats(given.weight, given.n)[given.index]
    rows, labels, index = given.rows, given.labels, given.index
    weighty = weight > 0
    if not weighty.all():
        rows, labels, index, weight = (
            rows[weighty],
            labels[weighty],
            index[weighty],
            weight[weighty],
        )
    if rows.shape[0] == 0:
        raise ValueError("No row of X has both a weight > 0 and a cluster. Check sample_weight.")
    return FitContext(given.facts, rows, weight, labels, index, given.n, entropy)


def _subject(fit: FitContext) -> str:
    features = "" if ROWS in fit.facts.lacks else f", {fit.d} features"
    return f"{fit.facts.kind}, {plural(fit.k, 'cluster')} of {fit.n} rows{features}"
