"""`BisectingKMeans`: its laws, against a reference of a few lines and against scikit-learn."""

from __future__ import annotations

import itertools
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.cluster as peers
from helpers.bisecting_reference import bisecting, extremes, sse
from helpers.cases import same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import v_measure_score

from partita import BisectingKMeans, KMeans, certify, halting, merge_tree

STRATEGIES = ["biggest_inertia", "largest_cluster"]


@st.composite
def problems(draw, whole=False):
    """Rows, weights, a number of clusters and a strategy."""
    n, d = draw(st.integers(6, 50)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(n, d)) + 5 * rng.integers(0, 3, (n, 1))
    weight = rng.integers(1, 4, n) * 1.0 if whole else rng.random(n) + 0.1
    return rows, weight, draw(st.integers(1, 6)), draw(st.sampled_from(STRATEGIES))


def from_extremes(k, strategy="biggest_inertia", **keywords):
    return BisectingKMeans(k, init=extremes, tol=0, bisecting_strategy=strategy, **keywords)


# --- the reference ---


@given(problems())
def test_every_split_is_two_means_of_one_cluster(problem):
    rows, weight, k, strategy = problem
    model = from_extremes(k, strategy).fit(rows, sample_weight=weight)
    labels, cost = bisecting(rows, weight, k, strategy)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(cost, rel=1e-10, abs=1e-12)
    assert model.stopped_by_.kinds == ("n_clusters",)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(3, 8), st.integers(1, 3))
def test_with_many_starts_the_first_split_is_the_best_of_all(seed, n, d):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    model = BisectingKMeans(2, n_init=40, random_state=0).fit(rows)
    best = min(
        sum(sse(rows[side == j], np.ones((side == j).sum())) for j in (0, 1))
        for side in map(np.array, itertools.product((0, 1), repeat=n))
        if 0 < side.sum() < n
    )
    assert model.inertia_ == pytest.approx(best, rel=1e-9)


# --- the tree ---


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_cut_is_the_fit_with_fewer_clusters(strategy):
    rows = load_iris().data
    full = BisectingKMeans(9, random_state=2, bisecting_strategy=strategy).fit(rows)
    before = full.labels_.copy()
    for k in range(9, 0, -1):
        cut = full.cut(k)
        own = BisectingKMeans(k, random_state=2, bisecting_strategy=strategy).fit(rows)
        np.testing.assert_array_equal(cut.labels_, own.labels_)
        assert cut.cluster_centers_.tobytes() == own.cluster_centers_.tobytes()
        assert [p.cost for p in cut.trace_] == [p.cost for p in own.trace_]
        assert cut.inertia_ == pytest.approx(own.inertia_, rel=1e-15)
        assert cut.stats_.mean.tobytes() == own.stats_.mean.tobytes()
        assert (cut.n_clusters, cut.stopped_by_) == (k, own.stopped_by_)
        np.testing.assert_array_equal(cut.predict(rows), own.labels_)
        assert len(np.unique(cut.labels_ * 9 + before)) == 9  # each cluster lies in one of the cut
    np.testing.assert_array_equal(full.labels_, before)


@given(problems())
def test_its_linkage_is_that_of_the_merges_that_undo_the_splits(problem):
    rows, weight, k, strategy = problem
    model = from_extremes(k, strategy).fit(rows, sample_weight=weight)
    tree = merge_tree(model)
    for m in range(1, k + 1):
        cut = model.cut(m)
        np.testing.assert_array_equal(tree.labels_at(m)[model.labels_], _by_first(cut, model))
        assert tree.cost_at(m) == pytest.approx(cut.inertia_, rel=1e-9, abs=1e-12)
    if k > 1:
        assert is_valid_linkage(model.linkage_)
        np.testing.assert_allclose(model.linkage_, tree.linkage, rtol=1e-9)


def _by_first(cut, model):
    """The labels of a cut, numbered by the lowest labels of the full fit, as in merge trees."""
    lowest = [model.labels_[cut.labels_ == j].min() for j in range(cut.n_clusters)]
    return np.argsort(np.argsort(lowest))[cut.labels_]


def test_scipy_cuts_the_linkage():
    rows = np.concatenate(
        [np.random.default_rng(j).normal(60 * j * j, 1, (20, 2)) for j in range(4)]
    )
    model = BisectingKMeans(4, n_init=5, random_state=0).fit(rows)
    flat = fcluster(model.linkage_, 3, "maxclust")[model.labels_]
    assert v_measure_score(flat, model.cut(3).labels_) == 1


def test_the_tree_goes_on_where_more_clusters_were_not_wanted():
    with pytest.raises(ValueError, match="`k` must be an integer from 1 to 3, got 4"):
        BisectingKMeans(3, random_state=0).fit(load_iris().data).cut(4)


