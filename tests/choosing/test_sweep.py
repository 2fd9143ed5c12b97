"""The fits of a sweep and their criteria."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.choosing_cases import QUICK, blobs
from helpers.merge_price import merge_price
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.base import clone

from partita import (
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    choose_k,
    silhouette_score,
)
from partita._common.threads import Workers
from partita.choosing.fit_measures import FitMeasures, first_of_each
from partita.choosing.ladder import (
    MIN_RELATIVE_DECREASE,
    Ladder,
    Rung,
    _farthest,
    climb_down,
    ladder_of,
)
from partita.choosing.sweep_problem import SweepProblem
from partita.geometry import EUCLIDEAN, SPHERICAL
from partita.halting import MaxIter, RelDecrease
from partita.merging.agglomeration import cheapest_pair
from partita.stats import ClusterStats


@pytest.mark.heavy
@given(seed=st.integers(0, 10_000), n=st.integers(6, 30), d=st.integers(1, 4), whole=st.booleans())
def test_the_objective_never_increases_with_k(seed, n, d, whole):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    sweep = choose_k(rows, range(1, n), random_state=seed, criteria=["inertia"])
    cost = sweep.criteria["inertia"].values
    assert (np.diff(cost) <= 1e-12 * cost[0]).all()


@pytest.mark.parametrize("estimator", [KMeans(random_state=0), SphericalKMeans(random_state=0)])
@pytest.mark.parametrize("shape", [(400, 2), (60_000, 2), (30_000, 12)])
def test_merging_on_the_same_step_equals_a_fit_from_the_merged_centers(estimator, shape):
    """Rows that keep their place in the sums end in the bits of a fit that adds them all anew."""
    rows = np.random.default_rng(1).normal(size=shape) + np.arange(shape[1])
    with Workers(2) as workers:
        ladder = ladder_of(estimator, rows, None, workers)
        above = ladder.first(12)
        for k in (11, 10, 9):
            stats, before = above.model.stats_, above.model.cluster_centers_.copy()
            i, j = cheapest_pair(stats, estimator._geometry)
            share = stats.weight[j] / (stats.weight[i] + stats.weight[j])
            before[i] = stats.mean[i] + share * (stats.mean[j] - stats.mean[i])
            start = np.delete(before, j, axis=0)
            above = ladder.fewer(above, k)
            halt = RelDecrease(MIN_RELATIVE_DECREASE)
            fresh = type(estimator)(k, init=start, n_init=1, halt=halt).fit(rows)
            found = above.model
            assert found.cluster_centers_.tobytes() == fresh.cluster_centers_.tobytes()
            assert found.inertia_ == fresh.trace_[-1].cost_after


@pytest.mark.parametrize("geometry", [EUCLIDEAN, SPHERICAL])
def test_the_cheapest_pair_is_the_cheapest_of_all(geometry):
    rng = np.random.default_rng(0)
    for _ in range(20):
        k = int(rng.integers(2, 9))
        rows, labels = rng.normal(size=(60, 3)), np.r_[np.arange(k), rng.integers(0, k, 60 - k)]
        stats = ClusterStats.of_block(rows, labels, k=k)
        pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        prices = [float(merge_price(geometry, stats, i, j)) for i, j in pairs]
        assert cheapest_pair(stats, geometry) == pairs[int(np.argmin(prices))]


class Costs(Ladder):
    """Fits that cost what they are said to."""

    def __init__(self, fewer, more):
        self._fewer, self._more, self.began = fewer, more, None

    def first(self, k):
        self.began = k
        return Rung(k, SimpleNamespace(inertia_=0.0))

    def fewer(self, rung, k):
        return Rung(k, SimpleNamespace(inertia_=self._fewer[k]))

    def more(self, rung, k):
        assert rung.cost < self._fewer[k]
        return Rung(k, SimpleNamespace(inertia_=self._more[k]))


def test_a_fit_that_costs_more_than_one_with_fewer_clusters_is_repeated():
    ladder = Costs(fewer={5: 10.0, 4: 11.0, 3: 7.0, 2: 9.0}, more={4: 6.0, 5: 5.0})
    heard = []
    climb_down(ladder, [2, 3, 4, 5], 99, lambda rung: heard.append((rung.k, rung.cost)))
    assert heard == [(5, 10.0), (4, 11.0), (3, 7.0), (2, 9.0), (4, 6.0), (5, 5.0)]
    assert ladder.began == 20  # merges from more clusters depend less on where they begin


class Improving(Costs):
    max_small_k = 3

    def improve(self, rungs, small):
        assert small == [1, 2, 3]
        rungs[2] = Rung(2, SimpleNamespace(inertia_=8.0))


def test_few_clusters_are_reported_once_and_improved():
    ladder = Improving(fewer={4: 5.0, 3: 7.0, 2: 9.5, 1: 20.0}, more={})
    heard = []
    rungs = climb_down(ladder, [1, 2, 3, 4], 99, lambda rung: heard.append((rung.k, rung.cost)))
    assert heard == [(4, 5.0), (3, 7.0), (2, 8.0), (1, 20.0)]
    assert {k: rung.cost for k, rung in rungs.items()} == dict(reversed(heard))
    merged = climb_down(ladder, [1, 2, 3, 4], 99, only_merges=True)
    assert merged[2].cost == 9.5


def trapped_table(seed):
    """Five clear segments, one of them small."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(5, 1500, p=[0.35, 0.25, 0.20, 0.15, 0.05])
    rows = 4 * rng.normal(size=(5, 4))[truth] + rng.normal(size=(1500, 4))
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


