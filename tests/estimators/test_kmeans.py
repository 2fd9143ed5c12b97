"""`KMeans` as a drop-in for scikit-learn's, its methods, attributes and dtypes."""

from __future__ import annotations

import copy
import inspect
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.cluster
from helpers.iris_fits import (
    CONTAINERS,
    FRAMES,
    IRIS,
    NAMES,
    STARTS,
    assert_same_fit,
    distances,
    fit_iris,
    near_rows,
)
from helpers.slow_cases import slow
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import partita
from partita import KMeans
from partita.halting import MaxIter

# --- in place of scikit-learn's ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["KMeans", "k_means", "kmeans_plusplus"])
def test_every_parameter_of_scikit_learn_has_its_place_and_default(name):
    theirs = inspect.signature(getattr(sklearn.cluster, name)).parameters
    ours = inspect.signature(getattr(partita, name)).parameters
    for parameter, expected in theirs.items():
        assert ours[parameter].default == expected.default
        assert ours[parameter].kind == expected.kind
    beyond = [ours[parameter] for parameter in ours.keys() - theirs.keys()]
    assert all(parameter.kind == inspect.Parameter.KEYWORD_ONLY for parameter in beyond)


@pytest.mark.parametrize(
    "method", ["fit", "predict", "fit_predict", "transform", "fit_transform", "score"]
)
def test_every_method_takes_what_scikit_learn_takes(method):
    theirs = inspect.signature(getattr(sklearn.cluster.KMeans, method)).parameters
    ours = inspect.signature(getattr(KMeans, method)).parameters
    shared = list(ours.values())[: len(theirs)]
    assert [(p.name, p.default) for p in shared] == [(p.name, p.default) for p in theirs.values()]
    beyond = list(ours.values())[len(theirs) :]
    assert all(parameter.kind == inspect.Parameter.KEYWORD_ONLY for parameter in beyond)


def test_every_public_name_of_a_fitted_scikit_learn_model_exists_with_its_type():
    init = near_rows(IRIS, 3)
    theirs = sklearn.cluster.KMeans(3, init=init, n_init=1).fit(FRAMES["pandas"](IRIS))
    ours = KMeans(3, init=init).fit(FRAMES["pandas"](IRIS))
    for name in (name for name in dir(theirs) if not name.startswith("_")):
        expected, found = getattr(theirs, name), getattr(ours, name)
        if name.endswith("_"):
            assert type(found) is type(expected)
        if isinstance(expected, np.ndarray):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize(
    # Their tolerance takes the plain variance of the features, ours the weighted one.
    ("tol", "weighted"),
    [(0, False), (0, True), (1e-4, False), (1e-2, False)],
)
@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
@pytest.mark.parametrize(
    ("load", "k"), [(load_iris, 3), (load_wine, 3), (load_digits, 10), (load_breast_cancer, 2)]
)
def test_from_the_same_start_the_result_is_that_of_scikit_learn(load, k, seed, tol, weighted, make):
    rows = load().data
    init = near_rows(rows, k, seed)
    weight = np.random.default_rng(seed).random(len(rows)) if weighted else None
    ours, theirs = (
        cls(k, init=init, n_init=1, tol=tol).fit(make(rows), sample_weight=weight)
        for cls in (KMeans, sklearn.cluster.KMeans)
    )
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    assert ours.n_iter_ == theirs.n_iter_


def test_elkan_is_accepted_and_gives_the_same_bits():
    assert_same_fit(fit_iris(algorithm="elkan"), fit_iris(algorithm="lloyd"))


def test_elkan_with_one_cluster_warns_as_scikit_learn_does():
    with pytest.warns(RuntimeWarning, match="doesn't make sense for a single cluster"):
        fit_iris(1, algorithm="elkan")


@pytest.mark.parametrize("copy_x", [True, False])
@pytest.mark.parametrize("make", [*CONTAINERS, *FRAMES.values()])
def test_data_weights_and_start_are_left_as_they_were(make, copy_x):
    rows, weight, init = make(IRIS.copy()), np.ones(150), near_rows(IRIS, 3)
    given = copy.deepcopy(rows), weight.copy(), init.copy()
    model = KMeans(3, init=init, copy_x=copy_x).fit(rows, sample_weight=weight)
    model.predict(rows), model.transform(rows), model.score(rows, sample_weight=weight)
    for before, after in zip(given, (rows, weight, init), strict=True):
        before, after = (x.toarray() if sp.issparse(x) else x for x in (before, after))
        np.testing.assert_array_equal(np.asarray(after), np.asarray(before))


