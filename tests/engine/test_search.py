"""The search beyond local minima: what it finds, what it promises, and what ends it."""

from __future__ import annotations

import csv
import itertools
import types
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs
from tests.helpers.list_partitions import ListPartitions

import partita
from partita import KMeans, SphericalKMeans
from partita.engine.search import driver, monitor, search_rows
from partita.halting import Deadline

IRIS = load_iris().data
SEARCHES = ("balanced", "best")
MEMBERS = (KMeans, SphericalKMeans)


def hard_rows(n=300, d=3, seed=0):
    """Rows without groups, where starts end in different local minima."""
    return np.random.default_rng(seed).uniform(0.1, 1.0, (n, d))


def optimum(rows, weight, k):
    """The lowest cost of all partitions into at most k clusters."""
    lowest = np.inf
    for labels in itertools.product(range(k), repeat=len(rows) - 1):
        labels, cost = np.array([0, *labels]), 0.0
        for j in range(k):
            own, w = rows[labels == j], weight[labels == j]
            if w.sum() > 0:
                mean = (w[:, None] * own).sum(axis=0) / w.sum()
                cost += (w * ((own - mean) ** 2).sum(axis=1)).sum()
        lowest = min(lowest, cost)
    return lowest


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 7), k=st.integers(2, 3))
def test_best_is_the_optimum_of_tiny_data(seed, n, k):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2)) if seed % 2 else rng.integers(0, 3, (n, 2)).astype(float)
    weight, k = rng.integers(1, 4, n).astype(float), min(k, n)
    with pytest.warns() if len(np.unique(rows, axis=0)) < k else nullcontext():
        model = KMeans(k, quality="best", random_state=0).fit(rows, sample_weight=weight)
    assert model.inertia_ == pytest.approx(optimum(rows, weight, k), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("quality", SEARCHES)
@pytest.mark.parametrize("seed", range(2))
def test_no_result_is_above_that_of_the_fast_fit(member, quality, seed):
    X, weight = hard_rows(120), np.arange(120) % 3 + 0.5
    for start in ("k-means++", "random"):
        fast = member(9, init=start, n_init=1, random_state=seed).fit(X, sample_weight=weight)
        model = member(9, init=start, quality=quality, random_state=seed)
        model.fit(X, sample_weight=weight)
        assert model.inertia_ <= fast.inertia_
        assert model.stopped_by_.kind == "stagnation"
        costs = [record.cost for record in model.search_]
        assert costs[0] == fast.inertia_
        assert costs[-1] == pytest.approx(model.inertia_, rel=1e-9)


@pytest.mark.parametrize("member", MEMBERS)
def test_the_result_is_a_fixed_point_with_exact_labels(member):
    X = hard_rows().astype(np.float32)
    model = member(12, quality="balanced", random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.inertia_ == pytest.approx(-model.score(X))
    again = member(12, init=model.start_, n_init=1).fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    assert all(one.cost_after <= one.cost for one in model.trace_)
    more = member(12, init=model, n_init=1, tol=0).fit(X)
    assert more.inertia_ == pytest.approx(model.inertia_, rel=1e-6)


@pytest.mark.parametrize("quality", SEARCHES)
def test_threads_change_no_bit_and_rows_of_any_kind_agree(quality):
    X = np.round(hard_rows(150), 2)
    fits = [
        KMeans(8, quality=quality, random_state=3, n_threads=t).fit(rows)
        for t, rows in ((1, X), (3, X), (2, np.asfortranarray(X)))
    ]
    for model in fits[1:]:
        np.testing.assert_array_equal(model.cluster_centers_, fits[0].cluster_centers_)
        np.testing.assert_array_equal(model.labels_, fits[0].labels_)
    sparse = KMeans(8, quality=quality, random_state=3).fit(sp.csr_array(X))
    assert sparse.inertia_ <= KMeans(8, random_state=3).fit(sp.csr_array(X)).inertia_
    assert sparse.inertia_ == pytest.approx(fits[0].inertia_, rel=0.05)


def test_weights_are_repeats_and_rows_without_weight_do_not_count():
    X, weight = hard_rows(60, 2), np.arange(60) % 4
    weighted = KMeans(5, quality="best", random_state=0).fit(X, sample_weight=weight)
    repeated = KMeans(5, quality="best", random_state=0).fit(np.repeat(X, weight, axis=0))
    counted = KMeans(5, quality="best", random_state=0).fit(
        X[weight > 0], sample_weight=weight[weight > 0]
    )
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    assert weighted.inertia_ == pytest.approx(counted.inertia_)


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("quality", SEARCHES)
@pytest.mark.parametrize(
    ("X", "k"),
    [
        (np.ones((6, 2)), 1),
        (hard_rows(9), 9),
        (np.repeat(np.eye(3), 4, axis=0), 3),
        (hard_rows(9), 8),
    ],
    ids=["one cluster", "as many as rows", "duplicates", "one less"],
)
def test_degenerate_numbers_of_clusters(member, quality, X, k):
    model = member(k, quality=quality, random_state=0).fit(X)
    assert model.inertia_ <= member(k, random_state=0).fit(X).inertia_
    assert len(np.unique(model.labels_)) == k


@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_values_of_any_magnitude(factor):
    X, plain = hard_rows(80), KMeans(6, quality="balanced", random_state=0).fit(hard_rows(80))
    model = KMeans(6, quality="balanced", random_state=0).fit(X * factor)
    assert len(np.unique(model.labels_)) == len(np.unique(plain.labels_))


def test_offsets_costnullcontext():
    X = np.round(hard_rows(100) * 2**20)
    near = KMeans(7, quality="best", random_state=0).fit(X)
    far = KMeans(7, quality="best", random_state=0).fit(X + 2.0**32)
    assert far.inertia_ == pytest.approx(near.inertia_)


# --- samples, and rows that are too wide ----------------------------------------------------------


def test_many_rows_are_searched_by_a_sample(monkeypatch):
    X, _ = make_blobs(3000, 3, centers=20, cluster_std=0.6, random_state=1)
    monkeypatch.setitem(search_rows.MAX_PASS_PRODUCTS, "balanced", 1.0)
    fast = KMeans(20, random_state=1).fit(X)
    model = KMeans(20, quality="balanced", random_state=1).fit(X)
    whole = KMeans(20, quality="best", random_state=1).fit(X[:1500])
    assert model.inertia_ < fast.inertia_
    assert any("sample" in record.phase for record in model.search_)
    assert model.inertia_ / 3000 == pytest.approx(whole.inertia_ / 1500, rel=0.1)
    monkeypatch.setattr(search_rows, "MAX_POLISH_PRODUCTS", 1.0)
    assert KMeans(20, quality="balanced", random_state=1).fit(X).inertia_ <= fast.inertia_


def test_rows_that_no_search_can_hold_are_fitted_from_several_starts(monkeypatch):
    monkeypatch.setattr(search_rows, "MIN_SEARCH_BYTES", 1.0)
    X = hard_rows(200)
    fast = KMeans(10, random_state=0).fit(X)
    model = KMeans(10, quality="balanced", random_state=0, memory_limit=1).fit(X)
    assert model.inertia_ <= fast.inertia_
    assert model.search_[-1].phase in ("start", "result")


def test_rows_in_partitions_are_refused():
    rows = ListPartitions([hard_rows(50), hard_rows(50, seed=1)])
    for member in MEMBERS:
        with pytest.raises(ValueError, match="`quality` must be 'fast' for rows in partitions"):
            member(4, quality="best").fit(rows)


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 7), k=st.integers(2, 3))
@pytest.mark.parametrize("quality", SEARCHES)
def test_one_feature_is_solved_exactly(quality, seed, n, k):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(n, 1)) + 1e6 * (seed % 2), rng.integers(1, 4, n).astype(float)
    model = KMeans(min(k, n), init="random", quality=quality, random_state=0)
    model.fit(X, sample_weight=weight)
    assert model.inertia_ == pytest.approx(optimum(X, weight, min(k, n)), rel=1e-6, abs=1e-9)
    assert model.stopped_by_.kind == "optimum"


