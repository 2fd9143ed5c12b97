"""The identities of K-means, as laws; and the page about them, which must run."""

from __future__ import annotations

import doctest
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.paths import ROOT
from hypothesis import given
from hypothesis import strategies as st

from partita import KMeans, SphericalKMeans
from partita.theory import (
    gradient,
    inertia,
    merge_price,
    mse,
    partition_count,
    partitions,
    sse,
    sse_by_pairs,
    sse_of_partition,
    stirling,
)

PAGE = ROOT / "docs" / "theory.md"


def test_the_page_about_the_theory_runs():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 20
    assert failed == 0


@st.composite
def weighted(draw, least=1):
    """(rows, weights): with duplicates, weights of zero, and sometimes far from 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(least, 25)), draw(st.integers(1, 4))
    whole = draw(st.booleans())
    rows = rng.integers(-3, 4, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    rows += draw(st.sampled_from([0.0, 1e6]))
    weight = rng.integers(0, 3, n) * rng.choice([1.0, 0.3])
    weight[rng.integers(n)] = 1.0
    return rows, weight


def close(a, b):
    # rows near 1e6 are given to 1e-10, so their squares about a near center to about 1e-9
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7)


@given(weighted(), st.integers(0, 2**32 - 1))
def test_huygens(problem, seed):
    X, w = problem
    z = X[0] + np.random.default_rng(seed).normal(size=X.shape[1])
    c = X[0] + np.average(X - X[0], axis=0, weights=w)
    close(inertia(X, z, w) - sse(X, w), w.sum() * ((c - z) ** 2).sum())
    assert inertia(X, z, w) >= sse(X, w) * (1 - 1e-12)
    close(inertia(X, c, w), sse(X, w))


@given(weighted())
def test_the_mse_is_the_variance_and_pairs_give_the_same_sse(problem):
    X, w = problem
    centred = X - X[0]
    mean = np.average(centred, axis=0, weights=w)
    close(mse(X, w), np.average((centred - mean) ** 2, axis=0, weights=w).sum())
    close(mse(X, w) * w.sum(), sse(X, w))
    close(sse_by_pairs(X, w), sse(X, w))


@given(weighted(), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_a_partition_costs_what_its_blocks_cost(problem, k, seed):
    X, w = problem
    labels = np.random.default_rng(seed).integers(0, k, len(X))
    blocks = [j for j in range(k) if w[labels == j].any()]
    parts = [(X[labels == j], w[labels == j]) for j in blocks]
    close(sse_of_partition(X, labels, w), sum(sse(*part) for part in parts))
    close(sse_of_partition(X, labels, w), sum(part[1].sum() * mse(*part) for part in parts))


@given(weighted(least=2), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_merging_never_reduces_the_sse_and_adds_the_price(problem, k, seed):
    X, w = problem
    labels = np.random.default_rng(seed).integers(0, k, len(X))
    fused = np.where(labels == k - 1, 0, labels)
    before, after = sse_of_partition(X, labels, w), sse_of_partition(X, fused, w)
    assert after >= before * (1 - 1e-12) - 1e-12  # and so splitting never raises it
    u, v = labels == 0, labels == k - 1
    if w[u].any() and w[v].any():
        close(after - before, merge_price(X[u], X[v], w[u], w[v]))


@given(weighted(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_gradient_is_the_slope_of_j_and_zero_at_the_means(problem, k, seed):
    X, w = problem
    rng = np.random.default_rng(seed)
    X, labels = X - X[0], rng.integers(0, k, len(X))
    centers, step = rng.normal(size=(k, X.shape[1])), rng.normal(size=(k, X.shape[1]))

    def cost(theta):
        return (w * ((X - theta[labels]) ** 2).sum(axis=1)).sum()

    slope = gradient(X, labels, centers, w)
    # J is a parabola along any line, so the central difference is its slope
    close((slope * step).sum(), (cost(centers + step) - cost(centers - step)) / 2)
    membership = np.eye(k)[labels]
    matrix = 2 * (membership.T * w @ membership @ centers - membership.T * w @ X)
    close(slope, matrix)
    means = centers.copy()
    for j in np.unique(labels[w > 0]):
        means[j] = np.average(X[labels == j], axis=0, weights=w[labels == j])
    close(gradient(X, labels, means, w), 0.0)


@given(weighted(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_objective_in_its_three_forms(problem, k, seed):
    X, w = problem
    distinct = len(np.unique(X[w > 0], axis=0))
    model = KMeans(min(k, distinct), random_state=seed, tol=0.0)
    model.fit(X, sample_weight=w)
    residual = X - model.membership_ @ model.cluster_centers_
    close(model.inertia_, (w * (residual**2).sum(axis=1)).sum())
    close(model.inertia_, np.linalg.norm(np.sqrt(w)[:, None] * residual) ** 2)
    mass = np.bincount(model.labels_, w)
    spread = sum(
        mass[j] * mse(X[model.labels_ == j], w[model.labels_ == j]) for j in np.flatnonzero(mass)
    )
    assert spread <= model.inertia_ * (1 + 1e-9) + 1e-9  # about the means, not the centers
    if model.stopped_by_ == "no point changed its cluster":
        close(model.inertia_, spread)
    assert sse_of_partition(X, model.labels_, w) <= model.inertia_ * (1 + 1e-9) + 1e-9


@given(weighted(), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_on_the_sphere(problem, k, seed):
    X, w = problem
    X = X + 0.5
    X[np.abs(X).sum(axis=1) == 0] = 1.0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    chords = ((X[0] - X) ** 2).sum(axis=1)
    np.testing.assert_allclose(chords, 2 * (1 - X @ X[0]), atol=1e-12)
    labels = np.random.default_rng(seed).integers(0, k, len(X))
    plain, cosine = 0.0, 0.0
    for j in range(k):
        mass = w[labels == j].sum()
        if mass > 0:
            length = np.linalg.norm(np.average(X[labels == j], axis=0, weights=w[labels == j]))
            plain, cosine = plain + mass * (1 - length**2), cosine + mass * (1 - length)
    np.testing.assert_allclose(sse_of_partition(X, labels, w), plain, atol=1e-9)
    assert plain <= 2 * cosine + 1e-9
    if k == 1:
        fitted = SphericalKMeans(1).fit(X, sample_weight=w)
        np.testing.assert_allclose(fitted.inertia_, cosine, atol=1e-9)


# --- partitions -----------------------------------------------------------------------------------


def test_known_numbers_of_partitions():
    triangle = [[1], [1, 1], [1, 3, 1], [1, 7, 6, 1], [1, 15, 25, 10, 1], [1, 31, 90, 65, 15, 1]]
    for n, row in enumerate(triangle, start=1):
        assert [stirling(n, k) for k in range(1, n + 1)] == row
    bell = [1, 1, 2, 5, 15, 52, 203, 877, 4140, 21147, 115975]
    assert [partition_count(n) for n in range(11)] == bell
    assert stirling(0, 0) == 1
    assert stirling(5, 0) == stirling(3, 4) == 0
    assert partition_count(10, 2) == 1 + 511
    assert stirling(100, 2) == 2**99 - 1


@given(st.integers(1, 60), st.integers(1, 60))
def test_the_next_number_follows_from_two_before(n, k):
    assert stirling(n, k) == k * stirling(n - 1, k) + stirling(n - 1, k - 1)


@pytest.mark.parametrize(("n", "k"), list(itertools.product(range(8), range(9))))
def test_the_enumeration_yields_every_partition_once(n, k):
    found = [tuple(labels.tolist()) for labels in partitions(n, k)]
    assert len(found) == len(set(found)) == stirling(n, k)
    assert found == sorted(found)
    for labels in found:
        assert set(labels) == set(range(k))
        firsts = [labels.index(j) for j in range(k)]
        assert firsts == sorted(firsts)


@given(weighted(least=2), st.integers(0, 100))
def test_no_fit_is_below_the_best_of_all_partitions(problem, seed):
    X, w = problem[0][:7], problem[1][:7] + 0.1
    k = min(2, len(np.unique(X, axis=0)))
    best = min(sse_of_partition(X, labels, w) for labels in partitions(len(X), k))
    fitted = KMeans(k, random_state=seed).fit(X, sample_weight=w).inertia_
    assert fitted >= best * (1 - 1e-9) - 1e-9


def test_as_many_clusters_as_distinct_points_cost_nothing():
    X = [[1.0, 2.0], [1.0, 2.0], [5.0, 2.0], [0.0, 0.0]]
    assert min(sse_of_partition(X, labels) for labels in partitions(4, 3)) == 0.0


# --- what is given --------------------------------------------------------------------------------


def test_lists_frames_and_sparse_rows_are_rows_too():
    pandas = pytest.importorskip("pandas")
    X = [[0.0, 1.0], [2.0, 0.0], [4.0, 4.0]]
    for given_ in (X, np.array(X, np.float32), pandas.DataFrame(X), sp.csr_array(X)):
        assert sse(given_) == pytest.approx(sse(X))
    assert sse_of_partition(X, [7, 7, 10**9]) == 2.5  # numbers of blocks need not be close


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sse([1.0, 2.0]), r"got shape \(2,\)"),
        (lambda: sse(np.empty((0, 2))), "n >= 1"),
        (lambda: sse([[np.nan]]), "NaN"),
        (lambda: sse([[1.0]], [-1.0]), "finite numbers >= 0"),
        (lambda: sse([[1.0]], [0.0]), "not all zero"),
        (lambda: sse([[1.0]], [1.0, 1.0]), "1 finite numbers >= 0, not all zero, one per row"),
        (lambda: inertia([[1.0]], [1.0, 2.0]), "1 finite numbers"),
        (lambda: merge_price([[1.0]], [[1.0, 2.0]]), "features"),
        (lambda: gradient([[1.0]], [0], [1.0]), r"\(k, 1\)"),
        (lambda: gradient([[1.0]], [1], [[1.0]]), "must be from 0 to 0"),
        (lambda: sse_of_partition([[1.0]], [-1]), "got -1 to -1"),
        (lambda: sse_of_partition([[1.0]], [0.5]), "must be 1 integers"),
        (lambda: stirling(2.5, 1), "`n` must be an integer from 0 to 1000, got 2.5"),
        (lambda: partitions(3, -1), "`k` must be an integer >= 0, got -1"),
        (lambda: partition_count(True), "got True"),
    ],
)
def test_invalid_parameters_of_theory(call, message):
    with pytest.raises(ValueError, match=message):
        call()
