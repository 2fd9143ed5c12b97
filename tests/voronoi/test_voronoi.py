"""Voronoi cells: half-spaces, labels, margins, neighbours and polygons must tell one story."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.cases import adversaries
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.cluster import BisectingKMeans
from sklearn.cluster import KMeans as TheirKMeans

import partita
from partita import KernelKMeans, KMeans, KMedoids, MiniBatchKMeans, SphericalKMeans, cells
from partita.stats import ClusterStats
from partita.voronoi.interior_points import NO, YES, deeper_than
from partita.voronoi.neighbours import DEPTH, _depth
from partita.voronoi.polygons import area, lowest_regions
from partita.voronoi.principal_plane import pca_plane
from partita.voronoi.voronoi_cells import Cells

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


@st.composite
def clouds(draw, d=None, offsets=(0.0, 1e6)):
    """(rows, centers): with ties, duplicates and coincident centers, sometimes far from 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, k = draw(st.integers(1, 40)), d or draw(st.integers(1, 5)), draw(st.integers(1, 12))
    whole = draw(st.booleans())
    pick = (lambda m: rng.integers(-3, 4, (m, d)) * 1.0) if whole else rng.standard_normal
    rows, centers = (pick(m if whole else (m, d)) for m in (n, k))
    offset = draw(st.sampled_from(offsets))
    return rows + offset, centers + offset


def inside(polygon, points, room=1e-9):
    """Whether points are in a convex polygon that goes round against the clock."""
    if len(polygon) == 0:
        return np.zeros(len(points), dtype=bool)
    edge = np.roll(polygon, -1, axis=0) - polygon
    away = points[:, None] - polygon
    return (edge[:, 0] * away[..., 1] - edge[:, 1] * away[..., 0] >= -room).all(axis=1)


# --- half-spaces and labels -----------------------------------------------------------------------


