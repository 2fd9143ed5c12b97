"""Starts of kernel K-means: named, given, and those that do not fit."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.kernel_cases import sample
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from partita import KernelKMeans, KMeans
from partita._common.threads import Workers
from partita.exact_weights import Weights
from partita.init.kernel_starts import plusplus_rows
from partita.init.plusplus import plusplus
from partita.source.dense import DenseSource
from partita.source.gram_matrix import DenseGram

pytestmark = pytest.mark.sanitize


@pytest.mark.parametrize(
    "init", ["auto", "k-means++", "random", "forgy", "random-partition", "spectral"]
)
def test_named_starts(init):
    X, start, weight = sample(200, 3, 4)
    model = KernelKMeans(4, init=init, random_state=0).fit(X, sample_weight=weight)
    again = KernelKMeans(4, init=init, random_state=0).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert model.inertia_ <= KernelKMeans(4, init=start).fit(X, None, weight).inertia_ * 1.2
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_given_starts():
    X, _, _ = sample()
    points = KernelKMeans(4, init=X[:4]).fit(X)
    rows = KernelKMeans(4, init=np.arange(4)).fit(X)
    called = KernelKMeans(4, n_init=1, init=lambda X, k, random_state: X[:k]).fit(X)
    for other in (rows, called):
        np.testing.assert_array_equal(points.labels_, other.labels_)
        assert points.inertia_ == pytest.approx(other.inertia_, rel=1e-12)
    K = rbf_kernel(X)
    given = KernelKMeans(4, kernel="precomputed", init=[0, 1, 2, 3]).fit(K)
    same = KernelKMeans(4, gamma=1 / 3, init=np.arange(4)).fit(X)
    np.testing.assert_array_equal(given.labels_, same.labels_)
    fixed = KernelKMeans(4, init=points.labels_).fit(X)
    assert fixed.n_iter_ == 1 or fixed.trace_[1].moved_points == 0
    np.testing.assert_array_equal(fixed.labels_, points.labels_)
    lent = KernelKMeans(4, init=KMeans(4, init=X[:4], max_iter=1).fit(X)).fit(X)
    assert lent.inertia_ > 0


@pytest.mark.parametrize(
    ("init", "words"),
    [
        ("kmeans", "`init` must be .*got 'kmeans'"),
        (None, "`init` must be .*got None"),
        (3, "`init` must be .*got 3"),
        (np.zeros((4, 2)), "does not match the number of features"),
        (np.zeros((3, 3)), "does not match the number of clusters"),
        (np.zeros(5, int), "`init` must be the numbers of 4 rows or 120 labels, got 5 integers"),
        (np.full(120, 4), "`init` must be labels from 0 to 3, got 4 to 4"),
        (np.full(120, -1), "`init` must be labels from 0 to 3, got -1 to -1"),
        (np.array([0, 1, 2, 120]), "`init` must be row numbers from 0 to 119, got 0 to 120"),
        (np.zeros(120), r"`init` must be .*got an array of shape \(120,\)"),
        (np.full((4, 3), np.nan), "NaN"),
    ],
)
def test_starts_that_do_not_fit(init, words):
    X, _, _ = sample()
    with pytest.raises(ValueError, match=words):
        KernelKMeans(4, init=init).fit(X)


def test_points_are_no_start_for_a_matrix():
    X, _, _ = sample()
    with pytest.raises(ValueError, match=r"`init` must be .*got an array of shape \(4, 3\)"):
        KernelKMeans(4, kernel="precomputed", init=X[:4]).fit(rbf_kernel(X))


@pytest.mark.heavy
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_plusplus_takes_rows_far_apart(seed):
    """One row from each of a few tight groups: greedy k-means++ never takes two from one."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.permutation(6)[:, None] * 10.0, 20, axis=0) + rng.normal(size=(120, 1)) * 0.01
    model = KernelKMeans(6, gamma=0.05, max_iter=1, random_state=seed).fit(X)
    assert len(np.unique(model.labels_)) == 6
    assert model.inertia_ < 1e-2


@pytest.mark.parametrize("weighted", [False, True])
def test_plusplus_of_a_linear_kernel_takes_the_rows_of_k_means(weighted):
    X, _, weight = sample(600, 3, 4)
    weights = Weights.of(weight if weighted else None, 600)
    with Workers(1) as workers:
        gram = DenseGram(linear_kernel(X), X, weights, workers)
        source = DenseSource(X, weights, workers)
        for seed in range(10):
            ours = plusplus_rows(gram, 7, np.random.default_rng(seed))
            theirs = plusplus(source, 7, np.random.default_rng(seed))[1]
            np.testing.assert_array_equal(ours, theirs)