def test_parameters_are_kept_as_given_and_a_fit_changes_none():
    given = {
        "n_clusters": 4, "init": near_rows(IRIS, 4), "n_init": 1, "max_iter": 7, "tol": 0.5,
        "verbose": 0, "random_state": np.random.default_rng(0), "copy_x": False,
        "algorithm": "elkan", "halt": MaxIter(3), "callback": print, "empty": "keep",
        "n_threads": 1, "memory_limit": 1e9, "quality": "fast", "time_budget": 9.5,
        "missing": "partial",
    }  # fmt: skip
    model = KMeans(**given)
    assert {name: id(value) for name, value in model.get_params().items()} == {
        name: id(value) for name, value in given.items()
    }
    model.set_params(callback=None).fit(IRIS)
    assert model.get_params()["init"] is given["init"]


# --- methods -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("max_iter", [1, 2, 300])
def test_labels_inertia_and_centers_agree_wherever_the_fit_stopped(make, dtype, max_iter):
    rows = make(load_digits().data.astype(dtype))
    model = KMeans(10, random_state=0, max_iter=max_iter, tol=0).fit(rows)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_array_equal(model.transform(rows).argmin(axis=1), model.labels_)
    assert model.score(rows) == -model.inertia_
    own = distances(load_digits().data, model.cluster_centers_).min(axis=1)
    assert model.inertia_ == pytest.approx((own**2).sum(), rel=1e-12)


def test_predicting_rows_one_by_one_equals_predicting_them_together():
    model = fit_iris(8)
    one_by_one = [model.predict(row[None])[0] for row in IRIS]
    np.testing.assert_array_equal(one_by_one, model.predict(IRIS))


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_fitting_and_using_at_once_equals_one_after_the_other(make, weighted):
    rows, weight = make(IRIS), np.random.default_rng(0).random(150) if weighted else None
    model = fit_iris(sample_weight=weight)
    np.testing.assert_array_equal(clone(model).fit_predict(rows, None, weight), model.labels_)
    np.testing.assert_allclose(
        clone(model).fit_transform(rows, None, weight), model.transform(rows), rtol=1e-12
    )


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9])
@pytest.mark.parametrize("make", CONTAINERS)
def test_distances_are_those_of_numpy_in_float64_whatever_the_offset(make, offset):
    rows = IRIS + offset
    model = KMeans(5, random_state=0).fit(make(rows))
    expected = distances(rows, model.cluster_centers_)
    np.testing.assert_allclose(model.transform(make(rows)), expected, rtol=1e-12)


def test_the_score_is_minus_the_weighted_inertia():
    weight = np.random.default_rng(0).random(150)
    model = fit_iris(sample_weight=weight)
    assert model.score(IRIS, sample_weight=weight) == pytest.approx(-model.inertia_, rel=1e-14)
    own = distances(IRIS, model.cluster_centers_).min(axis=1)
    assert model.score(IRIS) == pytest.approx(-(own**2).sum(), rel=1e-12)


@pytest.mark.parametrize("kind", ["times", "fractions"])
@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
@pytest.mark.parametrize("offset", [1e3, 1e300])
def test_rows_of_weight_zero_are_labelled_but_pull_nothing(init, make, kind, offset):
    far = IRIS[:20] + offset
    weight = np.ones(150) if kind == "times" else np.random.default_rng(0).uniform(0.5, 1, 150)
    rows, weight = np.vstack([IRIS, far]), np.concatenate([weight, np.zeros(20)])
    model = KMeans(4, init=init, random_state=0).fit(make(rows), sample_weight=weight)
    assert (model.cluster_centers_ <= IRIS.max(axis=0)).all()
    np.testing.assert_array_equal(model.predict(make(far)), model.labels_[150:])
    assert model.stats_.weight.sum() == pytest.approx(weight.sum(), rel=1e-12)


@pytest.mark.parametrize("weight", [1, 1.0, np.ones(150), np.ones(150, int)])
def test_weights_of_one_give_the_bits_of_no_weights(weight):
    assert_same_fit(fit_iris(8, sample_weight=weight), fit_iris(8))


def test_feature_names_out_number_the_clusters():
    expected = ["kmeans0", "kmeans1", "kmeans2"]
    np.testing.assert_array_equal(fit_iris().get_feature_names_out(), expected)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("make", [np.asarray, *FRAMES.values()])
