"""`diagnose`: which of the known limits of K-means a fit has met, by which numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.random_state import generator
from partita.diagnosis import (
    cluster_borders,
    cluster_shapes,
    convergence,
    duplicate_rows,
    features,
    neighbour_graph,
    refits,
)
from partita.diagnosis.finding import Diagnosis, Skip
from partita.diagnosis.fit_context import View
from partita.diagnosis.model_facts import read_diagnosis_input
from partita.weights import as_repeats

_LOOKS = tuple(
    look
    for family in (
        convergence,
        features,
        duplicate_rows,
        cluster_shapes,
        cluster_borders,
        neighbour_graph,
        refits,
    )
    for look in family.LOOKS
)


def diagnose(model: Any, X: Any, sample_weight: Any = None, *, random_state: Any = 0) -> Diagnosis:
    """Look for the known limits of K-means in a fit.

    Parameters
    ----------
    model : fitted estimator
        Any of partita's, or another that has `cluster_centers_` (rows are labelled by the nearest,
        unless the model goes down a tree) or `labels_`. What does not apply to it is listed with
        the reason. Of a pipeline the last step is diagnosed, with X as the others hand it over.
    X : array, CSR matrix or table of shape (n_samples, n_features)
        The data that it was fitted to, or other data of the same kind. Not read if the model was
        fitted to a matrix of dissimilarities or inner products.
    sample_weight : array of shape (n_samples,), optional
        The weights it was fitted with. Whole numbers count as repeated rows.
    random_state : int, RandomState, Generator or None, default=0
        For samples of large data and for refits; the same int gives the same diagnosis.

    Returns
    -------
    Diagnosis
        Findings, warnings first. `print` it; `"scale" in diagnosis`; iterate over it.

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
    view = _view(model, X, sample_weight, random_state)
    findings, looked, skipped = [], [], []
    with np.errstate(all="ignore"):  # what is beyond all numbers is compared as infinite
        for look in _LOOKS:
            lacks = [view.facts.lacks[need] for need in look.needs if need in view.facts.lacks]
            try:
                if lacks:
                    raise Skip(lacks[0])
                found = look.see(view)
            except Skip as why:
                skipped.append((look.name, str(why)))
                continue
            looked.append(look.name)
            findings += [found] if found else []
    findings.sort(key=lambda finding: finding.severity != "warning")
    return Diagnosis(_subject(view), tuple(findings), tuple(looked), tuple(skipped))


def _view(model: Any, X: Any, sample_weight: Any, random_state: Any) -> View:
    entropy = int(generator(random_state).integers(2**63))
    given = read_diagnosis_input(model, X, sample_weight)
    weight = as_repeats(given.weight, given.n)[given.index]
    rows, labels, index = given.rows, given.labels, given.index
    some = weight > 0
    if not some.all():
        rows, labels, index, weight = rows[some], labels[some], index[some], weight[some]
    if rows.shape[0] == 0:
        raise ValueError("no row of X has both weight and a cluster; there is nothing to look at")
    return View(given.facts, rows, weight, labels, index, given.n, entropy)


def _subject(view: View) -> str:
    size = f"{view.n} rows"
    size += "" if "rows" in view.facts.lacks else f", {view.d} features"
    return f"{view.facts.kind}, {view.k} cluster{'s' * (view.k > 1)} of {size}"
