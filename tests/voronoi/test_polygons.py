"""Polygons of Voronoi cells: they tile the box, in the plane and in slices."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.voronoi_cases import area, clouds, inside
from hypothesis import given
from hypothesis import strategies as st

from partita.voronoi.polygons import lowest_regions
from partita.voronoi.voronoi_cells import Cells


@pytest.mark.heavy
@given(clouds(d=2))
def test_polygons_tile_the_box_and_hold_their_points(problem):
    X, centers = problem
    low, high = X.min(axis=0) - 1, X.max(axis=0) + 1
    found = Cells(centers)
    polygons = found.polygons((*low, *high))
    assert len(polygons) == len(centers)
    whole = np.prod(high - low)
    np.testing.assert_allclose(sum(map(area, polygons)), whole, rtol=1e-9)
    assert all(area(part) >= 0 for part in polygons)
    labels = found.contains(X)
    for j in np.unique(labels):
        assert inside(polygons[j], X[labels == j], 1e-7).all()


@pytest.mark.heavy
def test_many_polygons_tile_the_box_too():
    rng = np.random.default_rng(4)
    centers, X = rng.random((300, 2)) + 1e6, rng.random((2000, 2)) + 1e6
    found = Cells(centers)
    polygons = found.polygons((1e6, 1e6, 1e6 + 1, 1e6 + 1))
    assert sum(map(area, polygons)) == pytest.approx(1.0, rel=1e-9)
    labels = found.contains(X)
    assert all(inside(polygons[j], X[labels == j]).all() for j in range(300))


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9, 1e160])
def test_a_center_far_away_hides_no_face(far):
    rng = np.random.default_rng(9)
    at, box = rng.random((300, 2)), (0.0, 0.0, 1.0, 1.0)
    for near in ([[0.2, 0.5], [0.5, 0.5], [0.8, 0.5]], rng.random((80, 2))):
        found = Cells([*near, [far, 0.0]])
        for polygons in (found.polygons(box), found.slice([0.0, 0.0], np.eye(2)).polygons(box)):
            assert sum(map(area, polygons)) == pytest.approx(1.0, rel=1e-9)
            assert area(polygons[-1]) == 0.0
            labels = found.contains(at)
            assert all(inside(polygons[j], at[labels == j], 1e-9).all() for j in range(len(near)))


def test_a_thin_strip_is_a_polygon():
    for wide in (1e-9, 1e-11):
        polygons = Cells([[0.0, 0.0], [2.0, 0.0]]).polygons((-1.0, -1.0, 1.0 + wide, 1.0))
        assert area(polygons[1]) == pytest.approx(2 * wide, rel=1e-3)
        assert polygons[0][:, 0].max() == pytest.approx(1.0, abs=1e-14)


def test_cells_outside_the_box_and_behind_others_are_empty():
    found = Cells([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0], [1.0, 0.0]])
    polygons = found.polygons((-1, -1, 2, 1))
    assert [part.shape[1] for part in polygons] == [2] * 4
    assert [round(area(part), 9) for part in polygons] == [3.0, 3.0, 0.0, 0.0]
    only = Cells([[5.0, 5.0]]).polygons((0, 0, 1, 2))
    assert only[0].tolist() == [[0, 0], [1, 0], [1, 2], [0, 2]]


@pytest.mark.heavy
@given(clouds(offsets=(0.0,)), st.integers(0, 2**32 - 1))
def test_a_slice_is_a_true_section(problem, seed):
    _, centers = problem
    rng = np.random.default_rng(seed)
    origin, axes = rng.normal(size=centers.shape[1]), rng.normal(size=(2, centers.shape[1]))
    found = Cells(centers)
    box = (-2.0, -1.0, 3.0, 4.0)
    polygons = found.slice(origin, axes).polygons(box)
    np.testing.assert_allclose(sum(map(area, polygons)), 25.0, rtol=1e-9)
    at = rng.uniform(box[:2], box[2:], (60, 2))
    points = origin + at @ axes
    labels, margins = found.contains(points), found.margins(points)
    for j in range(len(centers)):
        clear = (labels == j) & (margins > 1e-6)
        assert inside(polygons[j], at[clear], 1e-7).all()
    for j, polygon in enumerate(polygons):
        if area(polygon) > 1e-6:
            middle = origin + polygon.mean(axis=0) @ axes
            assert found.margins(middle[None], [j])[0] > -1e-9


@pytest.mark.parametrize("power", [-1020, -900, -700, -500, 0, 500, 900])
def test_slices_do_not_depend_on_the_unit(power):
    centers = np.random.default_rng(3).uniform(-1, 1, (5, 3))
    unit = 2.0**power
    plain = Cells(centers).slice(np.zeros(3), np.eye(3)[:2]).polygons((-2, -2, 2, 2))
    box = np.array([-2.0, -2, 2, 2]) * unit
    scaled = Cells(centers * unit).slice(np.zeros(3), np.eye(3)[:2]).polygons(box)
    for one, other in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(other / unit, one, rtol=1e-9)


def test_a_slice_of_cones_is_one_too():
    rng = np.random.default_rng(5)
    centers = rng.normal(size=(8, 4))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    found = Cells(centers, cones=True)
    origin, axes = rng.normal(size=4), rng.normal(size=(2, 4))
    polygons = found.slice(origin, axes).polygons((-3, -3, 3, 3))
    assert sum(map(area, polygons)) == pytest.approx(36.0)
    at = rng.uniform(-3, 3, (500, 2))
    labels = found.contains(origin + at @ axes)
    assert all(inside(polygons[j], at[labels == j], 1e-6).all() for j in range(8))


def test_a_plane_may_miss_a_cell():
    centers = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [5.0, 0.0, 0.0]])
    polygons = Cells(centers).slice(np.zeros(3), np.eye(3)[:2]).polygons((-9, -9, 9, 9))
    assert polygons[1].shape == (0, 2)
    assert area(polygons[0]) == pytest.approx(18 * 11.5)


def test_the_first_of_equal_functions_has_the_region():
    regions = lowest_regions(np.zeros((3, 2)), np.array([1.0, 0.0, 0.0]), np.array([0, 0, 1, 1.0]))
    assert [area(part) for part in regions] == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("power", [-600, -60, 60, 600])
def test_size_does_not_matter(power):
    rng = np.random.default_rng(8)
    centers, X = rng.normal(size=(9, 2)), rng.normal(size=(50, 2))
    size = 2.0**power
    plain, scaled = Cells(centers), Cells(centers * size)
    np.testing.assert_allclose(scaled.margins(X * size) / size, plain.margins(X), rtol=1e-9)
    np.testing.assert_array_equal(scaled.neighbours(), plain.neighbours())
    box = np.array([-3.0, -3.0, 3.0, 3.0])
    for ours, theirs in zip(scaled.polygons(box * size), plain.polygons(box), strict=True):
        np.testing.assert_allclose(ours / size, theirs, rtol=1e-9)
