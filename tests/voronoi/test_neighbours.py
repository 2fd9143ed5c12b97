"""Neighbouring Voronoi cells: facets, not edges or vertices, at any scale."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from helpers.voronoi_cases import SQUARE
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from partita.voronoi.neighbours import MIN_FACET_DEPTH, facet_depths
from partita.voronoi.voronoi_cells import Cells


def shared_length(centers, i, j):
    """How long the common edge of two cells in the plane is, in units of the centers' distance.

    Every other center leaves a half of the line midway between the two.
    """
    gap = centers[j] - centers[i]
    along = np.array([-gap[1], gap[0]])
    low, high = -np.inf, np.inf
    for m in np.delete(np.arange(len(centers)), [i, j]):
        slope = 2 * along @ (centers[i] - centers[m])
        middle = (centers[i] + centers[j]) / 2
        room = ((middle - centers[m]) ** 2).sum() - (gap**2).sum() / 4  # slope·s + room >= 0
        low, high = (
            (max(low, -room / slope), high) if slope > 0 else (low, min(high, -room / slope))
        )
    return high - low


@pytest.mark.heavy
@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_neighbours_in_the_plane_share_an_edge(seed, k):
    centers = np.random.default_rng(seed).normal(size=(k, 2))
    found = Cells(centers).neighbours()
    assert not found.diagonal().any()
    for i, j in zip(*np.triu_indices(k, 1), strict=True):
        length = shared_length(centers, i, j)
        if abs(length) > 1e-3:  # a shorter edge may be too shallow
            assert found[i, j] == found[j, i] == (length > 0)


def test_cells_that_touch_in_a_vertex_are_not_neighbours():
    expected = ~np.eye(4, dtype=bool)
    expected[0, 3] = expected[3, 0] = expected[1, 2] = expected[2, 1] = False
    np.testing.assert_array_equal(Cells(SQUARE).neighbours(), expected)
    cube = np.array(list(np.ndindex(2, 2, 2, 2, 2)), dtype=float)  # a degenerate triangulation
    steps = np.abs(cube[:, None] - cube).sum(axis=2)
    np.testing.assert_array_equal(Cells(cube).neighbours(), steps == 1)


@pytest.mark.parametrize("most", [6, 0], ids=["triangulation", "programs"])
def test_a_facet_may_be_small(monkeypatch, most):
    """Turning the square into a kite opens a facet about as wide as the vertex was moved."""
    monkeypatch.setattr("partita.voronoi.neighbours.TRIANGULATION_MAX_DIMENSIONS", most)
    for moved, expected in ((1e-4, True), (-1e-4, False), (1e-9, False)):
        kite = SQUARE.copy()
        kite[3] -= moved  # nearer to the first than the other two are to each other
        shared = Cells(kite).neighbours()
        assert (shared[0, 3], shared[1, 2]) == (expected, moved < 0)


def deepest(centers, i, j):
    """The depth of the facet of a pair by the primal program, with its bisector as an equation."""
    others = np.delete(centers, [i, j], axis=0)
    apart = np.linalg.norm(centers[j] - centers[i])
    normal = (centers[i] - others) / np.linalg.norm(centers[i] - others, axis=1)[:, None]
    offset = (normal * (others - centers[j])).sum(axis=1) / (2 * apart)
    found = linprog(
        np.r_[np.zeros(centers.shape[1]), -1.0],
        A_ub=np.c_[-normal, np.ones(len(others))],
        b_ub=-offset,
        A_eq=np.r_[(centers[j] - centers[i]) / apart, 0.0][None],
        b_eq=[0.0],
        bounds=[(None, None)] * centers.shape[1] + [(None, 1.0)],
    )
    return -found.fun


CLOUDS = {
    "cloud": np.random.default_rng(0).normal(size=(24, 5)),
    "ties": np.unique(np.random.default_rng(1).integers(0, 3, (26, 5)) + 0.0, axis=0),
    "scales": np.random.default_rng(2).normal(size=(24, 5)) * np.logspace(0, 3, 24)[:, None],
    "many features": np.random.default_rng(3).normal(size=(14, 9)),
    "fewer than features": np.random.default_rng(5).normal(size=(9, 30)),
}


@functools.cache
def pairs_and_depths(name):
    """All pairs of centers of a cloud, and the depths of their facets by the primal program."""
    pairs = np.column_stack(np.triu_indices(len(CLOUDS[name]), 1))
    return pairs, np.array([deepest(CLOUDS[name], i, j) for i, j in pairs])


@pytest.mark.heavy
@pytest.mark.parametrize("name", CLOUDS)
def test_the_dual_programs_give_the_depth_of_the_primal(name):
    pairs, expected = pairs_and_depths(name)
    np.testing.assert_allclose(facet_depths(CLOUDS[name], pairs), expected, atol=1e-8)


@pytest.mark.heavy
@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize(
    ("most", "rounds"), [(6, 30), (0, 30), (0, 0)], ids=["triangulation", "relaxation", "programs"]
)
def test_every_step_alone_finds_the_same_neighbours(monkeypatch, name, most, rounds):
    monkeypatch.setattr("partita.voronoi.neighbours.TRIANGULATION_MAX_DIMENSIONS", most)
    monkeypatch.setattr("partita.voronoi.neighbours.RELAXATION_ROUNDS", rounds)
    monkeypatch.setattr("partita.voronoi.neighbours.CHUNK_VALUES", 2000)  # pairs come in chunks
    centers, (pairs, depth) = CLOUDS[name], pairs_and_depths(name)
    i, j = pairs.T
    expected = np.zeros((len(centers), len(centers)), dtype=bool)
    expected[i, j] = expected[j, i] = depth > MIN_FACET_DEPTH
    np.testing.assert_array_equal(Cells(centers).neighbours(), expected)
    everybody = name in ("many features", "fewer than features")
    assert expected[i, j].all() == everybody


def test_a_program_that_fails_does_not_spoil_its_batch(monkeypatch):
    centers = CLOUDS["cloud"]
    pairs = np.column_stack(np.triu_indices(24, 1))[:40]
    expected = facet_depths(centers, pairs)

    def fail_in_batches(programs):
        return None if len(programs) > 1 else solve(programs)

    from partita.voronoi import neighbours

    solve = neighbours._solve
    monkeypatch.setattr(neighbours, "_solve", fail_in_batches)
    np.testing.assert_allclose(facet_depths(centers, pairs), expected, atol=1e-9)


def test_centers_in_general_position_are_all_neighbours_if_they_are_few():
    centers = np.random.default_rng(5).normal(size=(9, 30))
    np.testing.assert_array_equal(Cells(centers).neighbours(), ~np.eye(9, dtype=bool))


@pytest.mark.heavy
def test_few_of_many_pairs_need_a_linear_program(monkeypatch):
    solved = []

    def counted(centers, pairs):
        solved.extend(pairs)
        return facet_depths(centers, pairs)

    monkeypatch.setattr("partita.voronoi.neighbours.facet_depths", counted)
    centers = np.random.default_rng(0).normal(size=(100, 8))
    shared = Cells(centers).neighbours()
    np.testing.assert_array_equal(shared, shared.T)
    count = shared.sum() / 2
    assert 3900 < count < 4100
    assert len(solved) < (4950 - count) + 300  # all that are none, and few others


@pytest.mark.parametrize("far", [1e8, 1e16, 1e30, 1e154, 1e200, 1e300, -1.7e308])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_a_center_far_away_hides_no_neighbours(d, far):
    near = np.random.default_rng(0).normal(size=(12, d))
    shared = Cells(np.vstack([near, np.full((1, d), far)])).neighbours()
    np.testing.assert_array_equal(shared[:12, :12], Cells(near).neighbours())
    assert shared[12].any()


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-160, 1.0, 1e16, 1e154, 1e300])
@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_centers_of_any_size_have_neighbours_without_a_warning(d, size):
    rng = np.random.default_rng(d)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (1, 2, 5, 9):
            centers = rng.normal(size=(k, d)) * size
            twice = np.vstack([centers, centers[:1], np.full((1, d), size)])
            for given in (centers, twice, np.full((k, d), size)):
                shared = Cells(given).neighbours()
                np.testing.assert_array_equal(shared, shared.T)
                assert not shared.diagonal().any()
                distinct = np.unique(given, axis=0, return_index=True)[1]
                assert shared[distinct].any(axis=1).all() == (len(distinct) > 1)


@pytest.mark.parametrize("d", [1, 3, 6])
def test_on_a_line_only_the_next_ones_are_neighbours(d):
    at = np.array([5.0, 1.0, 3.0, 9.0, 8.0])
    centers = 1e6 + at[:, None] * np.ones((1, d))
    rank = np.argsort(np.argsort(at))
    np.testing.assert_array_equal(Cells(centers).neighbours(), np.abs(rank[:, None] - rank) == 1)


def test_coincident_centers_and_few_of_them():
    found = Cells([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]).neighbours()
    assert found.tolist() == [[False, False, True], [False] * 3, [True, False, False]]
    assert Cells([[1.0, 2.0]]).neighbours().tolist() == [[False]]
    assert not Cells(np.ones((3, 2))).neighbours().any()
    simplex = np.eye(6)
    np.testing.assert_array_equal(Cells(simplex).neighbours(), ~np.eye(6, dtype=bool))
