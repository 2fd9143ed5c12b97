"""Several starts: what they find, what they cost, and what ends them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    several_starts,
)
from partita.diagnosis.diagnosis_input import read_fit
from partita.diagnosis.refits import check_local_minimum
from partita.halting import Deadline
from partita.several_starts import fit_several_starts

SEARCHED = (KMeans, SphericalKMeans, KMedoids)
STARTED = (MiniBatchKMeans, KernelKMeans)
MEMBERS = (*SEARCHED, *STARTED)


def groups(k, n, d, spread, seed):
    """Rows about k centers, and J of the true groups after they have settled."""
    X, y = make_blobs(n, d, centers=k, cluster_std=spread, random_state=seed)
    means = np.array([X[y == j].mean(axis=0) for j in range(k)])
    return X, KMeans(k, init=means, n_init=1).fit(X).inertia_


def wide_groups(seed):
    """800 rows of 500 features in four groups."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 800)
    X = 0.35 * rng.normal(size=(4, 500))[y] + rng.normal(size=(800, 500))
    means = np.array([X[y == j].mean(axis=0) for j in range(4)])
    return X, KMeans(4, init=means, n_init=1).fit(X).inertia_


@pytest.mark.parametrize(("k", "d", "spread"), [(20, 3, 0.8), (40, 10, 1.5), (60, 5, 0.6)])
@pytest.mark.parametrize("seed", range(2))
def test_separated_groups_are_found(k, d, spread, seed):
    X, best = groups(k, 50 * k, d, spread, seed)
    model = fit_several_starts(KMeans(k, random_state=seed), X)
    assert model.inertia_ <= 1.001 * best
    assert check_local_minimum(read_fit(model, X, None, 0)) is None


@pytest.mark.parametrize("seed", range(2))
def test_few_groups_of_many_features_are_found(seed):
    X, best = wide_groups(seed)
    assert fit_several_starts(KMeans(4, random_state=seed), X).inertia_ <= 1.001 * best


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_no_result_is_worse_than_that_of_one_start(member, weighted):
    rng = np.random.default_rng(5)
    weight = rng.integers(0, 4, 90).astype(float) if weighted else None
    for seed in range(2):
        X = rng.uniform(size=(90, 3)) + 0.1
        estimator = member(7, random_state=seed)
        several = fit_several_starts(estimator, X, weight)
        single = member(7, random_state=seed).fit(X, sample_weight=weight)
        assert several.inertia_ <= single.inertia_
        assert several.n_init == "auto" if member in SEARCHED else several.n_init >= 2
        ours = {**several.get_params(), "n_init": "auto"}
        assert ours.pop("quality", "balanced") == "balanced"
        for given in (estimator, member(7, random_state=seed)):
            assert ours == {k: v for k, v in given.get_params().items() if k != "quality"}
        again = fit_several_starts(member(7, random_state=seed), X, weight)
        assert again.n_init == several.n_init
        np.testing.assert_array_equal(again.labels_, several.labels_)


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize(
    "X",
    [np.ones((6, 2)), np.repeat(np.eye(3), 4, axis=0), np.eye(4), np.ones((4, 1))],
    ids=["constant", "duplicates", "as many rows as clusters", "one feature"],
)
def test_degenerate_rows_end_the_search(member, X):
    with warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        several = fit_several_starts(member(4, random_state=0), X)
    with warnings.catch_warnings(record=True) as theirs:
        warnings.simplefilter("always")
        single = member(4, random_state=0).fit(X)
    assert several.inertia_ <= single.inertia_
    assert [str(one.message) for one in ours] == [str(one.message) for one in theirs]


def test_one_cluster_has_one_start():
    model = fit_several_starts(MiniBatchKMeans(1, random_state=0), np.arange(8.0)[:, None])
    assert model.n_init == 1


def test_a_model_that_was_fitted_before_is_the_first_start():
    X, best = groups(20, 600, 3, 0.8, 1)
    poor = KMeans(20, init="random", n_init=1, max_iter=1, random_state=0).fit(X)
    assert fit_several_starts(KMeans(20, random_state=0), X, first=poor).inertia_ <= 1.001 * best
    good = KMeans(20, n_init=100, random_state=0).fit(X)
    assert fit_several_starts(KMeans(20, random_state=0), X, first=good) is good


def test_the_work_limits_the_number_of_starts(monkeypatch):
    X = np.random.default_rng(0).uniform(size=(400, 4))
    counts = []
    for work in (0.0, 3e7, several_starts.MAX_WORK):
        monkeypatch.setattr(several_starts, "MAX_WORK", work)
        counts.append(fit_several_starts(KernelKMeans(12, n_init=1, random_state=0), X).n_init)
    assert counts[0] == 1
    assert counts == sorted(counts)
    assert counts[-1] > 1


def test_a_callback_ends_the_search():
    X, _ = groups(20, 600, 3, 0.8, 1)
    for member in (KMeans, KMedoids):
        seen = []

        def callback(progress, seen=seen):
            seen.append(progress)
            return len(seen) == 4

        model = fit_several_starts(member(20, random_state=0, callback=callback), X)
        assert len(seen) <= 5  # a search ends with one more run
        assert model.callback is callback
        first = member(20, random_state=0).fit(X)
        count = min(4, first.n_iter_)
        assert [p.cost for p in seen[:count]] == [p.cost for p in first.trace_][:count]


@pytest.mark.parametrize("member", [KMeans, KMedoids])
def test_a_deadline_counts_from_the_first_start(member):
    X = np.random.default_rng(0).uniform(size=(200, 2))
    halt = Deadline(0)
    model = fit_several_starts(member(9, random_state=0, halt=halt), X)
    assert (model.n_iter_, model.stopped_by_.kind) == (1, "deadline")
    assert model.halt is halt


def test_the_threads_change_no_bit():
    X, _ = groups(20, 600, 3, 1.5, 1)
    one, three = (fit_several_starts(KMeans(20, random_state=0, n_threads=t), X) for t in (1, 3))
    np.testing.assert_array_equal(one.cluster_centers_, three.cluster_centers_)
    assert one.search_[-1].evaluations == three.search_[-1].evaluations


def test_objectives_that_overflow_are_not_equal():
    X, _ = groups(5, 200, 2, 0.5, 0)
    model = fit_several_starts(KMeans(5, random_state=0), X * 1e300)
    assert model.inertia_ == np.inf


@pytest.mark.parametrize("cost", [np.inf, np.nan])
def test_a_finite_objective_is_better_than_any_other(cost):
    X, best = groups(5, 200, 2, 0.5, 0)
    first = KMeans(5, random_state=0).fit(X)
    first.inertia_ = cost
    model = fit_several_starts(KMeans(5, random_state=0), X, first=first)
    assert model.inertia_ == pytest.approx(best)
