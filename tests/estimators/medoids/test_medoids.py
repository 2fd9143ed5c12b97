"""What `KMedoids` promises: laws, the definition, and examples that are known."""

from __future__ import annotations

import itertools
import math
import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import medoid_reference as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import pairwise_distances

from partita import KMeans, KMedoids
from partita.engine.medoids import swap
from partita.halting import Deadline, Decrease, SamePartition, Target, When
from partita.source import dissimilarities

METHODS = ["fasterpam", "pam", "alternate", "clara", "onebatch"]
pytestmark = [
    pytest.mark.filterwarnings("ignore:Number of distinct clusters"),
    pytest.mark.sanitize,
]


@st.composite
def problems(draw, whole=None, max_n=24):
    """(matrix, k, weight or None): whole numbers with many ties, or fractions.

    All sums of them are exact, so that ties are ties.
    """
    n = draw(st.integers(2, max_n))
    k = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    whole = draw(st.booleans()) if whole is None else whole
    values = rng.integers(0, 9, (n, n)) if whole else rng.integers(0, 2**20, (n, n)) / 2**20
    table = (np.triu(values, 1) + np.triu(values, 1).T).astype(np.float64)
    kind = draw(st.sampled_from(["none", "whole", "some zero"]))
    weight = None if kind == "none" else rng.integers(1, 4, n).astype(float)
    if kind == "some zero":
        weight[rng.random(n) < 0.3] = 0.0
        weight[0] = 1.0
    return table, k, weight


def recomputed(table, model, weight=None):
    weight = np.ones(len(table)) if weight is None else weight
    return reference.loss(table, model.medoid_indices_, weight)


def fit(table, k, weight=None, **keywords):
    keywords = {"metric": "precomputed", "random_state": 0, **keywords}
    return KMedoids(k, **keywords).fit(table, sample_weight=weight)


# --- laws -------------------------------------------------------------------------------------


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


# --- vectors ----------------------------------------------------------------------------------

