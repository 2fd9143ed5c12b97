"""Nyström's features: the interval they promise, the pivots they take, and what new rows need."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.kernel_cases import KERNELS, gram_of, objective, sample
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from partita import KernelKMeans
from partita._common.threads import Workers
from partita.engine.kernel.nystrom_cholesky import Nystrom
from partita.source.kernel_function import KernelFunction

pytestmark = pytest.mark.sanitize


def grown(kernel, X, weight, rank, seed=0):
    function = KernelFunction(kernel, KERNELS[kernel])
    with Workers(2) as workers:
        nystrom = Nystrom(function, function.place(X), weight, workers)
        nystrom.grow(rank // 2, np.random.default_rng(seed))
        nystrom.grow(rank, np.random.default_rng(seed + 1))  # it may be continued
    return nystrom


@pytest.mark.heavy
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 70),
    rank=st.integers(1, 60),
    kernel=st.sampled_from(sorted(KERNELS)),
)
def test_what_is_missing_is_positive_semidefinite(seed, n, rank, kernel):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(n, 4)), rng.random(n) * (rng.random(n) < 0.9) + 1e-3
    nystrom = grown(kernel, X, weight, rank, seed)
    K = gram_of(kernel, X)
    left = K - nystrom.features @ nystrom.features.T
    size = np.abs(K).max()
    assert np.linalg.eigvalsh(left).min() > -1e-10 * size * n
    np.testing.assert_allclose(np.diag(left), nystrom.residual, atol=1e-10 * size)
    assert nystrom.features.shape[1] == len(nystrom.pivots) <= min(rank, n)
    assert len(set(nystrom.pivots.tolist())) == len(nystrom.pivots)
    np.testing.assert_allclose(left[nystrom.pivots], 0, atol=1e-8 * size)


@pytest.mark.heavy
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 6),
    rank=st.integers(1, 50),
    kernel=st.sampled_from(sorted(KERNELS)),
)
def test_the_true_objective_lies_in_the_interval(seed, k, rank, kernel):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(60, 3)) + rng.integers(0, 3, (60, 1)), rng.random(60) + 0.01
    model = KernelKMeans(
        k, kernel=kernel, approximation="nystrom", n_components=rank, random_state=seed,
        max_iter=1 + seed % 5, empty="keep", **KERNELS[kernel],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, sample_weight=weight)
    low, high = model.objective_interval_
    K = gram_of(kernel, X)
    true = objective(K, model.labels_, weight)
    slack = 1e-9 * float(weight @ np.diag(K))
    assert low - slack <= true <= high + slack
    # and it is no wider than what the diagonal misses
    assert high - low <= float(weight @ np.diag(K)) + slack
    assert model.inertia_ >= low - slack


@pytest.mark.heavy
def test_pivots_follow_what_is_missing():
    """The first pivot is drawn in proportion to weight times diagonal."""
    X = np.array([[1.0], [2.0], [3.0]])
    weight = np.array([1.0, 2.0, 0.5])
    share = weight * X[:, 0] ** 2
    first = [
        grown("linear", X, weight, 2, seed).pivots[0] for seed in range(400)
    ]  # a linear kernel of one feature needs one pivot
    found = np.bincount(first, minlength=3) / 400
    np.testing.assert_allclose(found, share / share.sum(), atol=0.08)


@pytest.mark.heavy
def test_pivots_in_blocks_are_drawn_as_one_by_one():
    """Rejection: of two rows that are nearly the same, hardly ever both are taken."""
    X = np.array([[0.0], [1e-3], [50.0], [100.0]])
    both = 0
    for seed in range(200):
        with Workers(1) as workers:
            nystrom = Nystrom(KernelFunction("rbf", {"gamma": 0.1}), X, np.ones(4), workers)
            nystrom.grow(3, np.random.default_rng(seed))
        both += {0, 1} <= set(nystrom.pivots.tolist())
    assert both == 0


def test_all_columns_are_the_exact_fit():
    X, start, weight = sample(80)
    exact = KernelKMeans(4, gamma=0.3, init=start).fit(X, sample_weight=weight)
    whole = KernelKMeans(4, gamma=0.3, init=start, approximation="nystrom", n_components=80)
    whole.fit(X, sample_weight=weight)
    np.testing.assert_array_equal(exact.labels_, whole.labels_)
    assert whole.inertia_ == pytest.approx(exact.inertia_, rel=1e-7)
    low, high = whole.objective_interval_
    assert high - low < 1e-6 * high
    np.testing.assert_allclose(whole.transform(X), exact.transform(X), atol=1e-5)


def test_the_rank_is_found():
    X, _ = make_blobs(1500, 3, centers=5, random_state=0)
    model = KernelKMeans(5, approximation="nystrom", random_state=0).fit(X)
    low, high = model.objective_interval_
    assert high - low <= 0.05 * low
    assert "columns" in model.paths_[0]
    true = objective(rbf_kernel(X, gamma=model.kernel_.params["gamma"]), model.labels_)
    assert low <= true <= high
    short = KernelKMeans(5, approximation="nystrom", random_state=0, memory_limit=1500 * 24 * 10)
    short.fit(X)
    assert "10 of 1500 columns" in short.paths_[0]
    assert "memory_limit" in short.paths_[0]
    assert short.objective_interval_[1] > high


def test_a_matrix_that_does_not_fit_is_approximated_with_a_warning():
    X, _, _ = sample(200)
    with pytest.warns(UserWarning, match="approximation='nystrom'"):
        model = KernelKMeans(4, random_state=0, memory_limit=1e5).fit(X)
    assert model.paths_[0].startswith("nystrom")
    # a kernel that may be indefinite has no interval: its rows are made again
    with pytest.warns(UserWarning, match="positive semidefinite"):
        other = KernelKMeans(4, kernel="sigmoid", gamma=0.5, memory_limit=1e5, max_iter=3).fit(X)
    assert "made again" in other.paths_[0]


def test_new_rows_need_only_the_pivots():
    X, start, weight = sample(300, 3, 4)
    model = KernelKMeans(
        4, gamma=0.1, approximation="nystrom", n_components=20, init=start, random_state=0
    ).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X, sample_weight=weight) == pytest.approx(-model.inertia_, rel=1e-9)
    assert len(pickle.dumps(model)) < 40_000
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(X[:5]), model.transform(X[:5]))
    soft = model.soft_membership(X)
    np.testing.assert_array_equal(soft.argmax(axis=1), model.labels_)


@pytest.mark.parametrize("start", ["labels", "points", "rows", "random", "random-partition"])
def test_starts_among_features(start):
    X, labels, _ = sample(200)
    init = {"labels": labels, "points": X[:4], "rows": np.arange(4)}.get(start, start)
    keywords = {"gamma": 0.05, "init": init, "random_state": 0}
    whole = KernelKMeans(4, approximation="nystrom", n_components=200, **keywords).fit(X)
    exact = KernelKMeans(4, **keywords).fit(X)
    if start in ("labels", "points", "rows"):
        np.testing.assert_array_equal(whole.labels_, exact.labels_)
    assert whole.inertia_ <= exact.inertia_ * 1.05


def test_rings_by_few_columns():
    X, ring = make_circles(5000, factor=0.3, noise=0.05, random_state=0)
    model = KernelKMeans(2, approximation="nystrom", n_components=50, n_init=10, random_state=0)
    assert adjusted_rand_score(ring, model.fit_predict(X)) == 1.0


def test_an_indefinite_kernel_is_an_error():
    X, _, _ = sample()
    with pytest.raises(ValueError, match="positive semidefinite"):
        KernelKMeans(
            3, kernel="sigmoid", gamma=2.0, coef0=-3, approximation="nystrom", random_state=0
        ).fit(X)


@pytest.mark.parametrize("kind", ["float32", "sparse", "duplicates", "constant"])
def test_other_kinds_of_rows(kind):
    X = np.abs(sample(150)[0])
    X = {
        "float32": X.astype(np.float32),
        "sparse": sp.csr_array(X),
        "duplicates": np.repeat(X[:6], 25, axis=0),
        "constant": np.ones((30, 2)),
    }[kind]
    k = 1 if kind == "constant" else 3
    model = KernelKMeans(k, approximation="nystrom", n_components=40, random_state=0).fit(X)
    if kind == "duplicates":
        assert len(model._space.map.factor) <= 6
    K = pairwise_kernels(X, metric="rbf", gamma=model.kernel_.params["gamma"])
    low, high = model.objective_interval_
    slack = 1e-4 * len(K) if kind == "float32" else 1e-9
    assert low - slack <= objective(K.astype(float), model.labels_) <= high + slack
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.slow
def test_a_million_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 2)) + 6 * rng.integers(0, 3, (1_000_000, 1))
    model = KernelKMeans(3, approximation="nystrom", n_components=50, random_state=0, max_iter=5)
    assert model.fit(X).labels_.shape == (1_000_000,)