def test_clusters_that_were_dropped_stay_dropped():
    X, start = hard_rows(60), np.vstack([hard_rows(5), np.full((1, 3), 1e3)])
    for quality in SEARCHES:
        model = KMeans(6, init=start, n_init=1, empty="drop", quality=quality, random_state=0)
        assert model.fit(X).cluster_centers_.shape == (5, 3)
    line = KMeans(6, init=start[:, :1], n_init=1, empty="drop", quality="best").fit(X[:, :1])
    assert line.cluster_centers_.shape == (5, 1)


# --- what ends a search ---------------------------------------------------------------------------


def test_a_callback_ends_the_search_with_the_best_so_far():
    X, seen = hard_rows(), []

    def callback(progress):
        seen.append(progress)
        return sum(one.path == "search" for one in seen) == 3

    model = KMeans(12, quality="best", random_state=0, callback=callback).fit(X)
    fast = KMeans(12, random_state=0).fit(X)
    assert model.inertia_ < fast.inertia_
    assert model.stopped_by_.kind == "callback"
    assert sum(one.path == "search" for one in seen) == 3


def test_a_callback_that_ends_the_first_run_ends_all():
    model = KMeans(12, quality="best", random_state=0, callback=lambda progress: True)
    model.fit(hard_rows())
    assert (model.stopped_by_.kind, model.n_iter_, len(model.search_)) == ("callback", 1, 1)


