"""`MiniBatchKMeans`: fits and streams of batches."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.cases import same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import MiniBatchKMeans as Theirs
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from partita import KMeans, MiniBatchKMeans
from partita.engine.nested_batches import (
    NestedBatchRun,
)
from partita.halting import Deadline, MaxIter, Target

pytestmark = pytest.mark.sanitize


def blobs(seed, n, d, k, spread=0.6):
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(k, d))
    return middle[rng.integers(k, size=n)] + rng.normal(scale=spread, size=(n, d)), rng


# --- fits ---


@pytest.mark.heavy
def test_all_rows_together_find_little_to_improve():
    left = []
    for seed in range(5):
        rows, _ = blobs(seed, 60_000, 8, 20)
        model = MiniBatchKMeans(20, random_state=seed).fit(rows)
        left.append(KMeans(20, init=model, tol=0).fit(rows).inertia_ / model.inertia_)
    assert np.median(left) > 0.995
    assert min(left) > 0.98  # a long plateau that a full fit leaves in the end


@pytest.mark.heavy
def test_better_than_scikit_learns():
    rows = load_digits().data
    ours = [MiniBatchKMeans(10, random_state=s).fit(rows).inertia_ for s in range(10)]
    theirs = [Theirs(10, random_state=s, n_init=1).fit(rows).inertia_ for s in range(10)]
    assert np.mean(ours) < np.mean(theirs)


@pytest.mark.parametrize("d", [2, 5, 20])
def test_without_patience_it_ends_at_a_fixed_point_of_lloyd(d):
    rows, _ = blobs(3, 5000, d, 6)
    model = MiniBatchKMeans(6, random_state=0, max_no_improvement=None, batch_size=100).fit(rows)
    assert model.stopped_by_ == "no point changed its cluster"
    again = KMeans(6, init=model.cluster_centers_, tol=0).fit(rows)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.inertia_ == model.inertia_
    assert model.n_steps_ == len(model.trace_) > model.n_iter_


def test_labels_and_inertia_are_those_of_the_centers():
    rows, rng = blobs(4, 20_000, 5, 7)
    weight = rng.random(20_000)
    model = MiniBatchKMeans(7, random_state=0).fit(rows.astype(np.float32), sample_weight=weight)
    assert model.cluster_centers_.dtype == np.float32
    gap = rows.astype(np.float32).astype(float)[:, None] - model.cluster_centers_.astype(float)
    away = (gap**2).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, away.argmin(axis=1))
    np.testing.assert_allclose(model.inertia_, weight @ away.min(axis=1), rtol=1e-12)
    np.testing.assert_allclose(model.stats_.weight.sum(), weight.sum())
    # the last estimate of the trace is honest, too
    np.testing.assert_allclose(model.trace_[-1].cost_after, model.inertia_, rtol=0.03)


def test_labels_may_be_left_out():
    rows, _ = blobs(5, 20_000, 5, 7)
    model = MiniBatchKMeans(7, random_state=0).fit(rows)
    lean = MiniBatchKMeans(7, random_state=0, compute_labels=False).fit(rows)
    assert not hasattr(lean, "labels_")
    np.testing.assert_array_equal(lean.cluster_centers_, model.cluster_centers_)
    np.testing.assert_allclose(lean.inertia_, model.inertia_, rtol=0.03)
    np.testing.assert_allclose(lean.stats_.weight.sum(), 20_000)
    np.testing.assert_array_equal(lean.fit_predict(rows), model.labels_)
    model.set_params(compute_labels=False).fit(rows)
    assert not hasattr(model, "labels_")


def test_sparse_rows_are_dense_rows():
    rows = load_digits().data
    dense = MiniBatchKMeans(10, init=rows[:10], random_state=0, batch_size=100).fit(rows)
    sparse = MiniBatchKMeans(10, init=rows[:10], random_state=0, batch_size=100)
    sparse.fit(sp.csr_array(rows))
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    np.testing.assert_allclose(sparse.inertia_, dense.inertia_, rtol=1e-12)


def test_rows_of_weight_zero_do_not_matter():
    rows, rng = blobs(6, 5000, 3, 4)
    weight = np.ones(10_000)
    weight[5000:] = 0
    both = np.concatenate([rows, rng.normal(scale=1e6, size=(5000, 3))])
    model = MiniBatchKMeans(4, random_state=0, batch_size=100).fit(both, sample_weight=weight)
    alone = MiniBatchKMeans(4, random_state=0, batch_size=100).fit(rows)
    np.testing.assert_allclose(model.cluster_centers_, alone.cluster_centers_)


def test_halting():
    rows, _ = blobs(7, 50_000, 4, 10)
    model = MiniBatchKMeans(10, random_state=0)
    assert "budget" in model.set_params(halt=Deadline(0)).fit(rows).stopped_by_
    assert model.n_steps_ == 1
    assert "target" in model.set_params(halt=Target(1e9)).fit(rows).stopped_by_
    model.set_params(halt=None, callback=lambda progress: progress.iteration == 3).fit(rows)
    assert model.n_steps_ == 3
    model.set_params(callback=None, tol=1e9).fit(rows)
    assert "centers moved by" in model.stopped_by_
    assert model.n_steps_ > 3
    model.set_params(tol=0.0, max_iter=1, max_no_improvement=None).fit(rows)
    assert model.stopped_by_.kind == "max_rows"
    assert model.n_iter_ <= 2


@pytest.mark.parametrize("init", ["k-means++", "mini-batch"])
@pytest.mark.parametrize("n_init", [1, 3])
def test_a_batch_that_does_not_fit_is_read_again_and_gives_the_same_bits(init, n_init):
    rows, _ = blobs(8, 20_000, 8, 5)
    fits, sizes = [], []
    for limit in (0, 3000 * 64, None):
        seen = []
        model = MiniBatchKMeans(
            5, init=init, n_init=n_init, random_state=0, max_no_improvement=None,
            memory_limit=limit, callback=seen.append,
        ).fit(rows)  # fmt: skip
        fits.append(model)
        sizes.append(max(step.moved_points for step in seen))
    assert same_bits(fits[0], fits[2])
    assert same_bits(fits[1], fits[2])
    assert len(set(sizes)) == 1
    assert fits[0].stopped_by_ == "no point changed its cluster"


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_more_clusters_than_a_batch_has_rows():
    rows, _ = blobs(9, 3000, 2, 5)
    model = MiniBatchKMeans(500, random_state=0, batch_size=10).fit(rows)
    assert len(np.unique(model.labels_)) > 490
    same = MiniBatchKMeans(5, random_state=0).fit(np.ones((20, 2)))
    assert same.inertia_ == 0


def test_the_best_of_several_starts_goes_on():
    rows, _ = blobs(10, 5000, 3, 12, spread=0.05)
    bad, good = np.zeros((12, 3)), KMeans(12, n_init=20, random_state=0).fit(rows)
    offers = iter([bad, good.cluster_centers_, *[bad] * 6])
    model = MiniBatchKMeans(12, init=lambda X, k, random_state: next(offers), random_state=0)
    assert model.fit(rows).inertia_ < 1.01 * good.inertia_


def test_a_warm_start_for_all_rows():
    rows, _ = blobs(11, 40_000, 6, 15)
    warm = KMeans(15, init="mini-batch", random_state=0).fit(rows)
    cold = KMeans(15, random_state=0).fit(rows)
    assert warm.n_iter_ <= cold.n_iter_
    assert warm.inertia_ < 1.05 * cold.inertia_
    assert warm.inertia_ <= warm.trace_[0].cost


# --- streams ---


def stream(rows, start, batches, weight=None):
    """Every center the mean of all that ever came to it, straight from the definition."""
    centers, sums, mass = start.copy(), np.zeros_like(start), np.zeros(len(start))
    for batch in batches:
        w = np.ones(len(batch)) if weight is None else weight[batch]
        away = ((rows[batch, None] - centers) ** 2).sum(axis=2)
        np.add.at(sums, away.argmin(axis=1), w[:, None] * rows[batch])
        np.add.at(mass, away.argmin(axis=1), w)
        some = mass > 0
        centers[some] = sums[some] / mass[some, None]
    return centers, mass


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_center_is_the_mean_of_all_that_came_to_it(seed, weighted):
    rows, rng = blobs(seed, 200, 3, 4)
    weight = rng.random(200) if weighted else None
    batches = np.array_split(rng.permutation(200), 6)
    model = MiniBatchKMeans(4, init=rows[:4], reassignment_ratio=0)
    for batch in batches:
        model.partial_fit(rows[batch], sample_weight=None if weight is None else weight[batch])
    centers, mass = stream(rows, rows[:4], batches, weight)
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.stats_.weight, mass)
    assert model.n_steps_ == 6
    np.testing.assert_array_equal(model.labels_, model.predict(rows[batches[-1]]))


def test_weights_in_a_stream_are_repeats():
    rows, rng = blobs(12, 300, 3, 4)
    times = rng.integers(0, 4, 300)
    one, two = (MiniBatchKMeans(4, init=rows[:4]) for _ in range(2))
    for part in (slice(0, 150), slice(150, 300)):
        one.partial_fit(rows[part], sample_weight=times[part])
        two.partial_fit(np.repeat(rows[part], times[part], axis=0))
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    assert one.inertia_ == two.inertia_


def test_a_stream_goes_on_from_a_fit():
    rows, _ = blobs(13, 5000, 3, 4)
    model = MiniBatchKMeans(4, random_state=0).fit(rows)
    before, steps = model.cluster_centers_.copy(), model.n_steps_
    model.partial_fit(rows[:10] + 0.5)
    assert 0 < np.abs(model.cluster_centers_ - before).max() < 0.05
    assert model.n_steps_ == steps + 1
    assert model.stats_.weight.sum() == 5010
    assert not hasattr(model, "trace_")


def test_streams_of_single_floats_lose_no_rows():
    """100 000 rows of weight 1 after a billion: a float32 mean would not move any more."""
    model = MiniBatchKMeans(1, init=np.zeros((1, 1), np.float32), reassignment_ratio=0)
    model.partial_fit(np.zeros((1, 1), np.float32), sample_weight=[2.0**30])
    for _ in range(100):
        model.partial_fit(np.ones((1000, 1), np.float32))
    np.testing.assert_allclose(model.stats_.mean, 100_000 / (2**30 + 100_000), rtol=1e-12)


def test_a_stream_may_be_copied_and_goes_on_alike():
    rows, _ = blobs(14, 3000, 3, 6)
    model = MiniBatchKMeans(6, random_state=3).partial_fit(rows[:1000])
    twin = copy.deepcopy(model)
    for part in (slice(1000, 2000), slice(2000, 3000)):
        model.partial_fit(rows[part])
        twin.partial_fit(rows[part])
    np.testing.assert_array_equal(model.cluster_centers_, twin.cluster_centers_)


def test_a_stream_of_batches_that_do_not_fit():
    model = MiniBatchKMeans(5)
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=5"):
        model.partial_fit(np.ones((3, 2)))
    assert not hasattr(model, "n_features_in_")
    model.partial_fit(np.random.default_rng(0).random((9, 2)))
    with pytest.raises(ValueError, match=r"3 features, but .* expecting 2"):
        model.partial_fit(np.ones((3, 3)))
    with pytest.raises(ValueError, match="1 of 1 rows, in column 0"):
        model.partial_fit([[np.nan, 1.0]])
    assert model.n_steps_ == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"batch_size": 0}, "`batch_size` must be an integer >= 1, got 0"),
        ({"init_size": 1.5}, r"`init_size` must be an integer >= 1 or None, got 1\.5"),
        (
            {"max_no_improvement": -1},
            "`max_no_improvement` must be an integer >= 0 or None, got -1",
        ),
        ({"reassignment_ratio": -0.1}, r"`reassignment_ratio` must be a number >= 0, got -0\.1"),
        ({"tol": "small"}, "`tol` must be a number >= 0, got 'small'"),
        ({"max_iter": 0}, "`max_iter` must be an integer >= 1, got 0"),
    ],
)
def test_parameters_are_checked(wrong, words):
    for fit in (MiniBatchKMeans(2, **wrong).fit, MiniBatchKMeans(2, **wrong).partial_fit):
        with pytest.raises(ValueError, match=words):
            fit(np.random.default_rng(0).random((10, 2)))


def test_every_parameter_of_scikit_learns_is_taken():
    ours, theirs = MiniBatchKMeans().get_params(), Theirs().get_params()
    assert {name: ours[name] for name in theirs} == theirs


def test_a_cluster_without_rows_keeps_its_center_in_a_stream():
    model = MiniBatchKMeans(2, init=[[0.5], [100.0]], empty="keep", reassignment_ratio=0)
    with pytest.warns(ConvergenceWarning):
        model.fit([[0.0], [1.0]])
    model.partial_fit([[99.0], [101.0], [0.0]])
    np.testing.assert_allclose(model.cluster_centers_, [[1 / 3], [100.0]])


def test_a_model_without_labels_is_renumbered_as_a_whole():
    rows, _ = blobs(15, 2000, 3, 4)
    model = MiniBatchKMeans(4, random_state=0, compute_labels=False).fit(rows)
    order = np.array([2, 0, 3, 1])
    weight = model.stats_.weight.copy()
    model.match(model.cluster_centers_[order])
    np.testing.assert_array_equal(model.stats_.weight, weight[order])


def test_a_tolerance_does_not_stop_a_batch_that_may_grow():
    rows, _ = blobs(16, 50_000, 4, 10)
    model = MiniBatchKMeans(10, random_state=0, tol=1e-2).fit(rows)
    assert len(model.trace_) >= 4
    assert KMeans(10, init=model, tol=0).fit(rows).inertia_ > 0.99 * model.inertia_


def test_one_iteration_is_counted():
    rows, _ = blobs(17, 5000, 3, 4)
    model = MiniBatchKMeans(4, random_state=0, halt=MaxIter(1)).fit(rows)
    assert (model.n_steps_, model.n_iter_) == (1, 1)


@pytest.mark.parametrize("limit", [0, None])
def test_a_warm_start_grows_whatever_the_memory_limit(monkeypatch, limit):
    rows, _ = blobs(18, 20_000, 8, 5)
    sizes = []
    grow = NestedBatchRun._grow
    monkeypatch.setattr(
        NestedBatchRun, "_grow", lambda self, at: (grow(self, at), sizes.append(self._size))[0]
    )
    KMeans(5, init="mini-batch", random_state=0, memory_limit=limit).fit(rows)
    assert max(sizes) > 4000


@pytest.mark.heavy
def test_a_deadline_counts_the_start_too():
    rows, _ = blobs(19, 20_000, 10, 20)
    model = MiniBatchKMeans(200, n_init=20, init_size=20_000, random_state=0, halt=Deadline(0.01))
    model.fit(rows)
    assert "budget" in model.stopped_by_
    assert model.n_steps_ == 1


def test_too_few_rows_to_start_from():
    rows, _ = blobs(20, 2000, 3, 20)
    with pytest.warns(RuntimeWarning, match="init_size=5 should be larger than n_clusters=20"):
        few = MiniBatchKMeans(20, init_size=5, random_state=0).fit(rows)
    np.testing.assert_array_equal(
        few.labels_, MiniBatchKMeans(20, init_size=60, random_state=0).fit(rows).labels_
    )
