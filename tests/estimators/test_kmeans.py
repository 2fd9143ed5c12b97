"""`KMeans` as its users meet it: a drop-in for scikit-learn's, and what it has beyond that."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn.cluster
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import partita
from partita import EmptyClusterError, KMeans, Progress, Trace, k_means, kmeans_plusplus
from partita.halting import Deadline, MaxIter, RelDecrease, SamePartition, Target

IRIS = load_iris().data
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
STARTS = ["k-means++", "k-means||", "random", "forgy", "box", "random-partition"]
CONTAINERS = [np.asarray, sp.csr_array]
FRAMES = {
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES),
    "pyarrow": lambda rows: pa.table(pd.DataFrame(rows, columns=NAMES)),
}


def near_rows(rows, k, seed=0):
    """k rows, moved a little so that no point is exactly between two of them."""
    rng = np.random.default_rng(seed)
    chosen = rows[rng.choice(len(rows), k, replace=False)]
    return chosen + 1e-3 * rows.std(axis=0) * rng.normal(size=chosen.shape)


def fit_iris(k=3, seed=0, sample_weight=None, **params):
    """A fit of iris from a given start."""
    init = params.pop("init", near_rows(IRIS, k, seed))
    return KMeans(k, init=init, **params).fit(IRIS, sample_weight=sample_weight)


def distances(rows, centers):
    """Euclidean distances, the plain way, in float64."""
    gap = np.asarray(rows, np.float64)[:, None] - np.asarray(centers, np.float64)
    return np.sqrt((gap**2).sum(axis=2))


def assert_same_fit(a, b):
    """Bit for bit."""
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)
    assert a.inertia_ == b.inertia_
    assert a.n_iter_ == b.n_iter_


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
    assert [(p.name, p.default) for p in ours.values()] == [
        (p.name, p.default) for p in theirs.values()
    ]


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
@pytest.mark.parametrize("seed", range(3))
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
        "n_threads": 1, "memory_limit": 1e9,
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


# --- among scikit-learn's tools ------------------------------------------------------------------


def test_a_pipeline_passes_weights_on_and_predicts_the_labels():
    pipe = make_pipeline(StandardScaler(), KMeans(3, random_state=0))
    weight = np.random.default_rng(0).random(150)
    labels = pipe.fit_predict(IRIS, kmeans__sample_weight=weight)
    scaled = StandardScaler().fit_transform(IRIS)
    expected = KMeans(3, random_state=0).fit(scaled, sample_weight=weight)
    np.testing.assert_array_equal(labels, expected.labels_)
    np.testing.assert_array_equal(pipe.predict(IRIS), expected.labels_)
    np.testing.assert_array_equal(pipe.get_feature_names_out(), expected.get_feature_names_out())


def test_weights_are_routed_where_they_are_requested():
    weight = np.random.default_rng(0).random(150)
    with sklearn.config_context(enable_metadata_routing=True):
        kmeans = KMeans(3, random_state=0).set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), kmeans)
        labels = pipe.fit(IRIS, sample_weight=weight)[-1].labels_
    scaled = StandardScaler().fit_transform(IRIS)
    expected = KMeans(3, random_state=0).fit_predict(scaled, sample_weight=weight)
    np.testing.assert_array_equal(labels, expected)


def test_a_grid_search_finds_that_more_clusters_lower_the_inertia():
    search = GridSearchCV(KMeans(random_state=0), {"n_clusters": [2, 3, 5]}, cv=3)
    shuffled = np.random.default_rng(0).permutation(IRIS)
    assert search.fit(shuffled).best_params_ == {"n_clusters": 5}
    assert len(search.best_estimator_.cluster_centers_) == 5


def through_joblib(model, tmp_path, mmap_mode=None):
    joblib.dump(model, tmp_path / "model.joblib")
    return joblib.load(tmp_path / "model.joblib", mmap_mode=mmap_mode)


@pytest.mark.parametrize(
    "carry",
    [
        lambda model, _: pickle.loads(pickle.dumps(model)),
        lambda model, _: pickle.loads(pickle.dumps(model, protocol=2)),
        lambda model, _: copy.copy(model),
        lambda model, _: copy.deepcopy(model),
        through_joblib,
        lambda model, folder: through_joblib(model, folder, mmap_mode="r"),
    ],
    ids=["pickle", "pickle-2", "copy", "deepcopy", "joblib", "joblib-mmap"],
)
def test_a_carried_model_is_the_same_model(carry, tmp_path):
    model = fit_iris(halt=RelDecrease(1e-3) & Deadline(60) | Target(1.0), callback=print)
    carried = carry(model, tmp_path)
    assert_same_fit(carried, model)
    assert carried.trace_ == model.trace_
    assert carried.stopped_by_ == model.stopped_by_
    assert repr(carried.halt) == repr(model.halt)
    np.testing.assert_array_equal(carried.stats_.sse, model.stats_.sse)
    np.testing.assert_array_equal(carried.predict(IRIS), model.labels_)
    np.testing.assert_array_equal(carried.predict(IRIS[:2]), model.labels_[:2])
    np.testing.assert_array_equal(carried.transform(IRIS), model.transform(IRIS))


def test_a_clone_has_the_parameters_and_no_fit():
    model = fit_iris(halt=MaxIter(3) | Deadline(60), callback=print, empty="keep", n_threads=1)
    twin = clone(model)
    assert not hasattr(twin, "cluster_centers_")
    assert str(twin.get_params()) == str(model.get_params())
    assert_same_fit(twin.fit(IRIS), model)


@pytest.mark.parametrize("show", [repr, str, lambda model: model._repr_html_()])
def test_a_model_shows_the_parameters_that_were_changed(show):
    text = show(KMeans(5, halt=RelDecrease(1e-3)))
    assert "n_clusters" in text
    assert "RelDecrease(0.001)" in text


# --- randomness ----------------------------------------------------------------------------------


def random_fit(random_state, init="random"):
    """One random start of many clusters: another stream gives another result."""
    return KMeans(20, init=init, n_init=1, random_state=random_state).fit(IRIS)


@pytest.mark.parametrize("init", STARTS)
@pytest.mark.parametrize("state", [int, np.int64, np.random.RandomState, np.random.default_rng])
def test_the_same_state_gives_the_same_bits(init, state):
    assert_same_fit(random_fit(state(3), init), random_fit(state(3), init))


@pytest.mark.parametrize("state", [np.random.RandomState(3), np.random.default_rng(3)])
def test_a_stream_goes_on_from_one_fit_to_the_next(state):
    assert random_fit(state).inertia_ != random_fit(state).inertia_


def test_an_int_gives_the_same_bits_in_a_second_fit_of_the_same_model():
    model = random_fit(3)
    assert_same_fit(copy.deepcopy(model).fit(IRIS), model)


@pytest.mark.parametrize("state", [None, np.random])
def test_without_a_state_the_global_one_of_numpy_decides(state):
    before = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(5)  # noqa: NPY002
        first, second = random_fit(state), random_fit(state)
        np.random.seed(5)  # noqa: NPY002
        assert_same_fit(random_fit(state), first)
        assert first.inertia_ != second.inertia_
    finally:
        np.random.set_state(before)  # noqa: NPY002


def test_random_and_forgy_are_two_names_of_one_start():
    assert_same_fit(random_fit(0, "random"), random_fit(0, "forgy"))


# --- starts --------------------------------------------------------------------------------------


class Recorded:
    """A start that gives centers in turn and remembers what it was called with."""

    def __init__(self, *starts):
        self.starts = itertools.cycle(starts)
        self.calls = []

    def __call__(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return next(self.starts)


def test_a_callable_gets_the_rows_the_number_of_clusters_and_a_random_state():
    init = Recorded(IRIS[:3])
    KMeans(3, init=init, n_init=1).fit(IRIS)
    (((rows, k), kwargs),) = init.calls
    np.testing.assert_array_equal(rows, IRIS)
    assert k == 3
    assert kwargs.keys() == {"random_state"}
    assert isinstance(kwargs["random_state"], np.random.RandomState)


def test_a_callable_is_given_other_randomness_at_every_start_and_the_same_by_seed():
    def draws(seed):
        init = Recorded(IRIS[:3])
        KMeans(3, init=init, random_state=seed).fit(IRIS)
        return [kwargs["random_state"].randint(2**31) for _, kwargs in init.calls]

    assert len(set(draws(0))) == 10
    assert draws(0) == draws(0) != draws(1)


def test_a_start_of_scikit_learn_can_be_the_callable():
    def seeding(rows, k, random_state):
        return sklearn.cluster.kmeans_plusplus(rows, k, random_state=random_state)[0]

    assert KMeans(3, init=seeding, random_state=0).fit(IRIS).inertia_ < 79


@pytest.mark.parametrize("cls", [KMeans, sklearn.cluster.KMeans], ids=["ours", "scikit-learn"])
def test_a_fitted_model_as_start_lends_its_centers(cls):
    first = cls(3, init=near_rows(IRIS, 3), n_init=1).fit(IRIS)
    again = KMeans(3, init=first).fit(IRIS)
    assert again.n_iter_ <= 2
    np.testing.assert_array_equal(again.labels_, first.labels_)


def test_a_model_may_go_on_from_itself():
    model = fit_iris(8, max_iter=2)
    model.set_params(init=model, max_iter=300).fit(IRIS)
    assert model.inertia_ == pytest.approx(fit_iris(8).inertia_, rel=1e-12)
    assert_same_fit(pickle.loads(pickle.dumps(model)), model)
    assert "KMeans" in repr(model)
    assert model.get_params()["init"] is model


def test_a_clone_keeps_the_centers_of_the_model_it_starts_from():
    model = KMeans(3, init=fit_iris()).fit(IRIS)
    assert_same_fit(clone(model).fit(IRIS), model)


@pytest.mark.parametrize(
    "make", [np.ndarray.tolist, np.asfortranarray, np.float32, sp.csr_array, *FRAMES.values()]
)
def test_given_centers_may_come_in_any_container(make):
    init = np.float32(near_rows(IRIS, 3)).astype(np.float64)
    assert_same_fit(KMeans(3, init=make(init)).fit(IRIS), fit_iris(init=init))


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
def test_every_named_start_with_ten_runs_finds_the_three_irises(init, make):
    model = KMeans(3, init=init, n_init=10, random_state=0).fit(make(IRIS))
    assert model.inertia_ == pytest.approx(78.851441426, rel=1e-9)


@pytest.mark.parametrize(
    ("init", "n_init", "runs"),
    [
        *[(init, "auto", 1) for init in STARTS[:2]],
        *[(init, "auto", 10) for init in STARTS[2:]],
        *[(init, 3, 3) for init in STARTS],
        (lambda rows, k, random_state: rows[:k], "auto", 10),
        (lambda rows, k, random_state: rows[:k], 2, 2),
        (IRIS[:3], "auto", 1),
        (IRIS[:3], 1, 1),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_n_init_is_the_number_of_runs(init, n_init, runs):
    heard = []
    KMeans(3, init=init, n_init=n_init, random_state=0, callback=heard.append).fit(IRIS)
    assert sum(progress.iteration == 1 for progress in heard) == runs


def test_the_best_of_several_runs_is_kept():
    starts = [near_rows(IRIS, 8, seed) for seed in range(5)]
    alone = [KMeans(8, init=start).fit(IRIS) for start in starts]
    best = min(alone, key=lambda model: model.inertia_)
    together = KMeans(8, init=Recorded(*starts), n_init=5).fit(IRIS)
    assert_same_fit(together, best)
    assert together.trace_[-1].cost == best.trace_[-1].cost


@pytest.mark.parametrize("init", [IRIS[:3], IRIS[:3].tolist(), fit_iris()])
def test_several_runs_from_given_centers_are_one_and_a_warning(init):
    with pytest.warns(RuntimeWarning, match=r"performing only one init .* instead of n_init=5"):
        model = KMeans(3, init=init, n_init=5).fit(IRIS)
    assert_same_fit(model, KMeans(3, init=init).fit(IRIS))


# --- the course of a fit -------------------------------------------------------------------------


def test_a_callback_hears_every_record_of_the_trace_in_turn():
    heard = []
    model = fit_iris(8, callback=heard.append)
    assert all(isinstance(progress, Progress) for progress in heard)
    assert tuple(heard) == model.trace_.records


@pytest.mark.parametrize("answer", [True, np.True_])
def test_a_callback_that_returns_true_stops_the_fit_and_is_named_as_the_reason(answer):
    model = fit_iris(8, callback=lambda progress: answer if progress.iteration == 2 else None)
    assert model.n_iter_ == 2
    assert "asked to stop" in model.stopped_by_
    np.testing.assert_array_equal(model.predict(IRIS), model.labels_)


@pytest.mark.parametrize("answer", [None, False, 0, "going on", {}])
def test_any_other_answer_of_a_callback_lets_the_fit_go_on(answer):
    assert_same_fit(fit_iris(8, callback=lambda progress: answer), fit_iris(8))


def test_halt_takes_the_place_of_tol():
    assert fit_iris(8, tol=1e9).n_iter_ == 1
    assert_same_fit(fit_iris(8, tol=1e9, halt=Deadline(3600)), fit_iris(8, tol=0))


def test_halt_leaves_max_iter_and_the_fixed_point_in_force():
    limited = fit_iris(8, halt=Deadline(3600), max_iter=2)
    assert (limited.n_iter_, limited.stopped_by_) == (2, "the limit of 2 iterations was reached")
    converged = fit_iris(8, halt=MaxIter(100) & Target(0.0))
    assert converged.stopped_by_ == "no point changed its cluster"


@pytest.mark.parametrize(
    ("halt", "reason"),
    [
        (MaxIter(1), "the limit of 1 iteration was reached"),
        (Target(1e9), "target"),
        (Deadline(0), "have passed"),
        (RelDecrease(0.5), "cost fell"),
        (SamePartition(), "no point changed its cluster"),
        (MaxIter(2) & Target(1e9), "limit of 2 .* and .* target"),
    ],
    ids=repr,
)
def test_the_reason_for_stopping_is_said(halt, reason):
    model = fit_iris(8, halt=halt)
    assert re.search(reason, model.stopped_by_)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_trace_tells_a_descent_to_a_fixed_point(make, weighted):
    rows = load_digits().data
    weight = np.random.default_rng(0).random(len(rows)) if weighted else None
    model = KMeans(10, random_state=0, tol=0).fit(make(rows), sample_weight=weight)
    trace = model.trace_
    assert isinstance(trace, Trace)
    assert [progress.iteration for progress in trace] == list(range(1, model.n_iter_ + 1))
    costs = [cost for progress in trace for cost in (progress.cost, progress.cost_after)]
    assert all(after <= before * (1 + 1e-15) for before, after in itertools.pairwise(costs))
    assert costs[-1] == pytest.approx(model.inertia_, rel=1e-12)
    assert trace[0].moved_points == len(rows)
    assert all(progress.moved_points > 0 for progress in trace[:-1])
    assert (trace[-1].moved_points, trace[-1].shift) == (0, 0)
    seconds = [progress.seconds for progress in trace]
    assert seconds == sorted(seconds)
    assert model.stopped_by_ == "no point changed its cluster"


def test_a_trace_is_a_sequence_of_frozen_records():
    trace = fit_iris(8).trace_
    assert len(trace) == len(list(trace)) == len(trace[:2]) + len(trace[2:])
    assert trace[-1] is trace.records[-1]
    with pytest.raises(AttributeError):
        trace[0].cost = 0.0


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        (None, pd.DataFrame),
        ("pandas", pd.DataFrame),
        ("polars", pl.DataFrame),
        ("pyarrow", pa.Table),
    ],
)
def test_a_trace_becomes_a_frame_of_any_library(library, kind):
    trace = fit_iris(8).trace_
    frame = trace.to_frame(library)
    assert isinstance(frame, kind)
    columns = trace.to_dict()
    assert {"iteration", "cost", "shift", "moved_points", "empty", "seconds"} <= columns.keys()
    assert all(len(values) == len(trace) for values in columns.values())
    for name, values in columns.items():
        assert list(np.asarray(frame[name])) == values


def test_a_frame_of_an_unknown_library_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"library='excel'.*pandas, polars, pyarrow"):
        fit_iris().trace_.to_frame("excel")


def test_verbose_prints_one_line_per_iteration_and_the_reason(capsys):
    model = fit_iris(8, verbose=1)
    *lines, last = capsys.readouterr().out.splitlines()
    told = [line for line in lines if line.startswith("Iteration")]
    assert told == [
        f"Iteration {progress.iteration - 1}, inertia {progress.cost}." for progress in model.trace_
    ]
    assert model.stopped_by_ in last


def test_verbose_tells_why_every_run_stopped(capsys):
    KMeans(8, init="random", n_init=4, random_state=0, verbose=1).fit(IRIS)
    lines = capsys.readouterr().out.splitlines()
    assert sum("no point changed its cluster" in line for line in lines) == 4


def test_verbose_tells_the_inertias_that_scikit_learn_tells(capsys):
    def inertias(model):
        model.fit(IRIS)
        lines = capsys.readouterr().out.splitlines()
        told = [line.rstrip(".").split(" inertia ") for line in lines]
        return {line[0]: float(line[1]) for line in told if len(line) == 2}

    params = {"n_clusters": 8, "init": near_rows(IRIS, 8), "n_init": 1, "verbose": 1, "tol": 0}
    theirs = inertias(sklearn.cluster.KMeans(**params))
    assert inertias(KMeans(**params)) == pytest.approx(theirs, rel=1e-9)


def test_a_silent_fit_prints_nothing(capsys):
    fit_iris()
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


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


# --- empty clusters ------------------------------------------------------------------------------

FAR = np.vstack([near_rows(IRIS, 3), np.full((1, 4), 1e3)])


def fit_with_a_far_center(empty, make=np.asarray, **params):
    return KMeans(4, init=FAR, empty=empty, **params).fit(make(IRIS))


@pytest.mark.parametrize("make", CONTAINERS)
def test_relocate_gives_an_empty_cluster_the_farthest_point(make):
    once = fit_with_a_far_center("relocate", make, max_iter=1)
    farthest = distances(IRIS, FAR).min(axis=1).argmax()
    np.testing.assert_allclose(once.cluster_centers_[3], IRIS[farthest], rtol=1e-12)
    full = fit_with_a_far_center("relocate", make)
    assert set(full.labels_) == {0, 1, 2, 3}
    assert [progress.empty for progress in full.trace_][:2] == [1, 0]


@pytest.mark.parametrize("make", CONTAINERS)
def test_relocating_follows_scikit_learn(make):
    ours = fit_with_a_far_center("relocate", make, tol=0)
    theirs = sklearn.cluster.KMeans(4, init=FAR, n_init=1, tol=0).fit(make(IRIS))
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)


@pytest.mark.parametrize("make", CONTAINERS)
def test_keep_leaves_an_empty_cluster_where_it_is_and_warns(make):
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\).*n_clusters \(4\)"):
        model = fit_with_a_far_center("keep", make)
    np.testing.assert_array_equal(model.cluster_centers_[3], FAR[3])
    assert set(model.labels_) == {0, 1, 2}
    assert model.stats_.weight[3] == 0
    assert {progress.empty for progress in model.trace_} == {1}
    np.testing.assert_array_equal(model.labels_, fit_iris().labels_)


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
def test_a_warning_points_at_the_line_that_called(method):
    with pytest.warns(ConvergenceWarning, match="distinct clusters") as caught:
        getattr(KMeans(4, init=FAR, empty="keep"), method)(IRIS)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("make", CONTAINERS)
def test_drop_goes_on_as_if_the_empty_cluster_had_never_been(make):
    model, without = fit_with_a_far_center("drop", make), fit_iris()
    np.testing.assert_array_equal(model.labels_, without.labels_)
    np.testing.assert_allclose(model.cluster_centers_, without.cluster_centers_, rtol=1e-12)
    assert model.transform(make(IRIS)).shape == (150, 3)
    assert len(model.get_feature_names_out()) == len(model.stats_.weight) == 3
    assert model.membership_.shape == (150, 3)


@pytest.mark.parametrize("make", CONTAINERS)
def test_fail_raises_an_error_that_names_the_cluster(make):
    with pytest.raises(EmptyClusterError, match=r"1 of 4 clusters became empty \(3\).*Lower"):
        fit_with_a_far_center("fail", make)
    assert issubclass(EmptyClusterError, ValueError)


@pytest.mark.parametrize("empty", ["relocate", "keep", "drop", "fail"])
def test_without_an_empty_cluster_every_policy_gives_the_same_bits(empty):
    assert_same_fit(fit_iris(5, empty=empty), fit_iris(5))


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("empty", ["relocate", "keep", "drop"])
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_a_cluster_of_rows_without_weight_is_empty_too(make, empty):
    rows = np.vstack([IRIS, FAR[3:]])
    weight = np.concatenate([np.ones(150), [0.0]])
    model = KMeans(4, init=FAR, empty=empty).fit(make(rows), sample_weight=weight)
    assert model.trace_[0].empty == 1
    np.testing.assert_array_equal(model.predict(make(rows)), model.labels_)
    assert model.score(make(rows), sample_weight=weight) == pytest.approx(-model.inertia_)
    if empty != "keep":
        assert (model.stats_.weight > 0).all()


@pytest.mark.parametrize("make", CONTAINERS)
def test_many_empty_clusters_are_relocated_to_different_points(make):
    init = np.vstack([IRIS.mean(axis=0), np.full((9, 4), 1e3) + np.arange(9)[:, None]])
    model = KMeans(10, init=init).fit(make(IRIS))
    assert set(model.labels_) == set(range(10))
    assert model.trace_[0].empty == 9


# --- functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, np.arange(150.0)])
def test_k_means_returns_what_the_estimator_finds(weight):
    model = KMeans(4, random_state=0, max_iter=3, tol=0).fit(IRIS, sample_weight=weight)
    params = {"sample_weight": weight, "random_state": 0, "max_iter": 3, "tol": 0}
    centers, labels, inertia, n_iter = k_means(IRIS, 4, **params, return_n_iter=True)
    np.testing.assert_array_equal(centers, model.cluster_centers_)
    np.testing.assert_array_equal(labels, model.labels_)
    assert (inertia, n_iter) == (model.inertia_, model.n_iter_)
    assert len(k_means(IRIS, 4, **params)) == 3


def test_k_means_from_given_centers_is_that_of_scikit_learn():
    init = near_rows(IRIS, 4)
    ours = k_means(IRIS, 4, init=init, return_n_iter=True)
    theirs = sklearn.cluster.k_means(IRIS, 4, init=init, n_init=1, return_n_iter=True)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("trials", [None, 1, 5])
def test_kmeans_plusplus_returns_distinct_rows_and_their_indices(make, dtype, trials):
    rows = IRIS.astype(dtype)
    centers, indices = kmeans_plusplus(make(rows), 30, n_local_trials=trials, random_state=0)
    np.testing.assert_array_equal(centers, rows[indices])
    assert centers.dtype == dtype
    assert indices.dtype == np.int64
    assert len(np.unique(centers, axis=0)) == 30


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0, 1e6])
def test_kmeans_plusplus_of_as_many_centers_as_distinct_rows_takes_each_once(make, dtype, offset):
    distinct = (np.unique(load_digits().data[:300], axis=0) + offset).astype(dtype)
    twice = np.repeat(distinct, 2, axis=0)
    centers, _ = kmeans_plusplus(make(twice), len(distinct), random_state=0)
    np.testing.assert_array_equal(np.unique(centers, axis=0), distinct)


@pytest.mark.parametrize("make", CONTAINERS)
def test_kmeans_plusplus_never_takes_a_row_of_weight_zero(make):
    rows = np.vstack([IRIS, np.full((50, 4), 1e6)])
    weight = np.concatenate([np.arange(150) % 2, np.zeros(50)])
    for seed in range(20):
        _, indices = kmeans_plusplus(make(rows), 10, sample_weight=weight, random_state=seed)
        assert (weight[indices] > 0).all()


def test_kmeans_plusplus_takes_a_frame_and_squared_norms_as_scikit_learn_does():
    norms = (IRIS**2).sum(axis=1)
    centers, indices = kmeans_plusplus(
        FRAMES["pandas"](IRIS), 3, x_squared_norms=norms, random_state=0
    )
    expected = kmeans_plusplus(IRIS, 3, random_state=0)
    np.testing.assert_array_equal(centers, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


def test_kmeans_plusplus_seeds_as_well_as_scikit_learn():
    rows = load_digits().data

    def potential(function):
        starts = [function(rows, 10, random_state=seed)[0] for seed in range(30)]
        return np.mean([(distances(rows, start).min(axis=1) ** 2).sum() for start in starts])

    assert potential(kmeans_plusplus) == pytest.approx(
        potential(sklearn.cluster.kmeans_plusplus), rel=0.05
    )


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