def test_set_output_returns_the_distances_as_a_frame(library, make):
    rows, kind = make(IRIS), {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]
    model = KMeans(3, init=near_rows(IRIS, 3)).set_output(transform=library).fit(rows)
    expected = distances(IRIS, model.cluster_centers_)
    for out in (model.transform(rows), clone(model).fit_transform(rows)):
        assert isinstance(out, kind)
        assert list(out.columns) == ["kmeans0", "kmeans1", "kmeans2"]
        np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-12)


def test_set_output_keeps_the_index_of_a_pandas_frame():
    frame = FRAMES["pandas"](IRIS).set_axis([f"plant {i}" for i in range(150)])
    out = KMeans(3, random_state=0).set_output(transform="pandas").fit_transform(frame)
    pd.testing.assert_index_equal(out.index, frame.index)


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_gives_its_column_names_and_the_fit_of_its_array(library):
    frame = FRAMES[library](IRIS)
    model = KMeans(3, init=near_rows(IRIS, 3)).fit(frame)
    np.testing.assert_array_equal(model.feature_names_in_, NAMES)
    assert model.n_features_in_ == 4
    assert_same_fit(model, fit_iris())
    np.testing.assert_array_equal(model.predict(frame), model.labels_)


def test_an_array_has_no_feature_names_and_forgets_those_of_an_earlier_fit():
    model = KMeans(3, random_state=0).fit(FRAMES["pandas"](IRIS))
    assert not hasattr(model.fit(IRIS), "feature_names_in_")
    np.testing.assert_array_equal(model.predict(IRIS), model.labels_)


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_rows_without_names_get_a_warning_where_the_fit_had_names(method):
    model = KMeans(3, random_state=0).fit(FRAMES["pandas"](IRIS))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        getattr(model, method)(IRIS)


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_rows_with_names_get_a_warning_where_the_fit_had_none(method):
    model = fit_iris()
    with pytest.warns(UserWarning, match="fitted without feature names"):
        getattr(model, method)(FRAMES["polars"](IRIS))


# --- what is known of the clusters ---------------------------------------------------------------


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("kind", ["none", "whole", "fractions"])
def test_stats_are_the_weights_means_and_sse_of_the_labels(make, kind):
    rng = np.random.default_rng(0)
    weight = {"none": None, "whole": rng.integers(0, 4, 150), "fractions": rng.random(150)}[kind]
    model = KMeans(5, random_state=0).fit(make(IRIS), sample_weight=weight)
    plain = np.ones(150) if weight is None else weight
    for j in range(5):
        own, w = IRIS[model.labels_ == j], plain[model.labels_ == j]
        mean = np.average(own, axis=0, weights=w)
        assert model.stats_.weight[j] == pytest.approx(w.sum(), rel=1e-12)
        np.testing.assert_allclose(model.stats_.mean[j], mean, rtol=1e-12)
        sse = (w[:, None] * (own - mean) ** 2).sum()
        assert model.stats_.sse[j] == pytest.approx(sse, rel=1e-10)
    cost = model.stats_.cost_at(model.cluster_centers_).sum()
    assert cost == pytest.approx(model.inertia_, rel=1e-12)


def test_membership_has_a_single_one_per_row_at_its_label():
    model = fit_iris(5)
    Z = model.membership_
    assert Z.format == "csr"
    assert Z.shape == (150, 5)
    np.testing.assert_array_equal(Z.toarray(), np.eye(5)[model.labels_])
    np.testing.assert_array_equal(Z @ np.ones(5), np.ones(150))
    np.testing.assert_array_equal(Z.T @ np.ones(150), np.bincount(model.labels_))
    means = (Z.T @ IRIS) / (Z.T @ np.ones(150))[:, None]
    np.testing.assert_allclose(means, model.cluster_centers_, rtol=1e-12)


def test_matching_undoes_a_permutation_exactly():
    init = near_rows(IRIS, 5)
    earlier = fit_iris(5, init=init)
    later = fit_iris(5, init=init[[3, 0, 4, 1, 2]])
    assert (later.labels_ != earlier.labels_).any()
    assert later.match(earlier) is later
    assert_same_fit(later, earlier)
    assert later.labels_.dtype == np.int32
    for name in ("weight", "mean", "sse"):
        np.testing.assert_array_equal(getattr(later.stats_, name), getattr(earlier.stats_, name))
    np.testing.assert_array_equal(later.predict(IRIS), later.labels_)
    np.testing.assert_array_equal(later.membership_.toarray(), earlier.membership_.toarray())


