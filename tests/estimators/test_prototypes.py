"""K-prototypes against formulas, enumeration and its neighbours in the family."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.helpers import prototypes_reference as formula

from partita import KMeans, KPrototypes, load, save

# some examples have fewer distinct rows than clusters
pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")
LETTERS = np.array(["a", "b", "c", "d", None], dtype=object)


def table_of(numbers, codes):
    """Numbers, then categories; the code −1 is a missing one."""
    return np.hstack([numbers.astype(object), LETTERS[codes]])


def fitted(numbers, codes, k, start=None, weight=None, **options):
    X = table_of(numbers, codes)
    columns = list(range(numbers.shape[1], X.shape[1]))  # else a column of None is one of numbers
    if start is not None:
        options["init"] = X[start]
    options = {"random_state": 0, "tol": 0, **options}
    return KPrototypes(k, categorical=columns, **options).fit(X, sample_weight=weight)


@st.composite
def mixed_data(draw, min_rows=3):
    n, p, q = draw(st.integers(min_rows, 12)), draw(st.integers(0, 2)), draw(st.integers(0, 3))
    q = max(q, 1 - p)
    numbers = draw(hnp.arrays(np.float64, (n, p), elements=st.integers(-8, 8)))
    codes = draw(hnp.arrays(np.int64, (n, q), elements=st.integers(-1, 3)))
    weight = draw(hnp.arrays(np.float64, n, elements=st.integers(0, 3)))
    weight[0] += 1
    return numbers, codes, weight


def as_known(codes):
    """Codes as the estimator numbers them: of the categories that occur, in sorted order."""
    out = np.full_like(codes, -1)
    for t, column in enumerate(codes.T):
        known = np.unique(column[column >= 0])
        out[:, t] = np.where(column < 0, -1, np.searchsorted(known, column))
    return out


@settings(max_examples=80, deadline=None)
@given(data=mixed_data(), gamma=st.sampled_from([0.0, 0.5, 3.0]), seed=st.integers(0, 99))
def test_a_fit_is_lloyd_with_means_and_modes(data, gamma, seed):
    numbers, codes, weight = data
    start = np.random.default_rng(seed).choice(len(numbers), 2, replace=False)
    expected = formula.lloyd(numbers, as_known(codes), start, gamma, weight)
    if expected is None:
        return
    labels, J = expected
    model = fitted(numbers, codes, 2, start, weight, gamma=gamma, standardize=False)
    own = model.transform(table_of(numbers, codes)) ** 2
    assert model.inertia_ == pytest.approx(J, abs=1e-9)
    assert weight @ own.min(axis=1) == pytest.approx(J, abs=1e-9)
    nearest, second = np.sort(own, axis=1).T  # the formula's means are rounded otherwise
    clear = (weight > 0) & (second > nearest + 1e-9)
    np.testing.assert_array_equal(model.labels_[clear], labels[clear])


@settings(max_examples=80, deadline=None)
@given(data=mixed_data(), k=st.integers(1, 3), standardize=st.booleans())
def test_j_never_rises_and_is_that_of_the_labels(data, k, standardize):
    numbers, codes, weight = data
    model = fitted(numbers, codes, k, weight=weight, standardize=standardize, n_init=1)
    costs = [cost for step in model.trace_ for cost in (step.cost, step.cost_after)]
    assert all(b <= a * (1 + 1e-12) + 1e-12 for a, b in pairwise(costs))
    X = table_of(numbers, codes)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X, sample_weight=weight) == -model.inertia_
    scaled, counted = model._scaling.apply(numbers)[weight > 0], weight > 0
    given_labels = scaled, as_known(codes)[counted], model.labels_[counted]
    J = formula.objective(*given_labels, model.gamma_, weight[counted])
    assert model.inertia_ == pytest.approx(J, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(data=mixed_data(), order=st.randoms(use_true_random=False))
def test_weights_are_repeats_and_the_order_of_rows_changes_no_bit(data, order):
    numbers, codes, weight = data
    X = table_of(numbers, codes)
    shuffled = np.arange(len(numbers))
    order.shuffle(shuffled)
    one = fitted(numbers, codes, 2, [0, 1], weight)
    other = fitted(numbers[shuffled], codes[shuffled], 2, weight=weight[shuffled], init=X[:2])
    assert other.inertia_ == one.inertia_
    np.testing.assert_array_equal(other.cluster_centers_, one.cluster_centers_)
    np.testing.assert_array_equal(other.labels_, one.labels_[shuffled])
    repeated = np.repeat(np.arange(len(numbers)), weight.astype(int))
    if len(repeated) < 2:
        return
    third = fitted(numbers[repeated], codes[repeated], 2, init=X[:2])
    assert third.inertia_ == one.inertia_
    # an empty cluster keeps a start whose category no row may have
    used = one.cluster_weights_ > 0
    np.testing.assert_array_equal(third.cluster_centers_[used], one.cluster_centers_[used])
    np.testing.assert_array_equal(third.labels_, one.labels_[repeated])


def test_many_starts_reach_the_optimum_of_all_partitions():
    reached, rng = 0, np.random.default_rng(0)
    for trial in range(20):
        numbers, codes = rng.normal(size=(8, 1)).round(1), rng.integers(0, 3, (8, 2))
        gamma = (0.3, 1.0, 3.0)[trial % 3]
        best = formula.optimum(numbers, as_known(codes), 2, gamma)
        model = fitted(numbers, codes, 2, gamma=gamma, standardize=False, n_init=30)
        assert model.inertia_ >= best - 1e-9
        reached += model.inertia_ <= best + 1e-9
    assert reached >= 18  # rows are the starts, and a few optima are not below any of them


def big_table(n=5000, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=n)
    return pd.DataFrame({
        "age": 30 + 8 * group + rng.normal(size=n) * 4,
        "income": 1000 * (20 + 5 * group + rng.normal(size=n) * 4),
        "home": np.where(rng.random(n) < 0.8, np.array(list("rofx"))[group], "other"),
        "vip": rng.random(n) < 0.2 + 0.2 * group,
        "town": rng.choice([f"town {i:03}" for i in range(300)], n),  # codes of more than a byte
    })  # fmt: skip


def test_threads_change_no_bit():
    X = big_table()
    fits = [KPrototypes(5, random_state=0, n_init=2, n_threads=n).fit(X) for n in (1, 2, 3)]
    for model in fits[1:]:
        assert model.inertia_ == fits[0].inertia_
        assert model.labels_.tobytes() == fits[0].labels_.tobytes()
        assert model.means_.tobytes() == fits[0].means_.tobytes()


def test_numbers_alone_are_k_means():
    X = np.random.default_rng(0).normal(size=(500, 3)) * [1, 2, 3]
    ours = KPrototypes(4, init=X[:4], standardize=False).fit(X)
    theirs = KMeans(4, init=X[:4], n_init=1).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.inertia_ == theirs.inertia_
    assert ours.cluster_centers_.tobytes() == theirs.cluster_centers_.tobytes()
    np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))


def test_categories_alone_are_k_modes():
    X = np.array([["a", "x"], ["a", "x"], ["a", "y"], ["b", "z"], ["b", "z"], ["c", "z"]], object)
    model = KPrototypes(2, random_state=0).fit(X)
    assert model.gamma_ == 1.0
    assert model.inertia_ == 2.0
    assert sorted(model.cluster_centers_.tolist()) == [["a", "x"], ["b", "z"]]
    assert model.means_.shape == (2, 0)


def test_the_unit_of_a_number_does_not_matter():
    X = big_table(800)
    one = KPrototypes(4, random_state=0).fit(X)
    other = KPrototypes(4, random_state=0).fit(X.assign(income=X.income / 1024, age=X.age * 512))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.means_ / [1 / 512, 1024], other.means_)
    assert one.gamma_ == 0.5


def test_gamma_is_half_the_mean_deviation_of_columns_that_vary():
    X = pd.DataFrame({"x": [0.0, 2, 0, 2], "y": [0.0, 0, 6, 6], "z": 5.0, "c": list("abab")})
    model = KPrototypes(2, standardize=False, random_state=0).fit(X)
    assert model.gamma_ == 0.5 * (1 + 3) / 2
    weighted = KPrototypes(2, standardize=False, random_state=0)
    assert weighted.fit(X, sample_weight=[1, 0, 3, 0]).gamma_ == 0.5 * np.std([0, 6, 6, 6])


def test_a_missing_category_costs_nothing_and_is_no_mode():
    X = pd.DataFrame({"x": [0.0, 0, 0, 9, 9], "c": ["a", None, None, None, None]})
    model = KPrototypes(2, random_state=0).fit(X)
    assert model.inertia_ == 0.0
    assert sorted(model.modes_[:, 0].tolist(), key=str) == [None, "a"]
    weights = model.category_weights_["c"]
    assert sorted(weights[:, 0].tolist()) == [0.0, 1.0]


def test_an_unseen_category_differs_from_every_mode():
    X = big_table(300)
    model = KPrototypes(3, random_state=0).fit(X)
    new = X[:4].assign(home="castle")
    costs = model.transform(new) ** 2
    blank = model.transform(new.assign(home=None)) ** 2
    np.testing.assert_allclose(costs, blank + model.gamma_, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(new), costs.argmin(axis=1))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_library_give_the_same(library):
    frame = big_table(300)
    model = KPrototypes(3, random_state=0).fit(frame)
    if library == "polars":
        other = pytest.importorskip("polars").from_pandas(frame)
    elif library == "pyarrow":
        other = pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)
    else:
        other = frame.astype({"home": "category", "town": "string"})
    again = KPrototypes(3, random_state=0).fit(other)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(other), model.labels_)


def test_a_column_of_numbers_may_be_categories():
    X = pd.DataFrame({"x": [0.0, 1, 8, 9], "zip": [10115, 10115, 80331, 80331]})
    by_name = KPrototypes(2, categorical=["zip"], random_state=0).fit(X)
    by_place = KPrototypes(2, categorical=[1], random_state=0).fit(X.to_numpy())
    assert by_name.inertia_ == by_place.inertia_
    assert sorted(by_name.modes_[:, 0]) == [10115, 80331]
    assert by_name.categories_ == {"zip": (10115, 80331)}


def test_a_model_or_its_centers_start_another_fit():
    X = big_table(500)
    model = KPrototypes(3, random_state=0).fit(X)
    for init in (model, model.cluster_centers_, pd.DataFrame(model.cluster_centers_)):
        again = KPrototypes(3, init=init).fit(X)
        np.testing.assert_array_equal(again.labels_, model.labels_)
        assert again.n_iter_ <= 2
    called = KPrototypes(3, init=lambda X, k, random_state: X[:k], n_init=1).fit(X)
    np.testing.assert_array_equal(called.start_, X[:3].to_numpy(dtype=object))


def test_the_run_can_be_repeated_from_its_start():
    X = big_table(500)
    model = KPrototypes(6, random_state=3).fit(X)
    replay = model.__partita_capabilities__().replay
    again = replay.rerun().fit(X)
    assert [step.cost for step in again.trace_] == [step.cost for step in model.trace_]
    assert again.labels_.tobytes() == model.labels_.tobytes()
    assert -replay.at_start(X).score(X) == pytest.approx(model.trace_[0].cost, rel=1e-12)


def test_rows_embedded_are_as_far_apart_as_they_cost():
    X = big_table(40).drop(columns="town")
    model = KPrototypes(2, random_state=0).fit(X)
    points, metric = model.__partita_capabilities__().pairs(X)
    assert metric == "euclidean"
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    as_prototypes = KPrototypes(40, init=X, max_iter=1, gamma=model.gamma_).fit(X)
    ours = as_prototypes.transform(X) ** 2
    np.testing.assert_allclose(squares, ours, atol=1e-9)
    assert model.__partita_capabilities__().mixed(X).embedded.tobytes() == points.tobytes()


def test_empty_clusters_follow_the_policy():
    X = pd.DataFrame({"x": [0.0, 0, 1, 1, 9], "c": list("aabbb")})
    init = np.array([[0.0, "a"], [99.0, "b"], [0.0, "b"]], object)
    for policy, k in (("relocate", 3), ("keep", 3), ("drop", 2)):
        model = KPrototypes(3, init=init, empty=policy, standardize=False)
        if policy == "keep":
            with pytest.warns(match="distinct clusters"):
                model.fit(X)
        else:
            model.fit(X)
        assert model.cluster_centers_.shape == (k, 2)
    with pytest.raises(ValueError, match="became empty"):
        KPrototypes(3, init=init, empty="fail", standardize=False).fit(X)


def test_prototypes_of_labels(tmp_path):
    X = big_table(200)
    model = KPrototypes(3, random_state=0).fit(X, sample_weight=np.arange(200))
    np.testing.assert_array_equal(
        model.inverse_transform(model.predict(X)), model.cluster_centers_[model.labels_]
    )
    with pytest.raises(ValueError, match="Categories cannot be mixed"):
        model.inverse_transform(np.eye(3))
    for j in range(3):
        for name, levels in model.categories_.items():
            own = X[name][model.labels_ == j]
            counts = [np.arange(200)[model.labels_ == j][own == level].sum() for level in levels]
            np.testing.assert_array_equal(model.category_weights_[name][j], counts)
    save(model, tmp_path / "a.partita")
    again = load(tmp_path / "a.partita")
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_array_equal(again.start_, model.start_)
    assert again.get_params() == model.get_params()
    assert again.categories_ == model.categories_


@pytest.mark.parametrize(
    ("parameters", "X", "text"),
    [
        ({"gamma": -1}, None, r"`gamma` must be a finite number >= 0 or 'auto', got -1"),
        ({"gamma": "huang"}, None, "`gamma` must be"),
        ({"standardize": "yes"}, None, "`standardize` must be True or False"),
        ({"categorical": ["hom"]}, None, "Did you mean 'home'"),
        ({"init": "cao"}, None, "'k-means\\+\\+' or 'random', got 'cao'"),
        ({"init": None}, None, "`init` must be 'k-means"),
        ({"init": np.zeros((2, 2))}, None, "a table of 2 prototypes with the 3 columns of X"),
        ({"init": [["a", 1.0, "b"], ["b", 1.0, "c"]]}, None, "numbers, as in the fit"),
        ({"init": [[np.nan, "a", "b"], [1.0, "b", "c"]]}, None, "complete and finite"),
        ({"n_clusters": 9}, None, "n_samples=4 should be >= n_clusters=9"),
        ({}, {"x": [1.0, np.nan, 2, 3]}, "contains NaN: 1 of 4 rows, in column 'x'"),
        ({}, {"x": [1.0, np.inf, 2, 3]}, "contains infinity: 1 of 4 rows"),
        ({"standardize": False}, {"x": [1e200, 0, 2, 3]}, "Rescale X"),
    ],
)
def test_bad_input_is_refused_in_words(parameters, X, text):
    table = pd.DataFrame({"x": [1.0, 2, 3, 4], "home": list("aabb"), "c": list("aabb")})
    if X is not None:
        table = table.assign(**X)
    with pytest.raises((TypeError, ValueError), match=text):
        KPrototypes(**{"n_clusters": 2, **parameters}).fit(table)


def test_huge_numbers_are_standardized_first():
    X = pd.DataFrame({"x": [1e200, 2e200, 8e200, 9e200], "c": list("aabb")})
    model = KPrototypes(2, random_state=0).fit(X)
    assert sorted(model.means_[:, 0] / 1e200) == pytest.approx([1.5, 8.5])


def test_new_rows_need_the_columns_of_the_fit():
    X = big_table(50)
    model = KPrototypes(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="NaN"):
        model.predict(X.assign(age=np.nan))


def test_kmodes_ends_no_lower_than_its_result_continued_here():
    kprototypes = pytest.importorskip("kmodes.kprototypes")
    rng = np.random.default_rng(0)
    for _ in range(5):
        numbers, codes = rng.normal(size=(300, 2)), rng.integers(0, 4, (300, 3))
        X, start = table_of(numbers, codes), rng.choice(300, 4, replace=False)
        init = [numbers[start], codes[start]]
        theirs = kprototypes.KPrototypes(4, init=init, gamma=0.5, n_init=1)
        theirs.fit(X, categorical=[2, 3, 4])
        found = theirs.cluster_centroids_.astype(object)
        found[:, :2] = found[:, :2].astype(np.float64)
        options = {"gamma": 0.5, "standardize": False, "tol": 0}
        assert theirs.cost_ == pytest.approx(-_at(X, found, options).score(X), rel=1e-9)
        for start in ({"init": found}, {"random_state": 0}):
            ours = KPrototypes(4, **start, **options).fit(X)
            assert ours.inertia_ <= theirs.cost_ * (1 + 1e-12)


def _at(X, prototypes, options):
    """A model with these prototypes."""
    fit = KPrototypes(len(prototypes), init=prototypes, max_iter=1, **options).fit(X)
    return fit.__partita_capabilities__().replay.at_start(X)


def test_prototypes_given_by_name_have_the_columns_in_order():
    rows = pd.DataFrame({"a": [0.0, 1, 10, 11], "b": [5.0, 5, 6, 6]})
    swapped = rows[["b", "a"]]
    with pytest.raises(ValueError, match=r"the columns of X, 'a', 'b', in this order, got 'b'"):
        KPrototypes(2, init=swapped.iloc[[0, 2]]).fit(rows)
    model = KPrototypes(2, random_state=0).fit(rows)
    with pytest.raises(ValueError, match="in this order"):
        KPrototypes(2, init=model).fit(swapped)
    assert KPrototypes(2, init=model).fit(rows).inertia_ == model.inertia_


def test_declared_categories_of_two_kinds_are_refused_like_others():
    kinds = pd.CategoricalDtype(["a", 1], ordered=True)
    table = pd.DataFrame({"a": range(6), "c": pd.Series(["a", 1] * 3, dtype=kinds)})
    with pytest.raises(ValueError, match="'c' \\(numbers mixed with text\\)"):
        KPrototypes(2).fit(table)


def test_heavy_weights_that_are_equal_are_no_error():
    rows = [[0.0], [1.0], [5.0]]
    heavy = KPrototypes(2, random_state=0).fit(rows, sample_weight=[1e60] * 3)
    assert heavy.labels_.tolist() == KPrototypes(2, random_state=0).fit(rows).labels_.tolist()
    with pytest.raises(ValueError, match=r"got 1e\+100 to 1e\+100"):
        KPrototypes(2).fit(rows, sample_weight=[1e100] * 3)