@pytest.mark.parametrize("quality", ["fast", *SEARCHES])
def test_a_time_budget_of_zero_ends_at_once(quality):
    model = KMeans(12, quality=quality, time_budget=0, random_state=0).fit(hard_rows())
    assert model.stopped_by_.kind == "deadline"
    assert model.n_iter_ == 1
    halted = KMeans(12, quality=quality, halt=Deadline(0), random_state=0).fit(hard_rows())
    assert halted.stopped_by_.kind == "deadline"
    np.testing.assert_array_equal(halted.labels_, model.labels_)


def test_a_time_budget_ends_the_search(monkeypatch):
    clock = itertools.count()
    fake = types.SimpleNamespace(perf_counter=lambda: next(clock))
    monkeypatch.setattr(driver, "time", fake)
    monkeypatch.setattr(monitor, "time", fake)
    model = KMeans(12, quality="best", time_budget=60, random_state=0).fit(hard_rows())
    assert model.stopped_by_.kind == "time_budget"
    assert model.search_[-1].seconds < 70


def test_more_searches_find_no_worse_result():
    X = hard_rows()
    one = KMeans(15, quality="balanced", random_state=0).fit(X)
    three = KMeans(15, quality="balanced", n_init=3, random_state=0).fit(X)
    assert three.search_[-1].evaluations > one.search_[-1].evaluations
    assert three.inertia_ <= KMeans(15, n_init=3, random_state=0).fit(X).inertia_


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="`quality` must be 'fast', 'balanced' or 'best'"):
        KMeans(2, quality="beste").fit(IRIS)
    with pytest.raises(ValueError, match="`time_budget` must be a number >= 0 or None"):
        KMeans(2, time_budget=-1).fit(IRIS)


def test_the_record_survives_a_model_file(tmp_path):
    model = KMeans(5, quality="balanced", random_state=0).fit(IRIS)
    partita.save(model, tmp_path / "model.partita")
    loaded = partita.load(tmp_path / "model.partita")
    assert loaded.search_ == model.search_
    assert (loaded.quality, loaded.time_budget) == ("balanced", None)
    model.set_params(quality="fast").fit(IRIS)
    assert not hasattr(model, "search_")


def test_a_checkpoint_holds_the_fast_fit_and_the_search_repeats(tmp_path):
    X, path = hard_rows(), tmp_path / "fit.checkpoint"
    whole = KMeans(12, quality="balanced", random_state=0).fit(X)
    stopped = KMeans(12, quality="balanced", random_state=0, callback=lambda p: p.iteration == 2)
    stopped.fit(X, checkpoint=path)
    model = KMeans(12, quality="balanced", random_state=0).fit(X, resume=path)
    np.testing.assert_array_equal(model.cluster_centers_, whole.cluster_centers_)


# --- real data ------------------------------------------------------------------------------------


def known_optima(folder, names):
    """Rows, k, cost and kind of the cases whose file is named."""
    with (folder / "optima_kmeans.csv").open(encoding="utf-8") as file:
        for case in csv.DictReader(file):
            if any(name in case["file"] for name in names):
                rows = np.load(folder / f"{case['file']}.npz")["X"].astype(np.float64)
                yield rows, int(case["k"]), float(case["sse"]), case["kind"]


@pytest.mark.data
def test_proven_optima_of_small_sets_are_reached_and_none_undercut(data_folder):
    names = ("ruspini", "iris", "bavaria", "german", "sossdp/glass", "gr202", "r15")
    for rows, k, cost, kind in known_optima(data_folder, names):
        model = KMeans(k, quality="best", random_state=0).fit(rows)
        assert model.inertia_ <= (1 + 1e-6) * cost
        if kind == "proven optimum":
            assert model.inertia_ >= (1 - 1e-9) * cost


@pytest.mark.data
def test_balanced_is_within_two_percent_of_the_best_known(data_folder):
    names = ("u1060", "sipu/s1", "sipu/s2", "sipu/s3", "sipu/s4")
    for rows, k, cost, _ in known_optima(data_folder, names):
        model = KMeans(k, quality="balanced", random_state=0).fit(rows)
        assert model.inertia_ <= 1.02 * cost


@pytest.mark.data
@pytest.mark.slow
def test_best_known_values_of_larger_sets_are_reached(data_folder):
    names = ("u1060", "sipu/s", "unbalance", "birch1")
    for rows, k, cost, _ in known_optima(data_folder, names):
        model = KMeans(k, quality="best", random_state=0).fit(rows)
        assert model.inertia_ <= 1.001 * cost
