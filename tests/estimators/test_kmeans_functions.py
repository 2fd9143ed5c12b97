"""The functions `k_means` and `kmeans_plusplus`."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
from helpers.iris_fits import (
    CONTAINERS,
    FRAMES,
    IRIS,
    distances,
    near_rows,
)
from sklearn.datasets import load_digits

from partita import KMeans, k_means, kmeans_plusplus

# --- functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, np.arange(150.0)])
def test_k_means_returns_what_the_estimator_finds(weight):
    model = KMeans(4, random_state=0, max_iter=3, tol=0).fit(IRIS, sample_weight=weight)
    params = {"sample_weight": weight, "random_state": 0, "max_iter": 3, "tol": 0}
    centers, labels, inertia, n_iter = k_means(IRIS, 4, **params, return_n_iter=True)
    np.testing.assert_array_equal(centers, model.cluster_centers_)
    np.testing.assert_array_equal(labels, model.labels_)
    assert (inertia, n_iter) == (model.inertia_, model.n_iter_)
    assert len(k_means(IRIS, 4, **params)) == 3


def test_k_means_from_given_centers_is_that_of_scikit_learn():
    init = near_rows(IRIS, 4)
    ours = k_means(IRIS, 4, init=init, return_n_iter=True)
    theirs = sklearn.cluster.k_means(IRIS, 4, init=init, n_init=1, return_n_iter=True)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("trials", [None, 1, 5])
def test_kmeans_plusplus_returns_distinct_rows_and_their_indices(make, dtype, trials):
    rows = IRIS.astype(dtype)
    centers, indices = kmeans_plusplus(make(rows), 30, n_local_trials=trials, random_state=0)
    np.testing.assert_array_equal(centers, rows[indices])
    assert centers.dtype == dtype
    assert indices.dtype == np.int64
    assert len(np.unique(centers, axis=0)) == 30


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0, 1e6])
def test_kmeans_plusplus_of_as_many_centers_as_distinct_rows_takes_each_once(make, dtype, offset):
    distinct = (np.unique(load_digits().data[:300], axis=0) + offset).astype(dtype)
    twice = np.repeat(distinct, 2, axis=0)
    centers, _ = kmeans_plusplus(make(twice), len(distinct), random_state=0)
    np.testing.assert_array_equal(np.unique(centers, axis=0), distinct)


@pytest.mark.parametrize("make", CONTAINERS)
def test_kmeans_plusplus_never_takes_a_row_of_weight_zero(make):
    rows = np.vstack([IRIS, np.full((50, 4), 1e6)])
    weight = np.concatenate([np.arange(150) % 2, np.zeros(50)])
    for seed in range(20):
        _, indices = kmeans_plusplus(make(rows), 10, sample_weight=weight, random_state=seed)
        assert (weight[indices] > 0).all()


def test_kmeans_plusplus_takes_a_frame_and_squared_norms_as_scikit_learn_does():
    norms = (IRIS**2).sum(axis=1)
    centers, indices = kmeans_plusplus(
        FRAMES["pandas"](IRIS), 3, x_squared_norms=norms, random_state=0
    )
    expected = kmeans_plusplus(IRIS, 3, random_state=0)
    np.testing.assert_array_equal(centers, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.heavy
def test_kmeans_plusplus_seeds_as_well_as_scikit_learn():
    rows = load_digits().data

    def potential(function):
        starts = [function(rows, 10, random_state=seed)[0] for seed in range(30)]
        return np.mean([(distances(rows, start).min(axis=1) ** 2).sum() for start in starts])

    assert potential(kmeans_plusplus) == pytest.approx(
        potential(sklearn.cluster.kmeans_plusplus), rel=0.05
    )
