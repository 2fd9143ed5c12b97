"""Criteria equal scikit-learn's, keep their laws, and are defined at their edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.cases import problems
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn import metrics

from partita import ClusterStats, KMeans
from partita._common.threads import Workers
from partita.estimators import labelling
from partita.estimators.labelling import nearest
from partita.metrics.criteria import (
    adjusted_rand,
    bic,
    calinski_harabasz,
    davies_bouldin,
    elbow,
    mean_distances,
    simplified_silhouette,
)

pytestmark = pytest.mark.sanitize


def spread_of(rows, labels, stats, weight=None):
    away = np.linalg.norm(rows - stats.mean[labels], axis=1)
    return mean_distances(away, labels, len(stats.weight), weight)


@st.composite
def partitions(draw):
    """(rows, labels, k): every cluster has a row, and one has two."""
    n, d = draw(st.integers(4, 80)), draw(st.integers(1, 5))
    k = draw(st.integers(2, min(n - 1, 9)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = rng.permutation(np.concatenate([np.arange(k), rng.integers(0, k, n - k)]))
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4), labels, k


@pytest.mark.heavy
@given(problem=partitions(), offset=st.sampled_from([0.0, 1e6]))
def test_they_are_scikit_learns(problem, offset):
    rows, labels, k = problem
    stats = ClusterStats.of_block(rows + offset, labels, k=k)
    slack = 1e-9 if offset == 0 else 1e-3
    theirs = metrics.calinski_harabasz_score(rows, labels)
    assert calinski_harabasz(stats) == pytest.approx(theirs, rel=slack)
    spread = spread_of(rows + offset, labels, stats)
    theirs = metrics.davies_bouldin_score(rows, labels)
    # its distances are off by the square root of what cancels
    assert davies_bouldin(stats, spread) == pytest.approx(theirs, rel=max(slack, 1e-6))
    assert adjusted_rand(labels, labels[::-1]) == metrics.adjusted_rand_score(labels, labels[::-1])


@given(problem=partitions(), seed=st.integers(0, 99))
def test_whole_weights_are_repeats(problem, seed):
    rows, labels, k = problem
    times = np.random.default_rng(seed).integers(1, 4, len(rows))
    many, again = np.repeat(rows, times, axis=0), np.repeat(labels, times)
    stats = ClusterStats.of_block(rows, labels, k=k, weight=times)
    plain = ClusterStats.of_block(many, again, k=k)
    assert calinski_harabasz(stats) == pytest.approx(calinski_harabasz(plain), rel=1e-9)
    assert bic(stats) == pytest.approx(bic(plain), rel=1e-9)
    assert davies_bouldin(stats, spread_of(rows, labels, stats, times)) == pytest.approx(
        davies_bouldin(plain, spread_of(many, again, plain)), rel=1e-9
    )
    one, two = np.abs(rows[:, 0]), np.abs(rows[:, 0]) + 1
    assert simplified_silhouette(one, two, times) == pytest.approx(
        simplified_silhouette(np.repeat(one, times), np.repeat(two, times))
    )


@pytest.mark.heavy
@given(problem=partitions())
def test_bic_is_the_likelihood_of_every_row_in_its_own_gaussian(problem):
    rows, labels, k = problem
    n, d = rows.shape
    stats = ClusterStats.of_block(rows, labels, k=k)
    variance = stats.sse.sum() / (d * (n - k))
    likelihood = sum(
        multivariate_normal(stats.mean[j], variance).logpdf(x) + math.log(stats.weight[j] / n)
        for x, j in zip(rows, labels, strict=True)
    )
    expected = -2 * likelihood + k * (d + 1) * math.log(n)
    assert bic(stats) == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert bic(stats, n) == bic(stats)


@pytest.mark.parametrize("true_k", [1, 2, 5])
def test_bic_finds_round_clusters(true_k):
    rng = np.random.default_rng(true_k)
    rows = rng.normal(size=(600, 2)) + 9 * np.array([np.arange(600) % true_k] * 2).T
    found = [bic(KMeans(k, n_init=5, random_state=0).fit(rows).stats_) for k in range(1, 9)]
    assert int(np.argmin(found)) + 1 == true_k


@given(problem=partitions())
def test_empty_clusters_do_not_count(problem):
    rows, labels, k = problem
    stats = ClusterStats.of_block(rows, labels, k=k)
    more = ClusterStats.of_block(rows, 2 * labels, k=2 * k)
    assert calinski_harabasz(more) == calinski_harabasz(stats)
    assert bic(more) == bic(stats)
    spread = spread_of(rows, labels, stats)
    wide = spread_of(rows, 2 * labels, more)
    assert davies_bouldin(more, wide) == davies_bouldin(stats, spread)


def test_the_edges_are_defined():
    one = ClusterStats.of_block([[0.0], [1.0]])
    assert math.isnan(calinski_harabasz(one))
    assert math.isnan(davies_bouldin(one, [0.5]))
    assert math.isfinite(bic(one))
    each = ClusterStats.of_block([[0.0], [1.0]], [0, 1], k=2)
    assert math.isnan(calinski_harabasz(each))
    assert math.isnan(bic(each))
    exact = ClusterStats.of_block([[0.0], [0.0], [1.0]], [0, 0, 1], k=2)
    assert calinski_harabasz(exact) == math.inf
    assert bic(exact) == -math.inf
    assert davies_bouldin(exact, [0.0, 0.0]) == 0
    same = ClusterStats.of_block([[1.0], [1.0], [1.0]], [0, 0, 1], k=2)
    assert math.isnan(calinski_harabasz(same))
    assert davies_bouldin(same, [0.0, 0.0]) == 0
    assert davies_bouldin(same, [1.0, 0.0]) == math.inf
    nothing = ClusterStats.zero(3, 2)
    assert math.isnan(calinski_harabasz(nothing))
    assert math.isnan(davies_bouldin(nothing, np.zeros(3)))
    assert math.isnan(bic(nothing))
    assert simplified_silhouette([0.0, 0.0], [0.0, 0.0]) == 0
    assert math.isnan(simplified_silhouette([1.0], [math.inf]))
    assert math.isnan(simplified_silhouette([], []))


def test_the_elbow_is_where_the_curve_bends():
    assert elbow([1, 2, 3, 4, 5, 6], [100, 50, 10, 9, 8, 7]) == 3
    assert elbow([6, 5, 4, 3, 2, 1], [7, 8, 9, 10, 50, 100]) == 3  # in any order
    assert elbow([1, 2, 4, 8, 16, 32], [100, 50, 10, 9, 8, 7]) == 4  # unevenly spaced
    assert elbow([1, 2, 3, 20], [100, 60, 30, 0]) == 3
    assert elbow([1, 2, 3, 4], [100, math.nan, 10, 5]) == 3
    assert elbow([1, 2, 3, 4], [math.inf, 100, 10, 5]) == 3
    for ks, values in (
        ([1, 2], [9, 1]),
        ([1, 2, 3], [9, 5, 1]),  # straight
        ([1, 2, 3], [9, 8, 1]),  # it bends the other way
        ([1, 2, 3], [1, 2, 3]),
        ([1, 2, 3], [4, 4, 4]),
        ([], []),
    ):
        assert elbow(ks, values) is None


@given(a=st.floats(0.01, 100), b=st.floats(-100, 100), seed=st.integers(0, 99))
def test_the_elbow_does_not_depend_on_units(a, b, seed):
    steps = np.random.default_rng(seed).random(8) ** 4
    values = np.cumsum(steps[::-1])[::-1]
    below = (values[0] - values) / (values[0] - values[-1]) - np.linspace(0, 1, 8)
    two = np.sort(below)[-2:]
    assume(two[1] - two[0] > 1e-6 and two[1] > 1e-6)
    assert elbow(range(1, 9), a * values + b) == elbow(range(1, 9), values)


def two_nearest(rows, centers, threads=1):
    with Workers(threads) as workers:
        return labelling.two_nearest(workers, rows, centers)


@given(problem=problems(), threads=st.integers(1, 2))
def test_the_two_nearest_are_the_lowest_of_all_distances(problem, threads):
    rows, start = problem
    centers = start.astype(np.float64)
    found = two_nearest(rows, centers, threads)
    gap = rows.astype(np.float64)[:, None] - centers[None]
    both = np.sort(np.sqrt((gap * gap).sum(axis=2)), axis=1)
    np.testing.assert_allclose(found.first, both[:, 0], rtol=1e-12)
    if len(centers) > 1:
        np.testing.assert_allclose(found.second, both[:, 1], rtol=1e-12)
    else:
        assert np.isinf(found.second).all()
    np.testing.assert_array_equal(found.labels, nearest(rows, centers, threads, None))
    sparse = two_nearest(sp.csr_array(rows), centers)
    np.testing.assert_allclose(sparse.first, found.first, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sparse.second, found.second, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_two_nearest_may_be_very_far(scale):
    rng = np.random.default_rng(0)
    rows, centers = rng.normal(size=(50, 3)), rng.normal(size=(4, 3))
    near, far = two_nearest(rows, centers), two_nearest(rows * scale, centers * scale)
    np.testing.assert_array_equal(near.labels, far.labels)
    np.testing.assert_allclose(far.first / scale, near.first, rtol=1e-12)
    np.testing.assert_allclose(far.second / scale, near.second, rtol=1e-12)


def test_ties_go_to_the_lower_index():
    rows, centers = np.array([[0.0], [3.0]]), np.array([[1.0], [-1.0], [1.0], [3.0], [3.0]])
    for given_ in (rows, sp.csr_array(rows)):
        assert two_nearest(given_, centers).labels.tolist() == [0, 3]


def test_no_rows_have_no_nearest():
    assert [len(part) for part in two_nearest(np.empty((0, 2)), np.ones((3, 2)))] == [0, 0, 0]
