"""Laws of k-medoids on any matrix, and examples with a known answer."""

from __future__ import annotations

import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from helpers import medoid_reference as reference
from helpers.medoid_cases import BLOBS, METHODS, fit, problems, recomputed
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import pairwise_distances

from partita import KMeans, KMedoids
from partita.source import dissimilarities

pytestmark = [
    pytest.mark.filterwarnings("ignore:Number of distinct clusters"),
    pytest.mark.sanitize,
]


@given(problem=problems(), method=st.sampled_from(METHODS), seed=st.integers(0, 99))
def test_the_answer_is_what_it_says(problem, method, seed):
    table, k, weight = problem
    model = fit(table, k, weight, method=method, random_state=seed, n_init=2, batch_size=5)
    assert model.inertia_ == recomputed(table, model, weight)
    assert len(set(model.medoid_indices_.tolist())) == k
    assert (np.diff(model.medoid_indices_) > 0).all()
    np.testing.assert_array_equal(model.labels_, table[:, model.medoid_indices_].argmin(axis=1))
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    np.testing.assert_array_equal(model.transform(table), table[:, model.medoid_indices_])
    assert model.score(table, sample_weight=weight) == -model.inertia_
    costs = [p.cost for p in model.trace_] + [model.trace_[-1].cost_after]
    assert all(a >= b for a, b in itertools.pairwise(costs))
    assert model.labels_.dtype == np.int32


@given(problem=problems(whole=True), seed=st.integers(0, 99), method=st.sampled_from(METHODS[:2]))
def test_no_single_swap_lowers_the_cost(problem, seed, method):
    table, k, weight = problem
    model = fit(table, k, weight, random_state=seed, method=method, init="random")
    ones = np.ones(len(table)) if weight is None else weight
    best, _, _ = reference.best_swap(table, model.medoid_indices_.tolist(), ones)
    assert best >= model.inertia_
    assert model.stopped_by_.startswith("no ")


@pytest.mark.heavy
@given(problem=problems(max_n=14))
@settings(max_examples=60)
def test_pam_is_the_definition(problem):
    table, k, weight = problem
    if weight is not None:
        weight = np.maximum(weight, 1.0)
    cost, medoids = reference.pam(table, k, weight)
    model = fit(table, k, weight, method="pam")
    assert model.inertia_ == cost
    np.testing.assert_array_equal(model.medoid_indices_, medoids)


@pytest.mark.heavy
@given(problem=problems(), method=st.sampled_from(METHODS))
def test_a_matrix_of_integers_its_floats_and_its_triangle_agree(problem, method):
    table, k, _ = problem
    table = np.rint(9 * table / max(1.0, table.max()))
    plain = fit(table, k, method=method, batch_size=6)
    for other in (
        table.astype(np.int64), table.astype(np.uint8), table.astype(np.float32),
        np.asfortranarray(table), np.repeat(table, 2, axis=1)[:, ::2], table.tolist(),
        squareform(table), table.astype(np.float16), squareform(table).astype(np.int32),
    ):  # fmt: skip
        model = fit(other, k, method=method, batch_size=6)
        np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
        assert model.inertia_ == plain.inertia_


@pytest.mark.heavy
@given(problem=problems(whole=True), method=st.sampled_from(["fasterpam", "pam", "alternate"]))
def test_a_weight_is_so_many_repeated_rows(problem, method):
    table, k, weight = problem
    weight = np.ones(len(table)) if weight is None else np.maximum(weight, 1.0)
    start = np.arange(k)
    model = fit(table, k, weight, method=method, init=start)
    again = np.repeat(np.arange(len(table)), weight.astype(int))
    first = np.searchsorted(again, start)
    repeated = fit(table[np.ix_(again, again)], k, method=method, init=first)
    if method != "fasterpam":  # whose order of candidates is another one
        np.testing.assert_array_equal(again[repeated.medoid_indices_], model.medoid_indices_)
        assert repeated.inertia_ == model.inertia_
    cost = fit(table[np.ix_(again, again)], k, init=first, max_iter=1).trace_[0].cost
    assert cost == fit(table, k, weight, init=start, max_iter=1).trace_[0].cost