@pytest.mark.parametrize("sample_rows", [1 << 13, 500])
def test_few_clusters_cost_no_more_than_the_best_of_many_starts(monkeypatch, sample_rows):
    monkeypatch.setattr("partita.choosing.ladder.SAMPLE_ROWS", sample_rows)
    for seed in range(3):
        rows = trapped_table(seed)
        with Workers(1) as workers:
            ladder = ladder_of(KMeans(random_state=0), rows, None, workers)
            rungs = climb_down(ladder, range(1, 21), len(rows))
        for k in (2, 3, 4, 5):
            best = KMeans(k, n_init=10, random_state=0).fit(rows).inertia_
            assert rungs[k].cost < 1.01 * best


def test_of_rows_that_are_equally_far_the_first_are_taken():
    distance = np.random.default_rng(0).integers(0, 3, 5000).astype(np.float64)
    for count in (0, 1, 10, 3000):
        expected = sorted(sorted(range(5000), key=lambda row: -distance[row])[:count])
        np.testing.assert_array_equal(_farthest(distance, count), expected)


def test_more_clusters_start_at_the_farthest_rows():
    rows = np.r_[np.zeros(20), 100.0, 60.0].reshape(-1, 1)
    with Workers(1) as workers:
        ladder = ladder_of(KMeans(random_state=0), rows, None, workers)
        assert ladder.more(ladder.first(1), 3).cost == 0.0


def test_criteria_ignore_clusters_without_rows():
    rows = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 1.0]], 20, axis=0)
    rows += np.random.default_rng(0).normal(size=rows.shape) * 0.01
    start = np.array([[50.0, 50.0], [0.0, 0.0], [5.0, 5.0], [9.0, 1.0]])
    with Workers(1) as workers:
        ladder = ladder_of(KMeans(4, empty="keep"), rows, None, workers)
        rung = Rung(4, ladder.session.fit(4, start))
        subject = SweepProblem(KMeans(), rows, None)
        found = FitMeasures(subject, 1, 1000, np.random.default_rng(0), workers).of(rung, QUICK)
    labels = np.repeat([1, 2, 3], 20)
    assert found["silhouette"].value == pytest.approx(metrics.silhouette_score(rows, labels))
    expected = metrics.davies_bouldin_score(rows, labels)
    assert found["davies_bouldin"].value == pytest.approx(expected)


@pytest.mark.heavy
def test_medoids_of_more_rows_than_the_sample_size():
    rows = blobs(n=400)
    how = {"estimator": KMedoids(), "n_references": 3, "n_splits": 1, "sample_size": 150}
    sweep = choose_k(rows, range(2, 7), random_state=0, **how)
    assert sweep.structure is True
    assert sweep.best_k == 4


def test_dropped_clusters_do_not_end_a_sweep():
    rows = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 1.0]], 20, axis=0)
    estimator = KMeans(empty="drop", init="random", n_init=1, random_state=0)
    sweep = choose_k(rows, range(2, 8), random_state=0, estimator=estimator, criteria=QUICK)
    assert sweep.ks == tuple(range(2, 8))
    assert sweep.criteria["inertia"].values[1] == 0.0