@given(clouds())
def test_a_row_is_in_the_half_spaces_of_its_cell(problem):
    X, centers = problem
    found = Cells(centers)
    labels = found.contains(X)
    size = np.abs(X).max() + np.abs(centers).max() + 1
    for j in range(len(centers)):
        A, b = found.half_spaces(j)
        assert A.shape == (len(centers) - 1, X.shape[1])
        here = labels == j
        assert (X[here] @ A.T - b >= -1e-14 * size**2).all()
        np.testing.assert_array_equal(found.contains(X, j), here)
        # the formula of the books, where squares do no harm
        near, others = centers - centers[0], np.delete(centers - centers[0], j, axis=0)
        level = ((near[j] ** 2).sum() - (others**2).sum(axis=1)) / 2
        np.testing.assert_allclose(b - A @ centers[0], level, atol=1e-13 * size**2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", adversaries(np.float64))
def test_labels_are_those_of_predict_to_the_last_tie(name, dtype):
    X, start = adversaries(dtype)[name]
    model = KMeans(len(start), init=start, max_iter=1).fit(X)
    np.testing.assert_array_equal(cells(model).contains(X), model.predict(X))


def test_a_row_on_a_face_belongs_to_the_lower_number():
    assert Cells([[0.0], [2.0]]).contains([[1.0]]).tolist() == [0]
    assert Cells([[2.0], [0.0]]).contains([[1.0]]).tolist() == [0]
    assert Cells([[1.0], [1.0]]).contains([[0.0], [5.0]]).tolist() == [0, 0]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_every_member_with_centers_has_cells(make):
    rng = np.random.default_rng(0)
    X = make(rng.normal(size=(300, 4)) + 2)
    for model in (
        KMeans(7, random_state=0),
        MiniBatchKMeans(7, random_state=0),
        SphericalKMeans(7, random_state=0),
        KMedoids(7, random_state=0),
        *([] if sp.issparse(X) else [KMedoids(7, metric="minkowski", random_state=0)]),
        TheirKMeans(7, n_init=1, random_state=0),
    ):
        model.fit(X)
        found = cells(model)
        np.testing.assert_array_equal(found.contains(X), model.predict(X))
        margins = found.margins(X)
        assert (margins >= 0).all()
        np.testing.assert_allclose(found.margins(X, model.predict(X)), margins, atol=1e-12)


def test_cones_do_not_care_for_length():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    model = SphericalKMeans(6, random_state=0).fit(X)
    found = cells(model)
    long = X * rng.uniform(0.1, 50, (200, 1))
    np.testing.assert_array_equal(found.contains(long), model.predict(X))
    for j in range(6):
        A, b = found.half_spaces(j)
        assert (b == 0).all()
        assert (long[found.contains(long, j)] @ A.T >= -1e-12).all()
    np.testing.assert_allclose(found.margins(3 * X), 3 * found.margins(X))


def test_the_length_of_a_cones_center_does_not_matter():
    rng = np.random.default_rng(2)
    centers, X = rng.normal(size=(6, 3)), rng.normal(size=(200, 3))
    found = Cells(centers * rng.uniform(0.01, 100, (6, 1)), cones=True)
    labels = found.contains(X)
    cosines = X @ (centers / np.linalg.norm(centers, axis=1, keepdims=True)).T
    np.testing.assert_array_equal(labels, cosines.argmax(axis=1))
    for j in range(6):
        A, b = found.half_spaces(j)
        assert (X[labels == j] @ A.T - b >= -1e-12).all()
    np.testing.assert_allclose(found.margins(X, labels), found.margins(X), atol=1e-12)
    single = centers.astype(np.float32)
    single /= np.linalg.norm(single, axis=1, keepdims=True)
    assert Cells(single, cones=True).centers.tolist() == single.tolist()  # as predict has them


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("zero_rows", ["drop", "separate"])
def test_a_row_without_direction_is_in_no_cone(make, zero_rows):
    X = np.random.default_rng(3).normal(size=(30, 3))
    X[[4, 7]] = 0.0
    model = SphericalKMeans(3, random_state=0, zero_rows=zero_rows).fit(make(X))
    found, labels = cells(model), model.predict(make(X))
    labels[[4, 7]] = -1
    np.testing.assert_array_equal(found.contains(make(X)), labels)
    assert not any(found.contains(make(X), j)[[4, 7]].any() for j in range(3))
    np.testing.assert_array_equal(np.isnan(found.margins(make(X))), labels == -1)


# --- margins --------------------------------------------------------------------------------------


def margins_by_the_book(X, centers, labels):
    squares = ((X[:, None] - centers) ** 2).sum(axis=2)
    out = np.full(len(X), np.inf)
    for i, j in enumerate(labels):
        for m, c in enumerate(centers):
            length = np.linalg.norm(centers[j] - c)
            if length > 0:
                out[i] = min(out[i], (squares[i, m] - squares[i, j]) / (2 * length))
    return out


@given(clouds(offsets=(0.0,)), st.integers(0, 2**32 - 1))
def test_margins_are_the_least_over_all_faces(problem, seed):
    X, centers = problem
    found = Cells(centers)
    labels = found.contains(X)
    np.testing.assert_allclose(found.margins(X), margins_by_the_book(X, centers, labels), atol=1e-9)
    any_ = np.random.default_rng(seed).integers(0, len(centers), len(X))
    wrong = found.margins(X, any_)
    np.testing.assert_allclose(wrong, margins_by_the_book(X, centers, any_), atol=1e-9)
    nearest = ((X[:, None] - centers) ** 2).sum(axis=2)
    farther = nearest[np.arange(len(X)), any_] > nearest.min(axis=1) + 1e-9
    assert (wrong[farther] < 0).all()


@given(clouds(offsets=(0.0,)))
def test_margins_do_not_change_with_an_offset(problem):
    X, centers = (np.round(part * 64) / 64 for part in problem)  # so that adding is exact
    far = 2.0**20
    np.testing.assert_allclose(
        Cells(centers + far).margins(X + far), Cells(centers).margins(X), atol=1e-12
    )


def test_the_nearest_face_is_not_that_of_the_second_nearest_center():
    centers = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 6.7]])
    x = np.array([[0.0, 3.0]])
    squares = ((x - centers) ** 2).sum(axis=1)
    assert squares.argsort().tolist() == [0, 1, 2]
    by_second = (squares[1] - squares[0]) / (2 * 2.0)
    by_third = (squares[2] - squares[0]) / (2 * 6.7)
    assert by_third < by_second
    assert Cells(centers).margins(x)[0] == pytest.approx(by_third)


def test_margins_where_there_is_no_face():
    assert Cells([[3.0]]).margins([[1.0], [9.0]]).tolist() == [np.inf, np.inf]
    assert Cells([[3.0], [3.0]]).margins([[1.0]]).tolist() == [np.inf]
    shared = Cells([[0.0], [0.0], [4.0]])  # coincident centers share a cell: no face between them
    assert shared.margins([[1.0]], [1]).tolist() == [1.0]
    assert np.isnan(shared.margins([[1.0]], [-1])).all()
    assert shared.margins(sp.csr_array([[1.0], [4.0]])).tolist() == [1.0, 2.0]


