"""choose_k: the sweep, what its criteria say, and the recommendation."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn import cluster as peers
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_circles

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    Sweep,
    choose_k,
    silhouette_score,
)
from partita._common.threads import Workers
from partita.choosing.fit_measures import FitMeasures, first_of_each
from partita.choosing.gap_reference import GapComparison, SweepCurve
from partita.choosing.ladder import ENOUGH, CenterLadder, Ladder, Rung, climb_down
from partita.choosing.recommendation import compare_structure, count_votes, recommend, voters
from partita.choosing.stability import SplitAgreement, prediction_strength
from partita.choosing.sweep import Criterion
from partita.choosing.sweep_problem import Means
from partita.choosing.uniform_data import IndependentCategories, UniformBox, reference_data
from partita.geometry import EUCLIDEAN, SPHERICAL
from partita.halting import MaxIter, RelDecrease
from partita.merging.fusion import cheapest_pair
from partita.metrics.criteria import adjusted_rand
from partita.stats import ClusterStats

QUICK = ("silhouette", "simplified_silhouette", "calinski_harabasz", "davies_bouldin", "bic")


def blobs(centers=4, n=300, d=2, seed=3, spread=0.5):
    return make_blobs(n, d, centers=centers, cluster_std=spread, random_state=seed)[0]


# --- the sweep ------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), n=st.integers(6, 60), d=st.integers(1, 4), whole=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_objective_never_rises_with_k(seed, n, d, whole):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    sweep = choose_k(rows, range(1, n), random_state=seed, criteria=["inertia"])
    cost = sweep.criteria["inertia"].values
    assert (np.diff(cost) <= 1e-12 * cost[0]).all()


@pytest.mark.parametrize("estimator", [KMeans(random_state=0), SphericalKMeans(random_state=0)])
@pytest.mark.parametrize("shape", [(400, 2), (60_000, 2), (30_000, 12)])
def test_fusing_on_the_same_step_equals_a_fit_from_the_fused_centers(estimator, shape):
    """Rows that keep their place in the sums end in the bits of a fit that adds them all anew."""
    rows = np.random.default_rng(1).normal(size=shape) + np.arange(shape[1])
    with Workers(2) as workers:
        ladder = CenterLadder(estimator, rows, None, workers)
        above = ladder.first(12)
        for k in (11, 10, 9):
            stats, before = above.model.stats_, above.model.cluster_centers_.copy()
            i, j = cheapest_pair(stats, estimator._geometry)
            share = stats.weight[j] / (stats.weight[i] + stats.weight[j])
            before[i] = stats.mean[i] + share * (stats.mean[j] - stats.mean[i])
            start = np.delete(before, j, axis=0)
            above = ladder.fewer(above, k)
            halt = RelDecrease(ENOUGH)
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
        prices = [float(geometry.merge_price(stats, i, j)) for i, j in pairs]
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


def test_a_fit_that_costs_more_than_one_with_fewer_clusters_is_made_again():
    ladder = Costs(fewer={5: 10.0, 4: 11.0, 3: 7.0, 2: 9.0}, more={4: 6.0, 5: 5.0})
    heard = []
    climb_down(ladder, [2, 3, 4, 5], 99, lambda rung: heard.append((rung.k, rung.cost)))
    assert heard == [(5, 10.0), (4, 11.0), (3, 7.0), (2, 9.0), (4, 6.0), (5, 5.0)]
    assert ladder.began == 7


def test_more_clusters_begin_at_the_rows_that_are_farthest():
    rows = np.r_[np.zeros(20), 100.0, 60.0].reshape(-1, 1)
    with Workers(1) as workers:
        ladder = CenterLadder(KMeans(random_state=0), rows, None, workers)
        assert ladder.more(ladder.first(1), 3).cost == 0.0


def test_clusters_without_rows_do_not_count():
    rows = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 1.0]], 20, axis=0)
    rows += np.random.default_rng(0).normal(size=rows.shape) * 0.01
    start = np.array([[50.0, 50.0], [0.0, 0.0], [5.0, 5.0], [9.0, 1.0]])
    with Workers(1) as workers:
        ladder = CenterLadder(KMeans(4, empty="keep"), rows, None, workers)
        rung = ladder._fit(4, start)
        subject = Means(KMeans(), rows, None)
        found = FitMeasures(subject, 1, 1000, np.random.default_rng(0), workers).of(rung, QUICK)
    labels = np.repeat([1, 2, 3], 20)
    assert found["silhouette"].value == pytest.approx(metrics.silhouette_score(rows, labels))
    expected = metrics.davies_bouldin_score(rows, labels)
    assert found["davies_bouldin"].value == pytest.approx(expected)


def test_medoids_of_more_rows_than_a_sample_holds():
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
    with pytest.raises(ValueError, match="k=99 was given, which is not part of the sweep"):
        sweep.model(99)


def test_the_recommended_model_ends_as_the_estimator_says():
    rows = np.random.default_rng(0).normal(size=(3000, 5))
    sweep = choose_k(rows, [7], random_state=0, criteria=QUICK, estimator=KMeans(tol=0))
    assert sweep.model().stopped_by_ == "no point changed its cluster"


@pytest.mark.parametrize("estimator", [KMeans(), SphericalKMeans(), MiniBatchKMeans()])
def test_a_model_of_the_sweep_tells_its_whole_way_and_costs_no_more(estimator):
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
    monkeypatch.setattr(fit_measures, "_WORK", 1.0)
    some = choose_k(rows, range(2, 8), random_state=0, criteria=QUICK, sample_size=800)
    column = some.criteria["silhouette"]
    assert exact.criteria["silhouette"].spread is None
    assert column.spread is not None
    gap = np.abs(column.values - exact.criteria["silhouette"].values)
    assert (gap < 5 * column.spread).all()
    assert (column.spread < 0.02).all()


def test_small_clusters_have_a_say_in_samples():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(40_000, 10)), rng.normal(size=(8, 10)) + 600])
    sweep = choose_k(rows, [2, 3], random_state=0, criteria="silhouette")
    exact = silhouette_score(rows, sweep.model(2).labels_, sample_size=2000, random_state=0)
    assert sweep.criteria["silhouette"].values[0] == pytest.approx(exact, abs=1e-3)
    assert sweep.best_k == 2


def test_weights_count_in_samples(monkeypatch):
    from partita.choosing import fit_measures

    monkeypatch.setattr(fit_measures, "_WORK", 1.0)
    rows = blobs(centers=5, n=6000, spread=2.0)
    weight = np.random.default_rng(0).pareto(1.5, 6000)
    how = {"sample_weight": weight, "criteria": "silhouette", "random_state": 0}
    found = choose_k(rows, [5], sample_size=1500, **how)
    column, exact = (
        found.criteria["silhouette"],
        silhouette_score(rows, found.model(5).labels_, sample_weight=weight),
    )
    assert abs(column.values[0] - exact) < 0.03
    none = np.r_[np.ones(20), np.zeros(5980)]
    some = choose_k(rows, [2, 3], sample_size=100, **{**how, "sample_weight": none})
    assert np.isfinite(some.criteria["silhouette"].values).all()


def test_rows_without_weight_make_no_sample_of_the_others(monkeypatch):
    from partita.choosing import fit_measures

    monkeypatch.setattr(fit_measures, "_ENOUGH", 50)  # rows of a sample, which this is not
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


@pytest.mark.parametrize("unit", [0.05, 1 / 300, 1e-9])
def test_the_unit_of_weights_does_not_matter(unit):
    rows = blobs()
    one = choose_k(rows, [2, 3, 4, 5], random_state=0, sample_weight=np.ones(300))
    other = choose_k(rows, [2, 3, 4, 5], random_state=0, sample_weight=np.full(300, unit))
    assert one.ranking == other.ranking
    for name in ("calinski_harabasz", "bic", "silhouette", "davies_bouldin"):
        assert other.criteria[name].values == pytest.approx(one.criteria[name].values, rel=1e-9)


def test_a_seed_makes_it_reproducible_whatever_the_estimator():
    rows = np.random.default_rng(0).normal(size=(300, 4))
    for estimator in (KMeans(), KMedoids(), None):
        first, second = (
            choose_k(rows, 8, estimator=estimator, random_state=3, criteria="silhouette")
            for _ in range(2)
        )
        assert first.to_dict() == second.to_dict()
        assert isinstance(first.model(4).random_state, int)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(threads):
    rows = blobs(centers=6, n=20_000, d=3)
    got = choose_k(
        rows, range(2, 9), random_state=5, estimator=KMeans(random_state=1, n_threads=threads)
    )
    other = choose_k(
        rows, range(2, 9), random_state=5, estimator=KMeans(random_state=1, n_threads=3 - threads)
    )
    assert got.best_k == other.best_k
    for name, column in got.criteria.items():
        assert column.values.tobytes() == other.criteria[name].values.tobytes(), name


def test_weights_of_one_and_rows_of_no_weight_change_nothing_that_matters():
    rows = blobs()
    plain = choose_k(rows, range(2, 7), random_state=0, criteria=QUICK)
    ones = choose_k(rows, range(2, 7), random_state=0, criteria=QUICK, sample_weight=np.ones(300))
    far = np.vstack([rows, np.full((30, 2), 50.0)])
    weight = np.r_[np.ones(300), np.zeros(30)]
    some = choose_k(far, range(2, 7), random_state=0, sample_weight=weight)
    assert ones.criteria["bic"].values == pytest.approx(plain.criteria["bic"].values, rel=1e-9)
    assert some.best_k == ones.best_k == plain.best_k == 4


# --- the recommendation ---------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_clusters_that_are_there_are_found(count):
    rng = np.random.default_rng(count)
    angle = 2 * np.pi * np.arange(count) / count
    middle = 4 * count * np.column_stack([np.cos(angle), np.sin(angle)])
    rows = np.repeat(middle, 60, axis=0) + rng.normal(size=(60 * count, 2))
    sweep = choose_k(rows, random_state=0)
    assert sweep.best_k == count
    assert sweep.structure is True
    assert f"{count} clusters" in sweep.verdict


def cloud(seed, kind, n, d):
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, d)) if kind == "uniform" else rng.normal(size=(n, d))


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("d", [2, 10, 50])
def test_rows_without_structure_get_that_verdict(kind, d):
    for seed in range(3):
        rows = cloud(seed, kind, 150, d)
        sweep = choose_k(rows, random_state=seed, criteria=["silhouette", "gap"])
        assert sweep.structure is False
        assert sweep.best_k == 1
        assert sweep.verdict.startswith("No cluster structure")
        assert sweep.model().n_clusters == 1


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 500, 1000])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("d", [2, 10, 50])
def test_at_most_one_in_twenty_false_alarms(kind, d, n):
    alarms = sum(
        choose_k(
            cloud(seed, kind, n, d), random_state=seed, criteria=["silhouette", "gap"]
        ).structure
        for seed in range(40)
    )
    assert alarms <= 2


@pytest.mark.parametrize(
    "rows",
    [
        np.random.default_rng(0).standard_t(3, (400, 2)),  # outliers make large silhouettes
        np.random.default_rng(1).uniform(size=(400, 2)) * [30, 1],  # a long box
        np.random.default_rng(2).normal(size=(400, 5)) @ np.diag([9.0, 3, 1, 1, 1]),
        np.ones((50, 3)),
    ],
    ids=["heavy tails", "long", "flat", "all the same"],
)
def test_other_clouds_are_no_structure_either(rows):
    assert choose_k(rows, range(2, 12), random_state=0).structure is False


@pytest.mark.parametrize("metric", ["hamming", "jaccard", "euclidean"])
def test_classes_that_know_nothing_of_each_other_are_no_structure(metric):
    rows = (np.random.default_rng(0).random((200, 10)) < 0.5).astype(float)
    estimator = KMedoids(metric=metric, random_state=0)
    assert choose_k(rows, 6, estimator=estimator, random_state=0).structure is False
    assert choose_k(rows, 6, random_state=0).structure is False


def test_classes_that_go_together_are_structure():
    rng = np.random.default_rng(0)
    profiles = rng.integers(0, 2, (3, 20))
    rows = np.where(rng.random((150, 20)) < 0.1, 1, 0) ^ np.repeat(profiles, 50, axis=0)
    sweep = choose_k(rows, 8, estimator=KMedoids(metric="hamming"), random_state=0)
    assert sweep.structure is True
    assert sweep.best_k == 3


def test_rows_without_structure_are_of_the_kind_of_the_data():
    rng = np.random.default_rng(0)
    measured, classes = rng.normal(size=(200, 3)), rng.integers(0, 5, (200, 3)).astype(float)
    assert isinstance(reference_data(measured, True), UniformBox)
    assert isinstance(reference_data(classes, True), IndependentCategories)
    mixed = IndependentCategories(np.column_stack([classes, measured[:, 0]])).draw(rng)
    assert set(np.unique(mixed[:, :3])) == set(range(5))
    assert len(np.unique(mixed[:, 3])) == 200
    assert abs(np.corrcoef(mixed.T)[0, 1]) < 0.3


def test_structure_does_not_depend_on_the_numbers_that_were_asked_for():
    sweep = choose_k(blobs(), [2, 3], random_state=0)
    assert sweep.structure is True
    assert sweep.best_k == 3
    assert "the largest number tried" in sweep.verdict


def test_without_the_gap_structure_is_not_known():
    sweep = choose_k(blobs(), range(2, 6), random_state=0, criteria=["silhouette"])
    assert sweep.structure is None
    assert sweep.best_k == 4
    assert list(sweep.criteria) == ["inertia", "silhouette"]


def column(name, values, better="high", pick=None):
    return Criterion(name, np.array(values, dtype=float), None, pick, better, "")


def test_a_k_that_all_put_second_beats_one_that_a_single_criterion_puts_first():
    ks = np.array([2, 3, 4])
    table = {
        "inertia": column("inertia", [9, 5, 4], "elbow", 3),
        "silhouette": column("silhouette", [0.9, 0.8, 0.1], pick=2),
        "calinski_harabasz": column("calinski_harabasz", [1, 8, 9], pick=4),
        "davies_bouldin": column("davies_bouldin", [9, 2, 1], "low", 4),
        "bic": column("bic", [np.nan, 1, 2], "low", 3),
        "prediction_strength": column("prediction_strength", [1, 0.9, 0.2], "rule", 3),
    }
    assert count_votes(ks, table).tolist() == [1 + 2 / 3, 3.5, 1 / 3 + 1 + 1 + 1 / 2]
    found = recommend(ks, table, None)
    assert found.best == 3
    assert found.ranking == (3, 4, 2)
    assert any("Calinski-Harabasz and Davies-Bouldin choose 4" in why for why in found.reasons)


@pytest.mark.parametrize("name", ["gap", "inertia", "prediction_strength", "stability"])
def test_one_criterion_alone_is_followed(name):
    sweep = choose_k(blobs(), range(2, 8), criteria=name, random_state=0)
    assert sweep.best_k == sweep.criteria[name].pick == 4


def test_among_equally_stable_numbers_the_largest_is_taken():
    ks = np.array([2, 3, 4, 5])
    table = {
        "inertia": column("inertia", [9, 5, 4, 3], "elbow", 3),
        "stability": column("stability", [1, 1, 1, 0.5], pick=2),
    }
    assert recommend(ks, table, None).best == 4


def test_who_says_nothing_has_no_vote():
    ks = np.array([2, 3, 4])
    table = {
        "inertia": column("inertia", [9, 5, 0], "elbow", 3),
        "silhouette": column("silhouette", [0.9, 0.8, 0.1], pick=2),
        "bic": column("bic", [5, 4, -np.inf], "low", 4),
        "stability": column("stability", [np.nan, np.nan, -0.02], pick=4),
    }
    assert voters(table) == ["silhouette", "bic"]
    assert count_votes(ks, table)[2] == 1 / 3


def test_scale_and_outliers_are_remarked():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)) * [1, 1, 50], columns=["a", "b", "income"])
    long = choose_k(frame, 5, random_state=0, criteria="silhouette")
    assert any("'income' has 99" in reason for reason in long.reasons)
    rows = np.vstack([blobs(), [[1e4, 1e4]]])
    far = choose_k(rows, 5, random_state=0, criteria="silhouette")
    assert any("holds 1 of 301 rows: outliers?" in reason for reason in far.reasons)
    clean = choose_k(blobs(), 5, random_state=0, criteria="silhouette")
    assert not any("outliers" in reason or "variance" in reason for reason in clean.reasons)


def test_halves_that_agree_on_nothing_are_said():
    table = {
        "inertia": column("inertia", [9, 5, 4], "elbow", 3),
        "silhouette": column("silhouette", [0.9, 0.8, 0.1], pick=2),
        "prediction_strength": column("prediction_strength", [0.5, 0.4, 0.2], "rule", 1),
    }
    found = recommend(np.array([2, 3, 4]), table, None)
    assert "halves of the data agree on no number of clusters: take care" in found.reasons


def test_the_gap_rule_takes_the_first_k_that_the_next_does_not_beat_by_its_error():
    curves = tuple(SweepCurve(np.log([10, 8, 6, 5]) + s, np.zeros(4)) for s in (-0.1, 0.0, 0.1))
    data = SweepCurve(np.log([10, 4, 2.9, 2.4]), np.zeros(4))
    found = GapComparison(np.arange(1, 5), data, curves)
    gap = np.log([10, 8, 6, 5]) - np.log([10, 4, 2.9, 2.4])
    error = np.sqrt(0.02 / 3) * np.sqrt(4 / 3)
    assert found.gap == pytest.approx(gap)
    assert found.error == pytest.approx(np.full(4, error))
    assert found.pick(np.array([2, 3, 4])) == 2  # 0.693 >= 0.727 - 0.094
    assert found.pick(np.array([3, 4])) == 3


def test_structure_needs_silhouettes_and_a_falling_objective():
    ks, flat = np.arange(1, 4), np.log([9.0, 6, 5])
    theirs = tuple(
        SweepCurve(flat + np.array([0, s, s]), np.array([0, 0.4 + s, 0.3]))
        for s in (-0.01, 0, 0.01)
    )

    def found(cost, silhouette):
        data = SweepCurve(np.log(cost), np.array([0, *silhouette]))
        return compare_structure(GapComparison(ks, data, theirs)).found

    assert found([9, 2, 1], [0.8, 0.7])
    assert not found([9, 6, 5], [0.8, 0.7])
    assert not found([9, 2, 1], [0.42, 0.3])
    assert not found([9, 2, 1], [0.435, 0.3])  # beyond the errors, but not by a tenth


def test_references_lie_in_the_box_along_the_principal_axes():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rows = rng.uniform(-1, 1, (500, 3)) * [9, 3, 1] @ turn + 100
    drawn = UniformBox(rows, rotate=True).draw(rng)
    spread = (drawn - 100) @ turn.T
    assert np.abs(spread).max(axis=0) == pytest.approx([9, 3, 1], rel=0.15)
    alone = UniformBox(rows, rotate=False).draw(rng)
    assert np.ptp(alone, axis=0) == pytest.approx([18, 6, 2], rel=0.15)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 25))
@settings(max_examples=60, deadline=None)
def test_prediction_strength_is_the_least_share_of_pairs(seed, n):
    rng = np.random.default_rng(seed)
    own, there = rng.integers(0, 4, n), rng.integers(0, 3, n)
    shares = []
    for j in np.unique(own):
        rows = np.flatnonzero(own == j)
        pairs = [there[a] == there[b] for a in rows for b in rows if a != b]
        if pairs:
            shares.append(np.mean(pairs))
    assert prediction_strength(own, there) == pytest.approx(min(shares) if shares else 1.0)
    repeats = rng.integers(1, 4, n)
    often = prediction_strength(np.repeat(own, repeats), np.repeat(there, repeats))
    assert 0 <= often <= 1


def test_the_pick_of_prediction_strength_counts_its_error():
    ks, strength = np.array([2, 3, 4]), np.array([[1.0, 0.7, 0.5], [1.0, 0.86, 0.52]])
    assert SplitAgreement(ks, strength, strength).pick == 3  # 0.78 ± 0.08
    assert SplitAgreement(ks[2:], strength[:, 2:], strength[:, 2:]).pick == 1


@given(seed=st.integers(0, 1000), n=st.integers(2, 30))
@settings(max_examples=50, deadline=None)
def test_the_adjusted_rand_index_of_repeats_is_that_of_weights(seed, n):
    rng = np.random.default_rng(seed)
    one, other, often = rng.integers(0, 4, (3, n))
    often += 1
    ones = adjusted_rand(one, other, np.ones(n))
    weighted = adjusted_rand(one, other, often)
    repeated = adjusted_rand(
        np.repeat(one, often), np.repeat(other, often), np.ones(int(often.sum()))
    )
    assert weighted == pytest.approx(repeated)
    if n > 25 and len(np.unique(one)) > 1:
        assert ones == pytest.approx(adjusted_rand(one, other), abs=0.25)
    assert adjusted_rand(one, one, often) == pytest.approx(1.0)


# --- the family -----------------------------------------------------------------------------------


def directions():
    rng = np.random.default_rng(0)
    middle = np.eye(4)[:3] * 10
    return np.repeat(middle, 40, axis=0) + rng.normal(size=(120, 4))


@pytest.mark.parametrize(
    ("estimator", "rows", "count"),
    [
        (SphericalKMeans(random_state=0), directions(), 3),
        (SphericalKMeans(random_state=0), sp.csr_array(directions()), 3),
        (
            SphericalKMeans(random_state=0, zero_rows="drop"),
            np.vstack([directions(), np.zeros(4)]),
            3,
        ),
        (
            SphericalKMeans(random_state=0, zero_rows="separate"),
            np.vstack([np.zeros(4), directions()]),
            3,
        ),
        (MiniBatchKMeans(random_state=0), blobs(), 4),
        (MiniBatchKMeans(random_state=0, compute_labels=False), blobs(), 4),
        (peers.KMeans(random_state=0, n_init=1), blobs(), 4),
        (peers.BisectingKMeans(random_state=0), blobs(), 4),
        (KMedoids(random_state=0), blobs(n=160), 4),
        (KMedoids(random_state=0, metric="manhattan"), blobs(n=160), 4),
        (KMedoids(random_state=0, metric="minkowski", metric_params={"p": 3}), blobs(n=160), 4),
        (KMedoids(random_state=0, method="clara"), blobs(n=160), 4),
        (KMedoids(random_state=0, metric="precomputed"), squareform(pdist(blobs(n=160))), 4),
        (KMedoids(random_state=0, metric="precomputed"), pdist(blobs(n=160)), 4),
        (KernelKMeans(random_state=0, kernel="rbf", gamma=0.1), blobs(n=160), 4),
        (KernelKMeans(random_state=0, kernel="precomputed"), blobs(n=160) @ blobs(n=160).T, 4),
        (KMeans(random_state=0), sp.csr_array(blobs()), 4),
        (KMeans(random_state=0), blobs().astype(np.float32), 4),
    ],
    ids=lambda value: str(value)[:40] if hasattr(value, "get_params") else "",
)
def test_every_member_of_the_family(estimator, rows, count):
    how = {"estimator": estimator, "n_references": 4, "n_splits": 2}
    if type(estimator).__module__.startswith("sklearn"):  # whose fits take long
        how["criteria"] = QUICK
    sweep = choose_k(rows, range(2, 7), random_state=0, **how)
    assert isinstance(sweep, Sweep)
    assert sweep.complete
    assert sweep.best_k == count
    assert isinstance(sweep.model(), type(estimator))
    asked = {**estimator.get_params(), "n_clusters": count}
    assert str(sweep.model().get_params()) == str(asked)
    assert pickle.loads(pickle.dumps(sweep)).best_k == count
    cost = sweep.criteria["inertia"].values
    if getattr(estimator, "method", "") != "clara":  # whose medoids are of samples
        assert (np.diff(cost) <= 1e-9 * cost[0]).all()


def test_kernels_see_rings():
    rows, _ = make_circles(200, factor=0.2, noise=0.03, random_state=0)
    estimator = KernelKMeans(random_state=0, kernel="rbf", gamma=5.0)
    sweep = choose_k(rows, range(2, 6), random_state=0, estimator=estimator, n_references=3)
    assert set(sweep.criteria) >= {"inertia", "silhouette", "simplified_silhouette", "stability"}
    inner = np.hypot(*rows.T) < 0.6
    assert adjusted_rand(sweep.model(2).labels_, inner) == 1.0


def test_a_graph_to_be_cut_has_its_objective_and_its_stability():
    rows = blobs(n=120)
    graph = np.exp(-squareform(pdist(rows, "sqeuclidean")))
    estimator = KernelKMeans(random_state=0, kernel="normalized-cut")
    sweep = choose_k(graph, range(2, 7), random_state=0, estimator=estimator, n_splits=2)
    assert set(sweep.criteria) == {"inertia", "prediction_strength", "stability"}
    assert 4 in sweep.ranking[:2]


# --- interruptions, records, errors ---------------------------------------------------------------


@pytest.mark.parametrize("estimator", [KMeans(), KMedoids(), peers.KMeans(n_init=1)])
def test_names_of_features_are_kept(estimator):
    frame = pd.DataFrame(blobs(n=80), columns=["width", "height"])
    sweep = choose_k(frame, [2, 3], estimator=estimator, random_state=0, criteria="silhouette")
    assert sweep.model(3).feature_names_in_.tolist() == ["width", "height"]
    assert len(sweep.model(3).predict(frame)) == 80  # and no warning


def test_directions_are_measured_by_one_minus_cosine():
    rows = directions()
    estimator = SphericalKMeans(random_state=0, halt=MaxIter(300))
    sweep = choose_k(rows, [3], estimator=estimator, criteria=QUICK)
    model = sweep.model(3)
    away = np.sort(model.transform(rows), axis=1)
    simplified = (1 - away[:, 0] / away[:, 1]).mean()
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    chord = np.linalg.norm(unit - model.cluster_centers_[model.labels_], axis=1)
    spread = [chord[model.labels_ == j].mean() for j in range(3)]
    between = squareform(pdist(model.cluster_centers_))
    worst = [
        max((spread[i] + spread[j]) / between[i, j] for j in range(3) if j != i) for i in range(3)
    ]
    assert sweep.criteria["simplified_silhouette"].values[0] == pytest.approx(simplified)
    assert sweep.criteria["davies_bouldin"].values[0] == pytest.approx(np.mean(worst))
    cosine = metrics.silhouette_score(rows, model.labels_, metric="cosine")
    assert sweep.criteria["silhouette"].values[0] == pytest.approx(cosine)


@pytest.mark.parametrize("how", ["callback", "ctrl-c"])
def test_an_interruption_leaves_what_is_known(how):
    heard = []

    def stop(progress):
        heard.append(progress)
        if progress.done == 4:
            if how == "ctrl-c":
                raise KeyboardInterrupt
            return np.True_
        return None

    with pytest.warns(UserWarning, match="choose_k was interrupted after 4 fits") as said:
        sweep = choose_k(blobs(), range(2, 10), random_state=0, callback=stop)
    assert said[0].filename == __file__
    assert not sweep.complete
    assert sweep.ks == (6, 7, 8, 9)
    assert sweep.best_k in sweep.ks
    assert [p.k for p in heard] == [9, 8, 7, 6]
    assert "no K below 6 was tried" in sweep.verdict
    assert {p.stage for p in heard} == {"fits"}
    assert {p.total for p in heard} == {9}


def test_an_interruption_after_the_fits_keeps_the_criteria_of_the_fits():
    def stop(progress):
        return progress.stage == "references"

    with pytest.warns(UserWarning, match="choose_k was interrupted"):
        sweep = choose_k(blobs(), range(2, 7), random_state=0, callback=stop)
    assert sweep.best_k == 4
    assert sweep.structure is None
    assert "gap" not in sweep.criteria
    assert "before all criteria were known" in sweep.verdict
    assert "whether there is structure at all was not tested" in sweep.reasons


def test_an_interruption_before_anything_is_known_goes_through():
    def at_once(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose_k(blobs(), [2], random_state=0, estimator=KMeans(callback=at_once))


def test_progress_counts_every_stage(capsys):
    heard = []
    choose_k(
        blobs(),
        [2, 3],
        random_state=0,
        n_references=2,
        n_splits=2,
        callback=heard.append,
        verbose=1,
    )
    stages = [(p.stage, p.done, p.total) for p in heard]
    assert stages == [
        ("fits", 1, 3),
        ("fits", 2, 3),
        ("fits", 3, 3),
        ("references", 1, 3),
        ("references", 2, 3),
        ("references", 3, 3),
        ("halves", 1, 2),
        ("halves", 2, 2),
    ]
    assert "fits: 1 of 3, K = 3" in capsys.readouterr().out


def test_a_sweep_says_what_it_found():
    sweep = choose_k(load_iris().data, range(2, 6), random_state=0)
    text = str(sweep)
    assert text.startswith(sweep.verdict)
    assert all(reason in text for reason in sweep.reasons)
    assert len(sweep.to_frame("pandas")) == 4
    assert sweep.to_dict()["k"] == [2, 3, 4, 5]
    assert {"gap", "gap_error", "prediction_strength_error"} <= set(sweep.to_dict())
    assert sweep.verdict in repr(sweep)
    assert sweep.verdict in sweep._repr_html_()
    assert max(len(line) for line in text.splitlines() if "*" in line) <= 100


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ks": [1]}, "at least one number of clusters above 1"),
        ({"ks": []}, "at least one number of clusters above 1"),
        ({"ks": [2, 500]}, "ks reaches 500, but there are 300 rows; try up to 299"),
        ({"ks": [2.5]}, "ks=2.5 was given"),
        ({"ks": "ab"}, "ks='a' was given"),
        ({"criteria": ["silhouete"]}, "some of inertia, silhouette"),
        ({"criteria": []}, "some of inertia, silhouette"),
        ({"estimator": KMeans}, "a clusterer with the parameters n_clusters and init"),
        ({"estimator": peers.DBSCAN()}, "a clusterer with the parameters n_clusters and init"),
        ({"n_references": 0}, "n_references=0 was given"),
        ({"n_splits": 0}, "n_splits=0 was given"),
        ({"sample_size": 1}, "sample_size=1 was given"),
        ({"ks": 1}, "at least one number of clusters above 1"),
        ({"estimator": KMeans(init=np.zeros((3, 2)))}, "good for one number of clusters only"),
        ({"X": [[1.0, 2.0]]}, "X has one row"),
        ({"X": blobs() * 1e160}, "multiply X by one number"),
        ({"X": blobs() * 1e-160}, "multiply X by one number"),
        ({"callback": 3}, "callback=3 was given; a callable is expected"),
        ({"sample_weight": np.ones(3)}, "sample_weight"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_errors_say_what_was_given_and_what_is_expected(given, message):
    with pytest.raises(ValueError, match=message):
        choose_k(**{"X": blobs(), **given})


@pytest.mark.parametrize("rows", [[[0.0], [1.0]], [[0.0], [0.0], [1.0]], np.zeros((9, 2))])
def test_few_rows_and_equal_rows(rows):
    sweep = choose_k(rows, random_state=0)
    assert sweep.best_k >= 1
    assert sweep.criteria["inertia"].values[-1] == 0.0


def test_rows_that_are_not_finite_are_named():
    rows = blobs()
    rows[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        choose_k(rows)
