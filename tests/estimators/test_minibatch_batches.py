"""The growing batch of `MiniBatchKMeans`, and its light clusters."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from partita import MiniBatchKMeans
from partita._common.threads import Workers
from partita.centers import Centers
from partita.empty_clusters import relocate
from partita.engine.lloyd_step import LloydStep
from partita.engine.nested_batches import (
    BatchOptions,
    NestedBatchRun,
    RandomOrder,
    light_clusters,
    merge_batch,
    reassign_light_clusters,
    row_costs,
)
from partita.engine.paths.path import PathCache, PathPlan
from partita.engine.paths.scheduler import PassScheduler
from partita.estimators.validation import make_source
from partita.halting import MaxIter
from partita.source.protocol import batch_of
from partita.stats import ClusterStats

pytestmark = pytest.mark.sanitize


def blobs(seed, n, d, k, spread=0.6):
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(k, d))
    return middle[rng.integers(k, size=n)] + rng.normal(scale=spread, size=(n, d)), rng


# --- the step that grows ---


@pytest.mark.parametrize(
    ("path", "d", "dtype"),
    [("plain", 6, np.float64), ("blocks", 2, np.float64), ("yinyang", 12, np.float32),
     ("hamerly", 12, np.float64), ("prefix", 80, np.float32)],
)  # fmt: skip
@pytest.mark.parametrize("weighted", [False, True])
def test_a_step_that_grew_knows_what_a_new_one_would(path, d, dtype, weighted):
    """Labels and sums of rows that joined later are those of a step that has had them all along."""
    rows, rng = blobs(0, 6000, d, 40)
    weight = rng.integers(0, 4, 6000) / 4 if weighted else None
    start, sizes = rows[:40].astype(dtype), (1500, 3000, 6000)
    with Workers(2) as workers:
        source = make_source(rows.astype(dtype), weight, workers)
        plan = PathPlan(path, "a test", forced=True)
        batch = batch_of(source, np.arange(sizes[0]))
        step = LloydStep(batch, 40, passes=PassScheduler(batch, plan, PathCache()))
        centers = Centers(start.astype(np.float64), np.zeros(d))
        for size in sizes:
            if size > sizes[0]:
                step.grow(batch_of(source, np.arange(size)), plan)
            for _ in range(4):
                step.assign(centers)
                fresh = LloydStep(batch_of(source, np.arange(size)), 40)
                fresh.assign(centers)
                np.testing.assert_array_equal(step.labels, fresh.labels)
                stats, gap = step.stats_about(centers)
                other, gap_too = fresh.stats_about(centers)
                for one, two in zip(
                    (*_arrays(stats), gap), (*_arrays(other), gap_too), strict=True
                ):
                    np.testing.assert_array_equal(one, two)
                centers = step.update(stats, gap, centers).centers
        if path not in ("plain", "prefix"):
            assert step.last.path == path


def _arrays(stats):
    return stats.weight, stats.mean, stats.sse


def test_all_rows_of_weight_come_once():
    weight = np.ones(1000)
    weight[::3] = 0
    with Workers(1) as workers:
        order = RandomOrder(
            make_source(np.ones((1000, 1)), weight, workers), np.random.default_rng(0)
        )
        np.testing.assert_array_equal(np.sort(order.first(order.n)), np.flatnonzero(weight))
        assert order.n == 666


def test_an_order_that_is_drawn_in_two_parts(monkeypatch):
    monkeypatch.setattr("partita.engine.nested_batches.ROWS_DRAWN_FIRST", 100)
    with Workers(1) as workers:
        order = RandomOrder(
            make_source(np.ones((1000, 1)), None, workers), np.random.default_rng(0)
        )
        few = order.first(64).copy()
        np.testing.assert_array_equal(np.sort(order.first(1000)), np.arange(1000))
        np.testing.assert_array_equal(order.first(64), few)


def test_the_batch_grows_until_its_chance_is_worth_little():
    rows, _ = blobs(1, 60_000, 8, 10)
    model = MiniBatchKMeans(10, random_state=0, batch_size=200).fit(rows)
    with Workers(1) as workers:
        source, rng = make_source(rows, None, workers), np.random.default_rng(0)
        order = RandomOrder(source, rng)
        run = NestedBatchRun(source, order, 10, BatchOptions(first=200), rng)
        run.run(model.cluster_centers_, relocate)
        assert 10 / 1e-3 / 2 < run._size <= 4 * 10 / 1e-3
        assert run.noise() < 1e-3 * model.inertia_


class FirstBatchRun(NestedBatchRun):
    """A run whose first batch never grows."""

    def is_large(self, cost):
        return True


def test_a_batch_knows_what_all_rows_will_cost():
    """400 rows and 20 clusters: the batch itself looks a tenth too cheap."""
    off = []
    for seed in range(8):
        rows, rng = blobs(seed, 40_000, 6, 20, spread=0.2)
        with Workers(1) as workers:
            source = make_source(rows, None, workers)
            order = RandomOrder(source, rng)
            run = FirstBatchRun(source, order, 20, BatchOptions(first=400), rng)
            fit = run.run(rows[:20], relocate, MaxIter(4))
            true = row_costs(source, fit.centers).sum()
            off.append((fit.trace[-1].cost_after / true, run._cost_of_all(fit.trace[-1]) / true))
    plain, honest = np.mean(off, axis=0)
    assert plain < 0.93
    assert 0.97 < honest < 1.03


# --- light clusters ---


def test_light_clusters():
    np.testing.assert_array_equal(light_clusters(np.array([10.0, 0, 0.05, 100]), 0.01), [1, 2])
    assert len(light_clusters(np.array([10.0, 0]), 0)) == 0


def test_a_light_cluster_moves_only_where_it_helps():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 100])
    with Workers(1) as workers:
        source = make_source(rows, None, workers)
        lone = Centers(np.array([[0.0, 0.0], [0.1, 0.0]]), np.zeros(2))
        moved = reassign_light_clusters(lone, np.array([1]), source, rng)
        assert (moved.values[1] > 90).all()
        both = Centers(np.array([[0.0, 0.0], [100.0, 100.0]]), np.zeros(2))
        assert reassign_light_clusters(both, np.array([1]), source, rng) is both


def test_a_cluster_that_moved_begins_anew():
    rng = np.random.default_rng(0)
    near = rng.normal(size=(400, 2))
    seen = ClusterStats(np.array([400.0, 1.0]), np.array([[0.0, 0.0], [0.1, 0.0]]), np.ones(2))
    with Workers(1) as workers:
        source = make_source(np.concatenate([near, near[:50] + 100]), None, workers)
        both = merge_batch(seen, source, 0.9, rng)
    assert both.weight[1] == 0
    assert (both.mean[1] > 90).all()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_trial_run_may_drop_clusters(make):
    """The best of several starts then has fewer centers than n_clusters."""
    X = make(np.repeat([[0.0, 1.0], [5.0, 2.0]], 6, axis=0))
    model = MiniBatchKMeans(4, init="random", n_init=3, empty="drop", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    assert len(model.cluster_centers_) == 2
    assert model.inertia_ == 0
