"""Rows in a plane, with centers and cells."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.pictures import IRIS, blobs, check, matplotlib
from sklearn.datasets import load_digits, load_iris, make_circles

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    SphericalKMeans,
)
from partita.chart_layout.cluster_scene import slice_cells
from partita.chart_layout.projection import ProjectionPlane
from partita.plots import (
    ClusterDisplay,
)
from partita.voronoi.voronoi_cells import Cells


@pytest.mark.parametrize("k", [1, 2, 8, 50])
def test_two_features_show_every_row_and_every_cell(k):
    X = blobs(max(k, 2), 300)
    model = KMeans(k, random_state=0).fit(X)
    display = check(ClusterDisplay.from_estimator(model, X))
    assert len(display.scene.polygons) == k
    patches = [patch for patch in display.ax_.patches if patch.get_fill()]
    assert len(patches) == k
    drawn = np.vstack([part.get_offsets() for part in display.ax_.collections[:-1]])
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, X))
    np.testing.assert_array_equal(display.ax_.collections[-1].get_offsets(), model.cluster_centers_)
    numbers = [text.get_text() for text in display.ax_.texts]
    assert sorted(numbers, key=int) == [str(j) for j in range(k)]
    assert "outside" not in display.caption


def area(corners):
    x, y = corners.T
    return abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2


@pytest.mark.parametrize("d", [2, 5])
def test_cells_tile_the_page_and_hold_the_points_of_the_plane(d):
    rng = np.random.default_rng(d)
    centers = rng.normal(size=(12, d))
    axes = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    plane, box = ProjectionPlane(rng.normal(size=d), axes, ("", "")), (-3.0, -2.0, 3.0, 2.0)
    cells = slice_cells(Cells(centers), plane, box)
    whole = sum(area(part) for part in cells if len(part))
    assert np.isclose(whole, 24)
    inside = rng.uniform((-3, -2), (3, 2), (300, 2))
    rows = plane.origin + inside @ axes
    nearest = np.square(rows[:, None] - centers).sum(axis=2).argmin(axis=1)
    for point, label in zip(inside, nearest, strict=True):
        assert matplotlib.path.Path(cells[label]).contains_point(point, radius=1e-9)


def test_more_features_are_projected_and_the_caption_says_what_cells_mean():
    model = KMeans(3, random_state=0).fit(IRIS)
    display = check(ClusterDisplay.from_estimator(model, IRIS))
    gap = IRIS - IRIS.mean(axis=0)
    _, size, axes = np.linalg.svd(gap, full_matrices=False)
    wanted = gap @ axes[:2].T
    np.testing.assert_allclose(np.abs(display.scene.points), np.abs(wanted), atol=1e-9)
    assert "cut by the plane through the mean" in display.caption
    assert "outside their cell" in display.caption
    assert f"({size[0] ** 2 / (size**2).sum():.0%} of the variance)" in display.names[0]


@pytest.mark.heavy
@pytest.mark.parametrize("pair", [(2, 0), ("petal length (cm)", "sepal length (cm)")])
def test_two_features_can_be_chosen(pair):
    X = load_iris(as_frame=True).data
    model = KMeans(3, random_state=0).fit(X)
    display = check(ClusterDisplay.from_estimator(model, X, features=pair))
    np.testing.assert_allclose(display.scene.points, IRIS[:, [2, 0]])
    assert display.names == ("petal length (cm)", "sepal length (cm)")
    assert "mean of the others" in display.caption


@pytest.mark.parametrize("pair", [(0,), (0, 0), (0, 9), ("a", "b"), 3, (0, 1.5), (True, 1)])
def test_other_features_are_refused(pair):
    with pytest.raises(ValueError, match="must be two different names or numbers"):
        ClusterDisplay.from_estimator(KMeans(2, random_state=0).fit(IRIS), IRIS, features=pair)


def test_one_feature_is_a_strip_with_borders_halfway():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    display = check(ClusterDisplay.from_estimator(KMeans(2, init=[[0], [10]]).fit(X), X))
    np.testing.assert_array_equal(display.scene.points[:, 0], X[:, 0])
    assert np.isclose(display.scene.polygons[0][:, 0].max(), 5.5)
    assert len(display.ax_.get_yticks()) == 0


@pytest.mark.heavy
def test_clusters_that_are_not_convex_have_their_regions():
    X = make_circles(300, factor=0.3, noise=0.05, random_state=0)[0]
    model = KernelKMeans(2, random_state=0).fit(X)
    display = check(ClusterDisplay.from_estimator(model, X))
    regions = display.scene.regions
    x0, y0, x1, y1 = display.box
    middle = regions[
        round(-y0 / (y1 - y0) * (len(regions) - 1)), round(-x0 / (x1 - x0) * (len(regions[0]) - 1))
    ]
    assert middle == model.predict([[0.0, 0.0]])[0]
    assert regions[0, 0] == model.predict([[x0, y0]])[0] != middle
    assert "predict" in display.caption


def test_numbers_of_regions_stand_at_rows_of_their_cluster():
    X = make_circles(300, factor=0.3, noise=0.05, random_state=0)[0]
    model = KernelKMeans(2, random_state=0).fit(X)
    at = ClusterDisplay.from_estimator(model, X).scene.centers
    assert model.predict(at).tolist() == [0, 1]


@pytest.mark.heavy
@pytest.mark.parametrize("metric", ["manhattan", "cosine"])
def test_medoids_of_other_metrics_have_no_straight_cells(metric):
    X = blobs(3, 100)
    display = check(
        ClusterDisplay.from_estimator(KMedoids(3, metric=metric, random_state=0).fit(X), X)
    )
    assert display.scene.polygons == ()
    assert display.scene.regions is not None
    many = ClusterDisplay.from_estimator(KMedoids(3, metric=metric, random_state=0).fit(IRIS), IRIS)
    assert "No cells" in many.caption


def test_medoids_of_distance_have_cells():
    display = ClusterDisplay.from_estimator(KMedoids(3, random_state=0).fit(IRIS), IRIS)
    assert len(display.scene.polygons) == 3


def test_the_cells_of_directions_are_cones():
    X = blobs(3, 200)
    model = SphericalKMeans(3, random_state=0).fit(X)
    display = check(ClusterDisplay.from_estimator(model, X))
    inner = [corners for corners in display.scene.polygons if len(corners)]
    x0, y0, x1, y1 = display.box
    edge = np.array([x0, x1]), np.array([y0, y1])
    for corners in inner:
        on_box = np.isclose(corners[:, :1], edge[0]).any(1) | np.isclose(
            corners[:, 1:], edge[1]
        ).any(1)
        np.testing.assert_allclose(corners[~on_box], 0, atol=1e-6)
    assert "directions" in display.caption
    found = ClusterDisplay.from_estimator(model, X).scene
    length = np.linalg.norm(X, axis=1)
    wanted = [length[found.labels == j].mean() for j in range(3)]
    np.testing.assert_allclose(np.linalg.norm(found.centers, axis=1), wanted)


@pytest.mark.heavy
def test_a_million_rows_are_sampled_and_rasterised(tmp_path):
    X = np.random.default_rng(0).normal(size=(1_000_000, 2)).astype(np.float32)
    model = KMeans(5, random_state=0, max_iter=3).fit(X)
    display = ClusterDisplay.from_estimator(model, X)
    assert len(display.scene.points) == 20_000
    assert "20 000 of 1 000 000 rows, sampled" in display.caption
    assert display.save(tmp_path / "a.svg").stat().st_size < 2e6


@pytest.mark.heavy
def test_sparse_rows_are_seen_as_dense_ones():
    X = np.where(load_digits().data > 8, load_digits().data, 0)
    model = KMeans(5, random_state=0).fit(X)
    dense = ClusterDisplay.from_estimator(model, X)
    sparse = check(ClusterDisplay.from_estimator(model, sp.csr_array(X)))
    np.testing.assert_allclose(sparse.scene.points, dense.scene.points, atol=1e-6)
    assert sparse.names == dense.names


def test_a_weight_is_a_repeated_row_for_the_plane():
    weight = np.random.default_rng(0).integers(1, 4, len(IRIS))
    model = KMeans(3, random_state=0).fit(IRIS, sample_weight=weight)
    once = ClusterDisplay.from_estimator(model, IRIS, weight).scene.points
    often = ClusterDisplay.from_estimator(model, np.repeat(IRIS, weight, axis=0)).scene.points
    np.testing.assert_allclose(np.repeat(once, weight, axis=0), often, atol=1e-9)
    cells = [
        ClusterDisplay.from_estimator(model, *rows, features=(0, 1)).scene.polygons
        for rows in ((IRIS, weight), (np.repeat(IRIS, weight, axis=0), None))
    ]
    for one, other in zip(*cells, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
