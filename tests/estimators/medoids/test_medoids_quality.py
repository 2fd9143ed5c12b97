"""The search of k-medoids beyond local optima: `quality` and `time_budget`."""

from __future__ import annotations

import csv
import itertools
import pickle
import signal

import numpy as np
import pytest
from helpers import medoid_reference as reference
from helpers.medoid_cases import BLOBS, fit, problems, recomputed
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

import partita
from partita import InterruptedFitWarning, KMedoids
from partita.engine.medoids import medoid_population, medoid_sets
from partita.halting import Target

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")
TABLE = squareform(pdist(BLOBS))
SEARCHES = ["balanced", "best"]


def optimum(table, k, weight=None):
    """The lowest loss of k rows of positive weight, as many as there are, by trying all."""
    weight = np.ones(len(table)) if weight is None else weight
    counted = np.flatnonzero(weight > 0)
    if len(counted) <= k:
        return 0.0
    sets = itertools.combinations(counted.tolist(), k)
    return min(reference.loss(table, one, weight) for one in sets)


@pytest.mark.parametrize("enumerates", [True, False])
@given(problem=problems(max_n=9), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_best_is_the_optimum_of_few_rows(problem, seed, enumerates):
    table, k, weight = problem
    with pytest.MonkeyPatch.context() as patch:
        if not enumerates:
            patch.setattr(medoid_sets, "MAX_VALUES_OF_ENUMERATION", 0)
        model = fit(table, k, weight, quality="best", random_state=seed)
    assert model.inertia_ == recomputed(table, model, weight) == optimum(table, k, weight)
    assert len(set(model.medoid_indices_.tolist())) == k
    kinds = {"optimum", "no_improvement"} | ({"stagnation"} if not enumerates else set())
    assert set(model.stopped_by_.kinds) <= kinds


@given(problem=problems(max_n=24), seed=st.integers(0, 99), quality=st.sampled_from(SEARCHES))
@settings(max_examples=15)
def test_a_search_is_never_worse_than_the_fast_fit(problem, seed, quality):
    table, k, weight = problem
    fast = fit(table, k, weight, random_state=seed)
    model = fit(table, k, weight, random_state=seed, quality=quality)
    costs = [step.cost for step in model.search_]
    assert model.inertia_ <= fast.inertia_ == costs[0]
    assert model.inertia_ == costs[-1] == recomputed(table, model, weight)
    assert all(a > b for a, b in itertools.pairwise(costs))
    assert fast.search_ == ()


@given(problem=problems(whole=True, max_n=8), seed=st.integers(0, 9))
@settings(max_examples=15)
def test_a_weight_is_a_number_of_equal_rows(problem, seed):
    table, k, weight = problem
    if weight is None or np.count_nonzero(weight) < k:
        return
    rows = np.repeat(np.arange(len(table)), weight.astype(int))
    repeated = fit(table[np.ix_(rows, rows)], k, quality="best", random_state=seed)
    assert fit(table, k, weight, quality="best", random_state=seed).inertia_ == repeated.inertia_


@pytest.mark.parametrize("quality", SEARCHES)
@pytest.mark.parametrize("memory_limit", [None, 200_000])
def test_threads_change_nothing(quality, memory_limit):
    models = [
        KMedoids(
            12, quality=quality, random_state=3, n_threads=threads, memory_limit=memory_limit
        ).fit(BLOBS)
        for threads in (1, 2, 3)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.medoid_indices_, models[0].medoid_indices_)
        assert model.inertia_ == models[0].inertia_
        assert [s.cost for s in model.search_] == [s.cost for s in models[0].search_]


def test_the_form_of_the_dissimilarities_changes_nothing():
    whole = fit(np.rint(TABLE * 64), 9, quality="balanced")
    condensed = fit(squareform(np.rint(TABLE * 64)), 9, quality="balanced")
    np.testing.assert_array_equal(whole.medoid_indices_, condensed.medoid_indices_)
    rows = KMedoids(9, quality="balanced", random_state=0).fit(BLOBS)
    assert rows.inertia_ == pytest.approx(fit(TABLE, 9, quality="balanced").inertia_)


def test_little_memory_leaves_a_search_among_some_rows(monkeypatch):
    monkeypatch.setattr(medoid_population, "MIN_POOL", 150)
    monkeypatch.setattr(medoid_population, "POOL_OF_CLUSTER", 4)
    keywords = {"random_state": 3, "quality": "best"}
    fast = KMedoids(12, random_state=3).fit(BLOBS)
    some = KMedoids(12, memory_limit=150 * 300 * 8, **keywords).fit(BLOBS)
    assert some.inertia_ < fast.inertia_
    assert some.search_[-1].phase == "all rows"
    assert recomputed(TABLE, some) == pytest.approx(some.inertia_)
    none = KMedoids(12, memory_limit=0, **keywords).fit(BLOBS)
    assert none.stopped_by_.kind == "memory_limit"
    np.testing.assert_array_equal(none.medoid_indices_, fast.medoid_indices_)


def test_a_search_ends_when_it_is_told_to():
    goal = fit(TABLE, 12).inertia_ * 0.9999
    reached = fit(TABLE, 12, quality="best", halt=Target(goal))
    assert reached.inertia_ <= goal
    assert "target" in reached.stopped_by_.kinds
    assert reached.search_[-1].evaluations < 400
    late = fit(TABLE, 12, quality="best", time_budget=1e-9, n_init=50)
    assert "deadline" in late.stopped_by_.kinds
    calls = []
    asked = fit(TABLE, 12, quality="best", callback=lambda p: calls.append(p) or len(calls) == 30)
    assert asked.stopped_by_ == "a callback requested a stop"
    assert len(calls) == 30
    assert asked.inertia_ == min(p.cost_after for p in calls)


@pytest.mark.parametrize("n_init", [1, 3])
def test_an_interrupt_keeps_the_best_so_far(n_init):
    seen = []

    def interrupt(progress):
        seen.append(progress.cost_after)
        if len(seen) == 40:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(InterruptedFitWarning, match="best so far: J = "):
        model = fit(TABLE, 12, quality="best", n_init=n_init, callback=interrupt)
    assert model.stopped_by_.kind == "interrupt"
    assert model.stopped_by_.is_limit
    assert model.inertia_ == model.search_[-1].cost == recomputed(TABLE, model)
    assert len(seen) == 40


def test_easy_ends_are_said():
    rows = np.repeat(np.arange(5.0), 3)[:, None]
    assert KMedoids(5, quality="best", random_state=0).fit(rows).stopped_by_.kind == "optimum"
    assert KMedoids(1, quality="best").fit(rows).stopped_by_.kind == "optimum"
    assert "in a row" in fit(TABLE, 12, quality="balanced").stopped_by_


@pytest.mark.parametrize("quality", SEARCHES)
def test_k_can_be_chosen_by_searches(quality):
    model = fit(TABLE[:60, :60], 2, k_range=(2, 5), quality=quality)
    assert sorted(model.silhouettes_) == [2, 3, 4, 5]


def test_a_search_is_kept_in_files_and_copies(tmp_path):
    model = KMedoids(7, quality="balanced", random_state=0).fit(BLOBS)
    partita.save(model, tmp_path / "a.partita")
    assert partita.load(tmp_path / "a.partita").search_ == model.search_
    assert pickle.loads(pickle.dumps(model)).search_ == model.search_


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ({"quality": "bst"}, "`quality` must be 'fast', 'balanced' or 'best', got 'bst'"),
        ({"time_budget": 0}, "`time_budget` must be a number > 0 or None, got 0"),
        (
            {"quality": "best", "method": "clara"},
            "`method` must be 'fasterpam' with quality='best'",
        ),
    ],
)
def test_wrong_values_are_refused(keywords, text):
    with pytest.raises(ValueError, match="must be") as error:
        KMedoids(2, **keywords).fit(BLOBS)
    assert text in str(error.value)


def load(folder, row):
    name, _, part = row["data"].partition(":")
    path = next(folder.rglob(f"{name.rpartition('/')[2]}.npz"))
    with np.load(path, allow_pickle=False) as content:
        return content[part or "X"]


@pytest.mark.data
@pytest.mark.slow
def test_proven_optima_are_reached(data_folder):
    with open(data_folder / "optima_kmedoids.csv") as file:
        optima = list(csv.DictReader(file))
    gaps = []
    for row in optima:
        metric = row["metric"] if row["metric"] in ("euclidean", "manhattan") else "precomputed"
        model = KMedoids(int(row["k"]), metric=metric, quality="best", random_state=0)
        best = float(row["sum_of_dissimilarities"])
        gaps.append(model.fit(load(data_folder, row)).inertia_ / best - 1)
    assert min(gaps) > -1e-12
    assert np.mean(np.array(gaps) < 1e-9) >= 0.95