# --- labels ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("data", [load_iris, load_digits, load_wine])
def test_rows_of_the_fit_get_their_labels_again(data, storage, dtype):
    X = storage(data().data.astype(dtype))
    model = BisectingKMeans(11, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == -model.inertia_
    assert model.cluster_centers_.dtype == dtype
    assert model.inertia_ == pytest.approx(model.stats_.sse.sum(), rel=1e-4)


def test_sparse_rows_are_split_as_dense_ones():
    X = load_digits().data
    dense = BisectingKMeans(8, random_state=1).fit(X)
    sparse = BisectingKMeans(8, random_state=1).fit(sp.csr_array(X))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    np.testing.assert_allclose(dense.cluster_centers_, sparse.cluster_centers_, atol=1e-10)


def test_labels_follow_the_tree_although_another_center_may_be_nearer():
    X = load_digits().data
    model = BisectingKMeans(10, random_state=0).fit(X)
    nearest = model.transform(X).argmin(axis=1)
    assert (nearest != model.labels_).any()
    assert -KMeans(10, init=model, n_init=1, max_iter=1).fit(X).score(X) <= model.inertia_


def test_a_renumbered_tree_labels_rows_by_the_new_numbers():
    X = load_iris().data
    model = BisectingKMeans(4, random_state=0).fit(X)
    old, linkage = model.labels_.copy(), model.linkage_
    model.match(model.cluster_centers_[::-1].copy())
    np.testing.assert_array_equal(model.labels_, 3 - old)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.linkage_[:, 2], linkage[:, 2])
    np.testing.assert_array_equal(merge_tree(model).linkage[:, :2], model.linkage_[:, :2])


# --- repeats, threads, instruction sets ---


@given(problems(whole=True), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_a_weight_is_a_repeated_row_to_the_last_bit(problem, dtype, shuffled):
    rows, weight, k, strategy = problem
    rows, times = rows.astype(dtype), weight.astype(int)
    order = np.random.default_rng(0).permutation(times.sum()) if shuffled else slice(None)
    heavy = from_extremes(k, strategy).fit(rows, sample_weight=weight)
    many = from_extremes(k, strategy).fit(np.repeat(rows, times, axis=0)[order])
    np.testing.assert_array_equal(np.repeat(heavy.labels_, times)[order], many.labels_)
    assert heavy.cluster_centers_.tobytes() == many.cluster_centers_.tobytes()
    assert heavy.inertia_ == many.inertia_
    assert heavy.linkage_.tobytes() == many.linkage_.tobytes()
    assert [p.cost for p in heavy.trace_] == [p.cost for p in many.trace_]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(dtype):
    rows = np.random.default_rng(0).normal(size=(20_000, 6)).astype(dtype)
    models = [BisectingKMeans(9, random_state=3, n_threads=t).fit(rows) for t in (1, 2, 4)]
    assert all(same_bits(models[0], other) for other in models[1:])


def test_fits_at_the_same_time_give_the_same_bits():
    rows = load_digits().data
    with ThreadPoolExecutor(4) as pool:
        fits = list(pool.map(lambda _: BisectingKMeans(9, random_state=3).fit(rows), range(4)))
    assert all(same_bits(fits[0], other) for other in fits[1:])


@pytest.mark.compiled
def test_every_instruction_set_gives_the_same_bits(core):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 5)) * 10.0 ** rng.integers(-2, 3, 5)
    here = BisectingKMeans(9, random_state=0).fit(rows)
    core.use_instruction_set(core.instruction_sets()[0])
    assert same_bits(here, BisectingKMeans(9, random_state=0).fit(rows))


# --- scikit-learn ---


def test_it_has_every_parameter_default_and_attribute_of_scikit_learn():
    theirs, ours = peers.BisectingKMeans(), BisectingKMeans()
    assert ours.get_params().items() >= theirs.get_params().items()
    X = load_iris(as_frame=True).data
    for model in (theirs, ours):
        model.set_params(random_state=0).fit(X)
    learned = {name for name in vars(theirs) if name.endswith("_") and not name.startswith("_")}
    assert all(hasattr(ours, name) for name in learned)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_it_fits_as_well_as_that_of_scikit_learn(strategy, init):
    ratios = []
    for X in (load_iris().data, load_wine().data, load_breast_cancer().data):
        given = {"init": init, "bisecting_strategy": strategy, "n_init": 2}
        costs = [
            [model(8, random_state=seed, **given).fit(X).inertia_ for seed in range(8)]
            for model in (BisectingKMeans, peers.BisectingKMeans)
        ]
        ratios.append(np.mean(costs[0]) / np.mean(costs[1]))
    assert np.mean(ratios) < 1.03


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_three_groups_are_found(strategy):
    X = np.array([[1, 1], [10, 1], [3, 1], [10, 0], [2, 1], [10, 2], [10, 8], [10, 9], [10, 10]])
    model = BisectingKMeans(3, random_state=0, n_init=5, bisecting_strategy=strategy).fit(X)
    assert v_measure_score(model.labels_, [0, 1, 0, 1, 0, 1, 2, 2, 2]) == 1
    np.testing.assert_array_equal(
        sorted(model.cluster_centers_.tolist()), [[2, 1], [10, 1], [10, 9]]
    )


