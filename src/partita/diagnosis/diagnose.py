"""`diagnose`: known limits of K-means, checked on a fit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from partita._common.text import plural
from partita.diagnosis import cluster_borders as borders
from partita.diagnosis import cluster_shapes as shapes
from partita.diagnosis import (
    convergence,
    duplicate_rows,
    features,
    missing_shares,
    neighbour_graph,
    outliers,
    refits,
)
from partita.diagnosis.diagnosis_input import read_fit
from partita.diagnosis.finding import CheckSkipped, Diagnosis, Finding, percent
from partita.diagnosis.fit_context import SEVERAL_CLUSTERS, FitContext
from partita.estimators.capabilities import CELLS, COMPLETE, FEATURES, MEANS, REFIT, ROWS, SPACE
from partita.estimators.fitted_models import capabilities_of


class Check(NamedTuple):
    """A check that returns a finding of its name or None, or raises `CheckSkipped`."""

    name: str
    run: Callable[[FitContext], Finding | None]
    needs: tuple[str, ...] = ()  # skipped if the fit lacks any of them


FACES = ROWS, SPACE, CELLS, COMPLETE, SEVERAL_CLUSTERS
CHECKS = (
    Check("not-converged", convergence.check_convergence),
    Check("unequal-magnitudes", convergence.check_magnitudes, (ROWS,)),
    Check("scale", features.check_scale, (ROWS, FEATURES)),
    Check("constant-features", features.check_constant_features, (ROWS, FEATURES)),
    Check("correlated-features", features.check_correlated_features, (ROWS, FEATURES, SPACE)),
    Check("missing-values", missing_shares.check_missing_values, (ROWS, FEATURES)),
    Check("equal-rows", duplicate_rows.check_equal_rows, (ROWS,)),
    Check("few-distinct-rows", duplicate_rows.check_distinct_rows, (ROWS, SEVERAL_CLUSTERS)),
    Check("many-clusters", duplicate_rows.check_rows_per_cluster, (ROWS, SEVERAL_CLUSTERS)),
    Check("duplicates", duplicate_rows.check_duplicates, (ROWS,)),
    Check("outliers", outliers.check_outliers, (ROWS, SPACE)),
    Check("coincident-centers", shapes.check_coincident_centers, (ROWS, SPACE, SEVERAL_CLUSTERS)),
    Check("elongated-clusters", shapes.check_elongated_clusters, FACES),
    Check("empty-clusters", shapes.check_empty_clusters),
    Check("near-faces", borders.check_near_faces, FACES),
    Check("split-groups", borders.check_split_groups, FACES),
    Check("unequal-clusters", borders.check_unequal_clusters, FACES),
    Check("not-convex", neighbour_graph.check_convexity, (ROWS, SPACE, COMPLETE)),
    Check("unstable", refits.check_stability, (ROWS, REFIT, SEVERAL_CLUSTERS)),
    Check("local-minimum", refits.check_local_minimum, (ROWS, REFIT, MEANS, SEVERAL_CLUSTERS)),
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
        The findings, warnings first. `print` it, iterate over it, or test `"scale" in diagnosis`.

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
    return run_checks(read_fit(model, X, sample_weight, random_state))


def run_checks(fit: FitContext, names: Collection[str] | None = None) -> Diagnosis:
    """Run the checks that apply to a fit: all, or those of these names."""
    findings, ran, skipped = [], [], []
    with np.errstate(all="ignore"):  # what exceeds the doubles compares as infinite
        for check in (c for c in CHECKS if names is None or c.name in names):
            lacks = [fit.lacks[need] for need in check.needs if need in fit.lacks]
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
    n_columns = getattr(fit.model, "n_features_in_", fit.d)  # a category has many in fit.rows
    width = "" if ROWS in fit.lacks else f", {n_columns} features"
    subject = f"{type(fit.model).__name__}, {plural(fit.k, 'cluster')} of {fit.n} rows{width}"
    what, count = capabilities_of(fit.model).left_out, fit.n_given - fit.n
    if what and count:
        subject += f"; left out: {plural(count, 'row')} ({percent(count / fit.n_given)}), {what}"
    return Diagnosis(subject, tuple(findings), tuple(ran), tuple(skipped))