def test_models_of_the_sweep_are_fitted_models():
    frame = pd.DataFrame(blobs(), columns=["width", "height"])
    sweep = choose_k(frame, range(2, 8), random_state=0, criteria=QUICK)
    for k in sweep.ks:
        model = sweep.model(k)
        assert isinstance(model, KMeans)
        assert model.n_clusters == k == len(model.cluster_centers_)
        assert model.feature_names_in_.tolist() == ["width", "height"]
        assert model.labels_.dtype == np.int32
        assert (model.labels_ == model.predict(frame)).all()
        assert model.inertia_ == pytest.approx(-model.score(frame), rel=1e-12)
    assert sweep.model() is sweep.model(sweep.best_k)
    with pytest.raises(ValueError, match="`k` must be a number of clusters of this sweep, got 99"):
        sweep.model(99)


def test_the_recommended_model_stops_by_the_criterion_of_the_estimator():
    rows = np.random.default_rng(0).normal(size=(3000, 5))
    sweep = choose_k(rows, [7], random_state=0, criteria=QUICK, estimator=KMeans(tol=0))
    assert sweep.model().stopped_by_ == "no point changed its cluster"


@pytest.mark.parametrize("estimator", [KMeans(), SphericalKMeans(), MiniBatchKMeans()])
def test_a_model_of_the_sweep_has_its_whole_trace_and_costs_no_more(estimator):
    rows = np.random.default_rng(0).normal(size=(2000, 4)) + 3
    sweep = choose_k(rows, range(2, 7), random_state=0, criteria=QUICK, estimator=estimator)
    longest = 0
    for k, cost in zip(sweep.ks, sweep.criteria["inertia"].values, strict=True):
        model = sweep.model(k)
        assert model.inertia_ <= cost * (1 + 1e-9)
        costs = [step.cost for step in model.trace_]
        longest = max(longest, len(costs))
        if not isinstance(estimator, MiniBatchKMeans):
            again = clone(estimator).set_params(n_clusters=k, init=model.start_, n_init=1).fit(rows)
            assert [step.cost for step in again.trace_] == costs
            assert costs == sorted(costs, reverse=True)
    assert longest > 5  # that from where a fit of the sweep ended would be 2 or 3


def test_columns_are_those_of_scikit_learn():
    rows = blobs(spread=1.5)
    estimator = KMeans(random_state=0, halt=MaxIter(300))  # until no label changes
    sweep = choose_k(rows, range(2, 9), estimator=estimator, criteria=QUICK)
    for at, k in enumerate(sweep.ks):
        labels = sweep.model(k).labels_
        expected = {
            "silhouette": metrics.silhouette_score(rows, labels),
            "calinski_harabasz": metrics.calinski_harabasz_score(rows, labels),
            "davies_bouldin": metrics.davies_bouldin_score(rows, labels),
            "inertia": sweep.model(k).inertia_,
        }
        for name, value in expected.items():
            assert sweep.criteria[name].values[at] == pytest.approx(value, rel=1e-10), name


def test_samples_of_silhouettes_agree_with_all_pairs(monkeypatch):
    from partita.choosing import fit_measures

    rows = blobs(centers=5, n=4000, spread=1.0)
    exact = choose_k(rows, range(2, 8), random_state=0, criteria=QUICK)
    monkeypatch.setattr(fit_measures, "EXACT_MAX_WORK", 1.0)
    some = choose_k(rows, range(2, 8), random_state=0, criteria=QUICK, sample_size=800)
    column = some.criteria["silhouette"]
    assert exact.criteria["silhouette"].spread is None
    assert column.spread is not None
    gap = np.abs(column.values - exact.criteria["silhouette"].values)
    assert (gap < 5 * column.spread).all()
    assert (column.spread < 0.02).all()


@pytest.mark.parametrize("seed", range(3))  # by the first, no row of 8 is in the first sample
def test_small_clusters_are_represented_in_samples(seed):
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(40_000, 10)), rng.normal(size=(8, 10)) + 600])
    sweep = choose_k(rows, [2, 3], random_state=seed, criteria="silhouette")
    exact = silhouette_score(rows, sweep.model(2).labels_, sample_size=2000, random_state=0)
    assert sweep.criteria["silhouette"].values[0] == pytest.approx(exact, abs=1e-3)
    assert sweep.best_k == 2


