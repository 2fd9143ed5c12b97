"""`KernelKMeans(kernel="nearest_neighbors")`: cuts of the graph of neighbours."""

from __future__ import annotations

import itertools
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import ArpackError
from sklearn.datasets import load_iris, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from partita import KernelKMeans, KMeans, choose_k, diagnose, load, save
from partita.init import graph_starts


def neighbours(k, **more):
    return KernelKMeans(k, kernel="nearest_neighbors", **{"random_state": 0, **more})


def affinities(X, count, weight):
    """The graph by its definition: mutual neighbours, oneself and the nearest; two links of it."""
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    near = np.argsort(squares, axis=1)  # no ties
    is_near = np.zeros(squares.shape, bool)
    np.put_along_axis(is_near, near[:, :count], True, axis=1)
    links = is_near & is_near.T
    np.put_along_axis(links, near[:, :2], True, axis=1)
    links |= links.T
    P = links / links.sum(axis=1, keepdims=True)
    return np.outer(weight, weight) * ((P / (weight @ P)) @ P.T)


def cut(A, labels):
    return sum(
        A[np.ix_(labels == j, labels != j)].sum() / A[labels == j].sum() for j in np.unique(labels)
    )


# --- the objective --------------------------------------------------------------------------------


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4), weighted=st.booleans())
def test_the_objective_is_the_normalised_cut(seed, k, weighted):
    """J = Ncut − k + Σ A_ii / w_i, for any partition, and degrees are weights."""
    rng = np.random.default_rng(seed)
    X, count = rng.normal(size=(25, 2)), int(rng.integers(2, 12))
    weight = rng.integers(1, 5, 25).astype(float) if weighted else np.ones(25)
    A = affinities(X, count, weight)
    np.testing.assert_allclose(A.sum(axis=1), weight, rtol=1e-12)
    start = rng.permutation(np.arange(25) % k)
    model = neighbours(k, n_neighbors=count, init=start, empty="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, sample_weight=weight)
    filled = len(np.unique(model.labels_))
    constant = (A.diagonal() / weight).sum() - filled
    assert model.inertia_ == pytest.approx(cut(A, model.labels_) + constant, rel=1e-10, abs=1e-10)
    costs = [value for step in model.trace_ for value in (step.cost, step.cost_after)]
    if not any(step.empty for step in model.trace_):
        assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(costs))