def test_as_many_clusters_as_rows_cost_nothing():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    model = BisectingKMeans(30, random_state=0).fit(rows)
    assert model.inertia_ == pytest.approx(0, abs=1e-28)
    assert sorted(model.labels_) == list(range(30))


# --- ends of the range ---


def test_fewer_distinct_rows_give_fewer_clusters_and_a_warning():
    rows = np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]], 4, axis=0)
    with pytest.warns(
        ConvergenceWarning, match=r"clusters \(3\) found smaller than n_clusters \(5"
    ):
        model = BisectingKMeans(5, random_state=0).fit(rows)
    assert len(model.cluster_centers_) == 3
    assert model.stopped_by_.kinds == ("no_split",)
    assert model.inertia_ == 0


def test_rows_without_weight_are_labelled_but_do_not_count():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    weight = np.ones(40)
    weight[::5] = 0
    model = from_extremes(4).fit(rows, sample_weight=weight)
    assert model.stats_.weight.sum() == 32
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_do_not_matter(scale):
    rows = load_iris().data
    plain, scaled = (from_extremes(6).fit(rows * s) for s in (1.0, scale))
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)


def test_a_criterion_or_a_callback_ends_it_early():
    rows = load_iris().data
    model = BisectingKMeans(10, random_state=0, halt=halting.Target(100.0)).fit(rows)
    assert model.inertia_ <= 100 < model.cut(len(model.cluster_centers_) - 1).inertia_
    seen = []
    model = BisectingKMeans(10, random_state=0, callback=lambda p: seen.append(p) or len(seen) == 3)
    assert len(model.fit(rows).cluster_centers_) == 4
    assert tuple(seen) == model.trace_.records
    assert all(p.cost_after < p.cost for p in seen)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bisecting_strategy": "smallest"}, "`bisecting_strategy` must be 'biggest_inertia' or"),
        ({"init": [[0.0], [1.0]]}, "`init` must be .* or a callable, got"),
        ({"n_init": "auto"}, "`n_init` must be an integer from 1"),
        ({"n_init": 0}, "`n_init` must be an integer from 1"),
        ({"n_clusters": 200}, "150"),
    ],
)
def test_errors_name_the_parameter(parameters, message):
    with pytest.raises(ValueError, match=message):
        BisectingKMeans(**parameters).fit(load_iris().data)


def test_two_trees_are_not_merged():
    model = BisectingKMeans(3, random_state=0).fit(load_iris().data)
    with pytest.raises(TypeError, match="two trees have no splits in common"):
        model.merge(model)


def test_its_certificate_bounds_every_partition_and_is_about_its_own_objective():
    rows = load_iris().data[::5]
    model = BisectingKMeans(3, random_state=0).fit(rows)
    certificate = certify(rows, model)
    assert certificate.objective == pytest.approx(model.inertia_, rel=1e-9)
    assert certificate.lower_bound <= KMeans(3, n_init=5, random_state=0).fit(rows).inertia_


@pytest.mark.parametrize("power", [-560, 520])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_splits_are_the_same_at_magnitudes_whose_squares_leave_the_doubles(power, strategy):
    rows = load_iris().data
    here = from_extremes(6, strategy).fit(rows)
    there = from_extremes(6, strategy).fit(np.ldexp(rows, power))
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_array_equal(there.cluster_centers_, np.ldexp(here.cluster_centers_, power))


def test_one_row_next_to_the_largest_double_does_not_hide_the_others():
    rows = np.vstack([load_iris().data, [[1e300, 0, 0, 0]]])
    model = BisectingKMeans(4, random_state=0).fit(rows)
    assert np.bincount(model.labels_, minlength=4).min() == 1
    assert len(model.cluster_centers_) == 4


def test_frames_are_certified_without_warnings():
    frame = load_iris(as_frame=True).data
    model = BisectingKMeans(3, random_state=0).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.certify(frame, time_limit=1)


def test_the_default_tolerance_costs_no_quality():
    rows, _ = make_blobs(2000, centers=12, n_features=5, random_state=1)

    def cost(tol):
        fits = [BisectingKMeans(12, tol=tol, random_state=seed).fit(rows) for seed in range(20)]
        return sum(model.inertia_ for model in fits)

    assert cost(1e-4) <= 1.002 * cost(0.0)
