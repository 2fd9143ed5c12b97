"""K-means on a line: the optimum for every number of clusters, at any scale and offset."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.one_dimension import lower_costs, optimal_costs, optimal_partition
from partita.theory import partitions, sse_of_partition


@st.composite
def few_points(draw, max_n=8):
    """(x, weight) of a few numbers, with duplicates, offsets and scales."""
    n = draw(st.integers(1, max_n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = draw(st.sampled_from([rng.normal(size=n), rng.integers(0, 6, n).astype(float)]))
    x = (x + draw(st.sampled_from([0.0, -1e9]))) * draw(st.sampled_from([1.0, 1e-100, 1e100]))
    weight = draw(st.sampled_from([None, rng.integers(1, 4, n).astype(float), rng.random(n) + 0.1]))
    return x, weight


def exact_sse(x, weight, labels):
    """J of a partition as a fraction."""
    total = Fraction(0)
    for j in set(labels.tolist()):
        member = np.flatnonzero(labels == j)
        w = [Fraction(float(weight[i])) if weight is not None else Fraction(1) for i in member]
        y = [Fraction(float(x[i])) for i in member]
        mean = sum(a * b for a, b in zip(w, y, strict=True)) / sum(w)
        total += sum(a * (b - mean) ** 2 for a, b in zip(w, y, strict=True))
    return total


@given(data=few_points(), k=st.integers(1, 8))
def test_the_optimum_is_that_of_enumeration(data, k):
    x, weight = data
    k = min(k, len(x))
    best = min(exact_sse(x, weight, labels) for labels in partitions(len(x), k))
    labels, centers, cost, _ = optimal_partition(x, weight, k)
    assert float(exact_sse(x, weight, labels)) == pytest.approx(float(best), rel=1e-14, abs=0)
    assert cost == pytest.approx(float(best), rel=1e-12, abs=0)
    assert optimal_costs(x, weight, k)[-1] == pytest.approx(float(best), rel=1e-9, abs=1e-300)
    assert lower_costs(x, weight, k)[-1] <= best
    assert len(centers) == min(k, len(set(x.tolist()))) == labels.max() + 1


@given(seed=st.integers(0, 2**32 - 1), offset=st.sampled_from([0.0, 1e9]))
def test_bounds_lie_closely_below_the_costs(seed, offset):
    rng = np.random.default_rng(seed)
    x, weight = rng.normal(size=200) + offset, rng.random(200)
    costs, low = optimal_costs(x, weight, 9), lower_costs(x, weight, 9)
    assert (low < costs).all()
    assert (costs - low < 1e-12 * costs).all()
    for k in (1, 4, 9):
        assert optimal_partition(x, weight, k)[2] == pytest.approx(costs[k - 1], rel=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
def test_more_clusters_never_cost_more(seed):
    x = np.random.default_rng(seed).integers(0, 30, 60).astype(float)
    costs = optimal_costs(x, None, 40)
    assert (np.diff(costs) <= 0).all()
    assert costs[len(np.unique(x)) - 1] == 0.0


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 6))
def test_weights_are_repeats_and_order_is_irrelevant(seed, k):
    rng = np.random.default_rng(seed)
    x, weight = rng.normal(size=30), rng.integers(1, 4, 30)
    labels, centers, cost, _ = optimal_partition(x, weight.astype(float), k)
    repeated = optimal_partition(np.repeat(x, weight), None, k)
    np.testing.assert_array_equal(np.repeat(labels, weight), repeated[0])
    np.testing.assert_allclose(centers, repeated[1], rtol=1e-12)
    assert cost == pytest.approx(repeated[2], rel=1e-12)
    order = rng.permutation(30)
    shuffled = optimal_partition(x[order], weight[order].astype(float), k)
    np.testing.assert_array_equal(labels[order], shuffled[0])
    np.testing.assert_array_equal(centers, shuffled[1])
    assert cost == shuffled[2]


@given(seed=st.integers(0, 2**32 - 1), threads=st.integers(2, 4))
def test_threads_change_no_bit(seed, threads):
    x = np.random.default_rng(seed).normal(size=500)
    alone = optimal_costs(x, None, 6)
    np.testing.assert_array_equal(alone, optimal_costs(x, None, 6, threads))


def test_rows_of_no_weight_join_the_nearest_center():
    x, weight = np.array([0.0, 1.0, 4.4, 10.0, 11.0, 99.0]), np.array([1.0, 1, 0, 1, 1, 0])
    labels, centers, cost, _ = optimal_partition(x, weight, 2)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert centers.tolist() == [0.5, 10.5]
    assert cost == 1.0


def test_an_outlier_takes_no_digits_from_the_other_points():
    x = np.append(np.random.default_rng(1).normal(size=50), 1e12)
    _, _, cost, _ = optimal_partition(x, None, 4)
    assert cost == pytest.approx(optimal_partition(x[:-1], None, 3)[2], rel=1e-12)
    assert optimal_costs(x, None, 4)[-1] == pytest.approx(cost, rel=1e-9)


def test_equal_values_are_one_cluster():
    labels, centers, cost, _ = optimal_partition(np.full(5, 1e9 + 0.1), None, 3)
    assert labels.tolist() == [0] * 5
    assert centers.tolist() == [1e9 + 0.1]
    assert cost == 0.0


def test_huge_and_tiny_values_stay_within_the_doubles():
    x = np.array([-1.7e308, 1.7e308, 1.6e308])
    assert optimal_partition(x, None, 2)[1].tolist() == [-1.7e308, pytest.approx(1.65e308)]
    assert optimal_costs(x, None, 3).tolist() == [np.inf, np.inf, 0.0]
    assert optimal_partition(x * 1e-308 * 5e-324, None, 2)[2] == 0.0


GOLDEN = [
    ([-1, 2, -1, 2, 4, 5, 6, -1, 2, -1], None, 3, [-1, 2, 5], 2.0),
    ([-1, 2, 4, 5, 6], [4, 3, 1, 1, 1], 3, [-1, 2, 5], 2.0),
    (range(1, 11), None, 2, [3, 8], 20.0),
    (
        [-3, 2.2, -6, 7, 9, 11, -6.3, 75, 82.6, 32.3, -9.5, 62.5, 7, 95.2], None, 8,
        [-7.266666667, -0.4, 8.5, 32.3, 62.5, 75, 82.6, 95.2], 32.046666667,
    ),
    (np.cos(np.arange(-10, 11)), None, 2, [-0.6592474631, 0.6751193405], 1.6797770059),
]  # fmt: skip


@pytest.mark.parametrize(("x", "weight", "k", "centers", "cost"), GOLDEN)
def test_published_examples(x, weight, k, centers, cost):
    w = None if weight is None else np.array(weight, float)
    found = optimal_partition(np.array(x, float), w, k)
    np.testing.assert_allclose(found[1], centers, rtol=1e-9)
    assert found[2] == pytest.approx(cost, rel=1e-9)


def test_costs_are_those_of_kmeans1d():
    kmeans1d = pytest.importorskip("kmeans1d", reason="kmeans1d is not installed")
    x = np.random.default_rng(2).lognormal(size=500)
    for k, cost in enumerate(optimal_costs(x, None, 12), 1):
        labels = np.array(kmeans1d.cluster(x, k).clusters)
        assert cost == pytest.approx(sse_of_partition(x[:, None], labels), rel=1e-9)