def test_weights_count_in_samples(monkeypatch):
    from partita.choosing import fit_measures

    monkeypatch.setattr(fit_measures, "EXACT_MAX_WORK", 1.0)
    rows = blobs(centers=5, n=6000, spread=2.0)
    weight = np.random.default_rng(0).pareto(1.5, 6000)
    how = {"sample_weight": weight, "criteria": "silhouette", "random_state": 1}
    found = choose_k(rows, [5], sample_size=1500, **how)
    column, exact = (
        found.criteria["silhouette"],
        silhouette_score(rows, found.model(5).labels_, sample_weight=weight),
    )
    assert abs(column.values[0] - exact) < 0.03
    none = np.r_[np.ones(20), np.zeros(5980)]
    some = choose_k(rows, [2, 3], sample_size=100, **{**how, "sample_weight": none})
    assert np.isfinite(some.criteria["silhouette"].values).all()


def test_rows_without_weight_do_not_count_towards_the_sample_size(monkeypatch):
    from partita.choosing import fit_measures

    monkeypatch.setattr(fit_measures, "SAMPLE_ROWS", 50)  # rows of a sample, which this is not
    rows, weight = blobs(), np.r_[np.ones(290), np.zeros(10)]
    estimator = KMeans(random_state=0, halt=MaxIter(300))
    sweep = choose_k(rows, [3], estimator=estimator, sample_weight=weight, criteria="silhouette")
    exact = metrics.silhouette_score(rows[:290], sweep.model(3).labels_[:290])
    assert sweep.criteria["silhouette"].values[0] == pytest.approx(exact)


@given(seed=st.integers(0, 1000), most=st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_the_first_rows_of_each_cluster(seed, most):
    labels = np.random.default_rng(seed).integers(0, 6, 40)
    some = first_of_each(labels, most)
    for j in np.unique(labels):
        assert some[labels[some] == j].tolist() == np.flatnonzero(labels == j)[:most].tolist()


@pytest.mark.heavy
def test_the_unit_of_weights_does_not_matter():
    one, *others = (
        choose_k(blobs(), [2, 3, 4, 5], random_state=0, sample_weight=np.full(300, unit))
        for unit in (1.0, 0.05, 1 / 300, 1e-9)
    )
    for other in others:
        assert one.ranking == other.ranking
        for name in ("calinski_harabasz", "bic", "silhouette", "davies_bouldin"):
            assert other.criteria[name].values == pytest.approx(one.criteria[name].values, rel=1e-9)


def test_a_seed_makes_every_estimator_reproducible():
    rows = np.random.default_rng(0).normal(size=(300, 4))
    for estimator in (KMeans(), KMedoids(), None):
        first, second = (
            choose_k(rows, 8, estimator=estimator, random_state=3, criteria="silhouette")
            for _ in range(2)
        )
        assert first.to_dict() == second.to_dict()
        assert isinstance(first.model(4).random_state, int)


@pytest.mark.heavy
def test_threads_change_nothing():
    rows = blobs(centers=6, n=20_000, d=3)
    got, other = (
        choose_k(rows, range(2, 9), random_state=5, estimator=KMeans(random_state=1, n_threads=t))
        for t in (1, 2)
    )
    assert got.best_k == other.best_k
    for name, column in got.criteria.items():
        assert column.values.tobytes() == other.criteria[name].values.tobytes(), name


def test_unit_weights_and_rows_without_weight_do_not_change_the_recommendation():
    rows = blobs()
    plain = choose_k(rows, range(2, 7), random_state=0, criteria=QUICK)
    ones = choose_k(rows, range(2, 7), random_state=0, criteria=QUICK, sample_weight=np.ones(300))
    far = np.vstack([rows, np.full((30, 2), 50.0)])
    weight = np.r_[np.ones(300), np.zeros(30)]
    some = choose_k(far, range(2, 7), random_state=0, sample_weight=weight)
    assert ones.criteria["bic"].values == pytest.approx(plain.criteria["bic"].values, rel=1e-9)
    assert some.best_k == ones.best_k == plain.best_k == 4