# --- neighbours -----------------------------------------------------------------------------------


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


@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_neighbours_in_the_plane_share_an_edge(seed, k):
    centers = np.random.default_rng(seed).normal(size=(k, 2))
    found = Cells(centers).neighbours()
    assert not found.diagonal().any()
    for i, j in zip(*np.triu_indices(k, 1), strict=True):
        length = shared_length(centers, i, j)
        if abs(length) > 1e-3:  # a shorter edge may be too shallow
            assert found[i, j] == found[j, i] == (length > 0)


def test_cells_that_touch_in_a_corner_are_no_neighbours():
    expected = ~np.eye(4, dtype=bool)
    expected[0, 3] = expected[3, 0] = expected[1, 2] = expected[2, 1] = False
    np.testing.assert_array_equal(Cells(SQUARE).neighbours(), expected)
    cube = np.array(list(np.ndindex(2, 2, 2, 2, 2)), dtype=float)  # too many for a triangulation
    steps = np.abs(cube[:, None] - cube).sum(axis=2)
    np.testing.assert_array_equal(Cells(cube).neighbours(), steps == 1)


@pytest.mark.parametrize("flat", [4, 0], ids=["triangulation", "programs"])
def test_a_facet_may_be_small(monkeypatch, flat):
    """Turning the square into a kite opens a facet about as wide as the corner was moved."""
    monkeypatch.setattr("partita.voronoi.neighbours._FLAT", flat)
    for moved, expected in ((1e-4, True), (-1e-4, False), (1e-9, False)):
        kite = SQUARE.copy()
        kite[3] -= moved  # nearer to the first than the other two are to each other
        found = Cells(kite).neighbours()
        assert (found[0, 3], found[1, 2]) == (expected, moved < 0)


def by_one_program_each(centers):
    """Neighbours by a linear program for every pair, against all others."""
    found = np.zeros((len(centers), len(centers)), dtype=bool)
    for i, j in zip(*np.triu_indices(len(centers), 1), strict=True):
        others = np.delete(centers, [i, j], axis=0)
        found[i, j] = found[j, i] = _depth(centers[i], centers[j], others) > DEPTH
    return found


@pytest.mark.parametrize(
    "centers",
    [
        np.random.default_rng(0).normal(size=(24, 5)),
        np.random.default_rng(1).integers(0, 3, (26, 5)) + 0.0,
        np.random.default_rng(2).normal(size=(24, 5)) * np.logspace(0, 3, 24)[:, None],
        np.random.default_rng(3).normal(size=(14, 9)),
    ],
    ids=["cloud", "ties", "scales", "many features"],
)
@pytest.mark.parametrize("few", [-8, 32])
def test_all_programs_at_once_agree_with_one_at_a_time(monkeypatch, centers, few):
    centers = np.unique(centers, axis=0)
    monkeypatch.setattr("partita.voronoi.neighbours._FEW", few)  # -8: two faces decide at first
    monkeypatch.setattr("partita.voronoi.neighbours._MORE", 2)
    monkeypatch.setattr("partita.voronoi.neighbours._VALUES", 2000)  # and pairs come in parts
    expected = by_one_program_each(centers)
    found = Cells(centers).neighbours()
    np.testing.assert_array_equal(found, expected)
    assert len(centers) == 14 or not (found | np.eye(len(found), dtype=bool)).all()


def optimum(normal, inside):
    """The depth of the deepest point by SciPy."""
    m, d = normal.shape
    found = linprog(
        np.r_[np.zeros(d), -1.0],
        A_ub=np.c_[-normal, np.ones(m)],
        b_ub=-inside,
        bounds=[(None, None)] * d + [(None, 1.0)],
    )
    return -found.fun


@pytest.mark.parametrize("m", [2, 5, 30])
def test_depth_is_told_from_both_sides_of_it(m):
    rng = np.random.default_rng(m)
    normal = rng.normal(size=(40, m, 3))
    normal /= np.linalg.norm(normal, axis=2, keepdims=True)
    normal[::4, 1] = -normal[::4, 0]  # opposite faces: little depth, far along them
    normal[::2] *= rng.choice([1.0, 0.3], (20, m, 1))
    inside = rng.normal(size=(40, m)) * 0.5
    deepest = np.array([optimum(*each) for each in zip(normal, inside, strict=True)])
    for off in (1e-1, 1e-3, 1e-5):
        for at, (program, level) in enumerate(zip(normal, inside, strict=True)):
            verdict, _ = deeper_than(deepest[at] + off, program[None], level[None])
            assert verdict[0] == NO
            verdict, point = deeper_than(deepest[at] - off, program[None], level[None])
            assert verdict[0] == YES
            assert min((program @ point[0] - level).min(), 1.0) > deepest[at] - off