@pytest.mark.heavy
@given(problem=problems(), method=st.sampled_from(METHODS))
def test_rows_of_weight_zero_have_no_say(problem, method):
    table, k, _ = problem
    n = len(table)
    bigger = np.full((n + 3, n + 3), 5.0)
    bigger[:n, :n] = table
    np.fill_diagonal(bigger, 0)
    bigger[n, :n] = bigger[:n, n] = 0.0  # it would be the best of medoids
    weight = np.r_[np.ones(n), np.zeros(3)]
    keywords = {"method": method, "batch_size": 6}
    model, alone = fit(bigger, k, weight, **keywords), fit(table, k, **keywords)
    np.testing.assert_array_equal(model.medoid_indices_, alone.medoid_indices_)
    np.testing.assert_array_equal(model.labels_[:n], alone.labels_)
    assert model.inertia_ == alone.inertia_


@pytest.mark.heavy
@given(problem=problems(), power=st.sampled_from([-1000, -300, -30, 30, 300, 900]))
def test_scale_does_not_matter(problem, power):
    table, k, weight = problem
    plain = fit(table, k, weight)
    scaled = fit(np.ldexp(table, power), k, weight)
    np.testing.assert_array_equal(scaled.medoid_indices_, plain.medoid_indices_)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    assert scaled.inertia_ == pytest.approx(math.ldexp(plain.inertia_, power), rel=1e-12)
    if weight is not None:
        heavy = fit(table, k, np.ldexp(weight, 300))
        np.testing.assert_array_equal(heavy.medoid_indices_, plain.medoid_indices_)


@pytest.mark.heavy
@given(problem=problems(), method=st.sampled_from(METHODS), size=st.integers(1, 9))
def test_blocks_of_candidates_do_not_matter(problem, method, size):
    table, k, weight = problem
    keywords = {"method": method, "batch_size": 6, "init": "random"}
    whole = fit(table, k, weight, **keywords)

    def blocks(self, order):
        for i in range(0, len(order), size):
            some = order[i : i + size]
            yield self.columns(some), np.arange(len(some)), some

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dissimilarities.DissimilarityTable, "blocks", blocks)
        parts = fit(table, k, weight, **keywords)
    np.testing.assert_array_equal(parts.medoid_indices_, whole.medoid_indices_)
    assert [p.cost for p in parts.trace_] == [p.cost for p in whole.trace_]
    assert [p.compared for p in parts.trace_] == [p.compared for p in whole.trace_]


def test_no_block_is_made_that_is_not_looked_at(monkeypatch):
    table, made = squareform(pdist(np.rint(BLOBS[:60]), "cityblock")), []

    def blocks(self, order):
        for i in range(0, len(order), 4):
            made.append(i)
            yield self.columns(order[i : i + 4]), np.arange(4), order[i : i + 4]

    monkeypatch.setattr(dissimilarities.DissimilarityTable, "blocks", blocks)
    for seed in range(20):
        made.clear()
        model = fit(table, 5, random_state=seed, init="random")
        assert len(made) == sum(math.ceil(round(60 * p.compared) / 4) for p in model.trace_)


FIVE = np.array(
    [[0, 2, 3, 4, 5], [2, 0, 6, 7, 8], [3, 6, 0, 9, 10], [4, 7, 9, 0, 11], [5, 8, 10, 11, 0]]
)


@pytest.mark.parametrize("method", METHODS)
def test_the_best_two_of_five(method):
    model = fit(FIVE, 2, method=method)
    assert model.inertia_ == 9.0
    assert 0 in model.medoid_indices_


