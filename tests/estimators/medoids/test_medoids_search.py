"""Starts, halting, pauses, and the choice of the number of clusters."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers import medoid_reference as reference
from helpers.medoid_cases import BLOBS, fit
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_blobs

from partita import KMedoids
from partita.engine.medoids import swap
from partita.halting import Deadline, Decrease, SamePartition, Target, When

pytestmark = [
    pytest.mark.filterwarnings("ignore:Number of distinct clusters"),
    pytest.mark.sanitize,
]


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
    assert count.stopped_by_ == "a callback requested a stop"
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
    assert asked.stopped_by_ == "a callback requested a stop"
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


@pytest.mark.parametrize(
    ("given", "tried"),
    [
        ((2, 5), [2, 3, 4, 5]),
        (range(2, 6), [2, 3, 4, 5]),
        ("2:5", [2, 3, 4, 5]),
        (5, [2, 3, 4, 5]),
        ([5, 2], [2, 5]),
        (np.array([3, 7, 3]), [3, 7]),
        ((2, 4, 6), [2, 4, 6]),
    ],
)
def test_numbers_of_clusters_may_be_given_in_every_form(given, tried):
    model = KMedoids(k_range=given, random_state=0).fit(BLOBS)
    assert sorted(model.silhouettes_) == tried
    assert model.n_clusters_ == max(tried, key=model.silhouettes_.get)
    twin = KMedoids(k_range=tried, random_state=0).fit(BLOBS)
    assert model.silhouettes_ == twin.silhouettes_


def test_the_medoid_that_is_missed_least_goes_first():
    table, heard = squareform(pdist(np.rint(BLOBS[:40]), "cityblock")), []
    fit(table, 2, k_range=(2, 6), callback=heard.append)
    model = fit(table, 6)
    begun = [p.cost for p in heard if p.iteration == 1]
    fewer = itertools.combinations(model.medoid_indices_, 5)
    assert len(begun) == 5
    assert begun[1] == min(reference.loss(table, five, np.ones(40)) for five in fewer)


def test_clara_measures_a_pair_of_its_sample_once():
    calls = []

    def metric(a, b):
        calls.append(1)
        return float(np.abs(a - b).sum())

    size, k = 92, 3
    KMedoids(k, metric=metric, method="clara", n_init=1, random_state=0).fit(BLOBS)
    pairs = size * size + 2 * k * len(BLOBS)  # of the sample; judged, and labelled
    assert len(calls) <= pairs + 200


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