def test_what_stays_open_is_solved_by_itself(monkeypatch):
    centers = np.random.default_rng(4).normal(size=(20, 5))
    expected = Cells(centers).neighbours()
    for turns in (0, 3):
        monkeypatch.setattr("partita.voronoi.interior_points._TURNS", turns)
        np.testing.assert_array_equal(Cells(centers).neighbours(), expected)


def test_centers_in_general_position_are_all_neighbours_if_they_are_few():
    centers = np.random.default_rng(5).normal(size=(9, 30))
    np.testing.assert_array_equal(Cells(centers).neighbours(), ~np.eye(9, dtype=bool))
    np.testing.assert_array_equal(by_one_program_each(centers), ~np.eye(9, dtype=bool))


def test_hardly_any_of_many_pairs_is_solved_by_itself(monkeypatch):
    alone = []
    monkeypatch.setattr(
        "partita.voronoi.neighbours._depth", lambda *pair: alone.append(pair) or _depth(*pair)
    )
    centers = np.random.default_rng(0).normal(size=(100, 8))
    found = Cells(centers).neighbours()
    assert len(alone) < 50  # of 4950, and seconds for all of them
    np.testing.assert_array_equal(found, found.T)
    assert 3900 < found.sum() / 2 < 4100


@pytest.mark.parametrize("d", [1, 3, 6])
def test_on_a_line_only_the_next_ones_are_neighbours(d):
    at = np.array([5.0, 1.0, 3.0, 9.0, 8.0])
    centers = 1e6 + at[:, None] * np.ones((1, d))
    rank = np.argsort(np.argsort(at))
    np.testing.assert_array_equal(Cells(centers).neighbours(), np.abs(rank[:, None] - rank) == 1)


def test_linear_programs_agree_with_the_triangulation(monkeypatch):
    centers = np.random.default_rng(3).normal(size=(16, 3))
    by_triangulation = Cells(centers).neighbours()
    monkeypatch.setattr("partita.voronoi.neighbours._FLAT", 0)
    np.testing.assert_array_equal(Cells(centers).neighbours(), by_triangulation)
    monkeypatch.setattr(
        "partita.voronoi.neighbours._midway", lambda centers, pairs: np.zeros(len(pairs), bool)
    )
    np.testing.assert_array_equal(Cells(centers).neighbours(), by_triangulation)
    assert not by_triangulation.all()


def test_coincident_centers_and_few_of_them():
    found = Cells([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]).neighbours()
    assert found.tolist() == [[False, False, True], [False] * 3, [True, False, False]]
    assert Cells([[1.0, 2.0]]).neighbours().tolist() == [[False]]
    assert not Cells(np.ones((3, 2))).neighbours().any()
    simplex = np.eye(6)
    np.testing.assert_array_equal(Cells(simplex).neighbours(), ~np.eye(6, dtype=bool))


# --- polygons -------------------------------------------------------------------------------------


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


@given(clouds(offsets=(0.0,)), st.integers(0, 2**32 - 1))
def test_a_slice_is_an_honest_cut(problem, seed):
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
def test_slices_know_no_unit(power):
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


# --- the plane of a picture -----------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e6]))
def test_the_plane_is_that_of_the_widest_spread(seed, offset):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 5)) * [1, 9, 3, 1, 0.5] + offset
    w = rng.integers(0, 4, 80) + 0.5
    mean, axes = pca_plane(X, w)
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=w))
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-12)
    gap = np.sqrt(w)[:, None] * (X - mean)
    best = np.linalg.svd(gap, full_matrices=False)[2][:2]
    np.testing.assert_allclose(np.abs((axes * best).sum(axis=1)), 1.0, atol=1e-6)
    assert (np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], 1) > 0).all()


@pytest.mark.parametrize("size", [1e160, 1e-200])
@pytest.mark.parametrize("wide", [1024, 3])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_plane_of_rows_of_any_size(monkeypatch, size, wide, make):
    monkeypatch.setattr("partita.voronoi.principal_plane._WIDE", wide)
    X = np.random.default_rng(0).normal(size=(60, 5)) * [1, 9, 3, 1, 0.5]
    (mean, axes), (plain, expected) = pca_plane(make(X * size)), pca_plane(make(X))
    np.testing.assert_allclose(axes, expected, atol=1e-7)
    np.testing.assert_allclose(mean / size, plain, rtol=1e-9)