BLOBS = make_blobs(300, 3, centers=7, random_state=0)[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine", "chebyshev"])
@pytest.mark.parametrize("method", METHODS)
def test_bits_do_not_depend_on_threads_or_memory(method, metric, dtype):
    rows, models = BLOBS.astype(dtype), []
    for threads, memory in ((1, None), (2, None), (3, None), (1, 0), (2, 0), (3, 0)):
        models.append(
            KMedoids(
                7, metric=metric, method=method, n_init=2, random_state=3, n_threads=threads,
                memory_limit=memory,
            ).fit(rows)
        )  # fmt: skip
    first = models[0]
    for model in models[1:]:
        np.testing.assert_array_equal(model.labels_, first.labels_)
        np.testing.assert_array_equal(model.medoid_indices_, first.medoid_indices_)
        assert model.inertia_ == first.inertia_
        assert [p.cost for p in model.trace_] == [p.cost for p in first.trace_]
    np.testing.assert_array_equal(first.predict(rows), first.labels_)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine"])
def test_rows_and_their_matrix_agree(metric):
    table = pairwise_distances(BLOBS, metric=metric)
    rows = KMedoids(5, metric=metric, random_state=1).fit(BLOBS)
    matrix = fit(table, 5, random_state=1)
    np.testing.assert_array_equal(rows.medoid_indices_, matrix.medoid_indices_)
    np.testing.assert_array_equal(rows.labels_, matrix.labels_)
    assert rows.inertia_ == pytest.approx(matrix.inertia_, rel=1e-12)
    np.testing.assert_array_equal(rows.cluster_centers_, BLOBS[rows.medoid_indices_])
    assert matrix.cluster_centers_ is None
    np.testing.assert_allclose(rows.transform(BLOBS), matrix.transform(table), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_sparse_rows_are_rows(metric):
    rows = np.maximum(BLOBS, 0)
    dense = KMedoids(4, metric=metric, random_state=0).fit(rows)
    for made in (sp.csr_array(rows), sp.csc_matrix(rows)):
        sparse = KMedoids(4, metric=metric, random_state=0).fit(made)
        np.testing.assert_array_equal(sparse.medoid_indices_, dense.medoid_indices_)
        np.testing.assert_array_equal(sparse.predict(made), dense.labels_)
        assert sparse.inertia_ == pytest.approx(dense.inertia_)


def _largest_gap(a, b):
    gap = a - b
    return float(abs(gap).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("metric", ["euclidean", "l1", "cosine", _largest_gap])
def test_fit_and_predict_take_dense_and_sparse_rows(metric, dtype):
    rows = np.rint(np.maximum(BLOBS[:25], 0) * 4).astype(dtype) + np.eye(25, 3, dtype=dtype)
    rows = rows[rows.any(axis=1)]
    forms = rows, sp.csr_array(rows), sp.csr_matrix(rows), sp.csc_array(rows)
    expected = KMedoids(4, metric=metric, random_state=0).fit(rows)
    far = expected.transform(rows)
    for fitted in forms:
        model = KMedoids(4, metric=metric, random_state=0).fit(fitted)
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
        assert sp.issparse(model.cluster_centers_) == sp.issparse(fitted)
        for new in forms:
            np.testing.assert_array_equal(model.predict(new), expected.labels_)
            np.testing.assert_allclose(model.transform(new), far, rtol=1e-6, atol=1e-6)
            assert model.score(new) == pytest.approx(-expected.inertia_, rel=1e-6)
            assert model.soft_membership(new).shape == (len(rows), 4)


@pytest.mark.parametrize("metric", ["sqeuclidean", "chebyshev", "nan_euclidean"])
def test_sparse_rows_may_follow_a_dense_fit_under_any_metric(metric):
    model = KMedoids(4, metric=metric, random_state=0).fit(BLOBS)
    np.testing.assert_array_equal(model.predict(sp.csr_array(BLOBS)), model.labels_)


def test_any_metric_of_scikit_learn_and_its_parameters():
    rows = load_iris().data[::3] + 0.1
    for metric, params in (
        ("minkowski", {"p": 3}), ("minkowski", {"p": 1}), ("seuclidean", None), ("jaccard", None),
        ("mahalanobis", None), ("canberra", None), ("correlation", None), ("hamming", None),
        ("braycurtis", None), ("l2", None), ("cityblock", None), ("nan_euclidean", None),
        (lambda a, b: float(np.abs(a - b).max()), None),
        (lambda a, b, p: float((np.abs(a - b) ** p).sum()), {"p": 3}),
    ):  # fmt: skip
        data = (rows > 2.5).astype(float) if metric == "jaccard" else rows
        model = KMedoids(3, metric=metric, metric_params=params, random_state=0).fit(data)
        kind = data.astype(bool) if metric == "jaccard" else data
        table = pairwise_distances(kind, metric=metric, **(params or {}))
        np.testing.assert_allclose(
            model.transform(data), table[:, model.medoid_indices_], rtol=1e-12, atol=1e-12
        )
        assert model.inertia_ == pytest.approx(recomputed(table, model), rel=1e-12)
        np.testing.assert_array_equal(model.predict(data), model.labels_)
        assert reference.best_swap(table, model.medoid_indices_.tolist(), np.ones(50))[
            0
        ] >= model.inertia_ * (1 - 1e-9)


def test_a_callable_is_as_good_as_a_name():
    named = KMedoids(5, metric="manhattan", random_state=0).fit(BLOBS[:150])
    for memory in (None, 0):
        model = KMedoids(
            5, metric=lambda a, b: np.abs(a - b).sum(), random_state=0, memory_limit=memory
        ).fit(BLOBS[:150])
        np.testing.assert_array_equal(model.medoid_indices_, named.medoid_indices_)
        assert model.inertia_ == pytest.approx(named.inertia_, rel=1e-12)


def test_gaps_are_allowed_where_the_metric_allows_them():
    rows = load_iris().data.copy()
    rows[::7, 1] = np.nan
    model = KMedoids(3, metric="nan_euclidean", random_state=0).fit(rows)
    assert np.isfinite(model.inertia_)
    with pytest.raises(ValueError, match="NaN"):
        KMedoids(3).fit(rows)
    rows[0], rows[1] = np.nan, np.nan
    with pytest.raises(ValueError, match="must be finite for all pairs of rows, got NaN"):
        KMedoids(3, metric="nan_euclidean").fit(rows)


def test_a_row_of_zeros_under_cosine_is_not_dissimilar_to_itself():
    rows = np.r_[np.zeros((2, 3)), np.eye(3)]
    model = KMedoids(5, metric="cosine", random_state=0).fit(rows)
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.labels_, np.arange(5))
    for memory in (None, 0):
        model = KMedoids(4, metric="cosine", random_state=0, memory_limit=memory).fit(rows)
        assert model.trace_[-1].cost_after == model.inertia_ == 1


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean"])
def test_vectors_of_any_scale(scale, metric):
    plain = KMedoids(4, metric=metric, random_state=0).fit(BLOBS)
    model = KMedoids(4, metric=metric, random_state=0).fit(BLOBS * scale)
    np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
    np.testing.assert_array_equal(model.predict(BLOBS * scale), plain.labels_)
    with np.errstate(over="ignore", under="ignore"):
        expected = plain.inertia_ * np.float64(scale) ** (2 if metric == "sqeuclidean" else 1)
    assert model.inertia_ == pytest.approx(expected, rel=1e-9)
    if scale in (1e-30, 1e30):
        single = KMedoids(4, metric=metric, random_state=0).fit((BLOBS * scale).astype(np.float32))
        assert single.inertia_ == pytest.approx(expected, rel=1e-5)


def test_a_large_offset_costs_no_digits():
    plain = KMedoids(7, random_state=0).fit(BLOBS)
    far = KMedoids(7, random_state=0).fit(BLOBS + 1e6)
    assert far.inertia_ == pytest.approx(plain.inertia_, rel=1e-9)


# --- examples that are known ------------------------------------------------------------------

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


# --- starts, halting, the number of clusters ----------------------------------------------------


@pytest.mark.parametrize("init", ["auto", "random", "lab", "build", "k-medoids++"])
@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_every_start_is_of_different_rows(init, k):
    rows = BLOBS[:40]
    seen = []
    model = KMedoids(k, init=init, random_state=0, max_iter=1, callback=lambda p: seen.append(p))
    model.fit(rows, sample_weight=np.arange(40) + 1.0)
    assert len(np.unique(model.medoid_indices_)) == k
    assert seen == list(model.trace_)


def test_given_rows_keep_their_numbers():
    rows = np.array([[0.0], [10.0], [20.0], [0.1], [10.1], [20.1]])
    model = KMedoids(3, init=np.array([5, 0, 1])).fit(rows)
    np.testing.assert_array_equal(model.labels_, [1, 2, 0, 1, 2, 0])
    same = KMedoids(3, init=lambda X, k, random_state: [5, 0, 1]).fit(rows)
    assert same.inertia_ == model.inertia_


def test_an_earlier_start_wins_a_tie_and_more_starts_are_never_worse():
    costs = [KMedoids(12, n_init=n, random_state=2).fit(BLOBS).inertia_ for n in (1, 3, 10)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[2]


@pytest.mark.parametrize("method", ["clara", "onebatch"])
def test_samples_are_judged_by_all_rows(method):
    for seed in range(10):
        keywords = {"method": method, "batch_size": 20, "random_state": seed}
        one, best = (KMedoids(7, n_init=n, **keywords).fit(BLOBS).inertia_ for n in (1, 8))
        assert best <= one


def test_a_run_can_be_stopped():
    count = KMedoids(9, random_state=0, callback=lambda p: True, n_init=5).fit(BLOBS)
    assert count.n_iter_ == 1
    assert count.stopped_by_ == "a callback asked to stop"
    goal = KMedoids(9, random_state=0, halt=Target(1e9)).fit(BLOBS)
    assert "target" in goal.stopped_by_
    late = KMedoids(9, random_state=0, halt=Deadline(0), n_init=1000).fit(BLOBS)
    assert "budget" in late.stopped_by_
    limit = KMedoids(9, random_state=0, max_iter=1).fit(BLOBS)
    assert limit.stopped_by_ == "the limit of 1 iteration was reached"
    asked = KMedoids(9, random_state=0, halt=When(lambda trace: "enough")).fit(BLOBS)
    assert asked.stopped_by_ == "enough"


@pytest.mark.parametrize("method", ["fasterpam", "clara", "onebatch"])
@pytest.mark.parametrize("max_iter", [1, 300])
def test_pauses_within_an_iteration_change_nothing(method, max_iter, monkeypatch):
    def run(patience):
        heard = []
        with monkeypatch.context() as patch:
            patch.setattr(swap, "PAUSE_SECONDS", patience)
            model = KMedoids(
                9, method=method, n_init=3, batch_size=280, random_state=0, memory_limit=0,
                max_iter=max_iter, callback=lambda p: heard.append(replace(p, seconds=0.0)),
                halt=SamePartition() | Decrease(0.0) | Deadline(1e9),
            ).fit(BLOBS)  # fmt: skip
        return model, heard, [replace(p, seconds=0.0) for p in model.trace_]

    plain, few, trace = run(1e9)
    model, many, same = run(0.0)
    assert same == trace
    assert model.stopped_by_ == plain.stopped_by_
    assert model.n_swaps_ == plain.n_swaps_
    np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
    assert len(many) > len(few)
    assert [p for p in many if p in few] == few


def test_a_long_iteration_can_be_stopped(monkeypatch):
    monkeypatch.setattr(swap, "PAUSE_SECONDS", 0.0)
    keywords = {"random_state": 0, "memory_limit": 0, "n_init": 5}
    late = KMedoids(9, halt=Deadline(0), **keywords).fit(BLOBS)
    assert "budget" in late.stopped_by_
    asked = KMedoids(9, callback=lambda p: True, **keywords).fit(BLOBS)
    assert asked.stopped_by_ == "a callback asked to stop"
    for model in (late, asked):
        assert model.n_iter_ == 1
        assert 0 < model.trace_[0].compared < 1
        assert model.inertia_ == pytest.approx(model.trace_[0].cost_after, rel=1e-12)


def test_the_number_of_clusters_by_the_medoid_silhouette():
    rows = make_blobs(300, 2, centers=5, cluster_std=0.4, random_state=3)[0]
    model = KMedoids(k_range=(2, 9), random_state=0).fit(rows)
    assert len(model.medoid_indices_) == 5
    assert sorted(model.silhouettes_) == list(range(2, 10))
    two = np.sort(model.transform(rows), axis=1)[:, :2]
    assert model.silhouettes_[5] == pytest.approx((1 - two[:, 0] / two[:, 1]).mean())
    assert max(model.silhouettes_, key=model.silhouettes_.get) == 5
    assert KMedoids(5, random_state=0).fit(rows).silhouettes_ is None


def test_the_medoid_that_is_missed_least_goes_first():
    table, heard = squareform(pdist(np.rint(BLOBS[:40]), "cityblock")), []
    fit(table, 2, k_range=(2, 6), callback=heard.append)
    model = fit(table, 6)
    begun = [p.cost for p in heard if p.iteration == 1]
    fewer = itertools.combinations(model.medoid_indices_, 5)
    assert len(begun) == 5
    assert begun[1] == min(reference.loss(table, five, np.ones(40)) for five in fewer)


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


def test_clara_measures_a_pair_of_its_sample_once():
    calls = []

    def metric(a, b):
        calls.append(1)
        return float(np.abs(a - b).sum())

    size, k = 92, 3
    KMedoids(k, metric=metric, method="clara", n_init=1, random_state=0).fit(BLOBS)
    pairs = size * size + 2 * k * len(BLOBS)  # of the sample; judged, and labelled
    assert len(calls) <= pairs + 200


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_twin_makes_the_same_fit(core, monkeypatch, method, dtype):
    from partita._kernels import reference as twin
    from partita.estimators.medoids import metric as face
    from partita.source import dissimilarities as source

    rows = BLOBS.astype(dtype)
    weight = np.random.default_rng(0).random(len(rows))
    keywords = {"method": method, "random_state": 0, "init": "k-medoids++"}
    ours = KMedoids(9, **keywords).fit(rows, sample_weight=weight)
    for module in (swap, face, source):
        monkeypatch.setattr(module, "kernels", twin)
    same = KMedoids(9, **keywords).fit(rows, sample_weight=weight)
    np.testing.assert_array_equal(ours.medoid_indices_, same.medoid_indices_)
    assert ours.inertia_ == same.inertia_
    assert [p.cost for p in ours.trace_] == [p.cost for p in same.trace_]


def test_what_rounding_leaves_below_zero_is_forgiven():
    rng = np.random.default_rng(0)
    unit = rng.normal(size=(60, 5))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    matrix = 1 - unit @ unit.T
    assert matrix.min() < 0
    ours = KMedoids(4, metric="precomputed", random_state=0).fit(matrix)
    clipped = KMedoids(4, metric="precomputed", random_state=0).fit(np.maximum(matrix, 0))
    np.testing.assert_array_equal(ours.labels_, clipped.labels_)


def test_a_fitted_model_lends_its_medoids():
    rows = np.random.default_rng(0).normal(size=(80, 2))
    first = KMedoids(4, random_state=0).fit(rows)
    again = KMedoids(4, init=first).fit(rows)
    np.testing.assert_array_equal(again.medoid_indices_, first.medoid_indices_)
    assert again.n_swaps_ == 0


def test_the_chosen_number_of_clusters_is_said():
    rows = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat(
        [[0, 0], [20, 0], [0, 20]], 30, 0
    )
    model = KMedoids(k_range=(2, 6), random_state=0).fit(rows)
    assert model.n_clusters_ == 3 == max(model.silhouettes_, key=model.silhouettes_.get)