@pytest.mark.parametrize("cls", [KMeans, sklearn.cluster.KMeans], ids=["ours", "scikit-learn"])
@pytest.mark.parametrize("give", ["model", "centers"])
def test_after_matching_only_points_that_moved_have_another_label(cls, give):
    earlier = cls(4, random_state=0, n_init=10).fit(IRIS)
    shaken = IRIS + np.random.default_rng(1).normal(scale=0.05, size=IRIS.shape)
    later = KMeans(4, random_state=1, n_init=10).fit(shaken)
    orders = map(np.array, itertools.permutations(range(4)))
    moved = min((order[later.labels_] != earlier.labels_).sum() for order in orders)
    later.match(earlier if give == "model" else earlier.cluster_centers_)
    assert (later.labels_ != earlier.labels_).sum() == moved < 15


def test_matching_a_model_of_fewer_clusters_puts_the_new_ones_last():
    earlier, later = fit_iris(3), fit_iris(5, seed=4)
    later.match(earlier)
    paired = distances(later.cluster_centers_[:3], earlier.cluster_centers_)
    np.testing.assert_array_equal(paired.argmin(axis=1), [0, 1, 2])
    np.testing.assert_array_equal(later.predict(IRIS), later.labels_)


def test_matching_a_model_of_more_clusters_keeps_their_order():
    earlier, later = fit_iris(5, seed=4), fit_iris(3)
    expected = later.cluster_centers_.copy()
    later.match(earlier.cluster_centers_)
    nearest = distances(later.cluster_centers_, earlier.cluster_centers_).argmin(axis=1)
    assert list(nearest) == sorted(nearest)
    np.testing.assert_array_equal(np.sort(later.cluster_centers_, 0), np.sort(expected, 0))
    np.testing.assert_array_equal(later.predict(IRIS), later.labels_)


# --- types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize(
    ("given", "found"),
    [("float32", "float32"), ("float64", "float64"), ("int32", "float64"), ("uint8", "float64")],
)
def test_centers_and_distances_have_the_type_of_the_data_or_are_doubles(make, given, found):
    rows = make(load_digits().data.astype(given))
    model = KMeans(5, random_state=0).fit(rows)
    assert model.cluster_centers_.dtype == model.transform(rows).dtype == found
    assert model.labels_.dtype == model.predict(rows).dtype == np.int32
    assert type(model.inertia_) is type(model.score(rows)) is float
    assert type(model.n_iter_) is int


def test_float16_gives_doubles():
    rows = IRIS.astype(np.float16)
    model = KMeans(3, random_state=0).fit(rows)
    assert model.cluster_centers_.dtype == model.transform(rows).dtype == np.float64
    same = KMeans(3, random_state=0).fit(rows.astype(np.float64))
    np.testing.assert_array_equal(model.labels_, same.labels_)
    assert model.inertia_ == pytest.approx(same.inertia_, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_and_dense_rows_from_the_same_start_have_the_same_fit(dtype, weighted):
    rows = load_digits().data.astype(dtype)
    weight = np.random.default_rng(0).integers(0, 3, len(rows)) if weighted else None
    init = near_rows(rows, 10)
    dense, sparse = (
        KMeans(10, init=init).fit(make(rows), sample_weight=weight) for make in CONTAINERS
    )
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, atol=1e-6)
    assert sparse.inertia_ == pytest.approx(dense.inertia_, rel=1e-9)
    assert sparse.n_iter_ == dense.n_iter_
    np.testing.assert_array_equal(sparse.predict(rows), dense.predict(sp.csr_array(rows)))
    np.testing.assert_allclose(
        sparse.transform(sp.csr_array(rows)), dense.transform(rows), rtol=1e-5, atol=1e-5
    )


def test_more_restarts_never_give_a_worse_result():
    rows = np.random.default_rng(0).normal(size=(500, 3))
    for seed in range(15):
        one = KMeans(8, n_init=1, random_state=seed, tol=0).fit(rows).inertia_
        many = KMeans(8, n_init=4, random_state=seed, tol=0).fit(rows).inertia_
        assert many <= one * (1 + 1e-12)


def test_a_subclass_with_an_argument_of_its_own_fits_lists_too():
    class Named(KMeans):
        def __init__(self, name, n_clusters=2):
            super().__init__(n_clusters)
            self.name = name

    assert Named("a").fit([[0.0], [1.0], [9.0]]).n_features_in_ == 1


def test_centers_set_by_hand_may_have_any_layout():
    model = fit_iris()
    model.cluster_centers_ = np.asfortranarray(model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(IRIS[:3]), model.predict(IRIS)[:3])