def test_wide_and_sparse_rows_and_summaries_have_a_plane(monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(100, 30)) * np.linspace(9, 1, 30)
    X[np.abs(X) < 2] = 0.0
    mean, axes = pca_plane(X)
    np.testing.assert_allclose(pca_plane(sp.csr_array(X))[1], axes, atol=1e-9)
    monkeypatch.setattr("partita.voronoi.principal_plane._WIDE", 3)
    for made in (X, sp.csr_array(X)):
        found = pca_plane(made)
        np.testing.assert_allclose(found[0], mean, atol=1e-12)
        np.testing.assert_allclose(np.abs((found[1] * axes).sum(axis=1)), 1.0, atol=1e-9)
    same = np.ones((5, 30))  # no spread: any two axes
    line = rng.normal(size=(9, 1)) * np.arange(30)
    for flat in (same, line):
        axes = pca_plane(flat)[1]
        np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-9)
    stats = ClusterStats.of_block(X, np.arange(100) % 7, k=7)
    np.testing.assert_allclose(pca_plane(stats)[0], X.mean(axis=0), atol=1e-12)


# --- what does not fit ----------------------------------------------------------------------------


def test_models_without_flat_cells_say_so():
    X = np.random.default_rng(7).normal(size=(50, 2))
    for model, word in (
        (KernelKMeans(2, random_state=0).fit(X), "no polytopes"),
        (KMedoids(2, metric="manhattan").fit(X), "flat faces"),
        (KMedoids(2, metric="minkowski", metric_params={"p": 3}).fit(X), "flat faces"),
        (KMedoids(2, metric="precomputed").fit(np.abs(X[:, :1] - X[:, 0])), "flat faces"),
        (BisectingKMeans(2).fit(X), "down a tree"),
    ):
        with pytest.raises(ValueError, match=word):
            cells(model)
    with pytest.raises(TypeError, match="fitted model"):
        cells(X)


def test_what_errors_name_is_exported():
    assert (partita.Cells, partita.pca_plane) == (Cells, pca_plane)
    with pytest.raises(ValueError, match=r"slice\(\*partita.pca_plane\(X\)\)"):
        Cells([[1.0, 2.0, 3.0]]).polygons((0, 0, 1, 1))
    for name in ("MergeTree", "Factorization", "sampled_silhouette", "Sweep"):
        assert getattr(partita, name).__name__ == name


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.half_spaces(4), "0 to 3"),
        (lambda c: c.half_spaces(-1), "0 to 3"),
        (lambda c: c.half_spaces(True), "0 to 3"),
        (lambda c: c.contains(SQUARE, False), "0 to 3"),
        (lambda c: Cells([[1.0, 0.0], [0.0, 0.0]], cones=True), "1 of 2 centers"),
        (lambda c: c.contains([[1.0, 2.0, 3.0]]), "3 features"),
        (lambda c: c.contains([[np.nan, 2.0]]), "NaN"),
        (lambda c: c.margins(SQUARE, [0, 1]), "one for each of 4 rows"),
        (lambda c: c.margins(SQUARE, [0, 1, 2, 9]), "0 to 3"),
        (lambda c: c.margins(SQUARE, [0.0, 1.0, 2.0, 3.0]), "whole numbers"),
        (lambda c: c.polygons((0, 0, 1)), "xmin"),
        (lambda c: c.polygons((1, 0, 0, 1)), "xmin"),
        (lambda c: c.polygons((0, 0, np.inf, 1)), "xmin"),
        (lambda c: c.slice([0.0], np.eye(2)), r"\(2,\)"),
        (lambda c: c.slice([0.0, np.nan], np.eye(2)), "NaN"),
        (lambda c: Cells([1.0, 2.0]), "shape"),
        (lambda c: Cells([[np.inf]]), "finite"),
        (lambda c: Cells(np.empty((0, 2))), "shape"),
        (lambda c: Cells([[1.0]]).polygons((0, 0, 1, 1)), "pca_plane"),
        (lambda c: pca_plane([[1.0]]), "at least 2"),
        (lambda c: pca_plane([[1.0, np.nan]]), "NaN"),
    ],
)
def test_what_does_not_fit_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call(Cells(SQUARE))