@pytest.mark.parametrize("seed", range(3))
def test_the_least_cut_of_all_is_found(seed):
    """Every partition of ten rows into two: none cuts less."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(5, 2)), rng.normal(size=(5, 2)) + 2.5])
    A = affinities(X, 4, np.ones(10))
    cuts = [
        cut(A, np.array((0, *rest))) for rest in itertools.product((0, 1), repeat=9) if any(rest)
    ]
    model = neighbours(2, n_neighbors=4).fit(X)
    assert cut(A, model.labels_) == pytest.approx(min(cuts), abs=1e-12)


# --- shapes ---------------------------------------------------------------------------------------


def unequal_moons(n, seed):
    return make_moons((int(0.85 * n), n - int(0.85 * n)), noise=0.05, random_state=seed)


def three_rings(n, seed):
    rng = np.random.default_rng(seed)
    ring, angle = rng.integers(3, size=n), rng.uniform(0, 2 * np.pi, n)
    radius = ring + 1 + rng.normal(scale=0.06, size=n)
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], ring


def spirals(n, seed):
    rng = np.random.default_rng(seed)
    arm, turn = rng.integers(2, size=n), np.sqrt(rng.random(n)) * 3 * np.pi + 1.5
    angle = turn + np.pi * arm
    points = np.c_[turn * np.cos(angle), turn * np.sin(angle)]
    return points + rng.normal(scale=0.1, size=(n, 2)), arm


SHAPES = {
    "moons": (2, lambda n, s: make_moons(n, noise=0.05, random_state=s), 200),
    "circles": (2, lambda n, s: make_circles(n, factor=0.5, noise=0.05, random_state=s), 200),
    "unequal moons": (2, unequal_moons, 200),
    "three rings": (3, three_rings, 600),
    "spirals": (2, spirals, 1000),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_groups_of_any_shape_are_found(shape):
    k, make, least = SHAPES[shape]
    for n, seed in itertools.product((least, 2000), range(4)):
        X, group = make(n, seed)
        found = neighbours(k, random_state=seed).fit_predict(X)
        assert adjusted_rand_score(group, found) >= 0.98, (n, seed)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_groups_of_any_shape_are_found_in_many_rows(shape):
    k, make, _ = SHAPES[shape]
    for seed in range(3):
        X, group = make(20_000, seed)
        assert adjusted_rand_score(group, neighbours(k).fit_predict(X)) >= 0.98, seed


def test_round_groups_are_found_as_by_kmeans():
    ours, means = [], []
    for seed in range(6):
        X, group = make_blobs(400, centers=5, random_state=seed)
        ours.append(adjusted_rand_score(group, neighbours(5).fit_predict(X)))
        by_means = KMeans(5, n_init=5, random_state=0).fit_predict(X)
        means.append(adjusted_rand_score(group, by_means))
    assert np.mean(ours) >= np.mean(means) - 0.02
    iris = load_iris()
    assert adjusted_rand_score(iris.target, neighbours(3).fit_predict(iris.data)) > 0.73


# --- what every member promises -------------------------------------------------------------------


def test_weights_equal_repeats_in_any_order_of_rows():
    """Also from the default start, which depends on the rows as a set only."""
    X, _ = make_moons(120, noise=0.15, random_state=1)
    X = X.round(1)  # duplicates and ties
    times = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = neighbours(3).fit(X, sample_weight=times)
    repeated = neighbours(3).fit(np.repeat(X, times, axis=0))
    assert weighted.inertia_ == repeated.inertia_
    kept = times > 0
    np.testing.assert_array_equal(np.repeat(weighted.labels_, times), repeated.labels_)
    order = np.random.default_rng(1).permutation(len(X))
    permuted = neighbours(3).fit(X[order], sample_weight=times[order])
    assert permuted.inertia_ == weighted.inertia_
    np.testing.assert_array_equal(
        permuted.labels_[kept[order]], weighted.labels_[order][kept[order]]
    )


def test_threads_change_no_bit():
    X = load_iris().data
    one, two = (neighbours(3, n_threads=t).fit(X) for t in (1, 2))
    assert one.inertia_ == two.inertia_
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.transform(X + 0.01), two.transform(X + 0.01))


@pytest.mark.parametrize("init", ["random", "k-means++", "random-partition", "spectral", [3, 90]])
def test_a_row_of_the_fit_gets_its_own_label(init):
    X, _ = make_moons(150, noise=0.3, random_state=3)
    for rows in (X, X.astype(np.float32), sp.csr_array(X)):
        model = neighbours(2, init=init, n_neighbors=6).fit(rows)
        np.testing.assert_array_equal(model.predict(rows), model.labels_)
        squares = model.transform(rows) ** 2
        np.testing.assert_array_equal(squares.argmin(axis=1), model.labels_)
        assert squares.min(axis=1).sum() == pytest.approx(model.inertia_, rel=1e-5)


def test_new_rows_join_their_neighbours():
    X, _ = make_moons(400, noise=0.05, random_state=0)
    new, truth = make_moons(200, noise=0.05, random_state=1)
    model = neighbours(2).fit(X)
    assert adjusted_rand_score(truth, model.predict(new)) == 1.0
    one_by_one = [int(model.predict(row[None])[0]) for row in new[:20]]
    assert one_by_one == model.predict(new)[:20].tolist()


def test_starts_are_given_as_points_rows_or_labels():
    X, moon = make_moons(200, noise=0.05, random_state=0)
    first, second = (int(np.flatnonzero(moon == j)[0]) for j in (0, 1))
    for init in (moon, [first, second], X[[first, second]]):
        model = neighbours(2, init=init).fit(X)
        assert model.labels_[first] == 0
        assert model.labels_[second] == 1
    np.testing.assert_array_equal(neighbours(2, init=moon).fit_predict(X), moon)


def test_a_saved_model_labels_new_rows_the_same(tmp_path):
    X, _ = make_moons(100, noise=0.1, random_state=0)
    model = neighbours(2).fit(X)
    save(model, tmp_path / "model.partita")
    again = load(tmp_path / "model.partita")
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_array_equal(again.transform(X + 0.1), model.transform(X + 0.1))


def test_a_sweep_is_refused_with_the_reason():
    X, _ = make_moons(60, noise=0.05, random_state=0)
    with pytest.raises(ValueError, match=r"a KernelKMeans: the graph of neighbours is another"):
        choose_k(X, [2, 3], estimator=neighbours(2))


def test_what_is_proven_and_diagnosed():
    X, _ = make_moons(200, noise=0.05, random_state=0)
    model = neighbours(2).fit(X)
    assert model.certify(X).gap <= 1e-9  # no link is cut: no partition is better
    assert "not-convex" not in diagnose(model, X)
    assert model.score(X) == pytest.approx(-model.inertia_)


# --- odd graphs -----------------------------------------------------------------------------------


def test_many_duplicates_do_not_cut_a_point_off():
    X, moon = make_moons(300, noise=0.05, random_state=0)
    heavy = np.concatenate([X, np.repeat(X[:1], 200, axis=0)])
    labels = neighbours(2).fit_predict(heavy)
    assert adjusted_rand_score(moon, labels[:300]) == 1.0
    assert (labels[300:] == labels[0]).all()


def three_far_groups():
    return np.concatenate(
        [np.random.default_rng(j).normal(size=(70, 2)) + 100 * j for j in range(3)]
    )


def test_a_graph_in_more_pieces_than_clusters():
    X = three_far_groups()
    with pytest.warns(UserWarning, match=r"5 neighbours has 12 connected pieces, more than n_cl"):
        labels = neighbours(2, n_neighbors=5).fit_predict(X)
    assert adjusted_rand_score(np.repeat([0, 0, 1], 70), labels) in (
        1.0, adjusted_rand_score(np.repeat([0, 0, 1], 70), np.repeat([0, 1, 1], 70))
    )  # fmt: skip


def test_a_graph_in_fewer_pieces_than_clusters():
    X = three_far_groups()
    labels = neighbours(4).fit_predict(X)
    together = [len(set(labels[i : i + 70].tolist())) for i in (0, 70, 140)]
    assert sorted(together) == [1, 1, 2]
    assert len(set(labels.tolist())) == 4


def test_wrong_numbers_of_neighbours():
    X = np.arange(10.0)[:, None] ** 2
    wanted = "`n_neighbors` must be at most the number of distinct rows (10), got 11. Lower"
    with pytest.raises(ValueError, match=re.escape(wanted)):
        neighbours(2, n_neighbors=11).fit(np.concatenate([X, X]))
    with pytest.raises(ValueError, match="`n_neighbors` must be an integer >= 2 or 'auto', got 1"):
        neighbours(2, n_neighbors=1).fit(X)
    with pytest.raises(ValueError, match="`approximation` must be 'exact' or 'auto' with kernel="):
        neighbours(2, approximation="nystrom").fit(X)
    with pytest.raises(ValueError, match="`diagonal_shift` must be None with kernel="):
        neighbours(2, diagonal_shift=1.0).fit(X)
    with pytest.warns(UserWarning, match="distinct clusters"):  # all rows are linked to all
        assert set(neighbours(2, n_neighbors=10).fit_predict(X).tolist()) == {0}


def test_constant_data_and_isolated_rows():
    with pytest.warns(UserWarning, match="distinct"):
        labels = neighbours(3).fit_predict(np.ones((20, 2)))
    assert set(labels.tolist()) == {0}
    assert neighbours(1).fit_predict(np.ones((1, 1))).tolist() == [0]
    X, moon = make_moons(300, noise=0.05, random_state=0)
    X = np.concatenate([X, [[1e9, 0.0], [0.0, -1e9]]])
    model = neighbours(2).fit(X)
    assert adjusted_rand_score(moon, model.labels_[:300]) == 1.0


def test_where_the_eigensolver_fails(monkeypatch):
    X, group = make_blobs(600, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)

    def fails(*args, **options):
        raise ArpackError(-9)

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", fails)
    assert adjusted_rand_score(group, neighbours(3, n_neighbors=30).fit_predict(X)) > 0.95


def test_leading_directions_are_eigenvectors():
    X, _ = make_blobs(700, centers=1, random_state=0)
    model = neighbours(3, n_neighbors=20).fit(X)
    features, mass = model._space.map.features, model._space.map.distinct.mass
    found = graph_starts.leading_directions(features, mass, np.zeros(700, np.int32), 3)
    exact = np.linalg.eigvalsh((features @ features.T).toarray())[-3:]
    values = np.einsum("mk,mk->k", found, (features @ (features.T @ found)))
    np.testing.assert_allclose(np.sort(values), exact, rtol=1e-3)
    subspace = graph_starts.by_subspace(features, sp.csr_array(features.T), 3)[0]
    np.testing.assert_allclose(np.sort(subspace), exact, rtol=1e-3)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_two_far_groups_of_a_few_rows_are_found(size):
    X = np.vstack([np.arange(size)[:, None] * [0.0, 1.0], [100.0, 0.0] + np.arange(size)[:, None]])
    labels = neighbours(2).fit_predict(X)
    assert labels.tolist() in ([0] * size + [1] * size, [1] * size + [0] * size)


def test_as_many_clusters_as_rows():
    assert len(set(neighbours(3).fit_predict(np.array([[0.0], [1.0], [5.0]])).tolist())) == 3
