"""Voronoi cells: half-spaces, labels and margins agree with `predict`."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.cases import adversaries
from helpers.voronoi_cases import SQUARE, clouds
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import BisectingKMeans
from sklearn.cluster import KMeans as TheirKMeans

import partita
from partita import KernelKMeans, KMeans, KMedoids, MiniBatchKMeans, SphericalKMeans, cells
from partita.voronoi.principal_plane import pca_plane
from partita.voronoi.voronoi_cells import Cells


@pytest.mark.heavy
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


@pytest.mark.heavy
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


def test_cones_ignore_the_length_of_rows():
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
def test_margins_are_the_minimum_over_all_faces(problem, seed):
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


def test_models_without_flat_cells_are_rejected():
    X = np.random.default_rng(7).normal(size=(50, 2))
    for model, word in (
        (KernelKMeans(2, random_state=0).fit(X), "its feature space"),
        (KMedoids(2, metric="manhattan").fit(X), "metric='manhattan' is not Euclidean"),
        (KMedoids(2, metric="minkowski", metric_params={"p": 3}).fit(X), "not Euclidean"),
        (KMedoids(2, metric="precomputed").fit(np.abs(X[:, :1] - X[:, 0])), "fitted to a matrix"),
        (BisectingKMeans(2).fit(X), "down a tree"),
    ):
        with pytest.raises(ValueError, match=word):
            cells(model)
    with pytest.raises(TypeError, match="fitted model"):
        cells(X)


def test_the_repr_has_the_shape_only():
    assert repr(Cells(np.eye(3, 4))) == "Cells of 3 centers in 4 dimensions"
    assert repr(Cells([[2.0]], cones=True)) == "Cells (cones) of 1 center in 1 dimension"


def test_names_in_errors_are_exported():
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
        (lambda c: Cells([[1.0, 0.0], [0.0, 0.0]], cones=True), "got 1 of 2"),
        (lambda c: c.contains([[1.0, 2.0, 3.0]]), "3 features"),
        (lambda c: c.contains([[np.nan, 2.0]]), "NaN"),
        (lambda c: c.margins(SQUARE, [0, 1]), "one for each of 4 rows"),
        (lambda c: c.margins(SQUARE, [0, 1, 2, 9]), "-1 to 3"),
        (lambda c: c.margins(SQUARE, [0.0, 1.0, 2.0, 3.0]), "must be integers"),
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
def test_invalid_parameters_of_cells(call, message):
    with pytest.raises(ValueError, match=message):
        call(Cells(SQUARE))


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e16, 1e154, 1e200, 1e307])
def test_half_spaces_of_centers_of_any_size_hold_their_rows(size):
    centers = np.random.default_rng(0).uniform(-1, 1, (5, 3))
    rows = np.random.default_rng(1).uniform(-1, 1, (30, 3))
    labels = Cells(centers).contains(rows)
    for j in range(5):
        A, b = Cells(centers * size).half_spaces(j)
        assert np.isfinite(A).all()
        assert np.isfinite(b).all()
        if size > 1e-200:  # below, products with the rows vanish
            inside = (b[:, None] <= A @ (rows * size).T).all(axis=0)
            np.testing.assert_array_equal(inside, labels == j)
