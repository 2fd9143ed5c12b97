"""The worked example: four points on a rectangle, seven partitions, and the trapped fits."""

from __future__ import annotations

import numpy as np
import pytest

from partita import ClusterStats, KMeans


def rectangle(a):
    return np.array([[0.0, 0.0], [a, 0.0], [a, 1.0], [0.0, 1.0]])


def partitions():
    """The seven ways to split four points in two: label 0 is where point 0 is."""
    return [np.array([0, *bits]) for bits in np.ndindex(2, 2, 2) if any(bits)]


def expected_sse(labels, a):
    sizes = sorted(np.bincount(labels))
    if sizes == [1, 3]:
        return 2 / 3 * (a * a + 1)
    return {(0, 0, 1, 1): a * a, (0, 1, 0, 1): a * a + 1, (0, 1, 1, 0): 1.0}[tuple(labels)]


def expected_centroids(labels, points):
    return np.array([points[labels == j].mean(axis=0) for j in range(2)])


@pytest.mark.parametrize("a", [0.3, 0.8, 1.0, 1.25, 3.0])
def test_the_seven_partitions_have_these_values_and_centroids(a):
    points = rectangle(a)
    values = []
    for labels in partitions():
        stats = ClusterStats.of_block(points, labels, k=2)
        np.testing.assert_allclose(stats.mean, expected_centroids(labels, points), atol=1e-15)
        np.testing.assert_allclose(stats.sse.sum(), expected_sse(labels, a), rtol=1e-14)
        values.append(stats.sse.sum())
    assert len(values) == 7
    np.testing.assert_allclose(min(values), min(a * a, 1.0), rtol=1e-14)


def test_the_diagonals_have_coincident_centroids():
    for labels in (np.array([0, 1, 0, 1]),):
        stats = ClusterStats.of_block(rectangle(3.0), labels, k=2)
        np.testing.assert_allclose(stats.mean, [[1.5, 0.5], [1.5, 0.5]])


def fit_from(points, centers):
    return KMeans(2, init=np.array(centers), tol=0.0).fit(points)


@pytest.mark.parametrize("a", [0.3, 0.5, 0.9])
def test_a_narrow_rectangle_traps_the_fit_that_starts_left_and_right(a):
    model = fit_from(rectangle(a), [[0.0, 0.5], [a, 0.5]])
    assert model.inertia_ == pytest.approx(1.0)
    assert model.labels_.tolist() == [0, 1, 1, 0]
    assert model.inertia_ > a * a  # the optimum


@pytest.mark.parametrize("a", [1.1, 2.0, 5.0])
def test_a_wide_rectangle_traps_the_fit_that_starts_bottom_and_top(a):
    model = fit_from(rectangle(a), [[a / 2, 0.0], [a / 2, 1.0]])
    assert model.inertia_ == pytest.approx(a * a)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.inertia_ > 1.0  # the optimum


@pytest.mark.parametrize("a", [0.75, 0.9, 1.0, 1.2, 1.4])  # ½ ≤ a² ≤ 2
@pytest.mark.parametrize("single", range(4))
def test_singletons_are_fixed_points_while_half_to_two(a, single):
    points = rectangle(a)
    labels = (np.arange(4) == single).astype(int)
    model = fit_from(points, expected_centroids(labels, points))
    assert model.n_iter_ <= 2
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(2 / 3 * (a * a + 1))


@pytest.mark.parametrize("a", [0.5, 1.8])
def test_singletons_are_left_beyond_that_range(a):
    points = rectangle(a)
    labels = np.array([1, 0, 0, 0])
    model = fit_from(points, expected_centroids(labels, points))
    assert model.inertia_ == pytest.approx(min(a * a, 1.0))


def test_a_fixed_point_with_a_tie_need_not_be_a_minimum():
    rows = np.array([[0.0], [2.0], [3.0]])
    model = fit_from(rows, [[1.0], [3.0]])
    assert model.inertia_ == 2.0
    assert -model.score(rows) == 2.0
    shifted = np.array([[0.99], [2.99]])
    nearest = ((rows - shifted.T) ** 2).min(axis=1)
    assert nearest.sum() == pytest.approx(1.9603)
