"""Centers in standard deviations of each feature."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.pictures import IRIS, check
from sklearn.datasets import load_digits, load_wine

from partita import (
    KernelKMeans,
    KMeans,
    SphericalKMeans,
)
from partita.plots import (
    ProfileDisplay,
)


@pytest.mark.heavy
def test_a_profile_is_in_units_of_deviations_and_sorted_by_what_it_explains():
    X = load_wine(as_frame=True).data
    model = KMeans(3, random_state=0).fit(X)
    display = check(ProfileDisplay.from_estimator(model, X))
    wanted = (model.cluster_centers_ - X.mean().to_numpy()) / X.std(ddof=0).to_numpy()
    at = [list(X.columns).index(name) for name in display.names]
    np.testing.assert_allclose(display.scores, wanted.T[at], atol=1e-9)
    explained = (display.weight * display.scores**2).sum(axis=1)
    assert (np.diff(explained) <= 1e-9).all()
    assert len(display.ax_.texts) == 3 * 13
    np.testing.assert_array_equal(display.weight, np.bincount(model.labels_))
    kept = ProfileDisplay.from_estimator(model, X, sort=False)
    assert kept.names == list(X.columns)


@pytest.mark.heavy
def test_many_features_are_cut_to_those_that_differ():
    X = np.random.default_rng(0).normal(size=(500, 100))
    display = check(ProfileDisplay.from_estimator(KMeans(50, random_state=0).fit(X), X))
    assert display.scores.shape == (30, 50)
    assert "70 of 100 are left out" in display.caption


def test_a_constant_feature_says_nothing_and_breaks_nothing():
    X = np.column_stack([IRIS, np.full(len(IRIS), 0.1)])
    display = check(ProfileDisplay.from_estimator(KMeans(3, random_state=0).fit(X), X))
    assert display.names[-1] == "feature 4"
    assert (display.scores[-1] == 0).all()


@pytest.mark.parametrize(
    "model", [KernelKMeans(3, random_state=0), SphericalKMeans(3, random_state=0)]
)
def test_clusters_without_centers_among_the_rows_show_their_means(model):
    model.fit(IRIS)
    display = check(ProfileDisplay.from_estimator(model, IRIS, sort=False))
    means = np.array([IRIS[model.labels_ == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(display.scores, ((means - IRIS.mean(0)) / IRIS.std(0)).T, atol=1e-9)
    assert "mean of its rows" in display.caption


def test_sparse_and_weighted_profiles():
    X = np.where(load_digits().data > 8, load_digits().data, 0)[:300]
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    model = KMeans(5, random_state=0).fit(X)
    once = ProfileDisplay.from_estimator(model, sp.csr_array(X), weight, sort=False)
    often = ProfileDisplay.from_estimator(model, np.repeat(X, weight, axis=0), sort=False)
    assert once.names == often.names
    np.testing.assert_allclose(once.scores, often.scores, atol=1e-8)


def test_names_must_be_as_many_as_features():
    with pytest.raises(ValueError, match="`feature_names` must be a sequence of 4 names"):
        ProfileDisplay.from_estimator(
            KMeans(2, random_state=0).fit(IRIS), IRIS, feature_names=["a", "b"]
        )