def test_robustness_needs_dissimilarities_that_are_not_squared():
    line = np.r_[np.arange(10.0), 1000.0][:, None]
    assert KMedoids(1).fit(line).cluster_centers_ == 5
    assert KMedoids(1, metric="sqeuclidean").fit(line).cluster_centers_ == 9


def test_medoids_stay_where_outliers_carry_means_away():
    centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    rows = np.concatenate([c + np.random.default_rng(0).normal(size=(190, 2)) for c in centers])
    outliers = np.random.default_rng(1).uniform(300, 500, (30, 2))
    both = np.r_[rows, outliers]

    def farthest(model):
        gaps = np.linalg.norm(centers[:, None] - model.cluster_centers_[None], axis=2)
        return gaps.min(axis=1).max()

    # a fourth cluster for the outliers is enough for medoids, and not for means
    medoids = KMedoids(4, n_init=5, random_state=0).fit(both)
    means = KMeans(4, n_init=5, random_state=0).fit(both)
    assert farthest(medoids) < 0.5
    assert farthest(means) > 5


@pytest.mark.parametrize("method", METHODS)
def test_as_many_medoids_as_rows_and_one(method):
    rows = BLOBS[:20]
    every = KMedoids(20, method=method, random_state=0).fit(rows)
    assert every.inertia_ == 0
    np.testing.assert_array_equal(every.medoid_indices_, np.arange(20))
    one = KMedoids(1, method=method, random_state=0).fit(rows)
    table = pairwise_distances(rows)
    assert one.medoid_indices_ == table.sum(axis=0).argmin()
    single = KMedoids(1, method=method).fit(rows[:1])
    assert single.inertia_ == 0


@pytest.mark.filterwarnings("default:Number of distinct clusters")
@pytest.mark.parametrize("method", METHODS)
def test_rows_that_are_all_the_same(method):
    with pytest.warns(UserWarning, match="Number of distinct clusters \\(1\\)"):
        model = KMedoids(3, method=method, random_state=0).fit(np.ones((30, 2)))
    assert model.inertia_ == 0
    assert len(np.unique(model.medoid_indices_)) == 3
    np.testing.assert_array_equal(model.labels_, 0)


def test_ties_go_to_the_lower_cluster():
    model = KMedoids(2, init=[0, 2], max_iter=1).fit([[0.0], [1.0], [2.0]])
    np.testing.assert_array_equal(model.labels_, [0, 0, 1])
    np.testing.assert_array_equal(model.predict([[1.0]]), [0])


def test_too_few_rows_of_weight_are_made_up():
    model = fit(FIVE, 3, np.array([0, 1, 0, 0, 1.0]))
    np.testing.assert_array_equal(model.medoid_indices_, [0, 1, 4])
    assert model.inertia_ == 0


def test_a_pickle_is_as_good_as_new():
    model = KMedoids(4, metric="minkowski", metric_params={"p": 3}, random_state=0).fit(BLOBS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(BLOBS), model.labels_)
    np.testing.assert_array_equal(again.membership_.toarray(), np.eye(4)[model.labels_])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    frames = pytest.importorskip(library)
    names = ["a", "b", "c"]
    frame = frames.DataFrame({name: BLOBS[:, i] for i, name in enumerate(names)})
    model = KMedoids(4, random_state=0).fit(frame)
    np.testing.assert_array_equal(
        model.medoid_indices_, KMedoids(4, random_state=0).fit(BLOBS).medoid_indices_
    )
    assert list(model.feature_names_in_) == names
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    table = pairwise_distances(BLOBS[:40])
    square = frames.DataFrame({f"r{i}": table[:, i] for i in range(40)})
    matrix = fit(square, 4)
    np.testing.assert_array_equal(matrix.medoid_indices_, fit(table, 4).medoid_indices_)
    np.testing.assert_array_equal(matrix.predict(square), matrix.labels_)


