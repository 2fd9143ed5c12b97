"""The reach of a cluster: few new rows of the same distribution are beyond it, strangers are."""

from __future__ import annotations

import numpy as np
import pytest

from partita.new_rows.reach import cluster_reach

DISTRIBUTIONS = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "uniform": lambda rng, n, d: rng.uniform(-1, 1, (n, d)),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)),
    "Poisson": lambda rng, n, d: rng.poisson(1.0, (n, d)).astype(float),
    "Student t, 3 degrees": lambda rng, n, d: rng.standard_t(3, (n, d)),
    "lognormal": lambda rng, n, d: rng.lognormal(0, 0.8, (n, d)),
}


def distances(rows, center):
    return np.linalg.norm(rows - center, axis=1)


def reach_about_mean(*clusters):
    centers = [rows.mean(axis=0) for rows in clusters]
    distance = [distances(*pair) for pair in zip(clusters, centers, strict=True)]
    labels = np.repeat(np.arange(len(clusters)), [len(rows) for rows in clusters])
    reach = cluster_reach(np.concatenate(distance), labels, len(clusters), about_means=True)
    return np.array(centers), reach


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("d", [1, 3, 30])
@pytest.mark.parametrize("size", [30, 300, 2000])
def test_hardly_any_new_row_of_the_same_distribution_is_beyond_reach(name, d, size):
    draw, beyond = DISTRIBUTIONS[name], []
    for seed in range(4):
        rng = np.random.default_rng([seed, d, size])
        centers, reach = reach_about_mean(*(draw(rng, size, d) for _ in range(3)))
        fresh = draw(rng, 1000, d)
        beyond += [np.mean(distances(fresh, c) > r) for c, r in zip(centers, reach, strict=True)]
    assert np.mean(beyond) <= 0.01


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("size", [30, 300, 2000])
def test_rows_three_radii_away_are_always_beyond_reach(name, size):
    rows = DISTRIBUTIONS[name](np.random.default_rng(size), size, 3)
    (center,), (reach,) = reach_about_mean(rows)
    assert reach < 3 * distances(rows, center).max()


@pytest.mark.parametrize("share", [0.002, 0.02, 0.05])
@pytest.mark.parametrize("d", [1, 5, 50])
def test_outliers_of_the_fit_do_not_widen_the_reach(share, d):
    rng = np.random.default_rng(3)
    distance = np.linalg.norm(rng.normal(size=(500, d)), axis=1)
    labels = np.zeros(500, int)
    clean = cluster_reach(distance, labels, 1, about_means=False)[0]
    far = rng.choice(500, max(1, int(share * 500)), replace=False)
    distance[far] = distance.max() * rng.uniform(10, 1000, len(far))
    assert cluster_reach(distance, labels, 1, about_means=False)[0] <= 1.2 * clean


def test_a_small_cluster_borrows_from_the_others():
    rng = np.random.default_rng(1)
    big, few, alone = rng.normal(size=(1000, 2)), rng.normal(size=(3, 2)), rng.normal(size=(1, 2))
    _, reach = reach_about_mean(big, few, alone)
    assert reach[1:] == pytest.approx(reach[0], rel=0.6)


def test_reach_has_the_units_of_the_distances_and_ignores_the_order_of_rows():
    rng = np.random.default_rng(2)
    distance, labels = rng.exponential(size=400), rng.integers(-1, 4, 400)
    reach = cluster_reach(distance, labels, 4, about_means=True)
    order = rng.permutation(400)
    again = cluster_reach(distance[order], labels[order], 4, about_means=True)
    assert np.array_equal(again, reach)
    for exponent in (40, 530, 1000, -560, -1000):  # squares of the last four leave the range
        scaled = cluster_reach(np.ldexp(distance, exponent), labels, 4, about_means=True)
        assert np.ldexp(scaled, -exponent) == pytest.approx(reach)


@pytest.mark.parametrize(
    ("distance", "labels"), [([], []), ([0.0], [0]), ([0, 0, 0, 0], [0, 0, 1, 1]), ([5.0], [-1])]
)
def test_rows_that_tell_nothing_give_no_limit(distance, labels):
    reach = cluster_reach(np.array(distance, float), np.array(labels, int), 2, about_means=True)
    assert np.array_equal(reach, [np.inf, np.inf])


def test_a_cluster_of_equal_rows_takes_the_reach_of_the_others():
    distance = np.concatenate([np.zeros(200), np.linspace(0.1, 1, 200)])
    reach = cluster_reach(distance, np.repeat([0, 1], 200), 2, about_means=False)
    assert 0 < reach[0] <= 2 * reach[1]


def test_a_cluster_of_equal_rows_has_a_reach_even_if_most_rows_are_equal():
    distance = np.concatenate([np.zeros(800), np.linspace(0.1, 1, 200)])
    few = cluster_reach(distance[600:], np.repeat([0, 1], 200), 2, about_means=False)
    most = cluster_reach(distance, np.repeat([0, 1], [800, 200]), 2, about_means=False)
    assert 0.2 * few[0] <= most[0] <= few[0]
    assert most[1] == few[1]
