"""Outliers are found at any K: inside clusters, where they hide the spread, and in their own."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.diagnosis_cases import fit, groups
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

from partita import KMeans, KMedoids, diagnose
from partita.diagnosis.diagnosis_input import read_fit
from partita.diagnosis.finding import CheckSkipped
from partita.diagnosis.outliers import check_outliers, weighted_quantile
from partita.report import Fitted, summarise

PLACES = {
    "together": lambda rng, d: 1e4 * (1 + 0.1 * rng.normal(size=(5, d))),
    "scattered": lambda rng, d: 1e4 * rng.normal(size=(5, d)),
    "in one feature": lambda rng, d: 1e4 * np.eye(d)[np.zeros(5, int)] * rng.normal(size=(5, 1)),
}
CLEAN = {
    "normal": lambda rng, size: rng.normal(size=size),
    "uniform": lambda rng, size: rng.random(size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "counts": lambda rng, size: rng.poisson(1.0, size).astype(float),
    "coins": lambda rng, size: rng.integers(0, 2, size).astype(float),
    "rare": lambda rng, size: np.c_[rng.normal(size=size), 6.0 * (rng.random(size) < 0.03)],
}


def outliers(X, k, weight=None):
    model = KMeans(k, n_init=3, random_state=0, n_threads=1).fit(X, sample_weight=weight)
    found = check_outliers(read_fit(model, X, weight, 0))
    return () if found is None else found.rows


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_five_of_five_hundred_are_found_at_any_k(place, k):
    for d in (2, 8):
        rng = np.random.default_rng(k)
        centers = 10 * rng.normal(size=(3, d))
        rows = centers[rng.integers(0, 3, 495)] + rng.normal(size=(495, d))
        X = np.concatenate([rows, PLACES[place](rng, d)])
        order = rng.permutation(500)
        assert outliers(X[order], k) == tuple(np.flatnonzero(order >= 495).tolist())


@pytest.mark.parametrize("d", [1, 3, 8, 50])
def test_two_rows_at_forty_deviations_are_found_before_and_after_scaling(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(1000, d))
    X[[17, 400], [0, d - 1]] = 40, -40
    for rows in (X, StandardScaler().fit_transform(X), RobustScaler().fit_transform(X)):
        assert outliers(rows, 1) == outliers(rows, 4) == (17, 400)


@pytest.mark.parametrize("kind", CLEAN)
def test_tails_are_no_outliers(kind):
    alarms = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = CLEAN[kind](rng, (int(rng.integers(50, 2000)), int(rng.integers(2, 9))))
        alarms += any(outliers(X, k) for k in (1, 4))
    assert alarms <= 1  # of twelve tables: two rare rows of fifty are some


def test_weights_are_repeats_and_heavy_rows_are_no_outliers():
    rng = np.random.default_rng(0)
    X = np.concatenate([groups(), [[500.0, 500.0], [-500.0, 0.0]]])
    weight = np.append(rng.integers(1, 4, 400), [1, 1])
    assert outliers(X, 1, weight) == (400, 401)
    repeated = np.repeat(X, weight, axis=0)
    assert outliers(repeated, 1) == (len(repeated) - 2, len(repeated) - 1)
    weight[400] = 300  # a row of that weight is a group
    assert outliers(X, 2, weight) == (401,)


def test_one_cluster_is_searched_for_outliers():
    X = np.concatenate([groups(), [[1e4, 0.0]]])
    found = diagnose(fit(X, 1), X)["outliers"]
    assert found.rows == (400,)
    assert found.evidence.endswith(": row 400.")  # as X[400] and `rows`
    assert found.what == "1 of 401 rows lies far from all others."
    assert found.evidence.startswith("1 within the cluster, mostly in feature 0.")
    assert found.features == (0,)
    with pytest.raises(CheckSkipped, match="fewer than 10 rows"):
        check_outliers(read_fit(fit(X[:5], 2), X[:5], None, 0))


def test_the_advice_fits_the_model_and_its_scaling():
    X = np.concatenate([groups(), [[1e4, 0.0]]])
    for steps, words in (
        ((KMeans(1),), ("KMedoids",)),
        ((StandardScaler(), KMeans(1)), ("KMedoids", "RobustScaler")),
        ((RobustScaler(), KMeans(1)), ("KMedoids",)),
        ((StandardScaler(), KMedoids(1)), ("RobustScaler",)),
        ((KMedoids(1),), ()),
    ):
        advice = diagnose(make_pipeline(*steps).fit(X), X)["outliers"].advice
        assert tuple(name for name in ("KMedoids", "RobustScaler") if name in advice) == words


def outlier_finding(model, X, **more):
    findings = summarise(Fitted(model, X, **more)).findings
    return next(finding for finding in findings if finding["name"] == "outliers")


def test_a_report_names_outliers_by_their_ids_and_by_their_numbers_in_the_source():
    X = np.concatenate([groups(), [[1e4, 0.0]]])
    model, kept = fit(X, 1), np.arange(401) + 50  # fifty rows of the source were left out
    numbered = outlier_finding(model, X, kept=kept, rows_total=451)
    assert numbered["evidence"].endswith(": row 451.")
    assert numbered["rows"] == [451]
    ids = [f"C-{i}" for i in range(401)]
    named = outlier_finding(model, X, ids=ids)
    assert named["evidence"].endswith(": C-400.")


def test_a_weighted_quantile_is_that_of_repeated_values():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, weight = rng.integers(0, 9, 12).astype(float), rng.integers(1, 5, 12)
        repeated = np.sort(np.repeat(values, weight))
        for share in (0.1, 0.5, 0.95, 1.0):
            place = int(np.ceil(share * len(repeated) - 1e-9)) - 1
            assert weighted_quantile(values, weight, share) == repeated[place]