def test_a_condensed_matrix_serves_like_its_square():
    condensed = pdist(BLOBS)
    for memory in (None, 0):
        for weight in (None, np.arange(300) % 3 * 1.0):
            a = fit(condensed, 6, weight, memory_limit=memory)
            b = fit(squareform(condensed), 6, weight)
            np.testing.assert_array_equal(a.medoid_indices_, b.medoid_indices_)
            np.testing.assert_array_equal(a.labels_, b.labels_)
            assert a.inertia_ == b.inertia_
    assert a.n_features_in_ == 300


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_what_a_triangle_is_transformed_to(dtype):
    condensed = (100 * pdist(BLOBS)).astype(dtype)
    square = squareform(condensed)
    for triangle in (condensed, condensed.tolist() if dtype == np.float64 else condensed):
        model = KMedoids(6, metric="precomputed", random_state=0)
        found = model.fit_transform(triangle)
        np.testing.assert_array_equal(found, square[:, model.medoid_indices_])
        same = KMedoids(6, metric="precomputed", random_state=0).fit_transform(square)
        np.testing.assert_array_equal(found, same)
        assert found.dtype == same.dtype
    heavy = np.arange(300) % 3 * 1.0
    found = model.fit_transform(condensed, sample_weight=heavy)
    np.testing.assert_array_equal(found, square[:, model.medoid_indices_])
    huge = np.array([1.7e308, 1.0, 1.6e308])
    found = KMedoids(2, metric="precomputed", init=[0, 1]).fit_transform(huge)
    np.testing.assert_array_equal(found, [[0, 1.7e308], [1.7e308, 0], [1, 1.6e308]])


@pytest.mark.parametrize("init", ["random", "lab", "build", "k-medoids++"])
@pytest.mark.parametrize("method", METHODS)
def test_sums_beyond_the_largest_double(method, init):
    if (method, init) == ("onebatch", "lab"):
        return
    small = squareform(pdist(np.rint(BLOBS), "cityblock"))
    power = 1023 - math.frexp(small.max())[1]  # a few of them add up to infinity
    table = np.ldexp(small, power)
    rows = np.arange(300.0)[:, None]

    def metric(a, b):
        return table[int(a[0]), int(b[0])]

    keywords = {"method": method, "init": init, "random_state": 0, "n_init": 1}
    plain = fit(small, 5, **keywords)
    assert plain.n_swaps_ > 0 or init == "build"
    for model in (
        fit(table, 5, **keywords),
        fit(squareform(table), 5, **keywords),
        fit(squareform(table), 5, memory_limit=0, **keywords),
        fit(rows, 5, **{**keywords, "metric": metric}),
    ):
        assert model.n_swaps_ == plain.n_swaps_
        np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)


@pytest.mark.heavy
@pytest.mark.compiled  # the twin's look at a matrix takes copies
@pytest.mark.parametrize("memory", [0, 1e6])
@pytest.mark.parametrize("kind", ["a row of weight zero", "onebatch", "alternate", "clara"])
def test_a_matrix_that_is_given_is_not_copied_beyond_the_limit(kind, memory):
    n = 2500
    places = np.random.default_rng(0).random(n)
    table = np.abs(places[:, None] - places)
    keywords = {"memory_limit": memory, "max_iter": 2, "n_init": 1, "batch_size": 2000}
    weight = None
    if kind == "a row of weight zero":
        weight = np.ones(n)
        weight[7] = 0
    else:
        keywords["method"] = kind
    tracemalloc.start()
    try:
        fit(table, 2, weight, **keywords)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.45 * table.nbytes  # a block of columns, and what is gathered for it


def test_what_rounding_leaves_below_zero_is_forgiven():
    rng = np.random.default_rng(0)
    unit = rng.normal(size=(60, 5))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    matrix = 1 - unit @ unit.T
    assert matrix.min() < 0
    ours = KMedoids(4, metric="precomputed", random_state=0).fit(matrix)
    clipped = KMedoids(4, metric="precomputed", random_state=0).fit(np.maximum(matrix, 0))
    np.testing.assert_array_equal(ours.labels_, clipped.labels_)
